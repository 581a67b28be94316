#include "pipeline/order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/matchers.h"

namespace ptpkg::pipeline {
namespace {

using test::FailsWith;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

recipe::Recipe Needing(const std::string& name, const std::vector<std::string>& host) {
  recipe::Recipe recipe;
  recipe.name = name;
  for (const std::string& other : host) recipe.requirements.host.push_back({.name = other});
  return recipe;
}

std::vector<std::string> Names(const std::vector<recipe::Recipe>& recipes) {
  std::vector<std::string> names;
  for (const recipe::Recipe& recipe : recipes) names.push_back(recipe.name);
  return names;
}

TEST(OrderByRequirements, PutsWhatIsNeededFirst) {
  const auto ordered =
      OrderByRequirements({Needing("torch", {"magma"}), Needing("free", {}), Needing("magma", {})});
  ASSERT_THAT(ordered, test::IsOk());
  EXPECT_THAT(Names(*ordered), ElementsAre("magma", "torch", "free"));
}

TEST(OrderByRequirements, NamesACycle) {
  EXPECT_THAT(OrderByRequirements({Needing("a", {"b"}), Needing("b", {"a"})}),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("a → b → a")));
}

}  // namespace
}  // namespace ptpkg::pipeline
