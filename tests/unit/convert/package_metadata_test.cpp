// What a recipe says reaches the package's metadata.
#include "convert/package_metadata.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ptpkg::convert {
namespace {

using ::testing::ElementsAre;

TEST(CondaMetadataOf, TakesFeaturesAndRunExports) {
  recipe::Recipe recipe;
  recipe.name = "demo";
  recipe.version = "1.2";
  recipe.build_number = 3;
  recipe.build_string = "cpu_3";
  recipe.track_features = {"demo-p-0", "demo-p-1"};
  const conda::PackageMetadata metadata = CondaMetadataOf(recipe, {"libdemo >=1.2"});
  EXPECT_EQ(metadata.name, "demo");
  EXPECT_EQ(metadata.version, "1.2");
  EXPECT_EQ(metadata.build_number, 3U);
  EXPECT_EQ(metadata.build_string, "cpu_3");
  EXPECT_THAT(metadata.track_features, ElementsAre("demo-p-0", "demo-p-1"));
  EXPECT_THAT(metadata.depends, ElementsAre("libdemo >=1.2"));
}

}  // namespace
}  // namespace ptpkg::convert
