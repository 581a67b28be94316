#include "builder/recipe_folder.h"

#include <gtest/gtest.h>

#include "support/matchers.h"
#include "support/test_env.h"

namespace ptpkg::builder {
namespace {

using test::FailsWith;
using test::IsOkAndHolds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class RecipeFolderTest : public ::testing::Test {
 protected:
  RecipeFolderTest() {
    recipe_.name = "toy";
    recipe_.version = "1.0";
    recipe_.build_string = "0";
    recipe_.recipe_file = env_.dir().WriteFile("r/recipe.yaml", "# as written\n");
    recipe_.recipe_dir = recipe_.recipe_file.Parent();
    env_.dir().WriteFile("r/variants.yaml", "python: ['3.11']\n");
    env_.dir().WriteFile("r/conda_build_config.yaml", "python:\n  - 3.11  # [linux]\n");
    env_.dir().WriteFile("r/build.sh", "make\n", 0755);
    env_.dir().WriteFile("r/patches/a.patch", "x");
    env_.dir().WriteFile("r/.git/config", "x");
    env_.dir().WriteFile("r/dist/conda/x.conda", "x");
    env_.dir().WriteFile("r/src/main.c", "x");
    recipe::Source& source = recipe_.sources.emplace_back();
    source.path = "src";
    source.patches = {"patches/a.patch"};
  }
  Result<RecipeFolder> Read() { return ReadRecipeFolder(env_, recipe_, {recipe_.recipe_dir / "dist"}); }
  Result<std::vector<std::string>> Names() {
    PTPKG_TRY(const RecipeFolder folder, Read());
    std::vector<std::string> names;
    for (const TreeEntry& entry : folder.tree.entries) names.push_back(entry.path.str());
    return names;
  }

  test::TestEnv env_;
  recipe::Recipe recipe_;
};

TEST_F(RecipeFolderTest, HoldsWhatAScriptMayReadAndNothingElse) {
  env_.dir().WriteFile("r/data/table.txt", "x");
  env_.dir().WriteFile("r/data/expected.log", "x");
  env_.dir().WriteFile("r/build.log", "written by the shell that runs ptpkg");
  env_.dir().WriteFile("r/ptpkg.toml", "jobs = 2\n");
  EXPECT_THAT(Names(), IsOkAndHolds(ElementsAre("build.sh", "data/expected.log", "data/table.txt",
                                                "patches/a.patch")));
}

TEST_F(RecipeFolderTest, OfAProjectThatIsItsOwnSourceOnlyWhatTheRecipeNames) {
  env_.dir().WriteFile("r/README", "x");
  env_.dir().WriteFile("r/test.sh", "x");
  recipe_.sources[0].path = ".";
  recipe_.tests = {
      recipe::ScriptTest{.script = {.lines = {}, .file = "test", .env = {}}, .requirements = {}}};
  EXPECT_THAT(Names(), IsOkAndHolds(ElementsAre("build.sh", "patches/a.patch", "test.sh")));
}

TEST_F(RecipeFolderTest, OfAProjectThatIsItsOwnSourceWhatTheScriptsNameToo) {
  for (const char* name : {"README", "one.txt", "two.txt", "data/x/y", "data/z", "three.txt"})
    env_.dir().WriteFile(std::string("r/") + name, "x");
  recipe_.sources[0].path = ".";
  recipe_.script.lines = {"cp $RECIPE_DIR/one.txt .; cp \"${RECIPE_DIR}\"/data/x/y .",
                          "cat $RECIPE_DIR/missing"};
  recipe_.script.env = {{"TWO", "$RECIPE_DIR/two.txt"}};
  EXPECT_THAT(Names(),
              IsOkAndHolds(ElementsAre("build.sh", "data/x/y", "one.txt", "patches/a.patch", "two.txt")));
  recipe_.script.lines = {"cp -r $RECIPE_DIR/data/ ."};
  EXPECT_THAT(Names(),
              IsOkAndHolds(ElementsAre("build.sh", "data/x/y", "data/z", "patches/a.patch", "two.txt")));
  for (const char* line : {"cd $RECIPE_DIR", "cp $RECIPE_DIR/*.txt .", "cp ${RECIPE_DIR}/../x .",
                           "cp \"$RECIPE_DIR/one\"*.txt .", "cp \"$RECIPE_DIR/my file\" .",
                           "cat $RECIPE_DIR/x-$A", "cat ${RECIPE_DIR%/}/one.txt"}) {
    recipe_.script.lines = {line};
    EXPECT_THAT(Names(), IsOkAndHolds(ElementsAre("README", "build.sh", "data/x/y", "data/z", "one.txt",
                                                  "patches/a.patch", "src/main.c", "three.txt", "two.txt")))
        << line;
  }
}

TEST_F(RecipeFolderTest, WhatAScriptOfAnOwnSourceNeedsInTurnIsThere) {
  env_.dir().WriteFile("r/env.sh", "cat $RECIPE_DIR/table.txt");
  env_.dir().WriteFile("r/table.txt", "x");
  env_.dir().MakeSymlink("table.txt", "r/link.txt");
  recipe_.sources[0].path = ".";
  recipe_.script.lines = {". $RECIPE_DIR/env.sh"};
  EXPECT_THAT(Names(), IsOkAndHolds(::testing::Contains("table.txt")));
  recipe_.script.lines = {"cat $RECIPE_DIR/link.txt"};
  EXPECT_THAT(Names(), IsOkAndHolds(::testing::Contains("table.txt")));
  recipe_.script.lines = {"cat $RECIPE_DIR/recipe.yaml $RECIPE_DIR/dist/conda/x.conda"};
  EXPECT_THAT(Names(), IsOkAndHolds(ElementsAre("build.sh", "patches/a.patch"))) << "never these";
}

TEST_F(RecipeFolderTest, AScriptInsideALocalSourceIsThereToo) {
  env_.dir().WriteFile("r/src/make.sh", "x");
  recipe_.script.file = "src/make.sh";
  EXPECT_THAT(Names(), IsOkAndHolds(ElementsAre("build.sh", "patches/a.patch", "src/make.sh")));
}

TEST_F(RecipeFolderTest, LinksThatLeaveTheFolderAreTakenAsFiles) {
  env_.dir().WriteFile("common/shared.sh", "shared");
  env_.dir().MakeSymlink("../common/shared.sh", "r/shared.sh");
  env_.dir().MakeSymlink("build.sh", "r/same.sh");
  ASSERT_OK_AND_ASSIGN(const RecipeFolder folder, Read());
  const TreeEntry* shared = folder.tree.Find("shared.sh");
  ASSERT_NE(shared, nullptr);
  EXPECT_EQ(shared->sha256, HashText("shared"));
  EXPECT_EQ(folder.tree.Find("same.sh")->link_target, "build.sh");
  ASSERT_OK(CopyRecipeFolder(env_, folder, env_.dir() / "copy"));
  EXPECT_THAT(test::ListTree(env_->fs, env_.dir() / "copy"),
              ElementsAre("build.sh", "patches/", "patches/a.patch", "same.sh -> build.sh", "shared.sh"));
  EXPECT_EQ(env_.dir().ReadFile("copy/shared.sh"), "shared");
  EXPECT_EQ(env_->fs.Lstat(env_.dir() / "copy/build.sh")->mode, 0755U);
}

TEST_F(RecipeFolderTest, RefusesLinksToFoldersOutsideAndToNothing) {
  env_.dir().MakeSymlink("..", "r/up");
  EXPECT_THAT(Read(), FailsWith(ErrorCode::kInvalidInput, HasSubstr("'up' beside the recipe is a link")));
  ASSERT_OK(env_->fs.Remove(recipe_.recipe_dir / "up"));
  env_.dir().MakeSymlink("/nowhere", "r/dangling");
  EXPECT_THAT(Read(), FailsWith(ErrorCode::kNotFound, HasSubstr("dangling")));
}

TEST_F(RecipeFolderTest, NoticesAFileThatChangedSinceItWasHashed) {
  ASSERT_OK_AND_ASSIGN(const RecipeFolder folder, Read());
  ASSERT_OK(WriteFile(env_->fs, recipe_.recipe_dir / "build.sh", "other\n"));
  EXPECT_THAT(CopyRecipeFolder(env_, folder, env_.dir() / "copy"),
              FailsWith(ErrorCode::kRefused,
                        HasSubstr("'build.sh' in the recipe directory changed while ptpkg was running")));
}

TEST_F(RecipeFolderTest, GivesTheFilesOfInfoRecipe) {
  recipe_.variant = {{"python", "3.11"}};
  env_.dir().WriteFile("r/large.bin", std::string((1U << 20U) + 1, 'x'));
  ASSERT_OK_AND_ASSIGN(const RecipeFolder folder, Read());
  ASSERT_OK_AND_ASSIGN(const auto files,
                       RecipeFiles(env_, recipe::CondaOutputOf(recipe_), "# as written\n", folder));
  std::vector<std::string> names;
  for (const auto& [name, bytes] : files) names.push_back(name);
  EXPECT_THAT(names, ElementsAre("recipe/build.sh", "recipe/patches/a.patch", "recipe/recipe.yaml",
                                 "recipe/rendered_recipe.yaml", "recipe/variant_config.yaml"));
  EXPECT_EQ(files.at("recipe/recipe.yaml"), "# as written\n");
  EXPECT_EQ(files.at("recipe/variant_config.yaml"), "python: \"3.11\"\n");
  EXPECT_THAT(files.at("recipe/rendered_recipe.yaml"),
              HasSubstr("\npackage:\n  name: toy\n  version: \"1.0\"\n"));
  ASSERT_OK(WriteFile(env_->fs, recipe_.recipe_dir / "build.sh", "other\n"));
  EXPECT_THAT(RecipeFiles(env_, recipe::CondaOutputOf(recipe_), "", folder),
              FailsWith(ErrorCode::kRefused, HasSubstr("'build.sh' in the recipe directory changed")));
}

TEST_F(RecipeFolderTest, GivesTheTextsInWhichNamesOfVariablesAreLookedFor) {
  recipe_.script.env = {{"X", "-$PKG_BUILD_STRING"}};
  env_.dir().WriteFile("r/helper.py", "os.environ['PKG_BUILDNUM']");
  env_.dir().WriteFile("r/large.bin", std::string((1U << 20U) + 1, 'x'));
  ASSERT_OK_AND_ASSIGN(const RecipeFolder folder, Read());
  EXPECT_THAT(
      VariableSearchTexts(env_, recipe_, folder),
      IsOkAndHolds(ElementsAre("make\n", "-$PKG_BUILD_STRING", "make\n", "os.environ['PKG_BUILDNUM']", "x")));
  ASSERT_OK(WriteFile(env_->fs, recipe_.recipe_dir / "helper.py", "other"));
  EXPECT_THAT(VariableSearchTexts(env_, recipe_, folder),
              FailsWith(ErrorCode::kRefused, HasSubstr("helper.py")));
}

}  // namespace
}  // namespace ptpkg::builder
