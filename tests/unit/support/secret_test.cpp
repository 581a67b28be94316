#include "support/secret.h"

#include <gtest/gtest.h>

#include "support/digest/base64.h"
#include "support/digest/stream.h"
#include "support/text/display_text.h"

namespace ptpkg::test {
namespace {

TEST(MaskSecrets, HidesASecretInEachForm) {
  const std::string value = "p&ss/wörd+\"42";
  const Secret secret(value);
  EXPECT_EQ(MaskSecrets("a " + value + " b"), "a **** b");
  EXPECT_EQ(MaskSecrets("p%26ss%2Fw%C3%B6rd%2B%2242"), "****");
  EXPECT_EQ(MaskSecrets("p%26ss%2fw%c3%b6rd%2b%2242"), "****");
  EXPECT_EQ(MaskSecrets("0x702673732f77c3b672642b22343200"), "0x****00");
  EXPECT_EQ(MaskSecrets("702673732F77C3B672642B223432"), "****");
  EXPECT_EQ(MaskSecrets("p&ss/wörd+\\\"42"), "****");
  EXPECT_EQ(MaskSecrets("p&ss\\/wörd+\\\"42"), "****");
  EXPECT_EQ(MaskSecrets("p&amp;ss/wörd+&quot;42"), "****");
  EXPECT_EQ(MaskSecrets("p\\u0026ss/wörd+\\\"42"), "****");           // Go
  EXPECT_EQ(MaskSecrets("p\\u0026ss/wörd\\u002B\\u002242"), "****");  // .NET
  EXPECT_EQ(MaskSecrets("p&amp;ss/wörd+&#34;42"), "****");            // Jinja
  EXPECT_EQ(MaskSecrets("p&amp;ss/wörd&#43;&#34;42"), "****");        // Go
  EXPECT_EQ(MaskSecrets("p&#x26;ss/wörd+&#x22;42"), "****");
  EXPECT_EQ(MaskSecrets("p&ss/w\\u00f6rd+\\\"42"), "****");                 // Python
  EXPECT_EQ(MaskSecrets("p&ss\\/w\\u00f6rd+\\\"42"), "****");               // PHP
  EXPECT_EQ(MaskSecrets("p\\u0026ss/w\\u00F6rd\\u002B\\u002242"), "****");  // .NET
  const Secret beyond("key\U0001F600word");
  EXPECT_EQ(MaskSecrets("key\\ud83d\\ude00word"), "****");
  // Wherever it begins in the text that was encoded.
  for (const std::string before : {"", "u:", "__token__:", "xyz"}) {
    const std::string shown = MaskSecrets(Base64(AsBytes(before + value + "z")));
    EXPECT_NE(shown.find("****"), std::string::npos) << before;
    EXPECT_LE(shown.size(), 4 * ((before.size() + 2) / 3) + 4 + 4) << shown;
  }
}

TEST(MaskSecrets, OneMaskForSecretsThatOverlap) {
  RememberSecret("overlapping-1234");
  RememberSecret("1234-behind-it");
  EXPECT_EQ(MaskSecrets("overlapping-1234-behind-it"), "****");
  EXPECT_EQ(MaskSecrets("overlapping-1234overlapping-1234"), "****");
}

TEST(MaskSecrets, ShortOnesOnlyAsWords) {
  RememberSecret("qzx9");
  RememberSecret("qz");
  RememberSecret("");
  EXPECT_EQ(MaskSecrets("qzx9, (qzx9) aqzx9 qzx99 qz"), "****, (****) aqzx9 qzx99 qz");
}

TEST(MaskSecrets, KnowsThoseOfUrls) {
  RememberSecretsOf(
      "https://user:wordOfTheUser%2B1"
      "@h/x?a=harmless-value&token=tokenOfTheQuery");
  EXPECT_EQ(MaskSecrets("user wordOfTheUser%2B1 wordOfTheUser+1 harmless-value tokenOfTheQuery"),
            "user **** **** harmless-value ****");
  // A server repeats the header of a request. "joe:hun2" in base64.
  RememberSecretsOf(
      "https://joe:hun2"
      "@h/x");
  EXPECT_EQ(MaskSecrets("Basic am9lOmh1bjI="), "Basic ****");
}

}  // namespace
}  // namespace ptpkg::test
