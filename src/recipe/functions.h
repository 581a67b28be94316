#pragma once
// The functions, filters and methods that expressions can call. Layer: recipe.

#include <string>
#include <utility>
#include <vector>

#include "recipe/scope.h"
#include "recipe/value.h"
#include "support/result.h"

namespace ptpkg::recipe {

/// The evaluated arguments of one call; a filter's input is the first positional one.
struct CallArguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> named;

  /// The argument at `index`, or the one called `name`; null if neither is given.
  [[nodiscard]] const Value* Find(std::size_t index, std::string_view name) const;
};

/// Names, sorted; for the parser, which refuses unknown ones, and for "did you mean".
std::vector<std::string> FunctionNames();
std::vector<std::string> FilterNames();

/// Calls a function by name. REQUIRES: `name` is in FunctionNames().
/// Errors (without span): kInvalidInput for a wrong number or kind of arguments and for what cannot be
/// resolved (a compiler without a version key is fine, a standard library without a name is not).
Result<Value> CallFunction(const std::string& name, const CallArguments& arguments, Scope& scope);

/// Calls a filter by name. REQUIRES: `name` is in FilterNames(). Errors as for CallFunction.
Result<Value> CallFilter(const std::string& name, const CallArguments& arguments);

}  // namespace ptpkg::recipe
