#include "ci/template.h"

#include <gtest/gtest.h>

namespace ptpkg::ci {
namespace {

TEST(Fill, PutsValuesInAndNeverReadsThem) {
  EXPECT_EQ(Fill("a: @one@, @two@\n", {{"one", "@two@"}, {"two", "2"}}), "a: @two@, 2\n");
  EXPECT_EQ(Fill("x@sha @One@ @ @@\n", {}), "x@sha @One@ @ @@\n");
}

TEST(Fill, ANameAloneTakesLines) {
  EXPECT_EQ(Fill("a:\n  @lines@\nb\n", {{"lines", "- 1\n\n  - 2\n"}}), "a:\n  - 1\n\n    - 2\nb\n");
  EXPECT_EQ(Fill("a\n  @lines@\nb\n", {{"lines", ""}}), "a\nb\n");
}

TEST(Quoted, KeepsEachCharacterAValue) {
  EXPECT_EQ(Quoted("a\"b\\c: #\n'"), R"("a\"b\\c: #\n'")");
  EXPECT_EQ(Quoted("${{ x }}"), R"("${{ x }}")");
  EXPECT_EQ(QuotedForGithub("a ${{ x }} $y"), R"("a ${{ '${{' }} x }} $y")");
}

TEST(ShellLine, QuotesWhatAShellWouldRead) {
  EXPECT_EQ(ShellLine({"ptpkg", "--to=s3://b/c", "a b", "$(x)", "it's", ""}),
            R"(ptpkg --to=s3://b/c 'a b' '$(x)' 'it'\''s' '')");
}

}  // namespace
}  // namespace ptpkg::ci
