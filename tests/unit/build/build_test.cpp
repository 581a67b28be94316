// The whole stage on tiny scripts; the example pair of fixtures/ runs in the end-to-end tests.
#include "build/build.h"

#include <gtest/gtest.h>

#include "support/matchers.h"
#include "support/test_env.h"

namespace ptpkg::build {
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
using ::testing::SizeIs;

class BuildTest : public ::testing::Test {
 protected:
  BuildTest() {
    recipe_.name = "toy";
    recipe_.version = "1.0";
    recipe_.build_string = "0";
    recipe_.recipe_dir = env_.dir().MakeDir("recipe");
  }

  Result<StagedBuild> Run(const std::string& work = "w") {
    env_.dir().MakeDir(work);
    PTPKG_TRY(layout_, MakeWorkLayout(env_, env_.dir() / work));
    PTPKG_CHECK(env_->fs.MakeDirs(layout_.source));
    return build::Run(env_, {.recipe = recipe_,
                             .source_root = layout_.source,
                             .packages = packages_,
                             .unpack = unpack_,
                             .host_env = host_env_,
                             .layout = layout_,
                             .log_file = env_.dir() / "log"});
  }

  TestEnv env_;
  recipe::Recipe recipe_;
  WorkLayout layout_;
  std::vector<LocalPackage> packages_;
  UnpackFunction unpack_;
  HostEnv host_env_ = HostEnv::kSystem;
};

TEST_F(BuildTest, StagesWhatTheScriptAddedWithoutHostFiles) {
  packages_ = {{.name = "magma", .path = env_.dir() / "magma-1-0.conda", .sha256 = {}}};
  recipe_.requirements.host = {{.name = "magma", .version = "", .build = ""}};
  unpack_ = [](Env& env, const AbsPath& package, const AbsPath& prefix) -> Result<void> {
    PTPKG_CHECK(env.fs.MakeDirs(prefix / "lib"));
    return WriteFile(env.fs, prefix / "lib/libmagma.a", package.Name());
  };
  recipe_.script.lines = {"test -e \"$PREFIX/lib/libmagma.a\"", "mkdir -p \"$PREFIX/share/toy\"",
                          "echo \"$PREFIX\" > \"$PREFIX/share/toy/place\"",
                          "ln -s place \"$PREFIX/share/toy/link\""};

  ASSERT_OK_AND_ASSIGN(const StagedBuild staged, Run());

  ASSERT_THAT(staged.tree.entries, SizeIs(2));
  EXPECT_EQ(staged.tree.entries[0].path.str(), "share/toy/link");
  EXPECT_EQ(staged.tree.entries[1].path.str(), "share/toy/place");
  EXPECT_THAT(ReadFile(env_->fs, staged.tree.root / "share/toy/place"), IsOkAndHolds(staged.prefix + "\n"));
  EXPECT_THAT(staged.prefix, SizeIs(kPrefixLength));
  EXPECT_EQ(staged.python_version, "");
  EXPECT_THAT(staged.forbidden_paths, Contains(layout_.RootPlaceholder() + "/work"));
  for (const std::string& path : staged.forbidden_paths)
    EXPECT_FALSE(staged.prefix.starts_with(path)) << path;
}

TEST_F(BuildTest, MakesEqualTreesInDifferentFolders) {
  recipe_.script.lines = {"echo \"$SRC_DIR $PREFIX\" > \"$PREFIX/paths\"", "cp \"$0\" \"$PREFIX/script\""};
  ASSERT_OK_AND_ASSIGN(const StagedBuild one, Run("w"));
  ASSERT_OK_AND_ASSIGN(const StagedBuild two, Run("another/much/longer/folder"));
  EXPECT_EQ(TreeDigest(one.tree), TreeDigest(two.tree));
  EXPECT_EQ(one.prefix, two.prefix);
}

TEST_F(BuildTest, ReportsMissingToolsBeforeAnythingRuns) {
  env_->variables["PATH"] = (env_.dir() / "empty").str();
  recipe_.requirements.build = {{.name = "ninja", .version = "", .build = ""}};
  recipe_.script.lines = {"touch \"$PREFIX/made\""};
  const auto result = Run();
  EXPECT_THAT(result, FailsWith(ErrorCode::kNotFound, HasSubstr("'ninja'")));
  EXPECT_THAT(result, HasHint(HasSubstr("apt-get install ninja-build")));
  EXPECT_THAT(Exists(env_->fs, layout_.prefix / "made"), IsOkAndHolds(false));
}

TEST_F(BuildTest, WantsAClientForCondaEnvironments) {
  env_->variables["PATH"] = (env_.dir() / "empty").str();
  host_env_ = HostEnv::kConda;
  EXPECT_THAT(Run(), FailsWith(ErrorCode::kNotFound, HasSubstr("no conda client")));
}

TEST_F(BuildTest, BuildsInCondaPrefixesWhenTheMachineLacksATool) {
  // A client whose "packages" are a tool in the build prefix and an activation script.
  env_.dir().WriteFile("bin/micromamba",
                       "#!/bin/sh\n/bin/mkdir -p \"$4/bin\" \"$4/etc/conda/activate.d\"\n"
                       "echo \"export ACTIVATED='$5'\" > \"$4/etc/conda/activate.d/x.sh\"\n",
                       0755);
  env_->variables["PATH"] = (env_.dir() / "bin").str();
  host_env_ = HostEnv::kAuto;
  recipe_.requirements.build = {{.name = "ninja", .version = "1.*", .build = ""}};
  recipe_.script.lines = {"echo \"$ACTIVATED\" > \"$PREFIX/seen\""};
  ASSERT_OK_AND_ASSIGN(const StagedBuild staged, Run());
  ASSERT_THAT(staged.tree.entries, SizeIs(1));
  EXPECT_THAT(ReadFile(env_->fs, staged.tree.root / "seen"), IsOkAndHolds(std::string("ninja 1.*\n")));
}

TEST_F(BuildTest, NamesThePackageThatCannotBeUnpacked) {
  packages_ = {{.name = "magma", .path = env_.dir() / "magma-1-0.conda", .sha256 = {}}};
  unpack_ = [](Env&, const AbsPath&, const AbsPath&) -> Result<void> {
    return Error(ErrorCode::kCorrupt, "bad zip");
  };
  const auto result = Run();
  EXPECT_THAT(result, FailsWith(ErrorCode::kCorrupt, "bad zip"));
  EXPECT_THAT(result.error().context(), ElementsAre(HasSubstr("magma-1-0.conda")));
}

TEST_F(BuildTest, WarnsOfAnEmptyResult) {
  recipe_.script.lines = {"true"};
  ASSERT_OK_AND_ASSIGN(const StagedBuild staged, Run());
  EXPECT_THAT(staged.tree.entries, IsEmpty());
  EXPECT_THAT(env_.reporter.warnings(), ElementsAre(HasSubstr("added no file")));
}

TEST_F(BuildTest, RefusesALinkThatLeavesThePrefix) {
  recipe_.script.lines = {"ln -s /etc/passwd \"$PREFIX/secrets\""};
  EXPECT_THAT(Run(), FailsWith(ErrorCode::kInvalidInput, HasSubstr("secrets")));
}

TEST_F(BuildTest, RecipeKeyFollowsTheScript) {
  recipe_.script.lines = {"one"};
  ASSERT_OK_AND_ASSIGN(const std::string key, RecipeKey(env_, recipe_));
  EXPECT_THAT(RecipeKey(env_, recipe_), IsOkAndHolds(key));
  recipe_.about.summary = "words do not build";
  EXPECT_THAT(RecipeKey(env_, recipe_), IsOkAndHolds(key));
  recipe_.script.lines = {"two"};
  EXPECT_THAT(RecipeKey(env_, recipe_), IsOkAndHolds(Ne(key)));
  recipe_.script.lines = {"one"};
  recipe_.script.env["X"] = "1";
  EXPECT_THAT(RecipeKey(env_, recipe_), IsOkAndHolds(Ne(key)));
  recipe_.script = {};
  recipe_.script.file = "none.sh";
  EXPECT_THAT(RecipeKey(env_, recipe_), FailsWith(ErrorCode::kNotFound, HasSubstr("none.sh")));
}

TEST_F(BuildTest, ToolKeyFollowsTheProgram) {
  const AbsPath ninja = env_.dir().WriteFile("bin/ninja", "one", 0755);
  env_->variables["PATH"] = (env_.dir() / "bin").str();
  recipe_.requirements.build = {{.name = "ninja", .version = "", .build = ""}};
  ASSERT_OK_AND_ASSIGN(const std::string key, ToolKey(env_, recipe_, HostEnv::kSystem));
  EXPECT_THAT(ToolKey(env_, recipe_, HostEnv::kSystem), IsOkAndHolds(key));
  ASSERT_OK(WriteFile(env_->fs, ninja, "another"));
  ASSERT_OK(env_->fs.SetMode(ninja, 0755));
  EXPECT_THAT(ToolKey(env_, recipe_, HostEnv::kSystem), IsOkAndHolds(Ne(key)));
  env_->variables["PATH"] = (env_.dir() / "none").str();
  EXPECT_THAT(ToolKey(env_, recipe_, HostEnv::kSystem), IsOkAndHolds(Ne(key)));
}

}  // namespace
}  // namespace ptpkg::build
