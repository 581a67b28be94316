// Evaluation of expressions. Layer: recipe.

#include "recipe/expression/expression.h"

#include <algorithm>
#include <cmath>
#include <fmt/core.h>
#include <limits>

#include "recipe/expression/expression_parser.h"
#include "recipe/expression/functions.h"
#include "recipe/script_variables.h"
#include "support/assert.h"
#include "support/text/text.h"

namespace ptpkg::recipe {
namespace {

using Kind = ExpressionNode::Kind;

Error OperandError(const std::string& op, const Value& left, const Value& right) {
  return Error(ErrorCode::kInvalidInput,
               fmt::format("'{}' does not work on {} and {}", op == "notin" ? "not in" : op, left.KindName(),
                           right.KindName()));
}

Error Overflow() { return {ErrorCode::kInvalidInput, "the result is too large for a number"}; }

Result<Value> IntegerPower(std::int64_t base, std::int64_t exponent) {
  std::int64_t result = 1;
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
    if (op == "%") return Value(a - b * std::floor(a / b));
    return Value(std::pow(a, b));
  }
  if (op == "//" || op == "%") return IntegerDivision(op, *left.AsInteger(), *right.AsInteger());
  return IntegerArithmetic(op, *left.AsInteger(), *right.AsInteger());
}

bool Satisfies(const std::string& op, std::partial_ordering order) {
  if (op == "<") return order < 0;
  if (op == "<=") return order <= 0;
  if (op == ">") return order > 0;
  return order >= 0;
}

Result<Value> Ordering(const std::string& op, const Value& left, const Value& right) {
  if (left.IsNumber() && right.IsNumber()) return Value(Satisfies(op, left.Number() <=> right.Number()));
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

Result<Value> Binary(const std::string& op, const Value& left, const Value& right) {
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
  const auto size = static_cast<std::int64_t>(list != nullptr ? list->size() : text->size());
  const std::int64_t at = *position < 0 ? *position + size : *position;
  if (at < 0 || at >= size) {
    return Error(ErrorCode::kInvalidInput,
                 fmt::format("index {} is outside a value of {} items", *position, size));
  }
  const auto i = static_cast<std::size_t>(at);
  return list != nullptr ? (*list)[i] : Value(std::string(1, (*text)[i]));
}

class Evaluator {
 public:
  Evaluator(const ExpressionPlace& place, Scope& scope) : place_(place), scope_(scope) {}

  Result<Value> Evaluate(const ExpressionNode& node) {
    Result<Value> value = EvaluateKind(node);
    if (value) {
      Result<void> spent = scope_.Spend(*value);
      if (spent) return value;
      value = std::move(spent).error();
    }
    if (value.error().span()) return value;
    return std::move(value).error().At(place_.Part(node.offset, node.length));
  }

 private:
  Result<Value> EvaluateKind(const ExpressionNode& node) {
    switch (node.kind) {
      case Kind::kLiteral:
        return node.value;
      case Kind::kName:
        return Name(node);
      case Kind::kList:
        return List(node);
      case Kind::kNot: {
        PTPKG_TRY(const Value value, Evaluate(node.children[0]));
        return Value(!value.Truthy());
      }
      case Kind::kNegate: {
        PTPKG_TRY(const Value value, Evaluate(node.children[0]));
        if (!value.IsNumber()) {
          return Error(ErrorCode::kInvalidInput, fmt::format("'-' does not work on {}", value.KindName()));
        }
        return Arithmetic("-", Value(std::int64_t{0}), value);
      }
      case Kind::kAnd:
      case Kind::kOr: {
        PTPKG_TRY(Value left, Evaluate(node.children[0]));
        if (left.Truthy() == (node.kind == Kind::kOr)) return left;
        return Evaluate(node.children[1]);
      }
      case Kind::kConditional: {
        PTPKG_TRY(const Value condition, Evaluate(node.children[1]));
        if (condition.Truthy()) return Evaluate(node.children[0]);
        return node.children.size() > 2 ? Evaluate(node.children[2]) : Result<Value>(Value());
      }
      case Kind::kBinary:
      case Kind::kIndex: {
        PTPKG_TRY(const Value left, Evaluate(node.children[0]));
        PTPKG_TRY(const Value right, Evaluate(node.children[1]));
        return node.kind == Kind::kIndex ? ItemAt(left, right) : Binary(node.name, left, right);
      }
      case Kind::kAttribute: {
        PTPKG_TRY(const Value object, Evaluate(node.children[0]));
        if (object.AsMap() != nullptr) return ValueOfKey(*object.AsMap(), node.name);
        return Error(ErrorCode::kInvalidInput, fmt::format("{} has no '.{}'", object.KindName(), node.name));
      }
      case Kind::kCall:
        return Call(node);
      case Kind::kMethod: {
        PTPKG_TRY(const CallArguments arguments, Arguments(node, 0));
        return CallMethod(node.name, arguments);
      }
      case Kind::kFilter:
        return Filter(node);
    }
    return Value();
  }

  Result<Value> Name(const ExpressionNode& node) {
    if (std::optional<Value> value = scope_.Find(node.name)) return *std::move(value);
    Error error(ErrorCode::kInvalidInput, fmt::format("undefined name '{}'", node.name));
    if (IsScriptVariable(node.name)) {
      return std::move(error).WithHint(
          fmt::format("'{0}' exists only inside build scripts: write 'export X=${0}' there", node.name));
    }
    if (node.name == "hash" || node.name == "build_number") {
      return std::move(error).WithHint(fmt::format("'{}' is only available in 'build.string'", node.name));
    }
    if (const std::optional<std::string> nearest = NearestMatch(node.name, scope_.Names())) {
      return std::move(error).WithHint(fmt::format("did you mean '{}'?", *nearest));
    }
    return std::move(error).WithHint(
        fmt::format("define '{}' above this place under 'context', or in variants.yaml", node.name));
  }

  Result<Value> List(const ExpressionNode& node) {
    Value::List list;
    for (const ExpressionNode& child : node.children) {
      PTPKG_TRY(Value value, Evaluate(child));
      list.push_back(std::move(value));
    }
    return Value(std::move(list));
  }

  Result<CallArguments> Arguments(const ExpressionNode& node, std::size_t first) {
    CallArguments arguments;
    for (std::size_t i = first; i < node.children.size(); ++i) {
      PTPKG_TRY(Value value, Evaluate(node.children[i]));
      if (i >= node.keywords.size() || node.keywords[i].empty()) {
        arguments.positional.push_back(std::move(value));
      } else {
        arguments.named.emplace_back(node.keywords[i], std::move(value));
      }
    }
    return arguments;
  }

  Result<Value> Call(const ExpressionNode& node) {
    PTPKG_TRY(const CallArguments arguments, Arguments(node, 0));
    return CallFunction(node.name, arguments, scope_);
  }

  Result<Value> Filter(const ExpressionNode& node) {
    CallArguments arguments;
    PTPKG_TRY(const bool undefined, IsUndefined(node));
    if (undefined) {
      PTPKG_TRY(arguments, Arguments(node, 1));
      arguments.positional.insert(arguments.positional.begin(), Value());
    } else {
      PTPKG_TRY(arguments, Arguments(node, 0));
    }
    return CallFilter(node.name, arguments);
  }

  /// Whether the filter `default` finds no value: an unknown name, or a key that its mapping lacks.
  Result<bool> IsUndefined(const ExpressionNode& filter) {
    const ExpressionNode& input = filter.children[0];
    if (filter.name != "default") return false;
    if (input.kind == Kind::kName) return !scope_.Find(input.name).has_value();
    if (input.kind != Kind::kAttribute && input.kind != Kind::kIndex) return false;
    PTPKG_TRY(const Value object, Evaluate(input.children[0]));
    if (object.AsMap() == nullptr) return false;
    std::string key = input.name;
    if (input.kind == Kind::kIndex) {
      PTPKG_TRY(const Value index, Evaluate(input.children[1]));
      PTPKG_TRY(key, index.ToText());
    }
    return !object.AsMap()->contains(key);
  }

  const ExpressionPlace& place_;
  Scope& scope_;
};

}  // namespace

SourceSpan ExpressionPlace::Part(std::size_t offset, std::size_t length) const {
  if (!exact) return span;
  SourceSpan part = span;
  const int width = static_cast<int>(span.excerpt.size());
  part.column = std::min(span.column + static_cast<int>(offset), width + 1);
  part.length = std::clamp(static_cast<int>(length), 1, std::max(1, width + 1 - part.column));
  return part;
}

Result<Expression> Expression::Parse(std::string_view text, ExpressionPlace place) {
  PTPKG_TRY(ExpressionNode root, ParseExpression(text, place));
  return Expression(std::move(root), std::move(place));
}

Result<Value> Expression::Evaluate(Scope& scope) const { return Evaluator(place_, scope).Evaluate(root_); }

}  // namespace ptpkg::recipe
