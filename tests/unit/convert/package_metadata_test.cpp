// What a recipe says reaches the package's metadata.
#include "convert/package_metadata.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "conda/info/package_info.h"
#include "support/matchers.h"
#include "support/test_env.h"

namespace ptpkg::convert {
namespace {

using test::FailsWith;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(CondaMetadataOf, TakesFeaturesAndRunExports) {
  recipe::Recipe recipe;
  recipe.name = "demo";
  recipe.version = "1.2";
  recipe.build_number = 3;
  recipe.build_string = "cpu_3";
  recipe.track_features = {"demo-p-0", "demo-p-1"};
  const conda::PackageMetadata metadata = CondaMetadataOf(recipe::CondaOutputOf(recipe), {"libdemo >=1.2"});
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
  const auto exports = CondaMetadataOf(recipe::CondaOutputOf(recipe), {}).run_exports;
  EXPECT_EQ(exports, (std::map<std::string, std::vector<std::string>>{{"weak", {"a"}},
                                                                      {"strong", {"b"}},
                                                                      {"noarch", {"c"}},
                                                                      {"weak_constrains", {"d"}},
                                                                      {"strong_constrains", {"e"}}}));
}

TEST(CondaMetadataOf, TakesEntryPointsOfNoarchPythonOnly) {
  recipe::Recipe recipe;
  recipe.python_entry_points = {"demo = demo:main"};
  EXPECT_THAT(CondaMetadataOf(recipe::CondaOutputOf(recipe), {}).entry_points, ::testing::IsEmpty());
  recipe.noarch_python = true;
  EXPECT_THAT(CondaMetadataOf(recipe::CondaOutputOf(recipe), {}).entry_points,
              ElementsAre("demo = demo:main"));
}

TEST(CondaMetadataOf, TakesRunSpecsAsTheRecipeGivesThem) {
  recipe::Recipe recipe;  // which has pinned by pin_run_as_build what is to be pinned
  recipe.variant = {{"python", "3.11"}};
  recipe.requirements.run = {{.name = "python", .version = {}, .build = {}}};
  EXPECT_THAT(CondaMetadataOf(recipe::CondaOutputOf(recipe), {}).depends, ElementsAre("python"));
}

TEST(DescribeWheelFile, TagsBecomeTheOneThatStandsForJustThem) {
  const auto describe = [](const std::string& tags) {
    Distribution distribution;
    distribution.dist_info = "toy-1.0.dist-info";
    distribution.wheel = "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\n" + tags;
    return DescribeWheelFile(distribution);
  };
  const auto one = describe("Tag: py3-none-any\nTag: py2-none-any\n");
  ASSERT_THAT(one, test::IsOk());
  EXPECT_EQ(one->tag.str(), "py2.py3-none-any");
  const auto sets = describe("Tag: cp311-abi3-a.b\nTag: cp310-abi3-b\nTag: cp310-abi3-a\n");
  ASSERT_THAT(sets, test::IsOk());
  EXPECT_EQ(sets->tag.str(), "cp310.cp311-abi3-a.b");
  const auto wider = describe("Tag: py3-none-any\nTag: cp311-cp311-linux_x86_64\n");
  EXPECT_THAT(wider, FailsWith(ErrorCode::kInvalidInput, HasSubstr("expands to 8")));
  EXPECT_THAT(wider, test::HasHint(HasSubstr("Tag lines")));
}

class DistributionOfTest : public ::testing::Test {
 protected:
  void Put(const std::string& name, const std::string& text) {
    const AbsPath place = env_.dir().path() / "prefix" / "site-packages" / name;
    ASSERT_THAT(env_->fs.MakeDirs(place.Parent()), test::IsOk());
    ASSERT_THAT(WriteFile(env_->fs, place, text), test::IsOk());
  }
  Result<Distribution> Find() {
    return DistributionOf(env_, recipe::WheelOutputOf(recipe_),
                          *ScanTree(env_, env_.dir().path() / "prefix"));
  }

