#pragma once
// Parses and compares PEP 440 versions. Layer: wheel. Source: PEP 440 with its appendix B (the pattern) and
// packaging/version.py (the order).

#include <compare>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/result.h"

namespace ptpkg::wheel {

/// Numbers are decimal digits without leading zeros, so that no length overflows.
struct Version {
  std::string epoch = "0";
  std::vector<std::string> release;  ///< At least one.
  std::string pre_kind;              ///< "", "a", "b" or "rc".
  std::string pre;                   ///< Number, "" without pre_kind.
  std::optional<std::string> post;
  std::optional<std::string> dev;
  std::vector<std::string> local;  ///< Lower case.

  /// Normal form.
  [[nodiscard]] std::string str() const;
};

/// Accepts every spelling that PEP 440 allows, white space around it too. Errors: kInvalidInput.
Result<Version> ParseVersion(std::string_view text);

/// PEP 440 order: 1.0.dev1 < 1.0a1 < 1.0 < 1.0+cu130 < 1.0.post1; trailing zeros do not count.
std::strong_ordering CompareVersions(const Version& left, const Version& right);

/// True if both are valid versions that PEP 440 treats as equal: "1.0", "1.0.0" and "v1".
bool SameVersion(std::string_view left, std::string_view right);

/// PEP 440 normal form. Errors: kInvalidInput.
Result<std::string> NormalizeVersion(std::string_view version);

}  // namespace ptpkg::wheel
