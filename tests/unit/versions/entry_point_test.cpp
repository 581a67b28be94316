#include "versions/entry_point.h"

#include <gtest/gtest.h>

#include "support/matchers.h"

namespace ptpkg::versions {
namespace {

using test::FailsWith;
using test::HasHint;
using ::testing::HasSubstr;

TEST(EntryPoint, HasThreeParts) {
  ASSERT_OK_AND_ASSIGN(const EntryPoint point, ParseEntryPoint("  toy-info=toy.cli : App.main "));
  EXPECT_EQ(point, (EntryPoint{.name = "toy-info", .module = "toy.cli", .object = "App.main"}));
  EXPECT_EQ(point.str(), "toy-info = toy.cli:App.main");
  EXPECT_THAT(ParseEntryPoint(point.str()), test::IsOkAndHolds(point));
}

TEST(EntryPoint, RefusesWhatMakesNoProgram) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "it is not of the form"},
      {"a", "it is not of the form"},
      {"a = b", "it is not of the form"},
      {"a:b = c", "it is not of the form"},
      {"= m:f", "'' cannot be the name"},
      {"a/b = m:f", "'a/b' cannot be the name"},
      {".. = m:f", "'..' cannot be the"},
      {"#a = m:f", "'#a' cannot be the name"},
      {"[a = m:f", "'[a' cannot be the name"},
      {".a = m:f", "'.a' cannot be the name"},
      {"a\\b = m:f", "cannot be the name"},
      {"a = \u00e4:f", "cannot be a module"},
      {"a\tb = m:f", "cannot be the name"},
      {"a = my-pkg.cli:main", "'my-pkg.cli' cannot be a module"},
      {"a = m:f:g", "'f:g' cannot be a function"},
      {"a = m:f[x]", "'f[x]' cannot be a function"},
      {"a = m..n:f", "'m..n' cannot be a module"},
      {"a = 2m:f", "'2m' cannot be a module"},
      {"a = :f", "'' cannot be a module"},
      {"a = m:", "'' cannot be a func"},
      {"a = m; import os:f", "'m; import os' cannot be a module"},
      {"a = m:f [gui]", "cannot be a function"},
      {"a = m:f()", "'f()' cannot be a function"},
      {"a = m'x:f", "cannot be a module"},
      {"a = m\n:f\ng", "cannot be a function"},
  };
  for (const auto& [text, why] : cases) {
    EXPECT_THAT(ParseEntryPoint(text), FailsWith(ErrorCode::kInvalidInput, HasSubstr(why))) << text;
    EXPECT_THAT(ParseEntryPoint(text), HasHint(HasSubstr("command = package.module:function"))) << text;
  }
}

}  // namespace
}  // namespace ptpkg::versions
