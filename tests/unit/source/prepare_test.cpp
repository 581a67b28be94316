#include "source/prepare.h"

#include <gtest/gtest.h>

#include "support/digest/hash.h"
#include "support/fault_fs.h"
#include "support/matchers.h"
#include "support/mem_fs.h"
#include "support/test_env.h"

namespace ptpkg::source {
namespace {

using test::FailsWith;
using test::HasHint;
using test::IsOkAndHolds;
using test::TestEnv;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Ne;
using ::testing::Not;
using ::testing::StartsWith;

constexpr const char* kPatch =
    "Why: two is too little.\n\n--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n one\n-two\n+three\n";

class PrepareTest : public ::testing::Test {
 protected:
  PrepareTest() {
    recipe_.name = "toy";
    recipe_.recipe_dir = env_.dir().MakeDir("recipes/toys");
    recipe_.sources.emplace_back();
    recipe_.sources[0].path = "source";
    env_.dir().MakeDir("work");
  }

  Result<SourceTree> Run() { return Prepare(env_, recipe_, options_, Destination()); }
  Result<Sha256> Key() { return SourceKey(env_, recipe_, options_); }
  [[nodiscard]] AbsPath Destination() const { return env_.dir() / "work/src"; }
  std::vector<std::string> Made() { return test::ListTree(env_->fs, Destination()); }
  /// Nothing, not even a scratch directory, lies beside the destination.
  void ExpectNothingLeft() { EXPECT_THAT(test::ListTree(env_->fs, env_.dir() / "work"), IsEmpty()); }

  /// `name` in the test's directory: what tar makes of directory `folder`.
  AbsPath Tar(const std::string& folder, const std::string& name) {
    const AbsPath archive = env_.dir() / name;
    Command command;
    command.argv = {"tar", "-czf", archive.str(), "-C", (env_.dir() / folder).str(), "."};
    command.env = {{"PATH", "/usr/bin:/bin"}};
    const auto status = env_->process.Run(command);
    EXPECT_TRUE(status.has_value() && status->ok());
    return archive;
  }

