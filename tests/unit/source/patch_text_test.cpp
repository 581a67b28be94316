#include "source/patch_text.h"

#include <gtest/gtest.h>

#include "support/matchers.h"

namespace ptpkg::source {
namespace {

using test::FailsWith;
using test::IsOkAndHolds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<RelPath> Paths(std::initializer_list<const char*> names) {
  std::vector<RelPath> paths;
  for (const char* name : names) paths.push_back(RelPath::Literal(name));
  return paths;
}

TEST(PatchedFiles, ReadsHeadersBetweenProse) {
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
  EXPECT_THAT(PatchedFiles(text, "p"), IsOkAndHolds(Paths({"src/one.c", "two.c"})));
}

TEST(PatchedFiles, TakesHunkLinesForWhatTheyAre) {
  // A removed line "-- /etc/x" beside an added "++ /etc/y" looks like a header, but lies inside a hunk.
  const std::string text = "--- a/q.sql\n+++ b/q.sql\n@@ -1,2 +1,2 @@\n--- /etc/x\n+++ /etc/y\n \n";
  EXPECT_THAT(PatchedFiles(text, "p"), IsOkAndHolds(Paths({"q.sql"})));
}

TEST(PatchedFiles, KnowsGitRenames) {
  const std::string text =
      "diff --git a/old.c b/new.c\nsimilarity index 90%\nrename from old.c\nrename to new.c\n"
      "--- a/old.c\n+++ b/new.c\n@@ -1 +1 @@\n-a\n+b\n";
  EXPECT_THAT(PatchedFiles(text, "p"), IsOkAndHolds(Paths({"old.c", "new.c"})));
}

struct BadPatch {
  const char* name;
  const char* text;
  ErrorCode code;
  const char* message;
};

class PatchedFilesRefuses : public ::testing::TestWithParam<BadPatch> {};

TEST_P(PatchedFilesRefuses, WithAReason) {
  const auto result = PatchedFiles(GetParam().text, "0001-bad.patch");
  EXPECT_THAT(result, FailsWith(GetParam().code, HasSubstr(GetParam().message)));
  EXPECT_THAT(result, FailsWith(GetParam().code, HasSubstr("0001-bad.patch")));
  EXPECT_TRUE(result.error().span().has_value());
}

INSTANTIATE_TEST_SUITE_P(
    All, PatchedFilesRefuses,
    ::testing::Values(BadPatch{"Climbs", "--- a/../../x\n+++ b/../../x\n@@ -1 +1 @@\n-a\n+b\n",
                               ErrorCode::kInvalidInput, "does not stay inside"},
                      BadPatch{"Absolute", "--- /etc/passwd\n+++ /etc/passwd\n@@ -1 +1 @@\n-a\n+b\n",
                               ErrorCode::kInvalidInput, "is absolute"},
                      BadPatch{"AbsoluteTarget", "--- /dev/null\n+++ /etc/x\n@@ -0,0 +1 @@\n+b\n",
                               ErrorCode::kInvalidInput, "is absolute"},
                      BadPatch{"RenameClimbs", "diff --git a/x b/y\nrename from x\nrename to ../y\n",
                               ErrorCode::kInvalidInput, "does not stay inside"},
                      BadPatch{"NoFolderToStrip", "--- x.c\n+++ x.c\n@@ -1 +1 @@\n-a\n+b\n",
                               ErrorCode::kInvalidInput, "no leading folder"},
                      BadPatch{"CutShort", "--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n a\n",
                               ErrorCode::kInvalidInput, "cut short"},
                      BadPatch{"ShorterThanItSays", "--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n a\n--\n2.39\n",
                               ErrorCode::kInvalidInput, "shorter than its header"},
                      BadPatch{"NoHunk", "--- a/x\n+++ b/x\nnothing\n", ErrorCode::kInvalidInput,
                               "without a hunk"},
                      BadPatch{"Empty", "", ErrorCode::kInvalidInput, "changes no file"},
                      BadPatch{"EdScript", "1d\nw\nq\n", ErrorCode::kInvalidInput, "changes no file"},
                      BadPatch{"Context", "*** a/x\n--- b/x\n***************\n*** 1 ****\n",
                               ErrorCode::kUnsupported, "context diff"},
                      BadPatch{"Binary", "diff --git a/x b/x\nGIT binary patch\nliteral 3\n",
                               ErrorCode::kUnsupported, "binary"},
                      BadPatch{"Quoted", "--- \"a/x\\303\"\n+++ \"b/x\"\n@@ -1 +1 @@\n-a\n+b\n",
                               ErrorCode::kUnsupported, "quoted"}),
    [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace ptpkg::source
