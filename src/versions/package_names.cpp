// Each rule is tested on its own and not by one regular expression, so that a message names the rule that is
// broken.

#include "versions/package_names.h"

#include <algorithm>
#include <fmt/core.h>

#include "versions/conda_characters.h"

namespace ptpkg::versions {
namespace {

constexpr std::size_t kMaxPart = 64;

bool IsLower(char c) { return c >= 'a' && c <= 'z'; }
bool IsNameSeparator(char c) { return c == '-' || c == '.' || c == '_'; }

Error Broken(std::string_view what, std::string_view text, std::string_view rule) {
  return {ErrorCode::kInvalidInput, fmt::format("{} '{}' {}", what, text, rule)};
}

/// A number of CEP 33 must fit into 31 bits, leading zeros aside.
bool NumbersFit(std::string_view version) {
  std::uint64_t value = 0;
  for (const char c : version) {
    value = IsDigit(c) ? value * 10 + static_cast<std::uint64_t>(c - '0') : 0;
    if (value > 0x7FFFFFFFU) return false;
  }
  return true;
}

bool SegmentsFilled(std::string_view part) {
  if (part.empty() || !(IsDigit(part.front()) || IsLower(part.front()))) return false;
  char previous = part.front();
  for (const char c : part.substr(1)) {
    const bool both = (c == '.' || c == '_') && (previous == '.' || previous == '_');
    if (both) return false;
    previous = c;
  }
  return previous != '.';  // one trailing '_' is openssl's way to sort before a letter
}

}  // namespace

Result<void> CheckLength(std::string_view what, std::string_view text) {
  if (text.empty()) return Error(ErrorCode::kInvalidInput, fmt::format("{} is empty", what));
  if (text.size() <= kMaxPart) return Ok();
  return Broken(what, text, fmt::format("is longer than {} characters", kMaxPart));
}

Result<void> CheckPackageName(std::string_view name) {
  PTPKG_CHECK(CheckLength("package name", name));
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    if (!IsLower(c) && !IsDigit(c) && !IsNameSeparator(c)) {
      return Broken("package name", name, "may hold only a-z, 0-9, '-', '.' and '_'");
    }
    if (i > 0 && IsNameSeparator(c) && IsNameSeparator(name[i - 1])) {
      return Broken("package name", name, "has two separators in a row");
    }
  }
  if (name.front() == '-' || name.front() == '.') {
    return Broken("package name", name, "must begin with a letter, a digit or '_'");
  }
  return Ok();
}

Result<void> CheckVersion(std::string_view version) {
  PTPKG_CHECK(CheckLength("version", version));
  // CEP 33 also allows '-', but file names use it to separate name, version and build.
  const bool known = std::all_of(version.begin(), version.end(), [](char c) {
    return IsLower(c) || IsDigit(c) || c == '.' || c == '_' || c == '+' || c == '!';
  });
  if (!known) return Broken("version", version, "may hold only a-z, 0-9, '.', '_', '+' and '!'");
  std::string_view rest = version;
  if (const std::size_t mark = rest.find('!'); mark != std::string_view::npos) {
    const std::string_view epoch = rest.substr(0, mark);
    if (epoch.empty() || !std::all_of(epoch.begin(), epoch.end(), IsDigit)) {
      return Broken("version", version, "has an epoch that is not a number");
    }
    rest.remove_prefix(mark + 1);
  }
  const std::size_t plus = rest.find('+');
  const std::string_view local = plus == std::string_view::npos ? "0" : rest.substr(plus + 1);
  if (rest.find('!') != std::string_view::npos || local.find('+') != std::string_view::npos) {
    return Broken("version", version, "has '!' or '+' more than once");
  }
  if (!SegmentsFilled(rest.substr(0, plus)) || !SegmentsFilled(local)) {
    return Broken("version", version, "has an empty segment");
  }
  if (!NumbersFit(version)) return Broken("version", version, "has a number above 2147483647");
  return Ok();
}

Result<void> CheckSpecName(std::string_view name) {
  // A virtual package has two leading underscores, which CEP 26 forbids everywhere else.
  return CheckPackageName(name.starts_with("__") ? name.substr(2) : name);
}

}  // namespace ptpkg::versions
