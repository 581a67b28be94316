#pragma once
// Whether a package satisfies the version and build fields of a match spec. Layer: conda.
// Source: CEP 29; conda models/version.py VersionSpec and BuildNumberMatch.

#include <string_view>

#include "support/result.h"

namespace ptpkg::conda {

/// `spec`: constraints joined by ',' (all hold, binds tighter) and '|' (one holds): "1.2" (equal), "1.2.*"
/// and
/// "=1.2" (begins with), "*", "==", "!=", "<", "<=", ">", ">=", "~=1.2". "" matches everything.
/// Errors: kUnsupported for regular expressions ("^…$") and parentheses, kInvalidInput for an empty
/// constraint.
Result<bool> VersionMatches(std::string_view version, std::string_view spec);

/// `pattern`: a build string in which '*' stands for any text. "" matches everything.
[[nodiscard]] bool BuildMatches(std::string_view build, std::string_view pattern);

}  // namespace ptpkg::conda
