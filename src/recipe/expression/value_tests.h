#pragma once
// The tests behind `is` in expressions. Layer: recipe. Names and results follow rattler-build's Jinja.

#include <optional>
#include <string>
#include <vector>

#include "recipe/document/value.h"

namespace ptpkg::recipe {

/// Names, sorted; for the parser, which refuses unknown ones, and for "did you mean".
std::vector<std::string> ValueTestNames();

/// The number of arguments that a test takes besides the value: 0 or 1. REQUIRES: `name` is in
/// ValueTestNames().
std::size_t ValueTestArguments(const std::string& name);

/// Runs a test on a value, nullopt for one that is undefined. REQUIRES: `name` is in ValueTestNames(), and
/// `arguments` has as many items as ValueTestArguments() says.
/// Errors (without span): kInvalidInput for an undefined value, except in `defined` and `undefined`, and for
/// operands of the wrong kind.
Result<bool> RunValueTest(const std::string& name, const std::optional<Value>& value,
                          const std::vector<Value>& arguments);

}  // namespace ptpkg::recipe
