#include "source/patch.h"

#include <gtest/gtest.h>

#include "support/fake_process.h"
#include "support/matchers.h"
#include "support/test_env.h"
#include "unit/source/git_repository.h"

namespace ptpkg::source {
namespace {

using test::FailsWith;
using test::HasHint;
using test::TestEnv;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Result<void> Apply(Env& env, const AbsPath& file, const AbsPath& tree,
                   PatchFile how = {.file = AbsPath::Literal("/"), .shown = ""}) {
  how.file = file;
  how.shown = file.Name();
  return ApplyPatch(env, how, tree);
}

constexpr const char* kChange = "--- a/sub/f\n+++ b/sub/f\n@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n";

TEST(ApplyPatch, ChangesTheFileAndLeavesNoOther) {
  TestEnv env;
  env.dir().WriteFile("t/sub/f", "one\ntwo\nthree\n");
  const AbsPath patch = env.dir().WriteFile("p.patch", kChange);

  ASSERT_OK(Apply(env, patch, env.dir() / "t"));

  EXPECT_EQ(env.dir().ReadFile("t/sub/f"), "one\nTWO\nthree\n");
  EXPECT_THAT(test::ListTree(env->fs, env.dir() / "t"), ElementsAre("sub/", "sub/f"));
}

TEST(ApplyPatch, FindsAMovedHunkButTakesNoFuzz) {
  TestEnv env;
  env.dir().WriteFile("moved/sub/f", "zero\nzero\none\ntwo\nthree\n");
  env.dir().WriteFile("fuzzy/sub/f", "one\ntwo\nother\n");
  const AbsPath patch = env.dir().WriteFile("p.patch", kChange);

  ASSERT_OK(Apply(env, patch, env.dir() / "moved"));
  EXPECT_EQ(env.dir().ReadFile("moved/sub/f"), "zero\nzero\none\nTWO\nthree\n");

  const auto result = Apply(env, patch, env.dir() / "fuzzy");
  EXPECT_THAT(result, FailsWith(ErrorCode::kInvalidInput,
                                "patch 'p.patch' does not apply: hunk 1 of 'sub/f' does not fit at line 1"));
  EXPECT_THAT(result, HasHint(HasSubstr("without fuzz")));
  EXPECT_EQ(env.dir().ReadFile("fuzzy/sub/f"), "one\ntwo\nother\n");
}

TEST(ApplyPatch, SaysThatAChangeIsThereAlready) {
  TestEnv env;
  env.dir().WriteFile("t/sub/f", "one\nTWO\nthree\n");
  const AbsPath patch = env.dir().WriteFile("p.patch", kChange);
  EXPECT_THAT(Apply(env, patch, env.dir() / "t"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("'sub/f' already has this change")));
  EXPECT_EQ(env.dir().ReadFile("t/sub/f"), "one\nTWO\nthree\n");
}

TEST(ApplyPatch, SaysThatTheFileIsNotThere) {
  TestEnv env;
  env.dir().MakeDir("t");
  const AbsPath patch = env.dir().WriteFile("p.patch", kChange);
  EXPECT_THAT(
      Apply(env, patch, env.dir() / "t"),
      FailsWith(ErrorCode::kInvalidInput, HasSubstr("a file that it changes is missing from the source")));
}

TEST(ApplyPatch, NamesTheFileThatIsNotThereAndNotOneThatIs) {
  TestEnv env;
  env.dir().WriteFile("t/sub/f", "one\ntwo\nthree\n");
  const std::string other = "--- a/sub/zz.c\n+++ b/sub/zz.c\n@@ -1 +1 @@\n-x\n+y\n";
  for (const std::string& text : {kChange + other, "diff --git a/sub/f b/sub/f\n" + std::string(kChange) +
                                                       "diff --git a/sub/zz.c b/sub/zz.c\n" + other}) {
    const AbsPath patch = env.dir().WriteFile("p.patch", text);
    EXPECT_THAT(Apply(env, patch, env.dir() / "t"),
                FailsWith(ErrorCode::kInvalidInput,
                          "patch 'p.patch' does not apply: 'sub/zz.c' is not in the source"));
  }
  EXPECT_EQ(env.dir().ReadFile("t/sub/f"), "one\ntwo\nthree\n");
}

TEST(ApplyPatch, AppliesTwoChangesOfOneFileInOnePatch) {
  TestEnv env;
  env.dir().WriteFile("t/sub/f", "one\ntwo\nthree\n");
  const AbsPath patch = env.dir().WriteFile(
      "p.patch",
      std::string(kChange) + "--- a/sub/f\n+++ b/sub/f\n@@ -1,3 +1,3 @@\n one\n-TWO\n+2\n three\n");
  ASSERT_OK(Apply(env, patch, env.dir() / "t"));
  EXPECT_EQ(env.dir().ReadFile("t/sub/f"), "one\n2\nthree\n");
}

TEST(ApplyPatch, DoesNotWriteThroughASymlink) {
  TestEnv env;
  env.dir().WriteFile("outside/f", "one\ntwo\nthree\n");
  env.dir().MakeDir("t");
  env.dir().MakeSymlink("../outside", "t/sub");
  const AbsPath patch = env.dir().WriteFile("p.patch", kChange);

  EXPECT_THAT(Apply(env, patch, env.dir() / "t"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("reaches 'sub/f' through a symlink")));
  EXPECT_EQ(env.dir().ReadFile("outside/f"), "one\ntwo\nthree\n");
}

TEST(ApplyPatch, NamesAMissingPatch) {
  TestEnv env;
  EXPECT_THAT(Apply(env, env.dir() / "none.patch", env.dir().path()),
              FailsWith(ErrorCode::kNotFound, HasSubstr("none.patch")));
}

TEST(ApplyPatch, NamesTheMissingProgram) {
  TestEnv env;
  env.dir().WriteFile("t/sub/f", "one\ntwo\nthree\n");
  const AbsPath patch = env.dir().WriteFile("p.patch", kChange);
  env->variables["PATH"] = (env.dir() / "empty").str();
  const auto result = Apply(env, patch, env.dir() / "t");
  EXPECT_THAT(result, FailsWith(ErrorCode::kNotFound, "program 'patch' is missing"));
  EXPECT_THAT(result, HasHint(HasSubstr("apt-get install patch")));
}

TEST(ApplyPatch, NeverLetsPatchReadAnEdScriptOrAskAQuestion) {
  test::FakeProcess process;
  process.Answer("patch", 0, "");
  TestEnv env({.process = &process});
  env.dir().WriteFile("t/sub/f", "one\ntwo\nthree\n");
  const AbsPath patch = env.dir().WriteFile("p.patch", kChange);
  ASSERT_OK(Apply(env, patch, env.dir() / "t"));
  for (const char* flag : {"-u", "-N", "-t", "--fuzz=0"})
    EXPECT_THAT(process.commands()[0].argv, Contains(flag));

  const AbsPath script = env.dir().WriteFile("ed.patch", "1d\n!touch x\nw\nq\n");
  EXPECT_THAT(Apply(env, script, env.dir() / "t"), FailsWith(ErrorCode::kInvalidInput, HasSubstr("no file")));
  EXPECT_EQ(process.commands().size(), 1U);
}

/// Renames, modes, links, new, removed and empty files, as git writes them, over a tree that git made.
class GitPatchTest : public ::testing::Test {
 protected:
  GitPatchTest() {
    env_.dir().WriteFile("repo/old.c", "1\n2\n3\n4\n5\n6\n7\n8\n");
    env_.dir().WriteFile("repo/run.sh", "x\n");
    env_.dir().WriteFile("repo/gone", "gone\n");
    env_.dir().WriteFile("repo/empty_gone", "");
    env_.dir().WriteFile("repo/bin", std::string("\0\1\2\3", 4) + std::string(100, 'x'));
    env_.dir().MakeSymlink("old.c", "repo/link");
    repo_.CommitAll();
    repo_.Git({"worktree", "add", "-q", "../t", "HEAD"});
    EXPECT_OK(env_->fs.Remove(env_.dir() / "t/.git"));
    repo_.Git({"mv", "old.c", "new.c"});
    env_.dir().WriteFile("repo/new.c", "1\n2\nthree\n4\n5\n6\n7\n8\n");
    EXPECT_OK(env_->fs.SetMode(repo_.path() / "run.sh", 0755));
    repo_.Git({"rm", "-q", "gone", "empty_gone", "link"});
    env_.dir().WriteFile("repo/sub/empty_new", "");
    env_.dir().MakeSymlink("../new.c", "repo/sub/link");
    before_ = test::ListTree(env_->fs, env_.dir() / "t");
  }
  AbsPath Patch(std::vector<std::string> options) {
    repo_.Git({"add", "-A"});
    options.insert(options.begin(), {"diff", "--cached", "-M", "--output=" + (env_.dir() / "p.patch").str()});
    repo_.Git(options);
    return env_.dir() / "p.patch";
  }
  void ExpectDone() {
    EXPECT_THAT(test::ListTree(env_->fs, env_.dir() / "t"),
                ElementsAre("bin", "new.c", "run.sh", "sub/", "sub/empty_new", "sub/link -> ../new.c"));
    EXPECT_EQ(env_.dir().ReadFile("t/new.c"), "1\n2\nthree\n4\n5\n6\n7\n8\n");
    EXPECT_EQ(env_->fs.Lstat(env_.dir() / "t/run.sh")->mode & 0111U, 0111U);
    EXPECT_THAT(env_->fs.ReadLink(env_.dir() / "t/sub/link"), test::IsOkAndHolds(std::string("../new.c")));
  }

