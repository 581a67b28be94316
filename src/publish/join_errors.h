#pragma once
// Joins several errors into one. Layer: publish.

#include <string_view>
#include <vector>

#include "support/error.h"

namespace ptpkg::publish {

/// Returns a single error unchanged. Several become `what` and the first messages, with code and hint of the
/// first. REQUIRES: one at least.
Error JoinErrors(const std::vector<Error>& errors, std::string_view what);

}  // namespace ptpkg::publish
