#pragma once
// Parses SPDX licence expressions. Layer: versions. Source: SPDX specification 2.3, Annex D; identifiers of
// the licence list (data/spdx.txt).

#include <string_view>

#include "support/result.h"

namespace ptpkg::versions {

/// Checks an SPDX licence expression. Its terms are listed licences (any case, with an optional "+"),
/// LicenseRef-NAME and DocumentRef-NAME:LicenseRef-NAME (both without "+"). AND, OR, WITH (before a listed
/// exception) and parentheses join them. Errors (without span): kInvalidInput, with the nearest identifier if
/// there is one.
Result<void> CheckLicense(std::string_view expression);

}  // namespace ptpkg::versions
