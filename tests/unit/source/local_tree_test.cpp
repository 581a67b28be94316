#include "source/local_tree.h"

#include <gtest/gtest.h>

#include "support/fault_fs.h"
#include "support/matchers.h"
#include "support/test_env.h"

namespace ptpkg::source {
namespace {

using test::FailsWith;
using test::HasHint;
using test::IsOkAndHolds;
using test::TestEnv;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ListFolder, LeavesOutGitAndNothingElse) {
  TestEnv env;
  env.dir().WriteFile("s/.git/config", "x");
  env.dir().WriteFile("s/sub/.git", "gitdir: elsewhere");
  env.dir().WriteFile("s/.gitignore", "build");
  env.dir().WriteFile("s/build/made.o", "o");
  env.dir().WriteFile("s/a.c", "int a;");
  env.dir().MakeSymlink("../a.c", "s/build/link");

  ASSERT_OK_AND_ASSIGN(const FolderList list, ListFolder(env, env.dir() / "s"));

  std::vector<std::string> names;
  for (const TreeEntry& entry : list.entries) names.push_back(entry.path.str());
  EXPECT_THAT(names, ElementsAre(".gitignore", "a.c", "build/link", "build/made.o"));
  EXPECT_THAT(list.empty_folders, ElementsAre(RelPath::Literal("sub"))) << "git's own files do not count";
}

TEST(ListFolder, RefusesSymlinksThatLeave) {
  for (const char* target : {"/etc/passwd", "../outside", "sub/../../outside"}) {
    TestEnv env;
    env.dir().WriteFile("s/sub/x", "");
    env.dir().MakeSymlink(target, "s/link");
    const auto result = ListFolder(env, env.dir() / "s");
    EXPECT_THAT(result, FailsWith(ErrorCode::kInvalidInput, HasSubstr("points outside the source directory")))
        << target;
    EXPECT_THAT(result, FailsWith(ErrorCode::kInvalidInput, HasSubstr(target)));
    EXPECT_THAT(result, HasHint(HasSubstr("replace the link")));
  }
}

TEST(ListFolder, SaysWhatIsMissingOrNoFolder) {
  TestEnv env;
  env.dir().WriteFile("file", "x");
  EXPECT_THAT(ListFolder(env, env.dir() / "none"), FailsWith(ErrorCode::kNotFound, HasSubstr("none")));
  EXPECT_THAT(ListFolder(env, env.dir() / "file"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("is not a directory")));
}

TEST(DigestFolder, CountsEmptyFolders) {
  TestEnv env;
  for (const char* file : {"one/a", "two/a", "three/a"}) env.dir().WriteFile(file, "1");
  env.dir().MakeDir("two/m4/deep");
  ASSERT_OK_AND_ASSIGN(const Sha256 one, DigestFolder(env, env.dir() / "one"));
  ASSERT_OK_AND_ASSIGN(const Sha256 two, DigestFolder(env, env.dir() / "two"));
  EXPECT_NE(one, two);
  EXPECT_THAT(DigestFolder(env, env.dir() / "three"), test::IsOkAndHolds(one));
}

TEST(DigestFolder, DependsOnNamesContentsAndTheExecutableBitOnly) {
  TestEnv env;
  env.dir().WriteFile("one/a", "1", 0644);
  env.dir().WriteFile("two/a", "1", 0600);
  env.dir().WriteFile("executable/a", "1", 0755);
  env.dir().WriteFile("named/b", "1");
  env.dir().WriteFile("other/a", "2");
  ASSERT_OK(env->fs.SetMtime(env.dir() / "two/a", 1));

  ASSERT_OK_AND_ASSIGN(const Sha256 one, DigestFolder(env, env.dir() / "one"));
  EXPECT_EQ(env.reporter.tasks()[0].info.stage, "hash");
  EXPECT_GT(env.reporter.tasks()[0].done_bytes, 0U);
  EXPECT_EQ(env.reporter.tasks()[0].done_bytes, env.reporter.tasks()[0].info.total_bytes);

  EXPECT_THAT(DigestFolder(env, env.dir() / "two"), IsOkAndHolds(one));
  for (const char* name : {"executable", "named", "other"}) {
    EXPECT_THAT(DigestFolder(env, env.dir() / name), IsOkAndHolds(::testing::Ne(one))) << name;
  }
}

TEST(DigestFolder, NamesTheFileThatCannotBeRead) {
  TestEnv env;
  env.dir().WriteFile("s/a", "1");
  // Stat, list and lstat of one file are the first three; opening it is the fourth.
  test::FaultFs broken(env->fs, {.number = 4, .sys_errno = 13, .scope = test::FaultScope::kReading});
  TestEnv with({.fs = &broken});
  EXPECT_THAT(DigestFolder(with, env.dir() / "s"), FailsWith(ErrorCode::kIo, HasSubstr("s/a")));
}

TEST(CopyFolder, CopiesFilesModesAndLinks) {
  TestEnv env;
  env.dir().WriteFile("s/sub/run", "#!/bin/sh\n", 0755);
  env.dir().WriteFile("s/locked", "x", 0444);
  env.dir().WriteFile("s/.git/HEAD", "x");
  env.dir().MakeSymlink("sub/run", "s/link");
  env.dir().MakeDir("copy");
  Task task(env->reporter, {.stage = "source", .subject = "s"});

  ASSERT_OK(CopyFolder(env, env.dir() / "s", env.dir() / "copy", task));

  EXPECT_THAT(test::ListTree(env->fs, env.dir() / "copy"),
              ElementsAre("link -> sub/run", "locked", "sub/", "sub/run"));
  ASSERT_OK_AND_ASSIGN(const FileStat run, env->fs.Lstat(env.dir() / "copy/sub/run"));
  ASSERT_OK_AND_ASSIGN(const FileStat locked, env->fs.Lstat(env.dir() / "copy/locked"));
  EXPECT_EQ(run.mode, 0755U);
  EXPECT_EQ(locked.mode, 0644U) << "a build must be able to write into its own copy";
  EXPECT_EQ(env.reporter.tasks()[0].done_bytes, 11U);
}

TEST(CopyFolder, StopsWhenInterrupted) {
  TestEnv env;
  env.dir().WriteFile("s/a", "1");
  env.dir().MakeDir("copy");
  env.cancel.Cancel();
  Task task(env->reporter, {.stage = "source", .subject = "s"});
  EXPECT_THAT(CopyFolder(env, env.dir() / "s", env.dir() / "copy", task),
              FailsWith(ErrorCode::kCancelled, "interrupted"));
}

TEST(MergeInto, JoinsFoldersAndRefusesToOverwrite) {
  TestEnv env;
  env.dir().WriteFile("to/shared/one", "1");
  env.dir().WriteFile("from/shared/two", "2");
  env.dir().WriteFile("from/three", "3");
  ASSERT_OK(MergeInto(env->fs, env.dir() / "from", env.dir() / "to"));
  EXPECT_THAT(test::ListTree(env->fs, env.dir() / "to"),
              ElementsAre("shared/", "shared/one", "shared/two", "three"));

  env.dir().WriteFile("again/shared/one", "other");
  EXPECT_THAT(MergeInto(env->fs, env.dir() / "again", env.dir() / "to"),
              FailsWith(ErrorCode::kInvalidInput, "two sources of the recipe contain 'shared/one'"));
  EXPECT_EQ(env.dir().ReadFile("to/shared/one"), "1");
}

TEST(MergeInto, DoesNotGoThroughASymlink) {
  TestEnv env;
  env.dir().WriteFile("to/real/x", "1");
  env.dir().MakeSymlink("real", "to/link");
  env.dir().WriteFile("from/link/y", "2");
  EXPECT_THAT(MergeInto(env->fs, env.dir() / "from", env.dir() / "to"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("'link'")));
}

}  // namespace
}  // namespace ptpkg::source
