#pragma once
// `package_contents:` of a recipe's tests. Layer: builder.
// Source: rattler-build's content tests.

#include <string>
#include <vector>

#include "recipe/recipe.h"
#include "support/path.h"

namespace ptpkg::builder {

/// Compares `files`, the files of a package below the prefix, with `test`: one sentence per difference,
/// empty when all is well. `site_packages`: "lib/python3.11/site-packages", or "site-packages" of a package
/// that is not unpacked.
std::vector<std::string> CheckContents(const recipe::ContentsTest& test, const std::vector<RelPath>& files,
                                       const std::string& site_packages);

}  // namespace ptpkg::builder
