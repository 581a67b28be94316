#include "source/patch.h"

#include <gtest/gtest.h>

#include "support/fake_process.h"
#include "support/matchers.h"
#include "support/test_env.h"

namespace ptpkg::source {
namespace {

using test::FailsWith;
using test::HasHint;
using test::TestEnv;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kChange = "--- a/sub/f\n+++ b/sub/f\n@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n";

TEST(ApplyPatch, ChangesTheFileAndLeavesNoOther) {
  TestEnv env;
  env.dir().WriteFile("t/sub/f", "one\ntwo\nthree\n");
  const AbsPath patch = env.dir().WriteFile("p.patch", kChange);

  ASSERT_OK(ApplyPatch(env, patch, env.dir() / "t"));

  EXPECT_EQ(env.dir().ReadFile("t/sub/f"), "one\nTWO\nthree\n");
  EXPECT_THAT(test::ListTree(env->fs, env.dir() / "t"), ElementsAre("sub/", "sub/f"));
}

TEST(ApplyPatch, FindsAMovedHunkButTakesNoFuzz) {
  TestEnv env;
  env.dir().WriteFile("moved/sub/f", "zero\nzero\none\ntwo\nthree\n");
  env.dir().WriteFile("fuzzy/sub/f", "one\ntwo\nother\n");
  const AbsPath patch = env.dir().WriteFile("p.patch", kChange);

  ASSERT_OK(ApplyPatch(env, patch, env.dir() / "moved"));
  EXPECT_EQ(env.dir().ReadFile("moved/sub/f"), "zero\nzero\none\nTWO\nthree\n");

  const auto result = ApplyPatch(env, patch, env.dir() / "fuzzy");
  EXPECT_THAT(result, FailsWith(ErrorCode::kInvalidInput,
                                "patch 'p.patch' does not apply: hunk 1 of 'sub/f' does not fit at line 1"));
  EXPECT_THAT(result, HasHint(HasSubstr("no fuzz")));
  EXPECT_EQ(env.dir().ReadFile("fuzzy/sub/f"), "one\ntwo\nother\n");
}

TEST(ApplyPatch, SaysThatAChangeIsThereAlready) {
  TestEnv env;
  env.dir().WriteFile("t/sub/f", "one\nTWO\nthree\n");
  const AbsPath patch = env.dir().WriteFile("p.patch", kChange);
  EXPECT_THAT(ApplyPatch(env, patch, env.dir() / "t"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("'sub/f' has this change already")));
  EXPECT_EQ(env.dir().ReadFile("t/sub/f"), "one\nTWO\nthree\n");
}

TEST(ApplyPatch, SaysThatTheFileIsNotThere) {
  TestEnv env;
  env.dir().MakeDir("t");
  const AbsPath patch = env.dir().WriteFile("p.patch", kChange);
  EXPECT_THAT(ApplyPatch(env, patch, env.dir() / "t"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("a file that it changes is not in the source")));
}

TEST(ApplyPatch, AppliesTwoChangesOfOneFileInOnePatch) {
  TestEnv env;
  env.dir().WriteFile("t/sub/f", "one\ntwo\nthree\n");
  const AbsPath patch = env.dir().WriteFile(
      "p.patch",
      std::string(kChange) + "--- a/sub/f\n+++ b/sub/f\n@@ -1,3 +1,3 @@\n one\n-TWO\n+2\n three\n");
  ASSERT_OK(ApplyPatch(env, patch, env.dir() / "t"));
  EXPECT_EQ(env.dir().ReadFile("t/sub/f"), "one\n2\nthree\n");
}

TEST(ApplyPatch, DoesNotWriteThroughASymlink) {
  TestEnv env;
  env.dir().WriteFile("outside/f", "one\ntwo\nthree\n");
  env.dir().MakeDir("t");
  env.dir().MakeSymlink("../outside", "t/sub");
  const AbsPath patch = env.dir().WriteFile("p.patch", kChange);

  EXPECT_THAT(ApplyPatch(env, patch, env.dir() / "t"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("reaches 'sub/f' through a symlink")));
  EXPECT_EQ(env.dir().ReadFile("outside/f"), "one\ntwo\nthree\n");
}

TEST(ApplyPatch, NamesAMissingPatch) {
  TestEnv env;
  EXPECT_THAT(ApplyPatch(env, env.dir() / "none.patch", env.dir().path()),
              FailsWith(ErrorCode::kNotFound, HasSubstr("none.patch")));
}

TEST(ApplyPatch, NamesTheMissingProgram) {
  TestEnv env;
  env.dir().WriteFile("t/sub/f", "one\ntwo\nthree\n");
  const AbsPath patch = env.dir().WriteFile("p.patch", kChange);
  env->variables["PATH"] = (env.dir() / "empty").str();
  const auto result = ApplyPatch(env, patch, env.dir() / "t");
  EXPECT_THAT(result, FailsWith(ErrorCode::kNotFound, "program 'patch' is missing"));
  EXPECT_THAT(result, HasHint(HasSubstr("apt-get install patch")));
}

TEST(ApplyPatch, NeverLetsPatchReadAnEdScriptOrAskAQuestion) {
  test::FakeProcess process;
  process.Answer("patch", 0, "");
  TestEnv env({.process = &process});
  env.dir().WriteFile("t/sub/f", "one\ntwo\nthree\n");
  const AbsPath patch = env.dir().WriteFile("p.patch", kChange);
  ASSERT_OK(ApplyPatch(env, patch, env.dir() / "t"));
  for (const char* flag : {"-u", "-N", "-t", "--fuzz=0"})
    EXPECT_THAT(process.commands()[0].argv, Contains(flag));

  const AbsPath script = env.dir().WriteFile("ed.patch", "1d\n!touch x\nw\nq\n");
  EXPECT_THAT(ApplyPatch(env, script, env.dir() / "t"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("no file")));
  EXPECT_EQ(process.commands().size(), 1U);
}

TEST(ApplyPatch, StopsWhenInterrupted) {
  TestEnv env;
  env.dir().WriteFile("t/sub/f", "one\ntwo\nthree\n");
  const AbsPath patch = env.dir().WriteFile("p.patch", kChange);
  env.cancel.Cancel();
  EXPECT_THAT(ApplyPatch(env, patch, env.dir() / "t"), FailsWith(ErrorCode::kCancelled, "interrupted"));
}

}  // namespace
}  // namespace ptpkg::source