  TestEnv env_;
  GitRepository repo_{env_, "repo"};
  std::vector<std::string> before_;
};

TEST_F(GitPatchTest, IsCarriedOutWhole) {
  ASSERT_OK(Apply(env_, Patch({}), env_.dir() / "t"));
  ExpectDone();
}

TEST_F(GitPatchTest, WithoutPrefixes) {
  ASSERT_OK(Apply(env_, Patch({"--no-prefix"}), env_.dir() / "t"));
  ExpectDone();
}

TEST_F(GitPatchTest, WithBinaryChanges) {
  env_.dir().WriteFile("repo/bin", std::string("\0\7\2\3", 4) + std::string(100, 'y'));
  const AbsPath patch = Patch({"--binary"});
  ASSERT_OK(Apply(env_, patch, env_.dir() / "t"));
  ExpectDone();
  EXPECT_EQ(env_.dir().ReadFile("t/bin"), env_.dir().ReadFile("repo/bin"));
  // The same once more: nothing of it fits.
  EXPECT_THAT(Apply(env_, patch, env_.dir() / "t"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("does not apply")));
  ASSERT_OK(Apply(env_, patch, env_.dir() / "t", {.file = patch, .shown = "", .strip = 1, .reverse = true}));
  EXPECT_EQ(test::ListTree(env_->fs, env_.dir() / "t"), before_);
}

TEST_F(GitPatchTest, WithBlanksInNames) {
  repo_.Git({"mv", "new.c", "new name.c"});
  ASSERT_OK(Apply(env_, Patch({}), env_.dir() / "t"));
  EXPECT_THAT(test::ListTree(env_->fs, env_.dir() / "t"), Contains("new name.c"));
}

TEST_F(GitPatchTest, TakenBack) {
  const AbsPath patch = Patch({});
  ASSERT_OK(Apply(env_, patch, env_.dir() / "t"));
  ASSERT_OK(Apply(env_, patch, env_.dir() / "t", {.file = patch, .shown = "", .reverse = true}));
  EXPECT_EQ(test::ListTree(env_->fs, env_.dir() / "t"), before_);
  EXPECT_EQ(env_.dir().ReadFile("t/old.c"), "1\n2\n3\n4\n5\n6\n7\n8\n");
  EXPECT_THAT(Apply(env_, patch, env_.dir() / "t", {.file = patch, .shown = "", .reverse = true}),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("does not apply")));
}

TEST_F(GitPatchTest, ABinaryChangeNeedsGit) {
  env_.dir().WriteFile("repo/bin", std::string("\0\7\2\3", 4));
  const AbsPath patch = Patch({"--binary"});
  env_->variables["PATH"] = (env_.dir() / "empty").str();
  EXPECT_THAT(Apply(env_, patch, env_.dir() / "t"),
              FailsWith(ErrorCode::kNotFound, "program 'git' is missing"));
}

TEST(ApplyPatch, RefusesALinkOutOfTheTree) {
  TestEnv env;
  env.dir().WriteFile("t/f", "x\n");
  const std::string link =
      "diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n";
  const AbsPath patch = env.dir().WriteFile("p.patch", link + "+../outside\n\\ No newline at end of file\n");
  EXPECT_THAT(Apply(env, patch, env.dir() / "t"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("points outside the source directory")));
  env.dir().WriteFile("u/f", "x\n");
  const AbsPath through = env.dir().WriteFile(
      "q.patch", link +
                     "+/tmp\n\\ No newline at end of file\ndiff --git a/l/x b/l/x\nnew file mode 100644\n"
                     "--- /dev/null\n+++ b/l/x\n@@ -0,0 +1 @@\n+x\n");
  EXPECT_THAT(Apply(env, through, env.dir() / "u"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("it changes both 'l' and 'l/x'")));
}

TEST(ApplyPatch, FindsHowManyFoldersToLeaveOut) {
  TestEnv env;
  for (const char* names : {"sub/f", "a/sub/f", "toy-1.0/src/sub/f", "x/y/z/sub/f"}) {
    const std::string name(names);
    env.dir().WriteFile("t/sub/f", "one\ntwo\nthree\n");
    const AbsPath patch = env.dir().WriteFile(
        "p.patch", "--- " + name + "\n+++ " + name + "\n@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n");
    ASSERT_OK(Apply(env, patch, env.dir() / "t")) << name;
    EXPECT_EQ(env.dir().ReadFile("t/sub/f"), "one\nTWO\nthree\n") << name;
  }
}

TEST(ApplyPatch, TakesTheUsualLevelWhereSeveralFit) {
  TestEnv env;
  for (const char* name : {"t/f", "t/sub/f"}) env.dir().WriteFile(name, "one\ntwo\nthree\n");
  const AbsPath patch =
      env.dir().WriteFile("p.patch", "--- sub/f\n+++ sub/f\n@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n");
  ASSERT_OK(Apply(env, patch, env.dir() / "t"));
  EXPECT_EQ(env.dir().ReadFile("t/f"), "one\nTWO\nthree\n");
  ASSERT_OK(Apply(env, patch, env.dir() / "t", {.file = patch, .shown = "", .strip = 0}));
  EXPECT_EQ(env.dir().ReadFile("t/sub/f"), "one\nTWO\nthree\n");
}

TEST(ApplyPatch, KnowsNamesOfOriginals) {
  TestEnv env;
  env.dir().WriteFile("t/f", "one\ntwo\nthree\n");
  const AbsPath patch =
      env.dir().WriteFile("p.patch", "--- f.orig\n+++ f\n@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n");
  ASSERT_OK(Apply(env, patch, env.dir() / "t"));
  EXPECT_EQ(env.dir().ReadFile("t/f"), "one\nTWO\nthree\n");
}

TEST(ApplyPatch, StopsWhenInterrupted) {
  TestEnv env;
  env.dir().WriteFile("t/sub/f", "one\ntwo\nthree\n");
  const AbsPath patch = env.dir().WriteFile("p.patch", kChange);
  env.cancel.Cancel();
  EXPECT_THAT(Apply(env, patch, env.dir() / "t"), FailsWith(ErrorCode::kCancelled, "interrupted"));
}

}  // namespace
}  // namespace ptpkg::source
