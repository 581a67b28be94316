// Files that load_from_file() reads: which keys depend on them, and that a package holds them.

#include "unit/pipeline/fixtures/build_fixture.h"

namespace ptpkg::pipeline {
namespace {

constexpr const char* kLoads =
    "context: {table: \"${{ load_from_file('table.yaml') }}\"}\n"
    "package: {name: toy, version: \"1.0\"}\n"
    "build: {number: 0, string: \"0\", script: {content: [\"echo ${{ table.word }} > $PREFIX/toy\"";

class LoadedFilesTest : public BuildFixture {
 protected:
  void PutRecipe(const std::string& more_script = "", const std::string& more = "") {
    Put("toy/recipe.yaml", kLoads + more_script + "]}}\n" + more + kCondaOnly);
  }
  /// The inputs of the stage's node.
  Json Inputs(const std::string& stage) {
    const auto planned = PlanBuild(env_, Request({"toy"}));
    EXPECT_OK(planned);
    if (!planned) return nullptr;
    for (const graph::Node& node : planned->plan.nodes) {
      if (node.stage == stage) return node.inputs;
    }
    ADD_FAILURE() << "no node " << stage;
    return nullptr;
  }
};

TEST_F(LoadedFilesTest, OnlyValuesThatAreUsedBuildAgainAndThePackageHoldsTheFile) {
  PutRecipe();
  Put("toy/table.yaml", "word: a\nother: b\n");
  Put("toy/beside.txt", "x");
  const Json build = Inputs("build");
  const Json conda = Inputs("conda");
  EXPECT_EQ(build.at("recipe folder").dump().find("table.yaml"), std::string::npos);
  EXPECT_NE(build.at("recipe folder").dump().find("beside.txt"), std::string::npos);
  EXPECT_NE(conda.at("recipe folder").dump().find("table.yaml"), std::string::npos);

  Put("toy/table.yaml", "word: a\nother: c\n");
  EXPECT_EQ(Inputs("build"), build);
  EXPECT_NE(Inputs("conda"), conda);

  Put("toy/table.yaml", "word: d\nother: c\n");
  EXPECT_NE(Inputs("build"), build);
}

TEST_F(LoadedFilesTest, AScriptThatNamesTheFileSeesIt) {
  PutRecipe(", \"cat $RECIPE_DIR/table.yaml >> $PREFIX/toy\"");
  Put("toy/table.yaml", "word: a\n");
  const Json build = Inputs("build");
  EXPECT_NE(build.at("recipe folder").dump().find("table.yaml"), std::string::npos);
  Put("toy/table.yaml", "word: a\nother: c\n");
  EXPECT_NE(Inputs("build"), build);
  EXPECT_OK(Run(Request({"toy"})));
}

TEST_F(LoadedFilesTest, AnEnvironmentThatNamesTheFileShowsIt) {
  Put("toy/recipe.yaml",
      kLoads + std::string("], env: {TABLE: \"$RECIPE_DIR/table.yaml\"}}}\n") + kCondaOnly);
  Put("toy/table.yaml", "word: a\n");
  EXPECT_NE(Inputs("build").at("recipe folder").dump().find("table.yaml"), std::string::npos);
}

TEST_F(LoadedFilesTest, ASourceThatHoldsTheRecipeKeepsItInThePackage) {
  PutRecipe("", "source: {path: ..}\n");
  Put("toy/table.yaml", "word: a\n");
  Put("toy/beside.txt", "x");
  const std::string folder = Inputs("conda").at("recipe folder").dump();
  EXPECT_NE(folder.find("table.yaml"), std::string::npos);
  EXPECT_EQ(folder.find("beside.txt"), std::string::npos);
}

TEST_F(LoadedFilesTest, ALinkToASharedTableIsPackedAsAFile) {
  PutRecipe();
  Put("shared.yaml", "word: a\n");
  ASSERT_OK(env_->fs.CreateSymlink("../shared.yaml", env_.dir().path() / "toy/table.yaml"));
  const Json conda = Inputs("conda");
  Put("shared.yaml", "word: a\nother: b\n");
  EXPECT_NE(Inputs("conda"), conda);
  EXPECT_OK(Run(Request({"toy"})));
}

}  // namespace
}  // namespace ptpkg::pipeline
