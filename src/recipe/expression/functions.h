#pragma once
// Functions, filters and methods of expressions. Layer: recipe.

#include <string>
#include <utility>
#include <vector>

#include "recipe/document/value.h"
#include "recipe/expression/scope.h"
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
std::vector<std::string> MethodNames();

/// Calls a function by name. REQUIRES: `name` is in FunctionNames(). Errors (without span): kInvalidInput for
/// a wrong number or kind of arguments, and for arguments that cannot be resolved. For example, a standard
/// library needs a name, but a compiler needs no version key.
Result<Value> CallFunction(const std::string& name, const CallArguments& arguments, Scope& scope);

/// Calls a filter by name. REQUIRES: `name` is in FilterNames(). Errors: as CallFunction.
Result<Value> CallFilter(const std::string& name, const CallArguments& arguments);

/// Calls a method by name; the object is the first argument. REQUIRES: `name` is in MethodNames(). Errors as
/// for CallFunction.
Result<Value> CallMethod(const std::string& name, const CallArguments& arguments);

/// row_for(rows, version): the row of a table whose `versions` allow this version, over the values of the
/// rows above it. A pre-release has the row of its release. Mappings merge key by key and null removes a key,
/// as in RFC 7386. Errors: kInvalidInput for a version that no row allows, and for a table that is not of
/// this form.
Result<Value> RowFor(const Value& rows, const std::string& version);

}  // namespace ptpkg::recipe
