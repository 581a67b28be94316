#pragma once
// Joins several errors into one. Layer: publish.

#include <string_view>
#include <vector>

#include "support/error.h"

namespace ptpkg::publish {

/// One is passed on as it is; of more, `what` and the first messages, with code and hint of the first.
/// REQUIRES: one at least.
Error JoinErrors(const std::vector<Error>& errors, std::string_view what);

}  // namespace ptpkg::publish