  TestEnv env_;
  recipe::Recipe recipe_;
  SourceOptions options_;
};

TEST_F(PrepareTest, CopiesAFolderAndPatchesTheCopy) {
  env_.dir().WriteFile("recipes/toys/source/f", "one\ntwo\n");
  env_.dir().WriteFile("recipes/toys/fix.patch", kPatch);
  recipe_.sources[0].patches = {"fix.patch"};

  ASSERT_OK_AND_ASSIGN(const SourceTree tree, Run());

  EXPECT_EQ(tree.root, Destination());
  EXPECT_EQ(env_.dir().ReadFile("work/src/f"), "one\nthree\n");
  EXPECT_EQ(env_.dir().ReadFile("recipes/toys/source/f"), "one\ntwo\n");
  EXPECT_THAT(env_->fs.ListDir(env_.dir() / "work"), IsOkAndHolds(ElementsAre("src")));
}

TEST_F(PrepareTest, TakesTheFilesThatTheFilterNames) {
  for (const char* file : {"a.txt", "exclude.txt", "b.c", "deep/x.txt"})
    env_.dir().WriteFile(std::string("recipes/toys/source/") + file, "1");
  ASSERT_OK_AND_ASSIGN(const Sha256 all, Key());
  recipe_.sources[0].filter_include = {"*.txt", "deep/*"};
  recipe_.sources[0].filter_exclude = {"exclude*"};
  ASSERT_OK_AND_ASSIGN(const Sha256 some, Key());
  EXPECT_NE(all, some);
  ASSERT_OK(Run());
  EXPECT_THAT(env_->fs.ListDir(Destination()),
              IsOkAndHolds(::testing::UnorderedElementsAre("a.txt", "deep")));

  recipe_.sources[0].filter_include = {"*.txt"};
  ASSERT_OK(RemoveTree(env_->fs, Destination()));
  ASSERT_OK(Run());
  EXPECT_THAT(env_->fs.ListDir(Destination()), IsOkAndHolds(ElementsAre("a.txt"))) << "an empty folder goes";

  recipe_.sources[0].filter_include = {"none"};
  ASSERT_OK(RemoveTree(env_->fs, Destination()));
  EXPECT_THAT(Run(), FailsWith(ErrorCode::kInvalidInput, HasSubstr("leaves out every file")));
}

TEST_F(PrepareTest, AppliesAPatchThatAnEarlierSourceBrings) {
  env_.dir().WriteFile("recipes/toys/source/fix.patch", kPatch);
  env_.dir().WriteFile("recipes/toys/lib/f", "one\ntwo\n");
  recipe_.sources.push_back({.path = "lib", .target_directory = "lib", .patches = {"${SRC_DIR}/fix.patch"}});
  ASSERT_OK_AND_ASSIGN(const Sha256 key, Key());
  ASSERT_OK(Run());
  EXPECT_EQ(env_.dir().ReadFile("work/src/lib/f"), "one\nthree\n");
  recipe_.sources[1].patches = {"${SRC_DIR}/other.patch"};
  EXPECT_THAT(Key(), IsOkAndHolds(::testing::Ne(key)));
  ASSERT_OK(RemoveTree(env_->fs, Destination()));
  EXPECT_THAT(Run(), FailsWith(ErrorCode::kNotFound, HasSubstr("no earlier source has brought the patch")));
}

TEST_F(PrepareTest, DownloadsAnArchiveAndDropsItsTopFolder) {
  env_.dir().WriteFile("release/toy-1.0/f", "one\ntwo\n");
  env_.dir().WriteFile("release/toy-1.0/run", "#!/bin/sh\n", 0755);
  Tar("release", "toy.tar.gz");
  const std::string body = env_.dir().ReadFile("toy.tar.gz");
  env_.http.Serve("https://a.example/toy-1.0.tar.gz", body);
  recipe_.sources[0] = {};
  recipe_.sources[0].urls = {"https://a.example/toy-1.0.tar.gz"};
  recipe_.sources[0].sha256 = HashText(body);

  ASSERT_OK(Run());

  EXPECT_THAT(Made(), ElementsAre("f", "run"));
}

TEST_F(PrepareTest, PlacesAPlainFileUnderItsName) {
  env_.http.Serve("https://a.example/get?id=7", "data");
  recipe_.sources[0] = {};
  recipe_.sources[0].urls = {"https://a.example/get?id=7"};
  recipe_.sources[0].sha256 = HashText("data");
  recipe_.sources[0].file_name = "model.bin";
  recipe_.sources[0].target_directory = "third_party/models";

  ASSERT_OK(Run());

  EXPECT_EQ(env_.dir().ReadFile("work/src/third_party/models/model.bin"), "data");
}

TEST_F(PrepareTest, OverlaysSeveralSources) {
  env_.dir().WriteFile("recipes/toys/source/f", "one\ntwo\n");
  env_.dir().WriteFile("recipes/toys/extra/g", "x");
  recipe_.sources.emplace_back();
  recipe_.sources[1].path = "extra";
  recipe_.sources[1].target_directory = "sub";
  ASSERT_OK(Run());
  EXPECT_THAT(Made(), ElementsAre("f", "sub/", "sub/g"));
}

TEST_F(PrepareTest, RefusesTwoSourcesWithOneFile) {
  env_.dir().WriteFile("recipes/toys/source/f", "1");
  env_.dir().WriteFile("recipes/toys/extra/f", "2");
  recipe_.sources.emplace_back();
  recipe_.sources[1].path = "extra";
  EXPECT_THAT(Run(), FailsWith(ErrorCode::kInvalidInput, "two sources of the recipe contain 'f'"));
  ExpectNothingLeft();
}

TEST_F(PrepareTest, RefusesATargetDirectoryThroughASymlink) {
  env_.dir().WriteFile("recipes/toys/source/real/f", "1");
  env_.dir().MakeSymlink("real", "recipes/toys/source/sub");
  env_.dir().WriteFile("recipes/toys/extra/g", "2");
  recipe_.sources.emplace_back();
  recipe_.sources[1].path = "extra";
  recipe_.sources[1].target_directory = "sub/deeper";
  EXPECT_THAT(Run(),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("collides with a file of an earlier source")));
  ExpectNothingLeft();
}

TEST_F(PrepareTest, RefusesATargetDirectoryOutside) {
  env_.dir().WriteFile("recipes/toys/source/f", "1");
  recipe_.sources[0].target_directory = "../outside";
  EXPECT_THAT(Run(), FailsWith(ErrorCode::kInvalidInput, HasSubstr("..")));
  ExpectNothingLeft();
}

TEST_F(PrepareTest, LeavesNothingWhenAPatchDoesNotApply) {
  env_.dir().WriteFile("recipes/toys/source/f", "one\nother\n");
  env_.dir().WriteFile("recipes/toys/fix.patch", kPatch);
  recipe_.sources[0].patches = {"fix.patch"};
  EXPECT_THAT(Run(), FailsWith(ErrorCode::kInvalidInput,
                               "patch 'fix.patch' does not apply: hunk 1 of 'f' does not fit at line 1"));
  ExpectNothingLeft();
}

TEST_F(PrepareTest, LeavesNothingWhenThePatchIsMissing) {
  env_.dir().WriteFile("recipes/toys/source/f", "one\ntwo\n");
  recipe_.sources[0].patches = {"none.patch"};
  EXPECT_THAT(Run(), FailsWith(ErrorCode::kNotFound, HasSubstr("none.patch")));
  EXPECT_THAT(Key(), FailsWith(ErrorCode::kNotFound, HasSubstr("none.patch")));
  ExpectNothingLeft();
}

TEST_F(PrepareTest, SaysHowToGiveAMissingSource) {
  recipe_.sources[0].span = {.file = "recipe.yaml", .line = 7, .column = 3, .length = 1, .excerpt = ""};
  for (const auto& error : {Run().error(), Key().error()}) {
    EXPECT_EQ(error.code(), ErrorCode::kNotFound);
    EXPECT_THAT(error.message(), HasSubstr("recipes/toys/source' of package 'toy' does not exist"));
    EXPECT_THAT(error.hint(), HasSubstr("--source toys=PATH"));
    EXPECT_EQ(error.span()->line, 7);
  }
  ExpectNothingLeft();
}

TEST_F(PrepareTest, TakesAnOverrideByPackageOrFolderName) {
  env_.dir().WriteFile("elsewhere/f", "mine");
  for (const char* name : {"toy", "toys"}) {
    options_.overrides = {{name, env_.dir() / "elsewhere"}};
    ASSERT_OK(Run()) << name;
    EXPECT_EQ(env_.dir().ReadFile("work/src/f"), "mine");
    ASSERT_OK(RemoveTree(env_->fs, Destination()));
  }
  options_.overrides = {{"other", env_.dir() / "elsewhere"}};
  EXPECT_THAT(Run(), FailsWith(ErrorCode::kNotFound, HasSubstr("recipes/toys/source")));
}

TEST_F(PrepareTest, AnOverrideReplacesADownloadAndItsDigest) {
  env_.dir().WriteFile("release/f", "one\ntwo\n");
  recipe_.sources[0] = {};
  recipe_.sources[0].urls = {"https://a.example/toy-1.0.tar.gz"};
  recipe_.sources[0].sha256 = HashText("something else");
  options_.overrides = {{"toy", Tar("release", "mine.tar.gz")}};
  ASSERT_OK(Run());
  EXPECT_THAT(Made(), ElementsAre("f"));
  EXPECT_THAT(env_.http.requested(), IsEmpty());
}

TEST_F(PrepareTest, ARepositoryWithoutFilesIsNoSource) {
  const AbsPath bare = env_.dir().MakeDir("bare.git");
  env_.dir().MakeDir("bare.git/objects");
  env_.dir().MakeDir("bare.git/refs");
  ASSERT_THAT(WriteFile(env_->fs, bare / "HEAD", "ref: refs/heads/main\n"), test::IsOk());
  options_.overrides.emplace("toy", bare);
  const auto key = Key();
  EXPECT_THAT(key, FailsWith(ErrorCode::kInvalidInput, HasSubstr("bare git repository")));
  EXPECT_THAT(key, HasHint(HasSubstr("use 'git'")));
  EXPECT_THAT(Run(), FailsWith(ErrorCode::kInvalidInput, HasSubstr("bare git repository")));
  // A source that happens to have such names is one.
  ASSERT_THAT(WriteFile(env_->fs, bare / "HEAD", "int head;\n"), test::IsOk());
  EXPECT_THAT(Key(), test::IsOk());
}

TEST_F(PrepareTest, BlamesTheOptionForAMissingOverride) {
  options_.overrides = {{"toy", env_.dir() / "none"}};
  EXPECT_THAT(Run(), HasHint("check the path given with --source"));
}

TEST_F(PrepareTest, ChecksADeclaredDigestOfALocalFile) {
  env_.dir().WriteFile("recipes/toys/source.txt", "data");
  recipe_.sources[0].path = "source.txt";
  recipe_.sources[0].sha256 = HashText("other");
  EXPECT_THAT(Run(), FailsWith(ErrorCode::kHashMismatch, HasSubstr(HashText("data").Hex())));
  ExpectNothingLeft();
  EXPECT_THAT(Key(), FailsWith(ErrorCode::kHashMismatch, HasSubstr("source.txt"))) << "told by the plan";
  EXPECT_THAT(CheckInputs(env_, recipe_, options_),
              FailsWith(ErrorCode::kHashMismatch, HasSubstr("source.txt")))
      << "told by doctor";
  recipe_.sources[0].sha256 = HashText("data");
  EXPECT_OK(CheckInputs(env_, recipe_, options_));
  EXPECT_OK(Run());
}

TEST_F(PrepareTest, KeysOfAFileAreRefusedForAFolder) {
  env_.dir().WriteFile("recipes/toys/source/f", "one\n");
  for (const bool digest : {true, false}) {
    recipe_.sources[0].sha256 = digest ? std::optional(HashText("any")) : std::nullopt;
    recipe_.sources[0].file_name = digest ? "" : "toy.tar.gz";
    const auto refused = FailsWith(ErrorCode::kInvalidInput,
                                   HasSubstr(digest ? "is a directory, so 'sha256' does not apply"
                                                    : "is a directory, so 'file_name' does not apply"));
    EXPECT_THAT(Key(), refused);
    EXPECT_THAT(Run(), refused);
    EXPECT_THAT(CheckInputs(env_, recipe_, options_), refused);
  }
}

TEST_F(PrepareTest, EmptyFoldersOfAFolderAreCopied) {
  env_.dir().WriteFile("recipes/toys/source/f", "one\n");
  env_.dir().MakeDir("recipes/toys/source/build/m4");
  ASSERT_OK(Run());
  EXPECT_THAT(Made(), ElementsAre("build/", "build/m4/", "f"));
}

TEST_F(PrepareTest, WhatAMirrorCallsAnArchiveIsNotInTheKey) {
  const auto key = [&](const std::string& url) {
    recipe_.sources[0] = {};
    recipe_.sources[0].urls = {url};
    recipe_.sources[0].sha256 = HashText("body");
    return *Key();
  };
  EXPECT_EQ(key("https://a.example/toy-1.0.tar.gz"), key("https://b.example/v1.0.tgz"));
  EXPECT_NE(key("https://a.example/model.bin"), key("https://b.example/other.bin")) << "the name of a file";
  EXPECT_NE(key("https://a.example/toy-1.0.tar.gz"), key("https://b.example/toy-1.0"));
}

TEST_F(PrepareTest, ReportsADamagedArchive) {
  env_.dir().WriteFile("recipes/toys/release.tar.gz", "\x1f\x8bnot really");
  recipe_.sources[0].path = "release.tar.gz";
  EXPECT_THAT(Run(), FailsWith(ErrorCode::kCorrupt, HasSubstr("release.tar.gz")));
  ExpectNothingLeft();
}

TEST_F(PrepareTest, NamesADamagedArchiveByThePathThatWasGiven) {
  const AbsPath given = env_.dir().WriteFile("elsewhere/cut.tgz", "\x1f\x8bnot really");
  options_.overrides = {{"toy", given}};
  const auto result = Run();
  EXPECT_THAT(result, FailsWith(ErrorCode::kCorrupt, HasSubstr("'" + given.str() + "'")));
  EXPECT_THAT(result.error().message(), Not(HasSubstr("ptpkg-tmp")));
  EXPECT_THAT(result.error().context(), ElementsAre("while unpacking source 'cut.tgz'"));
}

TEST_F(PrepareTest, ADownloadThatFailsIsPlacedInTheRecipe) {
  recipe_.sources[0] = {};
  recipe_.sources[0].urls = {"https://a.example/toy-1.0.tar.gz"};
  recipe_.sources[0].sha256 = HashText("something");
  recipe_.sources[0].span = {.file = "recipe.yaml", .line = 7, .column = 3, .length = 1, .excerpt = ""};
  const auto result = Run();
  ASSERT_FALSE(result.has_value());
  ASSERT_TRUE(result.error().span().has_value());
  EXPECT_EQ(result.error().span()->line, 7);
}

TEST_F(PrepareTest, ChecksWhatNeedsNoReading) {
  EXPECT_THAT(CheckInputs(env_, recipe_, options_),
              FailsWith(ErrorCode::kNotFound, HasSubstr("toys/source")));
  env_.dir().WriteFile("recipes/toys/source/f", "1");
  EXPECT_OK(CheckInputs(env_, recipe_, options_));
  options_.overrides = {{"toy", env_.dir() / "none"}};
  EXPECT_THAT(CheckInputs(env_, recipe_, options_), HasHint("check the path given with --source"));
  options_.overrides.clear();
  env_.dir().WriteFile("recipes/toys/patches/series", "gone.patch\n");
  recipe_.sources[0].patches = {"patches/series"};
  EXPECT_THAT(CheckInputs(env_, recipe_, options_), FailsWith(ErrorCode::kNotFound, HasSubstr("gone.patch")));
  recipe_.sources[0].patches = {"none.patch"};
  EXPECT_THAT(CheckInputs(env_, recipe_, options_), FailsWith(ErrorCode::kNotFound, HasSubstr("none.patch")));
  recipe_.sources[0] = {};
  recipe_.sources[0].urls = {"https://a.example/toy-1.0.tar.gz"};
  EXPECT_THAT(CheckInputs(env_, recipe_, options_),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("has no sha256")));
  recipe_.sources[0].sha256 = HashText("something");
  EXPECT_OK(CheckInputs(env_, recipe_, options_));
  EXPECT_THAT(env_.http.requested(), IsEmpty());
}

