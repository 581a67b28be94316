#pragma once
// What must hold between all packages that a recipe evaluates to. Layer: variant. Used by render.cpp.

#include <string>
#include <vector>

#include "recipe/outputs.h"
#include "recipe/recipe.h"

namespace ptpkg::variant {

/// "python=3.11, toy_backend=cpu"; without the platform.
std::string DescribeVariant(const std::map<std::string, std::string>& variant);

/// The name of an output as it is written, templates and all; "" when it has none.
std::string WrittenName(const recipe::OutputDocument& output);

/// Errors: kInvalidInput with a span: two packages of one file name; outputs that are built with each other;
/// a name under extra.ptpkg.outputs that is no output's in any variant.
Result<void> CheckRendered(const recipe::Document& document,
                           const std::vector<recipe::OutputDocument>& outputs,
                           const std::vector<recipe::Recipe>& recipes);

}  // namespace ptpkg::variant
