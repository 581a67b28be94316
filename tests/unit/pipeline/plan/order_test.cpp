#include "pipeline/plan/order.h"

#include "support/matchers.h"

namespace ptpkg::pipeline {
namespace {

using test::FailsWith;
using test::IsOkAndHolds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(OrderByRequirements, PutsWhatIsNeededFirst) {
  const std::vector<Buildable> items = {
      {"torch", {"cmake", "magma"}}, {"free", {}}, {"magma", {}}, {"magma", {"free"}}};
  EXPECT_THAT(OrderByRequirements(items), IsOkAndHolds(ElementsAre(2, 1, 3, 0)));
}

TEST(OrderByRequirements, WhatIsWantedComesFirstIfItCan) {
  const std::vector<Buildable> items = {{"python", {}, {"lib"}},
                                        {"lib", {}, {"tools"}},
                                        {"tools", {"lib"}, {}},
                                        {"a", {}, {"b"}},
                                        {"b", {}, {"a"}}};
  EXPECT_THAT(OrderByRequirements(items), IsOkAndHolds(ElementsAre(1, 0, 2, 4, 3)));
}

TEST(OrderByRequirements, NamesACycle) {
  const std::vector<Buildable> items = {{"a", {"b"}}, {"b", {"a"}}};
  EXPECT_THAT(OrderByRequirements(items), FailsWith(ErrorCode::kInvalidInput, HasSubstr("a → b → a")));
}

TEST(OrderByRequirements, AnOlderPackageOfTheSameNameIsNoCycle) {
  const std::vector<Buildable> items = {{"a", {"a"}}, {"a", {"a"}}};
  EXPECT_THAT(OrderByRequirements(items), IsOkAndHolds(ElementsAre(0, 1)));
}

}  // namespace
}  // namespace ptpkg::pipeline
