#include "recipe/expression/value_tests.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>

#include "recipe/expression/operators.h"
#include "support/assert.h"

namespace ptpkg::recipe {
namespace {

Error NoSuchOperand(std::string_view test, std::string_view expected, const Value& value) {
  return Error(ErrorCode::kInvalidInput,
               fmt::format("'is {}' works on {}, not on {}", test, expected, value.KindName()));
}

using TestFunction = Result<bool> (*)(const Value& value, const Value& argument);

Result<bool> IsBoolean(const Value& value, const Value& /*argument*/) { return value.AsBool() != nullptr; }
Result<bool> IsFloat(const Value& value, const Value& /*argument*/) { return value.AsReal() != nullptr; }
Result<bool> IsInteger(const Value& value, const Value& /*argument*/) { return value.AsInteger() != nullptr; }
Result<bool> IsNone(const Value& value, const Value& /*argument*/) { return value.IsNone(); }
Result<bool> IsNumber(const Value& value, const Value& /*argument*/) { return value.IsNumber(); }
Result<bool> IsSequence(const Value& value, const Value& /*argument*/) { return value.AsList() != nullptr; }
Result<bool> IsString(const Value& value, const Value& /*argument*/) { return value.AsText() != nullptr; }

Result<bool> IsOdd(const Value& value, const Value& /*argument*/) {
  const std::int64_t* integer = value.AsInteger();
  if (integer == nullptr) return NoSuchOperand("odd", "a whole number", value);
  return *integer % 2 != 0;
}

Result<bool> IsEven(const Value& value, const Value& /*argument*/) {
  const std::int64_t* integer = value.AsInteger();
  if (integer == nullptr) return NoSuchOperand("even", "a whole number", value);
  return *integer % 2 == 0;
}

Result<bool> IsStartingWith(const Value& value, const Value& argument) {
  if (value.AsText() == nullptr) return NoSuchOperand("startingwith", "text", value);
  if (argument.AsText() == nullptr) return NoSuchOperand("startingwith", "a prefix that is text", argument);
  return value.AsText()->starts_with(*argument.AsText());
}

Result<bool> IsEndingWith(const Value& value, const Value& argument) {
  if (value.AsText() == nullptr) return NoSuchOperand("endingwith", "text", value);
  if (argument.AsText() == nullptr) return NoSuchOperand("endingwith", "a suffix that is text", argument);
  return value.AsText()->ends_with(*argument.AsText());
}

/// The operator that a test spells: "in" for `is in`, "==" for `is eq`.
template <const char* kOperator>
Result<bool> Compare(const Value& value, const Value& argument) {
  PTPKG_TRY(const Value result, ApplyOperator(kOperator, value, argument));
  return result.Truthy();
}
constexpr char kEqual[] = "==", kNotEqual[] = "!=", kLess[] = "<", kLessOrEqual[] = "<=", kGreater[] = ">",
               kGreaterOrEqual[] = ">=", kIn[] = "in";

struct TestEntry {
  std::string_view name;
  TestFunction run;  ///< Null: `defined` and `undefined`, which ask for no value.
  std::size_t arguments = 0;
};

constexpr std::array<TestEntry, 21> kTests = {{
    {"boolean", IsBoolean},
    {"defined", nullptr},
    {"endingwith", IsEndingWith, 1},
    {"eq", Compare<kEqual>, 1},
    {"even", IsEven},
    {"float", IsFloat},
    {"ge", Compare<kGreaterOrEqual>, 1},
    {"gt", Compare<kGreater>, 1},
    {"in", Compare<kIn>, 1},
    {"int", IsInteger},
    {"integer", IsInteger},
    {"le", Compare<kLessOrEqual>, 1},
    {"lt", Compare<kLess>, 1},
    {"ne", Compare<kNotEqual>, 1},
    {"none", IsNone},
    {"number", IsNumber},
    {"odd", IsOdd},
    {"sequence", IsSequence},
    {"startingwith", IsStartingWith, 1},
    {"string", IsString},
    {"undefined", nullptr},
}};

const TestEntry& TestNamed(std::string_view name) {
  const auto* found = std::ranges::find(kTests, name, &TestEntry::name);
  PTPKG_ASSERT(found != kTests.end());
  return *found;
}

}  // namespace

std::vector<std::string> ValueTestNames() {
  std::vector<std::string> names;
  names.reserve(kTests.size());
  for (const TestEntry& test : kTests) names.emplace_back(test.name);
  return names;
}

std::size_t ValueTestArguments(const std::string& name) { return TestNamed(name).arguments; }

Result<bool> RunValueTest(const std::string& name, const std::optional<Value>& value,
                          const std::vector<Value>& arguments) {
  const TestEntry& test = TestNamed(name);
  PTPKG_ASSERT(arguments.size() == test.arguments);
  if (test.run == nullptr) return value.has_value() == (name == "defined");
  if (!value) {
    return Error(ErrorCode::kInvalidInput,
                 fmt::format("'is {}' needs a value, and this one is undefined", name))
        .WithHint("ask 'is defined' first, or give a value with the filter 'default'");
  }
  return test.run(*value, arguments.empty() ? Value() : arguments.front());
}

}  // namespace ptpkg::recipe