  test::TestEnv env_;
  recipe::Recipe recipe_;
};

TEST_F(DistributionOfTest, TheNameOfTheWheelRenamesAnOnlyOneAndChoosesAmongSeveral) {
  recipe_.ptpkg.wheel_name = "other";
  recipe_.version = "1.0";
  Put("toy-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: toy\nVersion: 1.0\n");
  Put("toy-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n");
  const auto only = Find();
  ASSERT_THAT(only, test::IsOk());
  EXPECT_EQ(only->dist_info, "toy-1.0.dist-info");
  const auto described = WheelDescriptionOf(recipe::WheelOutputOf(recipe_), *only);
  ASSERT_THAT(described, test::IsOk());
  EXPECT_EQ(described->metadata.Get("Name"), "other");

  Put("side-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: side\nVersion: 1.0\n");
  EXPECT_THAT(Find(), test::FailsWith(ErrorCode::kNotFound, ::testing::HasSubstr("'other'")));
  recipe_.ptpkg.wheel_name = "side";
  EXPECT_EQ(Find()->dist_info, "side-1.0.dist-info");
}

TEST_F(DistributionOfTest, TheVersionBuiltIsTheRecipesOrBothAreNamed) {
  Put("toy-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n");
  const auto describe = [&](const std::string& built, const std::string& wanted) {
    Put("toy-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: toy\nVersion: " + built + "\n");
    recipe_.version = wanted;
    return WheelDescriptionOf(recipe::WheelOutputOf(recipe_), *Find());
  };
  EXPECT_THAT(describe("2.13.0+cu130", "2.13.0"), test::IsOk());
  EXPECT_THAT(describe("2.13.0+cpu", "2.13.0+cpu"), test::IsOk());
  EXPECT_THAT(describe("2.13.0.post2", "2.13.0"),
              test::FailsWith(ErrorCode::kInvalidInput,
                              ::testing::HasSubstr("version '2.13.0.post2', but the recipe has '2.13.0'")));
  EXPECT_THAT(
      describe("2.13.0+cpu", "2.13.0+cu130"),
      test::FailsWith(ErrorCode::kInvalidInput,
                      ::testing::HasSubstr("version '2.13.0+cpu', but the recipe has '2.13.0+cu130'")));
  EXPECT_THAT(describe("2.13.0a0+git1a2b3c4", "2.13.0"),
              test::FailsWith(ErrorCode::kInvalidInput,
                              ::testing::HasSubstr("version '2.13.0a0+git1a2b3c4', but the recipe")));
}

TEST_F(DistributionOfTest, EntryPointsOfTheRecipeJoinThoseOfTheDistribution) {
  Put("toy-1.0.dist-info/METADATA", "Name: toy\n");
  recipe_.python_entry_points = {"run = toy.cli:main", "old = toy:new"};
  EXPECT_EQ(Find()->entry_points, "[console_scripts]\nold = toy:new\nrun = toy.cli:main\n");
  Put("toy-1.0.dist-info/entry_points.txt",
      "[console_scripts]\nold = toy:old\n[plugins]\nold = toy:plugin\n");
  EXPECT_EQ(Find()->entry_points,
            "[console_scripts]\nold = toy:new\nrun = toy.cli:main\n\n[plugins]\nold = toy:plugin\n");
  recipe_.python_entry_points = {"run"};
  EXPECT_THAT(Find(),
              test::FailsWith(ErrorCode::kInvalidInput, ::testing::HasSubstr("'name = module:object'")));
}

TEST(PackageNotes, TravelInBothFormats) {
  recipe::Recipe recipe;
  EXPECT_TRUE(CondaMetadataOf(recipe::CondaOutputOf(recipe), {}).info_files.empty());
  recipe.version = "1.0";
  recipe.ptpkg.allow_unresolved = {"libgomp.so.1"};
  recipe.ptpkg.device_code = {"9.0"};
  const std::map<std::string, std::string> note = {{"ptpkg.json",
                                                    "{\n  \"allow_unresolved\": [\n    \"libgomp.so.1\"\n  "
                                                    "],\n  \"device_code\": [\n    \"9.0\"\n  ]\n}\n"}};
  EXPECT_EQ(CondaMetadataOf(recipe::CondaOutputOf(recipe), {}).info_files, note);
  const Distribution distribution{
      .site_packages = "lib/python3.11/site-packages",
      .dist_info = "demo-1.0.dist-info",
      .metadata = "Metadata-Version: 2.1\nName: demo\nVersion: 1.0\n",
      .wheel = "Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: cp311-cp311-linux_x86_64\n",
      .entry_points = "",
      .record = ""};
  const auto described = WheelDescriptionOf(recipe::WheelOutputOf(recipe), distribution);
  ASSERT_THAT(described, test::IsOk());
  EXPECT_EQ(described->dist_info, note);

  conda::PackageInfo info;
  EXPECT_TRUE(NoteFilesForWheel(info).empty());
  info.info_files = {{"index.json", "{}"}, *note.begin()};
  EXPECT_EQ(NoteFilesForWheel(info), note);
}

}  // namespace
}  // namespace ptpkg::convert
