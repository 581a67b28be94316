#pragma once
// Requirements of Python distributions: one Requires-Dist value. Layer: wheel.
// Source: PEP 508 / PyPA dependency specifiers.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/result.h"

namespace ptpkg::wheel {

/// One Requires-Dist value taken apart (PEP 508).
struct Requirement {
  std::string name;  ///< As written.
  std::vector<std::string> extras;
  std::vector<std::pair<std::string, std::string>> specifiers;  ///< (">=", "1.10")
  std::string marker;                                           ///< Text after ';', trimmed.
  std::string url;                                              ///< "name @ url".

  /// "name[extra]>=1,<2 ; marker" with one space at each side of ';' and '@'.
  [[nodiscard]] std::string str() const;
  bool operator==(const Requirement&) const = default;

  /// Whether an extra alone asks for it: its marker looks at `extra`.
  [[nodiscard]] bool IsOfAnExtra() const;
};

/// Specifiers may stand in parentheses, as older metadata writes them. The marker is checked for its
/// grammar (names, operators, quotes, parentheses), not evaluated.
/// Errors: kInvalidInput naming the text and what is wrong with it.
Result<Requirement> ParseRequirement(std::string_view text);

}  // namespace ptpkg::wheel
