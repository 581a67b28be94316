#include "versions/python_version.h"

#include <algorithm>
#include <fmt/core.h>
#include <vector>

#include "support/text/text.h"
#include "versions/pin.h"

namespace ptpkg::versions {

Result<std::string> PythonMinor(std::string_view version) {
  // The result becomes a part of directory names (lib/python3.11), so one version may have only one spelling:
  // no "3.011".
  const std::vector<std::string> parts = Split(version, '.');
  constexpr std::size_t kMostDigits = 4;
  const bool numbers = std::all_of(parts.begin(), parts.end(), [](const std::string& part) {
    return !part.empty() && part.size() <= kMostDigits && (part.size() == 1 || part[0] != '0') &&
           part.find_first_not_of("0123456789") == std::string::npos;
  });
  if (!numbers || parts.size() < 2 || parts.size() > 3) {
    return Error(ErrorCode::kInvalidInput, fmt::format("'{}' is not a Python version", version))
        .WithHint("write it as '3.11'");
  }
  return parts[0] + "." + parts[1];
}

Result<std::string> PythonPin(std::string_view version) {
  PTPKG_TRY(const std::string minor, PythonMinor(version));
  return PinConstraint(minor, {.lower = "x.x", .upper = "x.x"});
}

}  // namespace ptpkg::versions