TEST_F(PrepareTest, ChecksThatPatchesCanBeApplied) {
  env_.dir().WriteFile("recipes/toys/source/f", "one\ntwo\n");
  env_.dir().WriteFile("recipes/toys/more.patch", kPatch);
  recipe_.sources[0].patches = {"more.patch"};
  EXPECT_OK(CheckInputs(env_, recipe_, options_));
  env_->variables["PATH"] = env_.dir().MakeDir("no-programs").str();
  EXPECT_THAT(CheckInputs(env_, recipe_, options_),
              FailsWith(ErrorCode::kNotFound, "program 'patch' is missing"));
  EXPECT_THAT(CheckInputs(env_, recipe_, options_), HasHint("install it: apt-get install patch"));
  env_.dir().WriteFile("recipes/toys/more.patch", "no patch\n");
  EXPECT_THAT(CheckInputs(env_, recipe_, options_),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("more.patch")));
}

TEST_F(PrepareTest, DoesNotTouchAnExistingDestination) {
  env_.dir().WriteFile("recipes/toys/source/f", "1");
  env_.dir().WriteFile("work/src/mine", "x");
  EXPECT_THAT(Run(), FailsWith(ErrorCode::kAlreadyExists, HasSubstr("work/src")));
  EXPECT_THAT(Made(), ElementsAre("mine"));
}

