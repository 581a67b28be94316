#include "support/text/utf8.h"

#include <gtest/gtest.h>

#include "support/limits.h"
#include "support/matchers.h"
#include "support/text/name_problem.h"
#include "support/text/unprinted.h"

namespace ptpkg::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Optional;

TEST(IsUtf8, FollowsTheRfc) {
  for (const char* good :
       {"", "a", "\xc3\xa9", "\xe2\x82\xac", "\xed\x9f\xbf", "\xf0\x9f\x98\x80", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_TRUE(IsUtf8(good)) << Printable(good);
  }
  // Cut off, stray, overlong, surrogate, beyond U+10FFFF.
  for (const char* bad : {"\xc3", "\x80", "\xc0\xaf", "\xe0\x80\x80", "\xed\xa0\x80", "\xf0\x8f\x80\x80",
                          "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xe2\x82", "a\xff"}) {
    EXPECT_FALSE(IsUtf8(bad)) << Printable(bad);
  }
}

TEST(Printable, ShowsWhatATerminalWouldActOn) {
  EXPECT_EQ(Printable("a\x1b[31mé\n\x7f\xff"), "a\\x1b[31mé\\x0a\\x7f\\xff");
}

TEST(NameProblem, AllowsWhatFileSystemsTake) {
  EXPECT_EQ(NameProblem("a/b.so"), std::nullopt);
  EXPECT_EQ(NameProblem("e\xcc\x81/\xc3\xa9"), std::nullopt);  // both forms of é
  EXPECT_EQ(NameProblem(std::string(limits::kNamePart, 'x') + "/y"), std::nullopt);
  std::string deep;
  for (std::size_t i = 0; i < limits::kFolderDepth; ++i) deep += "d/";
  EXPECT_EQ(NameProblem(deep + "f"), std::nullopt);
  EXPECT_THAT(NameProblem(deep + "d/f"), Optional(HasSubstr("129 directories deep")));
}

TEST(NameProblem, NamesTheRule) {
  EXPECT_THAT(NameProblem("a\x1b"), Optional(HasSubstr("control character")));
  EXPECT_THAT(NameProblem("a\u009b31m"), Optional(HasSubstr("control character"))) << "CSI in one character";
  EXPECT_THAT(NameProblem("a\xff"), Optional(HasSubstr("not UTF-8")));
  EXPECT_THAT(NameProblem("a/" + std::string(300, 'x') + "/b"),
              Optional(std::string("has a component of 300 bytes in its name; file systems allow 255")));
  std::string path = "x";
  while (path.size() <= limits::kName) path += "/" + std::string(200, 'x');
  EXPECT_THAT(NameProblem(path), Optional(HasSubstr("more than 4096 bytes")));
}

TEST(ShownName, IsShortAndPrintable) {
  EXPECT_EQ(ShownName("a\tb"), "a\\x09b");
  EXPECT_EQ(ShownName(std::string(1000, 'x')), std::string(100, 'x') + "…" + std::string(100, 'x'));
}

TEST(Unprinted, AreTheCharactersOfCategoryC) {
  for (const char* const text : {"", "plain name.py", "ä", "\u00a0", "\u0300", "\u2028", "漢", "\U0001F308"})
    EXPECT_FALSE(HasUnprintedCharacter(text)) << text;
  for (const char* const text : {"\x01", "a\x7f", "\u0080", "\u00ad", "a\u200b", "\u202e", "\ue000", "\ufeff",
                                 "\ufffe", "\u0378", "\U000E0041", "\U000F0000", "\U0010FFFF", "\xff"})
    EXPECT_TRUE(HasUnprintedCharacter(text)) << text;
}

TEST(Utf8, CharactersAndBytesThatBeginNone) {
  EXPECT_EQ(Utf8Characters("aä€😀"), (std::vector<std::string_view>{"a", "ä", "€", "😀"}));
  EXPECT_EQ(Utf8Characters("\xC3\x28\xFF"), (std::vector<std::string_view>{"\xC3", "\x28", "\xFF"}));
  EXPECT_EQ(Utf8Characters(""), std::vector<std::string_view>());
}

}  // namespace
}  // namespace ptpkg::test
