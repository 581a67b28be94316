#pragma once
// Parses and evaluates environment markers. Layer: wheel. Source: PyPA dependency specifiers, "Environment
// markers" (PEP 508); packaging/markers.py.

#include <compare>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "support/result.h"

namespace ptpkg::wheel {

/// Values of the marker variables: "python_version" → "3.11", "platform_system" → "Linux", …
using MarkerEnvironment = std::map<std::string, std::string, std::less<>>;

/// Grammar and variable names only. Errors: kInvalidInput saying what is wrong.
Result<void> CheckMarker(std::string_view marker);

/// One text for all markers that differ only in spaces, quotes, redundant parentheses and old names of
/// variables; "" for "". Errors: as CheckMarker.
Result<std::string> NormalMarker(std::string_view marker);

/// True when the marker holds; "" always does. Both sides are compared as versions if both are versions and
/// the operator is a version operator, else as text. `extra` compares normalised names, and is "" if
/// `environment` lacks it. Errors: kInvalidInput (grammar, any other variable that `environment` lacks).
Result<bool> EvaluateMarker(std::string_view marker, const MarkerEnvironment& environment);

/// One comparison of a variable.
struct MarkerComparison {
  std::string variable;        ///< In its current name: "os_name".
  std::string op;              ///< "==", "not in", …
  std::string value;           ///< The text on the other side; "" for a second variable.
  bool variable_first = true;  ///< The variable is on the left.
};

/// The comparisons in written order. Errors: as CheckMarker.
Result<std::vector<MarkerComparison>> ComparisonsOf(std::string_view marker);

/// One comparison of `extra`.
struct ExtraCondition {
  std::string op;    ///< "==" nearly always.
  std::string name;  ///< Normalised (PEP 503).
  auto operator<=>(const ExtraCondition&) const = default;
};

/// The extras that a marker reads, anywhere in it. If there are none, no extra changes its value. Errors:
/// kInvalidInput (grammar).
Result<std::set<ExtraCondition>> ExtrasOf(std::string_view marker);

}  // namespace ptpkg::wheel
