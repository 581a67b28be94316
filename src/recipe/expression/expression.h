#pragma once
// Evaluates the expressions of `${{ }}`, `if:` and `skip:`. Layer: recipe.
// Language: the part of Jinja that CEP 14 names (docs/recipe-reference.md lists all of it): literals,
// names, indexing and slices, operators, conditional expressions, filters, tests and a fixed set of
// functions.

#include <string>
#include <vector>

#include "recipe/document/value.h"
#include "recipe/expression/scope.h"
#include "support/error.h"

namespace ptpkg::recipe {

/// Place of an expression's text. `exact`: `span` begins at its first byte, so that a part
/// of the text can be pointed at; else `span` is the YAML node as a whole.
struct ExpressionPlace {
  SourceSpan span;
  bool exact = false;

  /// The span of `length` bytes at `offset` of the text.
  [[nodiscard]] SourceSpan Part(std::size_t offset, std::size_t length) const;
};

/// One node of a parsed expression.
struct ExpressionNode {
  enum class Kind : std::uint8_t {
    kLiteral,      ///< `value`
    kName,         ///< `name`
    kList,         ///< children
    kNot,          ///< one child
    kNegate,       ///< one child
    kBinary,       ///< two children, operator in `name`: + - * / // % ** ~
    kAnd,          ///< two children
    kOr,           ///< two children
    kConditional,  ///< then, condition[, else]
    kIndex,        ///< object, index
    kSlice,        ///< object, begin, end, step; a bound that is not written is the literal none
    kMapping,      ///< key, value, key, value …
    kComparisons,  ///< operands; before each but the first stands the operator in `keywords`
    kTest,         ///< `is name`: object, arguments
    kAttribute,    ///< object; the key in `name`
    kCall,         ///< function `name`, arguments
    kMethod,       ///< method `name`, object, arguments
    kFilter,       ///< filter `name`, input, arguments
  };

  Kind kind = Kind::kLiteral;
  std::size_t offset = 0;  ///< Offset of the operator or name in the text, for diagnostics.
  std::size_t length = 1;
  Value value;
  std::string name;
  std::vector<ExpressionNode> children;
  std::vector<std::string> keywords;  ///< Calls: one per child, "" for a positional one.
};

/// A parsed expression. Immutable.
class Expression {
 public:
  /// Errors: kInvalidInput with a span: syntax, unknown function or filter (with the nearest match),
  /// nesting deeper than 64, a chain of more than 200 operations.
  static Result<Expression> Parse(std::string_view text, ExpressionPlace place);

  /// Errors: kInvalidInput with a span: undefined name, operands of the wrong kind, division by zero,
  /// overflow, values that grow beyond limits.h, and what the functions refuse.
  [[nodiscard]] Result<Value> Evaluate(Scope& scope) const;

  [[nodiscard]] const ExpressionPlace& place() const { return place_; }

 private:
  Expression(ExpressionNode root, ExpressionPlace place) : root_(std::move(root)), place_(std::move(place)) {}

  ExpressionNode root_;
  ExpressionPlace place_;
};

}  // namespace ptpkg::recipe
