// What a recipe says reaches the package's metadata.
#include "convert/package_metadata.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "conda/package_info.h"
#include "support/matchers.h"

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

TEST(PackageNotes, TravelInBothFormats) {
  recipe::Recipe recipe;
  EXPECT_TRUE(CondaMetadataOf(recipe, {}).info_files.empty());
  recipe.version = "1.0";
  recipe.ptpkg.allow_unresolved = {"libgomp.so.1"};
  const std::map<std::string, std::string> note = {
      {"ptpkg.json", "{\n  \"allow_unresolved\": [\n    \"libgomp.so.1\"\n  ]\n}\n"}};
  EXPECT_EQ(CondaMetadataOf(recipe, {}).info_files, note);
  const Distribution distribution{
      .site_packages = "lib/python3.11/site-packages",
      .dist_info = "demo-1.0.dist-info",
      .metadata = "Metadata-Version: 2.1\nName: demo\nVersion: 1.0\n",
      .wheel = "Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: cp311-cp311-linux_x86_64\n",
      .entry_points = "",
      .record = ""};
  const auto described = WheelDescriptionOf(recipe, distribution);
  ASSERT_THAT(described, test::IsOk());
  EXPECT_EQ(described->dist_info, note);

  conda::PackageInfo info;
  EXPECT_TRUE(CarriedNotes(info).empty());
  info.info_files = {{"index.json", "{}"}, *note.begin()};
  EXPECT_EQ(CarriedNotes(info), note);
}

}  // namespace
}  // namespace ptpkg::convert
