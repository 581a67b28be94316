// Which part of a recipe reaches the packages of each format.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recipe/package_output.h"

namespace ptpkg::recipe {
namespace {

using ::testing::IsEmpty;

TEST(CondaOutputOf, HasTheTestsThatAnInstalledPackageCanRun) {
  Recipe recipe;
  EXPECT_THAT(CondaOutputOf(recipe).tests_yaml, IsEmpty());
  recipe.tests = {ContentsTest{}};
  EXPECT_THAT(CondaOutputOf(recipe).tests_yaml, IsEmpty());
  recipe.tests.emplace_back(PythonTest{.imports = {"toy"}});
  EXPECT_EQ(CondaOutputOf(recipe).tests_yaml, "- python:\n    imports:\n      - toy\n    pip_check: true\n");
}

TEST(OutputsOf, HaveTheLayoutOfTheirFormat) {
  Recipe recipe;
  EXPECT_THAT(CondaOutputOf(recipe).layout, IsEmpty());
  EXPECT_THAT(WheelOutputOf(recipe).layout, IsEmpty());
  EXPECT_THAT(ZipOutputOf(recipe).layout, IsEmpty());
  recipe.ptpkg.layouts = {{"conda", {{.files = "c", .rpath = {}}}},
                          {"wheel", {{.files = "w", .rpath = {}}}},
                          {"zip", {{.files = "z", .rpath = {}}}}};
  EXPECT_EQ(CondaOutputOf(recipe).layout, recipe.ptpkg.layouts["conda"]);
  EXPECT_EQ(WheelOutputOf(recipe).layout, recipe.ptpkg.layouts["wheel"]);
  EXPECT_EQ(ZipOutputOf(recipe).layout, recipe.ptpkg.layouts["zip"]);
}

}  // namespace
}  // namespace ptpkg::recipe