TEST_F(PrepareTest, LeavesNothingWhenInterrupted) {
  env_.dir().WriteFile("recipes/toys/source/f", "1");
  env_.cancel.Cancel();
  EXPECT_THAT(Run(), FailsWith(ErrorCode::kCancelled, "interrupted"));
  ExpectNothingLeft();
}

TEST_F(PrepareTest, MakesAnEmptyFolderForARecipeWithoutSources) {
  recipe_.sources.clear();
  ASSERT_OK(Run());
  EXPECT_THAT(env_->fs.ListDir(Destination()), IsOkAndHolds(IsEmpty()));
}

TEST_F(PrepareTest, KeyFollowsContentPatchesAndPlaces) {
  env_.dir().WriteFile("recipes/toys/source/f", "one\ntwo\n");
  env_.dir().WriteFile("recipes/toys/fix.patch", kPatch);
  ASSERT_OK_AND_ASSIGN(const Sha256 plain, Key());
  EXPECT_THAT(Key(), IsOkAndHolds(plain));

  recipe_.sources[0].patches = {"fix.patch"};
  ASSERT_OK_AND_ASSIGN(const Sha256 patched, Key());
  EXPECT_NE(patched, plain);
  recipe_.sources[0].patches.clear();
  recipe_.sources[0].target_directory = "sub";
  EXPECT_THAT(Key(), IsOkAndHolds(Ne(plain)));
  recipe_.sources[0].target_directory.clear();
  ASSERT_OK(WriteFile(env_->fs, recipe_.recipe_dir / "source/f", "one\ntwo\nthree\n"));
  EXPECT_THAT(Key(), IsOkAndHolds(Ne(plain)));
}

