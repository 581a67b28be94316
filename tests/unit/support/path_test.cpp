#include "support/path.h"

#include <gtest/gtest.h>
#include <optional>
#include <stdexcept>

#include "support/matchers.h"

namespace ptpkg::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(RelPath, ParsesWhatStaysInsideATree) {
  for (const char* text : {"a", "a/b", ".hidden", "..a/b..", "a b", "...", "a\n", "\xC3\xA9"}) {
    const Result<RelPath> path = RelPath::Parse(text);
    ASSERT_OK(path);
    EXPECT_EQ(path->str(), text);
  }
}

TEST(RelPath, RefusesWhatCouldLeaveAndNamesTheRule) {
  const std::vector<std::pair<std::string, std::string>> cases = {{"", "empty"},
                                                                  {"/a", "absolute"},
                                                                  {"a//b", "empty component"},
                                                                  {"a/", "empty component"},
                                                                  {"..", "'..'"},
                                                                  {"a/../b", "'..'"},
                                                                  {"a/..", "'..'"},
                                                                  {"./a", "'.'"},
                                                                  {"a/.", "'.'"},
                                                                  {"/", "absolute"},
                                                                  {std::string("a\0b", 3), "NUL"}};
  for (const auto& [text, rule] : cases) {
    EXPECT_THAT(RelPath::Parse(text), FailsWith(ErrorCode::kInvalidInput, HasSubstr(rule))) << text;
  }
  EXPECT_THROW(static_cast<void>(RelPath::Literal("../a")), std::logic_error);
}

TEST(RelPath, Parts) {
  const RelPath path = RelPath::Literal("lib/python3.11/x.tar.gz");
  EXPECT_EQ(path.Name(), "x.tar.gz");
  EXPECT_EQ(path.Extension(), ".gz");
  EXPECT_EQ(path.ParentText(), "lib/python3.11");
  EXPECT_THAT(path.Components(), ElementsAre("lib", "python3.11", "x.tar.gz"));
  const RelPath top = RelPath::Literal(".bashrc");
  EXPECT_EQ(top.Name(), ".bashrc");
  EXPECT_EQ(top.Extension(), "");
  EXPECT_EQ(top.ParentText(), "");
  EXPECT_EQ(RelPath::Literal("a.b/c").Extension(), "");
}

TEST(RelPath, JoinsAndContains) {
  const RelPath lib = RelPath::Literal("lib");
  EXPECT_EQ(lib / RelPath::Literal("a/b"), RelPath::Literal("lib/a/b"));
  EXPECT_EQ(lib / "c", RelPath::Literal("lib/c"));
  EXPECT_THROW(static_cast<void>(lib / "../c"), std::logic_error);
  EXPECT_TRUE((lib / "a").IsWithin(lib));
  EXPECT_TRUE(lib.IsWithin(lib));
  EXPECT_FALSE(RelPath::Literal("lib64/a").IsWithin(lib));
  EXPECT_FALSE(lib.IsWithin(lib / "a"));
}

TEST(RelPath, OrdersByBytes) {
  EXPECT_LT(RelPath::Literal("B"), RelPath::Literal("a"));
  EXPECT_LT(RelPath::Literal("a-b"), RelPath::Literal("a/b"));
  EXPECT_LT(RelPath::Literal("z"), RelPath::Literal("\xC3\xA9"));  // unsigned bytes
}

TEST(AbsPath, NormalisesLexically) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"/", "/"},        {"//", "/"},  {"/a/", "/a"},      {"/a//b/./c", "/a/b/c"},
      {"/a/../b", "/b"}, {"/..", "/"}, {"/../../a", "/a"}, {"/a/b/../..", "/"}};
  for (const auto& [text, expected] : cases) {
    const Result<AbsPath> path = AbsPath::Parse(text);
    ASSERT_OK(path);
    EXPECT_EQ(path->str(), expected) << text;
  }
  EXPECT_THAT(AbsPath::Parse(""), FailsWith(ErrorCode::kInvalidInput, HasSubstr("empty")));
  EXPECT_THAT(AbsPath::Parse("a"), FailsWith(ErrorCode::kInvalidInput, HasSubstr("not absolute")));
  EXPECT_THAT(AbsPath::Parse(std::string("/a\0b", 4)), FailsWith(ErrorCode::kInvalidInput, HasSubstr("NUL")));
}

