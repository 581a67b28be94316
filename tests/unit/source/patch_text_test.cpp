#include "source/patch_text.h"

#include <gtest/gtest.h>

#include "support/matchers.h"

namespace ptpkg::source {
namespace {

using test::FailsWith;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// "before>after" of each change, behind '*' where the names are bare.
std::vector<std::string> Changes(std::string_view text) {
  const auto patch = ReadPatch(text, "p");
  if (!patch) return {patch.error().message()};
  std::vector<std::string> names;
  for (const PatchChange& change : patch->changes) {
    names.push_back((change.bare_names ? "*" : "") + change.before + ">" + change.after);
  }
  return names;
}

TEST(ReadPatch, ReadsHeadersBetweenProse) {
  const std::string text =
      "Why: --- not a header\n"
      "--- neither is this one\n"
      "\n"
      "--- a/src/one.c\t2024-01-01 00:00:00\n"
      "+++ b/src/one.c\t2024-01-02 00:00:00\n"
      "@@ -1,2 +1,2 @@ int main\n"
      " keep\n"
      "-old\n"
      "+new\n"
      "\\ No newline at end of file\n"
      "--- /dev/null\n"
      "+++ b/two.c\n"
      "@@ -0,0 +1 @@\n"
      "+x\n";
  EXPECT_THAT(Changes(text), ElementsAre("a/src/one.c>b/src/one.c", ">b/two.c"));
}

TEST(ReadPatch, TakesHunkLinesForWhatTheyAre) {
  // A removed line "-- /etc/x" beside an added "++ /etc/y" looks like a header, but lies inside a hunk.
  const std::string text = "--- a/q.sql\n+++ b/q.sql\n@@ -1,2 +1,2 @@\n--- /etc/x\n+++ /etc/y\n \n";
  EXPECT_THAT(Changes(text), ElementsAre("a/q.sql>b/q.sql"));
}

TEST(ReadPatch, KnowsGitRenames) {
  const std::string text =
      "diff --git a/old.c b/new.c\nsimilarity index 90%\nrename from old.c\nrename to new.c\n"
      "--- a/old.c\n+++ b/new.c\n@@ -1 +1 @@\n-a\n+b\n";
  EXPECT_THAT(Changes(text), ElementsAre("*old.c>new.c", "a/old.c>b/new.c"));
}

TEST(ReadPatch, KnowsGitChangesWithoutHunks) {
  EXPECT_THAT(Changes("diff --git a/x y b/x y\nold mode 100644\nnew mode 100755\n"),
              ElementsAre("a/x y>b/x y"));
  EXPECT_THAT(Changes("diff --git a/e b/e\nnew file mode 100644\nindex 0000000..e69de29\n"),
              ElementsAre(">b/e"));
  EXPECT_THAT(Changes("diff --git e e\ndeleted file mode 100644\nindex e69de29..0000000\n"),
              ElementsAre("e>"));
  EXPECT_THAT(Changes("diff --git a/o b/n\nsimilarity index 100%\nrename from o\nrename to n\n"),
              ElementsAre("*o>n"));
  const auto binary = ReadPatch("diff --git a/x b/x\nindex 1..2 100644\nGIT binary patch\nliteral 3\n", "p");
  ASSERT_THAT(binary, test::IsOk());
  EXPECT_TRUE(binary->needs_git);
  const auto link = ReadPatch(
      "diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+x\n"
      "\\ No newline at end of file\n",
      "p");
  ASSERT_THAT(link, test::IsOk());
  EXPECT_TRUE(link->has_symlinks);
  EXPECT_TRUE(link->has_prefixes);
}

TEST(ReadPatch, KnowsANewFileByItsHunk) {
  EXPECT_THAT(Changes("--- a/x\t1970-01-01\n+++ b/x\n@@ -0,0 +1 @@\n+x\n"), ElementsAre(">b/x"));
}

TEST(StripComponents, TakesFoldersAway) {
  EXPECT_EQ(StripComponents("a/b/c", 0, false), "a/b/c");
  EXPECT_EQ(StripComponents("a/b/c", 1, false), "b/c");
  EXPECT_EQ(StripComponents("a/b/c", 1, true), "a/b/c");
  EXPECT_EQ(StripComponents("a/b/c", 2, false), "c");
  EXPECT_EQ(StripComponents("a/b/c", 3, false), "");
}

struct BadPatch {
  const char* name;
  const char* text;
  ErrorCode code;
  const char* message;
};

class ReadPatchRefuses : public ::testing::TestWithParam<BadPatch> {};

TEST_P(ReadPatchRefuses, WithAReason) {
  const auto result = ReadPatch(GetParam().text, "0001-bad.patch");
  EXPECT_THAT(result, FailsWith(GetParam().code, HasSubstr(GetParam().message)));
  EXPECT_THAT(result, FailsWith(GetParam().code, HasSubstr("0001-bad.patch")));
  EXPECT_TRUE(result.error().span().has_value());
}

INSTANTIATE_TEST_SUITE_P(
    All, ReadPatchRefuses,
    ::testing::Values(BadPatch{"Climbs", "--- a/../../x\n+++ b/../../x\n@@ -1 +1 @@\n-a\n+b\n",
                               ErrorCode::kInvalidInput, "leaves the source tree"},
                      BadPatch{"Absolute", "--- /etc/passwd\n+++ /etc/passwd\n@@ -1 +1 @@\n-a\n+b\n",
                               ErrorCode::kInvalidInput, "is absolute"},
                      BadPatch{"AbsoluteTarget", "--- /dev/null\n+++ /etc/x\n@@ -0,0 +1 @@\n+b\n",
                               ErrorCode::kInvalidInput, "is absolute"},
                      BadPatch{"RenameClimbs", "diff --git a/x b/y\nrename from x\nrename to ../y\n",
                               ErrorCode::kInvalidInput, "leaves the source tree"},
                      BadPatch{"ModeOfUnknown", "diff --git a/x b/y\nold mode 100644\nnew mode 100755\n",
                               ErrorCode::kUnsupported, "is malformed"},
                      BadPatch{"CutShort", "--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n a\n",
                               ErrorCode::kInvalidInput, "truncated"},
                      BadPatch{"ShorterThanItSays", "--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n a\n--\n2.39\n",
                               ErrorCode::kInvalidInput, "shorter than its header"},
                      BadPatch{"NoHunk", "--- a/x\n+++ b/x\nnothing\n", ErrorCode::kInvalidInput,
                               "without a hunk"},
                      BadPatch{"Empty", "", ErrorCode::kInvalidInput, "changes no file"},
                      BadPatch{"EdScript", "1d\nw\nq\n", ErrorCode::kInvalidInput, "changes no file"},
                      BadPatch{"Context", "*** a/x\n--- b/x\n***************\n*** 1 ****\n",
                               ErrorCode::kUnsupported, "context diff"},
                      BadPatch{"Binary", "diff --git a/x b/x\nBinary files a/x and b/x differ\n",
                               ErrorCode::kUnsupported, "binary"},
                      BadPatch{"Quoted", "--- \"a/x\\303\"\n+++ \"b/x\"\n@@ -1 +1 @@\n-a\n+b\n",
                               ErrorCode::kUnsupported, "quoted"}),
    [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace ptpkg::source
