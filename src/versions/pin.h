#pragma once
// Version ranges of pin_subpackage() and pin_compatible(). Layer: versions. Source: CEP 39 (run exports and
// pins). Differs from rattler-build in two cases. rattler-build keeps a local part ("+cu121") in a shortened
// lower bound, which then excludes the plain version. It also raises "1.2rc1" to "1.2a2", which is lower.

#include <string>

#include "support/result.h"

namespace ptpkg::versions {

struct PinBounds {
  /// "x.x.x" keeps that many segments of the version (between '.' and '_'). A bound of digits is itself a
  /// version. "" sets no bound.
  std::string lower = "x.x.x.x.x.x";
  std::string upper = "x";
};

/// The constraint that `bounds` make of `version`, "" when both bounds are empty:
/// ("1.26.4", x.x.x.x.x.x, x) → ">=1.26.4,<2.0a0"; ("9d", "", x) → "<10a".
/// Errors: kInvalidInput for a bound of another form, or a version that cannot be counted up.
Result<std::string> PinConstraint(const std::string& version, const PinBounds& bounds);

}  // namespace ptpkg::versions
