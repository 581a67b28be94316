#pragma once
// Checks names, dependencies and licence of conda packages. Layer: verify. Source: CEP 26, CEP 34.

#include <string>
#include <vector>

#include "conda/package.h"
#include "model/finding.h"

namespace ptpkg::verify {

/// `file_name`: the last component of the package's path.
void CheckCondaMetadata(const conda::PackageInfo& info, const std::string& file_name,
                        std::vector<Finding>& findings);

}  // namespace ptpkg::verify
