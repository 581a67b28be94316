#pragma once
// Validates package names and versions. Layer: versions. Source: CEP 26 "Identifying packages and channels";
// versions also CEP 33.

#include <string_view>

#include "support/result.h"

namespace ptpkg::versions {

/// All of these: kInvalidInput naming the text and the rule that it breaks.
Result<void> CheckPackageName(std::string_view name);
/// Stricter than Version::Parse: what installers of all kinds can order.
Result<void> CheckVersion(std::string_view version);
/// A name in a match spec: virtual packages ("__cuda") too.
Result<void> CheckSpecName(std::string_view name);
/// Not empty, and at most the 64 characters of a name, version or build string; `what` names it in
/// messages.
Result<void> CheckLength(std::string_view what, std::string_view text);

}  // namespace ptpkg::versions