TEST_F(PrepareTest, KeyOfADownloadIsItsDigestAndFetchesNothing) {
  recipe_.sources[0] = {};
  recipe_.sources[0].urls = {"https://a.example/toy.tar.gz"};
  recipe_.sources[0].sha256 = HashText("one");
  ASSERT_OK_AND_ASSIGN(const Sha256 one, Key());
  recipe_.sources[0].urls = {"https://mirror.example/toy.tar.gz"};
  EXPECT_THAT(Key(), IsOkAndHolds(one)) << "a mirror is no other source";
  recipe_.sources[0].sha256 = HashText("two");
  EXPECT_THAT(Key(), IsOkAndHolds(Ne(one)));
  recipe_.sources[0].sha256.reset();
  EXPECT_THAT(Key(), FailsWith(ErrorCode::kInvalidInput, HasSubstr("no sha256")));
  EXPECT_THAT(env_.http.requested(), IsEmpty());
}

TEST_F(PrepareTest, TheKeyOfWhatWasCopiedIsThatOfTheOriginal) {
  env_.dir().WriteFile("recipes/toys/source/f", "one\ntwo\n");
  env_.dir().WriteFile("recipes/toys/source/run", "x", 0755);
  env_.dir().MakeSymlink("f", "recipes/toys/source/link");
  env_.dir().WriteFile("recipes/toys/fix.patch", kPatch);
  env_.dir().WriteFile("recipes/toys/notes.txt", "data");
  recipe_.sources[0].patches = {"fix.patch"};
  recipe_.sources.emplace_back().path = "notes.txt";
  ASSERT_OK_AND_ASSIGN(const Sha256 key, Key());
  ASSERT_OK_AND_ASSIGN(const SourceTree tree, Run());
  EXPECT_EQ(tree.key, key);
}

