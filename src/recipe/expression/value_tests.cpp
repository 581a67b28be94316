// Tests of expressions (`is defined`, `is eq`). They are a table like the filters: comparisons reuse the
// operators, so `is gt` and `>` cannot differ. `defined` and `undefined` are the only tests that accept a
// name without a value, and the evaluator passes nullopt for it.

#include "recipe/expression/value_tests.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>

#include "recipe/expression/operators.h"
#include "support/assert.h"

namespace ptpkg::recipe {
namespace {

Error WrongOperand(std::string_view test, std::string_view expected, const Value& value) {
  return Error(ErrorCode::kInvalidInput,
               fmt::format("'is {}' works on {}, not on {}", test, expected, value.KindName()));
}

using TestFunction = Result<bool> (*)(const Value& value, const Value& argument);

Result<bool> IsBoolean(const Value& value, const Value& /*argument*/) { return value.AsBool() != nullptr; }
Result<bool> IsFloat(const Value& value, const Value& /*argument*/) { return value.AsReal() != nullptr; }
// A boolean is not an integer here, although Python's bool is one. Jinja's test also excludes it.
Result<bool> IsInteger(const Value& value, const Value& /*argument*/) { return value.AsInteger() != nullptr; }
Result<bool> IsNone(const Value& value, const Value& /*argument*/) { return value.IsNone(); }
Result<bool> IsNumber(const Value& value, const Value& /*argument*/) { return value.IsNumber(); }
Result<bool> IsSequence(const Value& value, const Value& /*argument*/) { return value.AsList() != nullptr; }
Result<bool> IsString(const Value& value, const Value& /*argument*/) { return value.AsText() != nullptr; }

Result<bool> IsOdd(const Value& value, const Value& /*argument*/) {
  const std::int64_t* integer = value.AsInteger();
  if (integer == nullptr) return WrongOperand("odd", "a whole number", value);
  // Not "== 1": the remainder of a negative number is negative in C++.
  return *integer % 2 != 0;
}

Result<bool> IsEven(const Value& value, const Value& /*argument*/) {
  const std::int64_t* integer = value.AsInteger();
  if (integer == nullptr) return WrongOperand("even", "a whole number", value);
  return *integer % 2 == 0;
}

Result<bool> IsStartingWith(const Value& value, const Value& argument) {
  if (value.AsText() == nullptr) return WrongOperand("startingwith", "text", value);
  if (argument.AsText() == nullptr) return WrongOperand("startingwith", "a prefix that is text", argument);
  return value.AsText()->starts_with(*argument.AsText());
}

Result<bool> IsEndingWith(const Value& value, const Value& argument) {
  if (value.AsText() == nullptr) return WrongOperand("endingwith", "text", value);
  if (argument.AsText() == nullptr) return WrongOperand("endingwith", "a suffix that is text", argument);
  return value.AsText()->ends_with(*argument.AsText());
}

struct TestEntry {
  std::string_view name;
  TestFunction run = nullptr;  ///< Null: a test with an operator, or `defined` and `undefined`.
  std::size_t arguments = 0;
  std::string_view op = {};  ///< `is eq` is ==.
};

constexpr std::array<TestEntry, 21> kTests = {{
    {"boolean", IsBoolean},
    {"defined"},
    {"endingwith", IsEndingWith, 1},
    {"eq", nullptr, 1, "=="},
    {"even", IsEven},
    {"float", IsFloat},
    {"ge", nullptr, 1, ">="},
    {"gt", nullptr, 1, ">"},
    {"in", nullptr, 1, "in"},
    {"int", IsInteger},
    {"integer", IsInteger},
    {"le", nullptr, 1, "<="},
    {"lt", nullptr, 1, "<"},
    {"ne", nullptr, 1, "!="},
    {"none", IsNone},
    {"number", IsNumber},
    {"odd", IsOdd},
    {"sequence", IsSequence},
    {"startingwith", IsStartingWith, 1},
    {"string", IsString},
    {"undefined"},
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
  // `defined` and `undefined` are the two rows without a function and an operator.
  if (test.run == nullptr && test.op.empty()) return value.has_value() == (name == "defined");
  if (!value) {
    return Error(ErrorCode::kInvalidInput,
                 fmt::format("'is {}' needs a value, and this one is undefined", name))
        .WithHint("ask 'is defined' first, or give a value with the filter 'default'");
  }
  if (!test.op.empty()) {
    PTPKG_TRY(const Value result, ApplyOperator(std::string(test.op), *value, arguments.front()));
    return result.Truthy();
  }
  return test.run(*value, arguments.empty() ? Value() : arguments.front());
}

}  // namespace ptpkg::recipe