TEST(AbsPath, ResolvesAgainstABase) {
  const AbsPath base = AbsPath::Literal("/home/u");
  EXPECT_THAT(AbsPath::Resolve(base, "x/../y"), IsOkAndHolds(AbsPath::Literal("/home/u/y")));
  EXPECT_THAT(AbsPath::Resolve(base, "../../../etc"), IsOkAndHolds(AbsPath::Literal("/etc")));
  EXPECT_THAT(AbsPath::Resolve(base, "/abs"), IsOkAndHolds(AbsPath::Literal("/abs")));
  EXPECT_THAT(AbsPath::Resolve(base, "."), IsOkAndHolds(base));
  EXPECT_THAT(AbsPath::Resolve(base, ""), FailsWith(ErrorCode::kInvalidInput, HasSubstr("empty")));
}

TEST(AbsPath, PartsAndContainment) {
  const AbsPath root = AbsPath::Literal("/");
  const AbsPath path = AbsPath::Literal("/a/b");
  EXPECT_EQ(path.Name(), "b");
  EXPECT_EQ(root.Name(), "");
  EXPECT_EQ(path.Parent(), AbsPath::Literal("/a"));
  EXPECT_EQ(path.Parent().Parent(), root);
  EXPECT_EQ(root.Parent(), root);
  EXPECT_EQ(root / "x", AbsPath::Literal("/x"));
  EXPECT_TRUE(path.IsWithin(root));
  EXPECT_TRUE(path.IsWithin(path));
  EXPECT_FALSE(AbsPath::Literal("/ab").IsWithin(AbsPath::Literal("/a")));
  EXPECT_THAT(path.RelativeTo(root), IsOkAndHolds(RelPath::Literal("a/b")));
  EXPECT_THAT(path.RelativeTo(AbsPath::Literal("/a")), IsOkAndHolds(RelPath::Literal("b")));
  EXPECT_THAT(path.RelativeTo(path), FailsWith(ErrorCode::kInvalidInput, HasSubstr("not below")));
  EXPECT_THAT(path.RelativeTo(AbsPath::Literal("/a/b/c")),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("not below")));
}

TEST(ResolveInTree, StaysInsideOrSaysSo) {
  EXPECT_EQ(ResolveInTree("lib", "../bin/x"), "bin/x");
  EXPECT_EQ(ResolveInTree("", "a/./b"), "a/b");
  EXPECT_EQ(ResolveInTree("a/b", "../.."), "");
  EXPECT_EQ(ResolveInTree("", "."), "");
  EXPECT_EQ(ResolveInTree("a", "../.."), std::nullopt);
  EXPECT_EQ(ResolveInTree("", ".."), std::nullopt);
  EXPECT_EQ(ResolveInTree("a", "../../a/b"), std::nullopt);  // out and in again
}

TEST(RelativeFrom, LeadsFromFolderToTarget) {
  EXPECT_EQ(RelativeFrom("lib/python3.11/site-packages/torch", "lib"), "../../..");
  EXPECT_EQ(RelativeFrom("lib", "lib/torch"), "torch");
  EXPECT_EQ(RelativeFrom("", "lib"), "lib");
  EXPECT_EQ(RelativeFrom("lib", ""), "..");
  EXPECT_EQ(RelativeFrom("a/b", "a/bc"), "../bc");
  EXPECT_EQ(RelativeFrom("a", "a"), ".");
  EXPECT_EQ(RelativeFrom("", ""), ".");
}

}  // namespace
}  // namespace ptpkg::test