TEST_F(PrepareTest, RefusesSourcesThatAreNotThoseOfThePlan) {
  env_.dir().WriteFile("recipes/toys/source/f", "one\ntwo\n");
  env_.dir().WriteFile("recipes/toys/fix.patch", kPatch);
  env_.dir().WriteFile("recipes/toys/notes.txt", "data");
  env_.dir().WriteFile("release/g", "g");
  recipe_.sources[0].patches = {"fix.patch"};
  recipe_.sources.emplace_back().path = "notes.txt";
  recipe_.sources.emplace_back().path = Tar("release", "toy.tar.gz").str();
  ASSERT_OK_AND_ASSIGN(options_.planned, Key());
  for (const char* name : {"recipes/toys/source/f", "recipes/toys/fix.patch", "recipes/toys/notes.txt"}) {
    const std::string before = env_.dir().ReadFile(name);
    ASSERT_OK(WriteFile(env_->fs, env_.dir() / name, before + "more\n"));
    EXPECT_THAT(Run(), FailsWith(ErrorCode::kRefused, HasSubstr("the sources of 'toy' changed"))) << name;
    ExpectNothingLeft();
    ASSERT_OK(WriteFile(env_->fs, env_.dir() / name, before));
  }
  env_.dir().WriteFile("release/h", "h");
  Tar("release", "toy.tar.gz");
  EXPECT_THAT(Run(), FailsWith(ErrorCode::kRefused, HasSubstr("the sources of 'toy' changed")));
}

