#include "pipeline/plan/variant_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/matchers.h"

namespace ptpkg::pipeline {
namespace {

using test::FailsWith;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Variant = std::map<std::string, std::string>;

recipe::Recipe Make(const std::string& name, Variant variant) {
  recipe::Recipe recipe;
  recipe.name = name;
  recipe.version = "1.0";
  recipe.build_string = "0";
  for (const auto& [key, value] : variant) recipe.build_string += "_" + value;
  variant["target_platform"] = "linux-64";
  recipe.variant = std::move(variant);
  return recipe;
}

std::vector<VariantGroup> Groups(const std::vector<recipe::Recipe>& recipes, bool has_outputs = false) {
  const auto groups = GroupVariants(recipes, has_outputs);
  EXPECT_OK(groups);
  return groups ? *groups : std::vector<VariantGroup>();
}

TEST(GroupVariants, OneVariantNeedsNoSelection) {
  const auto groups = Groups({Make("toy", {{"python", "3.11"}})});
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_THAT(groups[0].select, IsEmpty());
  EXPECT_THAT(groups[0].recipes, ElementsAre(0U));
}

TEST(GroupVariants, OfZippedKeysOneIsEnoughWhateverTheNames) {
  const auto groups = Groups({Make("toy-cpu", {{"backend", "cpu"}, {"tile", "32"}}),
                              Make("toy-omp", {{"backend", "omp"}, {"tile", "64"}})});
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[0].select, (Variant{{"backend", "cpu"}}));
  EXPECT_EQ(groups[1].select, (Variant{{"backend", "omp"}}));
  EXPECT_THAT(groups[1].recipes, ElementsAre(1U));
}

TEST(GroupVariants, AKeyThatSomeVariantsReadStandsInTheirs) {
  const auto groups =
      Groups({Make("toy", {{"backend", "cpu"}}), Make("toy", {{"backend", "cuda"}, {"cuda", "12"}}),
              Make("toy", {{"backend", "cuda"}, {"cuda", "13"}})});
  ASSERT_EQ(groups.size(), 3U);
  EXPECT_EQ(groups[0].select, (Variant{{"backend", "cpu"}}));
  EXPECT_EQ(groups[2].select, (Variant{{"backend", "cuda"}, {"cuda", "13"}}));
}

TEST(GroupVariants, AnOutputThatReadsLessIsInSeveralGroups) {
  const auto groups =
      Groups({Make("lib", {}), Make("py", {{"python", "3.10"}}), Make("py", {{"python", "3.11"}})}, true);
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_THAT(groups[0].recipes, ElementsAre(0U, 1U));
  EXPECT_THAT(groups[1].recipes, ElementsAre(0U, 2U));
}

TEST(GroupVariants, OutputsThatPinEachOtherWithoutAKeyAreBuiltTogether) {
  // "meta" reads no key of the library that it pins, so no selection parts its two variants.
  const auto groups = Groups({Make("lib", {{"backend", "cpu"}}), Make("lib", {{"backend", "omp"}}),
                              Make("meta", {{"lib", "1.0 0_cpu"}}), Make("meta", {{"lib", "1.0 0_omp"}})},
                             true);
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_THAT(groups[0].select, IsEmpty());
  EXPECT_THAT(groups[0].recipes, ElementsAre(0U, 1U, 2U, 3U));
}

TEST(GroupVariants, PinsAreMetWithinAGroup) {
  const auto groups = Groups({Make("lib", {{"backend", "cpu"}}), Make("lib", {{"backend", "omp"}}),
                              Make("meta", {{"backend", "cpu"}, {"lib", "1.0 0_cpu"}}),
                              Make("meta", {{"backend", "omp"}, {"lib", "1.0 0_omp"}})},
                             true);
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_THAT(groups[1].recipes, ElementsAre(1U, 3U));
}

TEST(GroupVariants, LeavesOutWhatIsSkipped) {
  std::vector<recipe::Recipe> recipes = {Make("toy", {{"n", "1"}}), Make("toy", {{"n", "2"}})};
  recipes[0].skip = true;
  const auto groups = Groups(recipes);
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_THAT(groups[0].recipes, ElementsAre(1U));
}

TEST(GroupVariants, RefusesAVariantThatNoSelectionReaches) {
  // Without outputs, a selection of "b" drops what lacks it; only "a" tells nothing of it.
  EXPECT_THAT(
      GroupVariants({Make("toy", {{"a", "1"}}), Make("toy", {{"a", "1"}, {"b", "1"}}),
                     Make("toy", {{"a", "1"}, {"b", "2"}})},
                    false),
      FailsWith(ErrorCode::kUnsupported, HasSubstr("no selection of variants includes 'toy-1.0-0_1'")));
}

TEST(GroupVariants, RefusesMoreThanAWorkflowTakes) {
  std::vector<recipe::Recipe> recipes;
  for (std::size_t i = 0; i <= kMostVariantGroups; ++i)
    recipes.push_back(Make("toy", {{"n", std::to_string(i)}}));
  EXPECT_THAT(GroupVariants(recipes, false), FailsWith(ErrorCode::kUnsupported, HasSubstr("1001 variants")));
  recipes.pop_back();
  EXPECT_EQ(Groups(recipes).size(), kMostVariantGroups);
}

}  // namespace
}  // namespace ptpkg::pipeline
