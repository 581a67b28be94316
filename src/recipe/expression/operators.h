#pragma once
// Binary operators of expressions, and what `[ ]` takes from a value. Layer: recipe. Results are Python's.

#include <string>

#include "recipe/document/value.h"

namespace ptpkg::recipe {

/// `left op right` for: + - * / // % ** ~ == != < <= > >= in notin. Errors (without span): kInvalidInput for
/// operands of the wrong kind, division by zero, and a result too large for a number.
Result<Value> ApplyOperator(const std::string& op, const Value& left, const Value& right);

/// object[index]: an item of a list, a character of a text, the value of a key. Negative positions count
/// from the end. Errors (without span): kInvalidInput for a position outside the value, a missing key (with
/// the nearest one), and what cannot be indexed.
Result<Value> ItemAt(const Value& object, const Value& index);

/// The value of a key. Errors (without span): kInvalidInput for a missing one, with the nearest match.
Result<Value> ValueOfKey(const Value::Map& map, const std::string& key);

/// object[begin:end:step] of a list or a text, as Python cuts it; nothing stands for a bound that is not
/// written. Errors (without span): kInvalidInput for other objects and bounds, and for a step of 0.
Result<Value> SliceOf(const Value& object, const Value& begin, const Value& end, const Value& step);

}  // namespace ptpkg::recipe
