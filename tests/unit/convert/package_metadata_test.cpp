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

TEST(CondaMetadataOf, TakesEveryKindOfRunExports) {
  recipe::Recipe recipe;
  const auto spec = [](const char* name) {
    return std::vector<recipe::MatchSpec>{{.name = name, .version = {}, .build = {}}};
  };
  recipe.requirements.run_exports = {.weak = spec("a"),
                                     .strong = spec("b"),
                                     .noarch = spec("c"),
                                     .weak_constraints = spec("d"),
                                     .strong_constraints = spec("e")};
  const auto exports = CondaMetadataOf(recipe, {}).run_exports;
  EXPECT_EQ(exports, (std::map<std::string, std::vector<std::string>>{{"weak", {"a"}},
                                                                      {"strong", {"b"}},
                                                                      {"noarch", {"c"}},
                                                                      {"weak_constrains", {"d"}},
                                                                      {"strong_constrains", {"e"}}}));
}

TEST(CondaMetadataOf, TakesEntryPointsOfNoarchPythonOnly) {
  recipe::Recipe recipe;
  recipe.python_entry_points = {"demo = demo:main"};
  EXPECT_THAT(CondaMetadataOf(recipe, {}).entry_points, ::testing::IsEmpty());
  recipe.noarch_python = true;
  EXPECT_THAT(CondaMetadataOf(recipe, {}).entry_points, ElementsAre("demo = demo:main"));
}

}  // namespace
}  // namespace ptpkg::convert
