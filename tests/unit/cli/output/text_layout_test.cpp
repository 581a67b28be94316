#include "cli/output/text_layout.h"

#include <gmock/gmock.h>

namespace ptpkg::cli {
namespace {

TEST(DisplayWidth, CountsColumnsAndNotBytes) {
  EXPECT_EQ(DisplayWidth(""), 0U);
  EXPECT_EQ(DisplayWidth("abc"), 3U);
  EXPECT_EQ(DisplayWidth("naïve"), 5U);
  EXPECT_EQ(DisplayWidth("nai\u0308ve"), 5U) << "a combining mark stands on its letter";
  EXPECT_EQ(DisplayWidth("日本"), 4U);
  EXPECT_EQ(DisplayWidth("\U0001F600"), 2U);
  EXPECT_EQ(DisplayWidth("a\xff\xc3"), 3U) << "bytes that are no UTF-8";
}

TEST(ShortenMiddle, KeepsBothEnds) {
  EXPECT_EQ(ShortenMiddle("short", 5), "short");
  EXPECT_EQ(ShortenMiddle("pytorch-2.15.0-cuda130_0.conda", 15), "pytorch…0.conda");
  EXPECT_EQ(ShortenMiddle("日本日本日本", 5), "日…本");
  EXPECT_EQ(ShortenMiddle("abc", 1), "…");
  EXPECT_EQ(ShortenMiddle("abc", 0), "");
}

TEST(ShortenMiddle, NeverGetsWiderThanAsked) {
  const std::string name = "lib日本torch-ä\xff.so.2.15.0+cuda";
  for (std::size_t width = 0; width < 40; ++width) EXPECT_LE(DisplayWidth(ShortenMiddle(name, width)), width);
}

TEST(CutEnd, KeepsWholeCharacters) {
  EXPECT_EQ(CutEnd("a日b", 2), "a");
  EXPECT_EQ(CutEnd("a日b", 3), "a日");
  EXPECT_EQ(CutEnd("ab", 9), "ab");
}

TEST(WrapWords, BreaksBetweenWords) {
  EXPECT_EQ(WrapWords("one two three", {.width = 7}), "one two\nthree");
  EXPECT_EQ(WrapWords("one two three", {.width = 8, .indent = 2}), "one two\n  three");
  EXPECT_EQ(WrapWords("one two", {.width = 10, .indent = 2, .already = 6}), "one\n  two");
  EXPECT_EQ(WrapWords("", {.width = 7}), "");
}

TEST(WrapWords, ALongWordStaysWhole) {
  EXPECT_EQ(WrapWords("see /a/very/long/path now", {.width = 8}), "see\n/a/very/long/path\nnow");
}

}  // namespace
}  // namespace ptpkg::cli
