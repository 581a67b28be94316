#pragma once
// Checks rendered packages against each other. Layer: variant. Used by render.cpp.

#include <string>
#include <vector>

#include "recipe/outputs.h"
#include "recipe/recipe.h"

namespace ptpkg::variant {

/// "python=3.11, toy_backend=cpu"; without the platform.
std::string DescribeVariant(const std::map<std::string, std::string>& variant);

/// The name of an output as the recipe has it, with templates; "" when it has none.
std::string WrittenName(const recipe::OutputDocument& output);

/// Errors: kInvalidInput with a span for two packages of `selected` with one file name, and for outputs among
/// them that need each other to build. Also for a name under extra.ptpkg.outputs that no output has in any
/// variant of `all`.
Result<void> CheckRendered(const recipe::Document& document,
                           const std::vector<recipe::OutputDocument>& outputs,
                           const std::vector<recipe::Recipe>& all,
                           const std::vector<recipe::Recipe>& selected);

}  // namespace ptpkg::variant