TEST_F(PrepareTest, AppliesASeriesInItsOrder) {
  env_.dir().WriteFile("recipes/toys/source/f", "one\ntwo\n");
  env_.dir().WriteFile("recipes/toys/debian/patches/series", "fix.patch -p1\nback.patch -R\n");
  env_.dir().WriteFile("recipes/toys/debian/patches/fix.patch", kPatch);
  env_.dir().WriteFile("recipes/toys/debian/patches/back.patch",
                       "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n-eins\n+one\n three\n");
  recipe_.sources[0].patches = {"debian/patches"};
  ASSERT_OK_AND_ASSIGN(const Sha256 key, Key());
  ASSERT_OK_AND_ASSIGN(const SourceTree tree, Run());
  EXPECT_EQ(tree.key, key);
  EXPECT_EQ(env_.dir().ReadFile("work/src/f"), "eins\nthree\n");
  env_.dir().WriteFile("recipes/toys/debian/patches/series", "fix.patch -p1\n");
  EXPECT_THAT(Key(), IsOkAndHolds(Ne(key)));
}

TEST(PrepareWhileOthersWrite, AFileThatVanishesIsAChange) {
  int refused = 0;
  for (std::uint64_t number = 1; number < 200; ++number) {
    test::MemFs memory;
    const AbsPath victim = AbsPath::Literal("/recipe/source/b");
    for (const char* folder : {"/recipe/source", "/stage"})
      ASSERT_OK(memory.MakeDirs(AbsPath::Literal(folder)));
    ASSERT_OK(WriteFile(memory, AbsPath::Literal("/recipe/source/a"), "1"));
    ASSERT_OK(WriteFile(memory, victim, "2"));
    test::FaultFs fs(memory, {});
    TestEnv env({.fs = &fs, .jobs = 1});
    recipe::Recipe recipe;
    recipe.name = "toy";
    recipe.recipe_dir = AbsPath::Literal("/recipe");
    recipe.sources.emplace_back().path = "source";
    ASSERT_OK_AND_ASSIGN(const Sha256 planned, SourceKey(env, recipe, {}));
    fs.Before(fs.count() + number, [&] { static_cast<void>(memory.Remove(victim)); });
    const auto result = Prepare(env, recipe, {.planned = planned}, AbsPath::Literal("/stage/src"));
    if (result) continue;  // it was copied before
    EXPECT_THAT(result, FailsWith(ErrorCode::kRefused, "the sources of 'toy' changed after planning"));
    EXPECT_THAT(Exists(memory, AbsPath::Literal("/stage/src")), IsOkAndHolds(false));
    ++refused;
  }
  EXPECT_GT(refused, 3);
}

TEST(PrepareFaults, EveryFailedWriteIsAnErrorAndLeavesNoDestination) {
  test::FaultLoop loop;
  loop.scope = test::FaultScope::kMutating;
  loop.may_swallow = true;  // removing the scratch directory is best effort
  loop.setup = [](test::MemFs& fs) {
    ASSERT_OK(fs.MakeDirs(AbsPath::Literal("/recipe/source/sub")));
    ASSERT_OK(fs.MakeDirs(AbsPath::Literal("/stage")));
    ASSERT_OK(WriteFile(fs, AbsPath::Literal("/recipe/source/sub/f"), "1"));
    ASSERT_OK(fs.CreateSymlink("sub/f", AbsPath::Literal("/recipe/source/link")));
  };
  loop.run = [](Fs& fs) -> Result<void> {
    TestEnv env({.fs = &fs});
    recipe::Recipe recipe;
    recipe.recipe_dir = AbsPath::Literal("/recipe");
    recipe.sources.emplace_back();
    recipe.sources[0].path = "source";
    PTPKG_TRY(const SourceTree tree, Prepare(env, recipe, {}, AbsPath::Literal("/stage/src")));
    static_cast<void>(tree);
    return Ok();
  };
  loop.check = [](test::MemFs& fs, const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kIo);
    EXPECT_THAT(Exists(fs, AbsPath::Literal("/stage/src")), IsOkAndHolds(false));
  };
  EXPECT_GT(test::RunFaultLoop(loop), 5);
}

}  // namespace
}  // namespace ptpkg::source
