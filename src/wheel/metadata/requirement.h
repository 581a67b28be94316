#pragma once
// Parses PEP 508 requirements. Layer: wheel. Source: PEP 508 / PyPA dependency specifiers.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/result.h"

namespace ptpkg::wheel {

/// Conditions on a version: (">=", "1.10").
using Specifiers = std::vector<std::pair<std::string, std::string>>;

/// One Requires-Dist value taken apart (PEP 508).
struct Requirement {
  std::string name;  ///< Name, as written.
  std::vector<std::string> extras;
  Specifiers specifiers;
  std::string marker;  ///< Text after ';', trimmed.
  std::string url;     ///< "name @ url".

  /// "name[extra]>=1,<2 ; marker" with one space at each side of ';' and '@'.
  [[nodiscard]] std::string str() const;
  bool operator==(const Requirement&) const = default;

  /// True if only an extra brings this requirement: its marker reads `extra`.
  [[nodiscard]] bool IsOfAnExtra() const;
};

/// A list like ">=3.10,!=3.12.*", as Requires-Python is one; a comma may follow the last. PEP 440 as
/// packaging reads it: a local version and ".*" only behind "==" and "!=", not both, ".*" only behind
/// numbers, and two numbers at least behind "~=". Errors: kInvalidInput saying what is wrong.
Result<Specifiers> ParseSpecifiers(std::string_view text);
/// Normal form, equal for any two spellings of one list: sorted, versions in normal form.
Specifiers NormalSpecifiers(Specifiers specifiers);

/// Parses one requirement. Its specifiers can be in parentheses, as in older metadata. Only the grammar of
/// the marker is checked (names, operators, quotes, parentheses); the marker is not evaluated. Errors:
/// kInvalidInput naming the text and its mistake.
Result<Requirement> ParseRequirement(std::string_view text);

}  // namespace ptpkg::wheel
