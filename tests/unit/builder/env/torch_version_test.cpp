#include "builder/env/torch_version.h"

#include <gtest/gtest.h>

namespace ptpkg::builder {
namespace {

using Variables = std::map<std::string, std::string>;

Variables Given(const std::string& version, const std::string& number) {
  return {{"PYTORCH_BUILD_VERSION", version}, {"PYTORCH_BUILD_NUMBER", number}};
}

// As tools/generate_torch_version.py of PyTorch 2.13.0 answers with these variables.
TEST(TorchVersion, NumbersAboveOneAppendAPostRelease) {
  EXPECT_EQ(ComposeTorchVersion(Given("2.13.0", "0")), "2.13.0");
  EXPECT_EQ(ComposeTorchVersion(Given("2.13.0", "1")), "2.13.0");
  EXPECT_EQ(ComposeTorchVersion(Given("2.13.0", "2")), "2.13.0.post2");
  EXPECT_EQ(ComposeTorchVersion(Given("2.13.0+cu130", "2")), "2.13.0+cu130.post2");
}

TEST(TorchVersion, NoneWhereTheBuildStops) {
  EXPECT_EQ(ComposeTorchVersion({{"PYTORCH_BUILD_VERSION", "2.13.0"}}), std::nullopt);
  EXPECT_EQ(ComposeTorchVersion(Given("2.13.0", "")), std::nullopt);
  EXPECT_EQ(ComposeTorchVersion(Given("2.13.0", "1a")), std::nullopt);
}

TEST(TorchVersion, OnlyPyTorchsOwnPackagesGetOne) {
  recipe::Recipe recipe;
  recipe.name = "magma";
  recipe.version = "2.9.0";
  Variables variables = {{"OVERRIDE_PACKAGE_VERSION", "3"}};
  SetTorchVersion(recipe, variables);
  EXPECT_EQ(variables.size(), 1U);
  recipe.name = "pytorch";
  recipe.staging = true;
  SetTorchVersion(recipe, variables);
  EXPECT_EQ(variables.size(), 1U) << "a staging output has no version";
}

TEST(TorchVersion, AnEmptyOneIsNone) {
  recipe::Recipe recipe;
  recipe.name = "libtorch";
  recipe.version = "2.13.0";
  Variables variables = {{"PYTORCH_BUILD_VERSION", ""}, {"OVERRIDE_PACKAGE_VERSION", ""}};
  SetTorchVersion(recipe, variables);
  EXPECT_EQ(ComposeTorchVersion(variables), "2.13.0");
}

TEST(TorchVersion, ARecipeWithoutLocalSegmentStandsForAll) {
  EXPECT_TRUE(IsVersionOfRecipe("2.13.0+cu130", "2.13.0"));
  EXPECT_TRUE(IsVersionOfRecipe("2.13", "2.13.0"));
  EXPECT_TRUE(IsVersionOfRecipe("2.14.0.rc1", "2.14.0rc1"));
  EXPECT_TRUE(IsVersionOfRecipe("2.14.0dev20260801", "2.14.0.dev20260801"));
  EXPECT_TRUE(IsVersionOfRecipe("2.13.0+cpu", "2.13.0+cpu"));
  EXPECT_FALSE(IsVersionOfRecipe("2.13.0", "2.13.0+cpu"));
  EXPECT_FALSE(IsVersionOfRecipe("2.13.0+cu130", "2.13.0+cpu"));
  EXPECT_FALSE(IsVersionOfRecipe("2.13.0.post2", "2.13.0"));
  EXPECT_FALSE(IsVersionOfRecipe("2.13.0rc1", "2.13.0"));
}

}  // namespace
}  // namespace ptpkg::builder
