// Binary operators, indexing and slices, with Python's results. Four points differ from C++:
//
// - `//` and `%` round towards minus infinity. `/` always gives a real.
// - Whole numbers have 64 bits here but any size in Python, so each overflow is an error.
// - The characters of a text are code points of UTF-8.
// - Bounds of a slice are clamped, negative ones count from the end, and a negative step turns the range
//   around.
//
// Text times a number can be huge, so its size is checked before it is made. A mapping lacks a key loudly,
// with the nearest key as a hint: a typing error in a table must not become an empty value.

#include "recipe/expression/operators.h"

#include <algorithm>
#include <cmath>
#include <fmt/core.h>
#include <limits>
#include <utility>

#include "support/assert.h"
#include "support/limits.h"
#include "support/text/text.h"
#include "support/text/utf8.h"

namespace ptpkg::recipe {
namespace {

Error OperandError(const std::string& op, const Value& left, const Value& right) {
  return Error(ErrorCode::kInvalidInput,
               fmt::format("'{}' does not work on {} and {}", op == "notin" ? "not in" : op, left.KindName(),
                           right.KindName()));
}

Error Overflow() { return {ErrorCode::kInvalidInput, "the result is too large for a number"}; }

Result<Value> IntegerPower(std::int64_t base, std::int64_t exponent) {
  std::int64_t result = 1;
  // These never overflow, so the loop would run as often as the exponent says.
  if (base == 0 || base == 1) return Value(exponent == 0 ? std::int64_t{1} : base);
  if (base == -1) return Value(std::int64_t{exponent % 2 == 0 ? 1 : -1});
  for (std::int64_t i = 0; i < exponent; ++i) {  // Overflows after at most 63 rounds.
    if (__builtin_mul_overflow(result, base, &result)) return Overflow();
  }
  return Value(result);
}

/// Division and remainder round towards minus infinity, as Python's do.
Result<Value> IntegerDivision(const std::string& op, std::int64_t left, std::int64_t right) {
  if (right == 0) return Error(ErrorCode::kInvalidInput, "division by zero");
  if (left == std::numeric_limits<std::int64_t>::min() && right == -1) return Overflow();
  const std::int64_t quotient = left / right;
  const std::int64_t remainder = left % right;
  const bool adjust = remainder != 0 && (remainder < 0) != (right < 0);
  if (op == "%") return Value(adjust ? remainder + right : remainder);
  return Value(adjust ? quotient - 1 : quotient);
}

Result<Value> IntegerArithmetic(const std::string& op, std::int64_t left, std::int64_t right) {
  std::int64_t result = 0;
  if (op == "+")
    return __builtin_add_overflow(left, right, &result) ? Result<Value>(Overflow()) : Value(result);
  if (op == "-")
    return __builtin_sub_overflow(left, right, &result) ? Result<Value>(Overflow()) : Value(result);
  if (op == "*")
    return __builtin_mul_overflow(left, right, &result) ? Result<Value>(Overflow()) : Value(result);
  PTPKG_ASSERT(op == "**");
  // 2 ** -1 is 0.5, as in Python.
  if (right < 0) return Value(std::pow(static_cast<double>(left), static_cast<double>(right)));
  return IntegerPower(left, right);
}

Result<Value> Arithmetic(const std::string& op, const Value& left, const Value& right) {
  if (op == "/" || left.AsReal() != nullptr || right.AsReal() != nullptr) {
    const double a = left.Number();
    const double b = right.Number();
    if ((op == "/" || op == "//" || op == "%") && b == 0.0) {
      return Error(ErrorCode::kInvalidInput, "division by zero");
    }
    if (op == "+") return Value(a + b);
    if (op == "-") return Value(a - b);
    if (op == "*") return Value(a * b);
    if (op == "/") return Value(a / b);
    if (op == "//") return Value(std::floor(a / b));
    // In Python the remainder has the sign of `b`; fmod gives it the sign of `a`.
    if (op == "%") return Value(a - b * std::floor(a / b));
    return Value(std::pow(a, b));
  }
  if (op == "//" || op == "%") return IntegerDivision(op, *left.AsInteger(), *right.AsInteger());
  return IntegerArithmetic(op, *left.AsInteger(), *right.AsInteger());
}

// An unordered result (NaN) satisfies none of the four.
bool Satisfies(const std::string& op, std::partial_ordering order) {
  if (op == "<") return order < 0;
  if (op == "<=") return order <= 0;
  if (op == ">") return order > 0;
  return order >= 0;
}

Result<Value> Ordering(const std::string& op, const Value& left, const Value& right) {
  if (left.IsNumber() && right.IsNumber()) return Value(Satisfies(op, CompareNumbers(left, right)));
  if (left.AsText() != nullptr && right.AsText() != nullptr) {
    return Value(Satisfies(op, left.AsText()->compare(*right.AsText()) <=> 0));
  }
  return OperandError(op, left, right);
}

Result<Value> Membership(const std::string& op, const Value& needle, const Value& haystack) {
  bool found = false;
  if (const Value::List* list = haystack.AsList()) {
    found = std::find(list->begin(), list->end(), needle) != list->end();
  } else if (haystack.AsMap() != nullptr) {
    PTPKG_TRY(const std::string key, needle.ToText());
    found = haystack.AsMap()->contains(key);
  } else if (haystack.AsText() != nullptr && needle.AsText() != nullptr) {
    found = haystack.AsText()->find(*needle.AsText()) != std::string::npos;
  } else {
    return OperandError(op, needle, haystack);
  }
  return Value(found == (op == "in"));
}

Result<Value> Repeat(const std::string& text, std::int64_t count) {
  if (count <= 0 || text.empty()) return Value("");
  if (static_cast<std::uint64_t>(count) > limits::kValue / text.size()) {
    return Error(ErrorCode::kInvalidInput,
                 fmt::format("the value grows above {} MiB", limits::kValue >> 20U));
  }
  std::string repeated;
  repeated.reserve(text.size() * static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) repeated += text;
  return Value(std::move(repeated));
}

/// A bound of a slice, moved into [lowest, highest]; `fallback` where none is written.
Result<std::int64_t> SliceBound(const Value& bound, std::int64_t size, std::int64_t fallback,
                                const std::pair<std::int64_t, std::int64_t>& range) {
  if (bound.IsNone()) return fallback;
  const std::int64_t* given = bound.AsInteger();
  if (given == nullptr) {
    return Error(ErrorCode::kInvalidInput,
                 fmt::format("a bound of a slice must be a whole number, not {}", bound.KindName()));
  }
  // Clamped before the sum, which could overflow otherwise.
  const std::int64_t at = *given < 0 ? std::max(*given, -size - 1) + size : *given;
  return std::clamp(at, range.first, range.second);
}

}  // namespace

Result<Value> ApplyOperator(const std::string& op, const Value& left, const Value& right) {
  // These accept operands of any kinds; the others below refuse kinds that don't go together.
  if (op == "==") return Value(left == right);
  if (op == "!=") return Value(!(left == right));
  if (op == "in" || op == "notin") return Membership(op, left, right);
  if (op == "<" || op == "<=" || op == ">" || op == ">=") return Ordering(op, left, right);
  if (op == "~") {
    PTPKG_TRY(std::string text, left.ToText());
    PTPKG_TRY(const std::string tail, right.ToText());
    return Value(text + tail);
  }
  if (left.IsNumber() && right.IsNumber()) return Arithmetic(op, left, right);
  if (op == "*" && left.AsText() != nullptr && right.AsInteger() != nullptr) {
    return Repeat(*left.AsText(), *right.AsInteger());
  }
  if (op == "+" && left.AsText() != nullptr && right.AsText() != nullptr) {
    return Value(*left.AsText() + *right.AsText());
  }
  if (op == "+" && left.AsList() != nullptr && right.AsList() != nullptr) {
    Value::List list = *left.AsList();
    list.insert(list.end(), right.AsList()->begin(), right.AsList()->end());
    return Value(std::move(list));
  }
  return OperandError(op, left, right);
}

Result<Value> ValueOfKey(const Value::Map& map, const std::string& key) {
  if (const auto found = map.find(key); found != map.end()) return found->second;
  std::vector<std::string> keys;
  for (const auto& [name, value] : map) keys.push_back(name);
  Error error(ErrorCode::kInvalidInput, fmt::format("the mapping has no key '{}'", key));
  if (const std::optional<std::string> nearest = NearestMatch(key, keys)) {
    return std::move(error).WithHint(fmt::format("did you mean '{}'?", *nearest));
  }
  return std::move(error).WithHint(
      fmt::format("its keys are {}; .get(key, default) takes one that may be missing", Join(keys, ", ")));
}

Result<Value> ItemAt(const Value& object, const Value& index) {
  if (const Value::Map* map = object.AsMap()) {
    PTPKG_TRY(const std::string key, index.ToText());
    return ValueOfKey(*map, key);
  }
  const std::int64_t* position = index.AsInteger();
  if (position == nullptr) {
    return Error(ErrorCode::kInvalidInput,
                 fmt::format("an index must be a whole number, not {}", index.KindName()));
  }
  const Value::List* list = object.AsList();
  const std::string* text = object.AsText();
  if (list == nullptr && text == nullptr) {
    return Error(ErrorCode::kInvalidInput, fmt::format("{} cannot be indexed", object.KindName()));
  }
  const std::vector<std::string_view> characters =
      text != nullptr ? Utf8Characters(*text) : std::vector<std::string_view>();
  const auto size = static_cast<std::int64_t>(list != nullptr ? list->size() : characters.size());
  const std::int64_t at = *position < 0 ? *position + size : *position;
  if (at < 0 || at >= size) {
    return Error(ErrorCode::kInvalidInput,
                 fmt::format("index {} is outside a value of {} items", *position, size));
  }
  const auto i = static_cast<std::size_t>(at);
  return list != nullptr ? (*list)[i] : Value(std::string(characters[i]));
}

Result<Value> SliceOf(const Value& object, const Value& begin, const Value& end, const Value& step) {
  const Value::List* list = object.AsList();
  const std::string* text = object.AsText();
  if (list == nullptr && text == nullptr) {
    return Error(ErrorCode::kInvalidInput, fmt::format("{} has no slices", object.KindName()));
  }
  const std::vector<std::string_view> characters =
      text != nullptr ? Utf8Characters(*text) : std::vector<std::string_view>();
  const auto size = static_cast<std::int64_t>(list != nullptr ? list->size() : characters.size());
  const std::int64_t* given = step.AsInteger();
  if (given == nullptr && !step.IsNone()) {
    return Error(ErrorCode::kInvalidInput,
                 fmt::format("the step of a slice must be a whole number, not {}", step.KindName()));
  }
  // A longer step has the same result, and the sum in the loop cannot overflow.
  const std::int64_t by = given == nullptr ? 1 : std::clamp(*given, -size - 1, size + 1);
  if (by == 0) return Error(ErrorCode::kInvalidInput, "the step of a slice must not be 0");
  const std::pair<std::int64_t, std::int64_t> range =
      by > 0 ? std::pair{std::int64_t{0}, size} : std::pair{std::int64_t{-1}, size - 1};
  PTPKG_TRY(const std::int64_t first, SliceBound(begin, size, by > 0 ? range.first : range.second, range));
  PTPKG_TRY(const std::int64_t last, SliceBound(end, size, by > 0 ? range.second : range.first, range));
  Value::List items;
  std::string part;
  for (std::int64_t i = first; by > 0 ? i < last : i > last; i += by) {
    const auto at = static_cast<std::size_t>(i);
    if (list != nullptr) {
      items.push_back((*list)[at]);
    } else {
      part += characters[at];
    }
  }
  return list != nullptr ? Value(std::move(items)) : Value(std::move(part));
}

}  // namespace ptpkg::recipe
