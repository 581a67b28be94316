// Evaluation of expressions. Layer: recipe.
//
// The tree is walked once per variant. Evaluation is lazy exactly where Jinja's is: `and`, `or`, conditional
// expressions and chained comparisons stop early. This isn't an optimisation: a key that is not read is not
// part of the build hash, and a fail() that is not reached does not fail.
//
// `is defined` and `default` must accept unknown names and missing keys, which are errors everywhere else. So
// they evaluate their operand with EvaluateIfDefined, which follows names, attributes and indexes only.
//
// Invariants: every value passes Scope::Spend, which bounds memory, and every error gets the place of the
// innermost node that failed. The parser bounds the depth of the tree, so the recursion is bounded as well.

#include "recipe/expression/expression.h"

#include <algorithm>
#include <fmt/core.h>

#include "recipe/expression/expression_parser.h"
#include "recipe/expression/functions.h"
#include "recipe/expression/operators.h"
#include "recipe/expression/value_tests.h"
#include "recipe/script_variables.h"
#include "support/text/text.h"

namespace ptpkg::recipe {
namespace {

using Kind = ExpressionNode::Kind;

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
    // The innermost node has set its place already.
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
        // As a subtraction, so that the smallest number overflows with an error.
        return ApplyOperator("-", Value(std::int64_t{0}), value);
      }
      case Kind::kAnd:
      case Kind::kOr: {
        PTPKG_TRY(Value left, Evaluate(node.children[0]));
        // As in Python, the result is an operand and not a boolean.
        if (left.Truthy() == (node.kind == Kind::kOr)) return left;
        return Evaluate(node.children[1]);
      }
      case Kind::kConditional: {
        PTPKG_TRY(const Value condition, Evaluate(node.children[1]));
        if (condition.Truthy()) return Evaluate(node.children[0]);
        // Without `else`, none: an item of a list vanishes then.
        return node.children.size() > 2 ? Evaluate(node.children[2]) : Result<Value>(Value());
      }
      case Kind::kBinary:
      case Kind::kIndex: {
        PTPKG_TRY(const Value left, Evaluate(node.children[0]));
        PTPKG_TRY(const Value right, Evaluate(node.children[1]));
        return node.kind == Kind::kIndex ? ItemAt(left, right) : ApplyOperator(node.name, left, right);
      }
      case Kind::kAttribute: {
        PTPKG_TRY(const Value object, Evaluate(node.children[0]));
        if (object.AsMap() != nullptr) return ValueOfKey(*object.AsMap(), node.name);
        return Error(ErrorCode::kInvalidInput, fmt::format("{} has no '.{}'", object.KindName(), node.name));
      }
      case Kind::kSlice:
        return Slice(node);
      case Kind::kMapping:
        return Mapping(node);
      case Kind::kComparisons:
        return Comparisons(node);
      case Kind::kTest:
        return Test(node);
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
      // Nodes without named arguments have no keywords at all.
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

  Result<Value> Slice(const ExpressionNode& node) {
    PTPKG_TRY(const CallArguments parts, Arguments(node, 0));
    return SliceOf(parts.positional[0], parts.positional[1], parts.positional[2], parts.positional[3]);
  }

  Result<Value> Mapping(const ExpressionNode& node) {
    Value::Map map;
    for (std::size_t i = 0; i + 1 < node.children.size(); i += 2) {
      PTPKG_TRY(const Value key, Evaluate(node.children[i]));
      PTPKG_TRY(std::string name, key.ToText());
      PTPKG_TRY(Value value, Evaluate(node.children[i + 1]));
      // The last of equal keys wins, as in Python.
      map.insert_or_assign(std::move(name), std::move(value));
    }
    return scope_.Keep(Value(std::move(map)));
  }

  /// a < b <= c: each operand is evaluated once, and only up to the first comparison that fails.
  Result<Value> Comparisons(const ExpressionNode& node) {
    PTPKG_TRY(Value left, Evaluate(node.children[0]));
    for (std::size_t i = 1; i < node.children.size(); ++i) {
      PTPKG_TRY(Value right, Evaluate(node.children[i]));
      PTPKG_TRY(Value holds, ApplyOperator(node.keywords[i], left, right));
      if (!holds.Truthy() || i + 1 == node.children.size()) return holds;
      left = std::move(right);
    }
    return left;
  }

  Result<Value> Test(const ExpressionNode& node) {
    PTPKG_TRY(const std::optional<Value> value, EvaluateIfDefined(node.children[0]));
    PTPKG_TRY(const CallArguments arguments, Arguments(node, 1));
    PTPKG_TRY(const bool holds, RunValueTest(node.name, value, arguments.positional));
    return Value(holds);
  }

  Result<Value> Filter(const ExpressionNode& node) {
    if (node.name != "default") {
      PTPKG_TRY(const CallArguments arguments, Arguments(node, 0));
      return CallFilter(node.name, arguments);
    }
    PTPKG_TRY(std::optional<Value> value, EvaluateIfDefined(node.children[0]));
    PTPKG_TRY(CallArguments arguments, Arguments(node, 1));
    arguments.positional.insert(arguments.positional.begin(), std::move(value).value_or(Value()));
    return CallFilter(node.name, arguments);
  }

  /// nullopt for an unknown name, and for a key that its mapping lacks.
  Result<std::optional<Value>> EvaluateIfDefined(const ExpressionNode& node) {
    if (node.kind == Kind::kName && !scope_.Find(node.name)) return std::optional<Value>();
    if (node.kind != Kind::kAttribute && node.kind != Kind::kIndex) return Defined(Evaluate(node));
    PTPKG_TRY(const std::optional<Value> object, EvaluateIfDefined(node.children[0]));
    if (!object) return std::optional<Value>();
    // A list's index out of range stays an error: only keys may be missing.
    if (object->AsMap() == nullptr) return Defined(Evaluate(node));
    std::string key = node.name;
    if (node.kind == Kind::kIndex) {
      PTPKG_TRY(const Value index, Evaluate(node.children[1]));
      PTPKG_TRY(key, index.ToText());
    }
    const auto found = object->AsMap()->find(key);
    return found == object->AsMap()->end() ? std::nullopt : std::optional<Value>(found->second);
  }

  static Result<std::optional<Value>> Defined(Result<Value> value) {
    if (!value) return std::move(value).error();
    return std::optional<Value>(*std::move(value));
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
