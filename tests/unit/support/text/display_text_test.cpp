#include "support/text/display_text.h"

#include <cctype>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/error.h"
#include "support/files/fs.h"
#include "support/matchers.h"
#include "support/paths.h"
#include "support/secret_name.h"
#include "support/text/display_json.h"
#include "support/text/text.h"
#include "support/text/utf8.h"

namespace ptpkg::test {
namespace {

TEST(DisplayLine, LeavesTextAlone) {
  EXPECT_EQ(DisplayLine("plain text, [brackets] ~"), "plain text, [brackets] ~");
  EXPECT_EQ(DisplayLine("\ttab, naïve, 漢字, 😀"), "\ttab, naïve, 漢字, 😀");
  EXPECT_EQ(DisplayLine(""), "");
}

TEST(DisplayLine, EscapeSequencesGo) {
  EXPECT_EQ(DisplayLine("\x1b[1;31mred\x1b[0m"), "red");
  EXPECT_EQ(DisplayLine("a\x1b[2J\x1b[H\x1b[?25lb"), "ab");
  EXPECT_EQ(DisplayLine("\x1b]0;title\x07text"), "text");
  EXPECT_EQ(DisplayLine("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\"), "link");
  EXPECT_EQ(DisplayLine("\x1bPdevice\x1b\\x\x1b(By\x1b=z\x1b"), "xyz");
  EXPECT_EQ(DisplayLine("\xc2\x9b"
                        "31mred"),
            "31mred");  // CSI as one character
  EXPECT_EQ(DisplayLine("\x9b"), "\\x9b");
  // A string that never ends hides nothing.
  EXPECT_EQ(DisplayLine("\x1b]0;the rest"), "0;the rest");
  EXPECT_EQ(DisplayLine("\x1b]0;a\x1b[31mb"), "0;ab");
}

TEST(DisplayLine, ControlCharactersGo) {
  EXPECT_EQ(DisplayLine(std::string("a\0b\a\bc\x7f", 7)), "abc");
  EXPECT_EQ(DisplayLine("\u202etxt.exe\u2066x\u200e\u2028"), "txt.exex");
  EXPECT_EQ(DisplayLine("a\ufeffb\u200bc\u00add\U000E0041e\u2060f"), "abcdef");
  EXPECT_EQ(DisplayLine("\U0001F469\u200d\U0001F4BB"), "\U0001F469\u200d\U0001F4BB");
  EXPECT_EQ(DisplayLine("10 %\r20 %\r100 %"), "100 %");
  EXPECT_EQ(DisplayLine("windows\r"), "windows");
  EXPECT_EQ(DisplayLine("\xff\xc3"), "\\xff\\xc3");
}

TEST(DisplayLine, LongLinesLoseTheirMiddle) {
  const std::string line = "begin" + std::string(400'000, 'x') + "end";
  const std::string shown = DisplayLine(line);
  EXPECT_LT(shown.size(), limits::kShownLine + 40);
  EXPECT_TRUE(shown.starts_with("beginxxx"));
  EXPECT_TRUE(shown.ends_with("xxxend"));
  EXPECT_NE(shown.find("… (398008 bytes) …"), std::string::npos) << shown.substr(990, 60);
  std::string wide;
  for (int i = 0; i < 3000; ++i) wide += "é";
  for (std::size_t max = 100; max < 104; ++max) EXPECT_TRUE(IsUtf8(DisplayLine(wide, max))) << max;
}

TEST(DisplayText, LineByLine) {
  EXPECT_EQ(DisplayText("a\x1b[31m\n\x1b[0mb\n"), "a\nb\n");
  EXPECT_EQ(DisplayText(""), "");
}

TEST(MaskCredentials, OfUrlsOnly) {
  EXPECT_EQ(MaskCredentials("a 'https://user:secretpw@example:9/x.git' b"),
            "a 'https://****@example:9/x.git' b");
  EXPECT_EQ(MaskCredentials("https://token@h/x, http://u"
                            ":p@ss@h"),
            "https://****@h/x, http://****@h");
  EXPECT_EQ(MaskCredentials("https://${{ user + '/' }}:pw@h/x"), "https://****@h/x");
  EXPECT_EQ(MaskCredentials("ssh://git:pw@example/x"), "ssh://****@example/x");
  for (const char* plain : {"", "://", "://@", "a@b: c", "https://h/x@v1", "https://h/?a=b@c", "https://h @",
                            "ssh://git@h/x", "git+ssh://git@h/x", "https://${{ h", "git@h:x://"}) {
    EXPECT_EQ(MaskCredentials(plain), plain);
  }
  EXPECT_EQ(MaskCredentials("https://****@h"), "https://****@h");
}

TEST(MaskCredentials, OfUrlsInUrlsAndInPaths) {
  const std::string user = "u:p@";
  EXPECT_EQ(MaskCredentials("https://proxy/https://" + user + "h/x?a=1&token=b"),
            "https://proxy/https://****@h/x?a=1&token=****");
  EXPECT_EQ(MaskCredentials("https://h/?next=https://" + user + "i/x&key=a#https://" + user + "j"),
            "https://h/?next=https://****@i/x&key=****#https://****@j");
  EXPECT_EQ(DropCredentials("https://h/?next=https://" + user + "i/x&key=a"), "https://h/?next=https://i/x");
  EXPECT_EQ(MaskCredentials("https://h/t/tk-1/https://" + user + "i"), "https://h/t/****/https://****@i");
  EXPECT_EQ(MaskCredentials("'/home/me/git+https:/" + user + "h/x'"), "'/home/me/git+https:/****@h/x'");
  EXPECT_EQ(MaskCredentials("https:///" + user + "h x/HTTPS:/" + user + "h, socks5h:/" + user + "h"),
            "https:///****@h x/HTTPS:/****@h, socks5h:/****@h");
  EXPECT_EQ(MaskCredentials("https://h/?next=https%3A%2F%2Fu%3Ap%40h&a=b%20c"),
            "https://h/?next=****&a=b%20c");
  for (const char* plain : {"/a:/b@c", "https:/h/x@v1", "/opt/lib:/usr/lib@2", "https://h/https://i/x@v1",
                            "C:/u:p@h", "https:/h"})
    EXPECT_EQ(MaskCredentials(plain), plain);
}

TEST(MaskCredentials, HidesSecretParametersOfQueries) {
  const auto masked = [](const std::string& query) {
    return MaskCredentials("https://h/x" + query).substr(11);
  };
  EXPECT_EQ(masked("?token=abc"), "?token=****");
  EXPECT_EQ(masked("?a=1&X-Amz-Signature=f00&b=2"), "?a=1&X-Amz-Signature=****&b=2");
  for (const char* name : {"token",
                           "access_token",
                           "private_token",
                           "api_key",
                           "apikey",
                           "key",
                           "sig",
                           "Signature",
                           "auth",
                           "password",
                           "passwd",
                           "secret",
                           "client_secret",
                           "X-Amz-Credential",
                           "X-Amz-Security-Token",
                           "X-Goog-Signature",
                           "x-oss-signature",
                           "AWSAccessKeyId",
                           "job-token",
                           "jwt",
                           "sessionid"})
    EXPECT_EQ(masked(std::string("?") + name + "=v"), std::string("?") + name + "=****");
  EXPECT_EQ(masked("?sv=2022&sp=r&se=2030&sig=a%2Bb"), "?sv=****&sp=****&se=****&sig=****");
  EXPECT_EQ(masked("?t=ghp_16C7e42F292c6912E7"), "?t=****");
  EXPECT_EQ(masked("?0123456789abcdef0123456789"), "?****");
  EXPECT_EQ(masked("?Ab3-0123456789_abcdefgh"), "?****");
  EXPECT_EQ(masked("?code=4a0AX4Xf"), "?code=****");
  EXPECT_EQ(masked("#access_token=abc"), "#access_token=****");
  EXPECT_EQ(masked("?token=${{ env.get('A') }}&b"), "?token=****&b");
  for (const char* harmless :
       {"?archive=x.tar.gz", "?sv=1&se=2", "?raw=true&use_mirror=a", "#sha256=00ff", "?", "?a&b", "?monkey=1",
        "#building-from-source-with-cuda-12", "#release-notes-of-version-2024", "?page=3&code=all",
        "?how-to-build-with-cuda-12", "#0123456789abcdef0123456789abcdef01234567",
        "?0123456789abcdef0123456789abcdef01234567", "/t/thread-of-a-forum/12"})
    EXPECT_EQ(masked(harmless), harmless);
  EXPECT_EQ(MaskCredentials("[https://h/x?token=a, https://h/y?key=b]"),
            "[https://h/x?token=****, https://h/y?key=****]");
  EXPECT_EQ(MaskCredentials("https://conda.anaconda.org/t/tk-1/me"), "https://conda.anaconda.org/t/****/me");
}

/// Parameters, variables and docs/environment.md have the same words.
TEST(MaskCredentials, KnowsTheWordsOfVariables) {
  const std::unique_ptr<Fs> fs = MakeOsFs();
  ASSERT_OK_AND_ASSIGN(const std::string page, ReadFile(*fs, Repository() / "docs/environment.md"));
  for (const std::string_view word : kSecretWords) {
    std::string upper(word);
    for (char& c : upper) c = static_cast<char>(std::toupper(c));
    EXPECT_THAT(page, ::testing::HasSubstr("`" + upper + "`"));
    for (const std::string& name :
         {"my-" + ReplaceAll(word, "_", "-"), "X_" + upper + "_2", std::string(word)}) {
      EXPECT_TRUE(NamesSecret(name)) << name;
      EXPECT_EQ(MaskCredentials("https://h/x?" + name + "=abc"), "https://h/x?" + name + "=****");
    }
  }
  for (const char* name : {"PWD", "OLDPWD", "XDG_SESSION_ID", "KEYBOARD", "PASS"})
    EXPECT_FALSE(NamesSecret(name)) << name;
  for (const char* name : {"passwort", "pwd", "session_id"})
    EXPECT_EQ(MaskCredentials(fmt::format("https://h/x?{}=abc", name)),
              fmt::format("https://h/x?{}=****", name));
}

TEST(HoldsSecret, LooksAtWordsAndValues) {
  for (const char* name : {"API_TOKEN", "token2", "AWS_SECRET_ACCESS_KEY", "CI_JOB_JWT", "MY_CREDENTIALS"})
    EXPECT_TRUE(HoldsSecret(name, "abcdefgh")) << name;
  for (const char* name : {"TOKENIZERS", "TOKEN_FILE", "SECRETARY", "PWD"})
    EXPECT_FALSE(HoldsSecret(name, "abcdefgh")) << name;
  for (const char* value : {"", "1", "4096", "12.4.1", "ON", "false"})
    EXPECT_FALSE(HoldsSecret("USE_OAUTH", value));
  for (const char* value : {"20240117", "onward"}) EXPECT_TRUE(HoldsSecret("DB_PASSWORD", value));
}

TEST(MaskCredentials, HidesSecretAttributesOfCcachesStorage) {
  const std::string token = "bearer-token=";
  EXPECT_EQ(MaskCredentials("http://h/x|read-only|" + token + "a/b=|shards=c redis://h|header=X=y%20z"),
            "http://h/x|read-only|" + token + "****|shards=c redis://h|header=****");
  EXPECT_EQ(MaskCredentials("http://h|" + token + "a"), "http://h|" + token + "****");
  EXPECT_EQ(DropCredentials("http://h/x|" + token + "a|keep-alive=true"), "http://h/x|keep-alive=true");
  EXPECT_EQ(MaskCredentials("|http://h/x|http://u"
                            ":p@h|"),
            "|http://h/x|http://****@h|");
  for (const char* plain : {"http://h|", "http://h|token=", "| http://h | token=a |", "http://h|layout=flat"})
    EXPECT_EQ(MaskCredentials(plain), plain);
}

TEST(DropCredentials, LeavesAUrlThatIsOne) {
  const auto dropped = [](const std::string& query) {
    return DropCredentials("https://h/x" + query).substr(11);
  };
  EXPECT_EQ(dropped("?token=abc"), "");
  EXPECT_EQ(dropped("?token=abc#sha256=0"), "#sha256=0");
  EXPECT_EQ(dropped("?token=abc&a=1"), "?a=1");
  EXPECT_EQ(dropped("?token=abc&key=d&a=1&sig=x"), "?a=1");
  EXPECT_EQ(dropped("?a=1&token=abc&b=2"), "?a=1&b=2");
  EXPECT_EQ(dropped("?token=a&key=b"), "");
  EXPECT_EQ(DropCredentials("- https://u:p"
                            "@h/x?token=a\n- 'https://h/y?b=1&sig=c'\n"),
            "- https://h/x\n- 'https://h/y?b=1'\n");
  EXPECT_EQ(DropCredentials("https://conda.anaconda.org/t/tk-1/me"), "https://conda.anaconda.org/me");
}

TEST(DisplayText, DiagnosticsGoThroughIt) {
  const Error error = Error(ErrorCode::kIo, "cannot read 'a\x1b[2Jb'")
                          .At({.file = "f\x1b[1m", .line = 1, .excerpt = "x: \x1b[31m"})
                          .WithContext("while \abeeping")
                          .WithHint("do\x1b]0;x\x07 not");
  EXPECT_EQ(FormatError(error),
            "f:1:1: error: cannot read 'ab'\n    1 | x: \n      | ^\n  note: while beeping\n  hint: do not");
}

TEST(DisplayJson, EscapesWhatATerminalActsOn) {
  EXPECT_EQ(DisplayJson("[\"a\x7f\xc2\x9b\u202e\u2066\u200f\u2028\u061c\u00e9\U0001F600\"]"),
            "[\"a\\u007f\\u009b\\u202e\\u2066\\u200f\\u2028\\u061c\u00e9\U0001F600\"]");
  EXPECT_EQ(DisplayJson("\"\ufeff\U000E0041\""), "\"\\ufeff\\udb40\\udc41\"");
}

}  // namespace
}  // namespace ptpkg::test
