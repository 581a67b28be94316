// A key of a recipe that is not carried out is refused. Those that are, and the stages that use them:
// tests/unit/pipeline/stages/recipe_keys_test.cpp.
#include "recipe/document/schema.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "recipe/document/document.h"
#include "support/matchers.h"
#include "support/text/text.h"

namespace ptpkg::recipe {
namespace {

using test::FailsWith;
using ::testing::HasSubstr;

TEST(SchemaKeys, WhatIsNotCarriedOutIsRefusedByNameWithAHint) {
  std::size_t refused = 0;
  for (const SchemaKey& key : SchemaKeys()) {
    if (key.carried_out) continue;
    ++refused;
    const std::vector<std::string> parts = Split(key.path, '.');
    std::string body = "x";
    for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
      const bool list = *part == "tests";
      body = fmt::format("{{{}: {}{}{}}}", *part, list ? "[" : "", body, list ? "]" : "");
    }
    const auto document = ParseDocument(body, AbsPath::Literal("/r/recipe.yaml"));
    EXPECT_THAT(document, FailsWith(ErrorCode::kUnsupported, HasSubstr("'" + key.path + "'"))) << body;
    if (!document) {
      EXPECT_NE(document.error().hint(), "") << key.path;
    }
  }
  EXPECT_GE(refused, 12U);
}

}  // namespace
}  // namespace ptpkg::recipe
