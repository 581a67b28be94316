#pragma once
// Parses an expression into its tree. Layer: recipe. Used by expression.cpp only.

#include <string_view>

#include "recipe/expression/expression.h"

namespace ptpkg::recipe {

/// Precedence from loosest: if-else, or, and, not, comparisons and `in`, + and -, ~, * / // %, **,
/// unary minus, indexing and calls; a filter applies to the operand before it (Jinja's order).
/// Errors: see Expression::Parse.
Result<ExpressionNode> ParseExpression(std::string_view text, const ExpressionPlace& place);

}  // namespace ptpkg::recipe
