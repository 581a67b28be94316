#pragma once
// Requirements of a Python distribution as conda dependencies. Layer: convert.
// Names come from data/conda_names.yaml, built into the program.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "wheel/core_metadata.h"
#include "wheel/marker.h"

namespace ptpkg::convert {

/// How one distribution is called in the conda world. See data/conda_names.yaml.
struct CondaName {
  std::string package;
  bool pin_prefix = false;
  std::string version_package;
  std::map<std::string, std::string> extras;
};
using CondaNames = std::map<std::string, CondaName>;

/// Errors: kInvalidInput with a span.
Result<CondaNames> ParseCondaNames(std::string_view yaml, const std::string& file);
/// The built-in table.
Result<CondaNames> BuiltInCondaNames();

struct MappedRequirements {
  std::vector<std::string> depends;  ///< MatchSpec text, sorted, no duplicates.
  std::vector<std::string> unknown;  ///< Requirements whose name (or extra) the table lacks; they are in
                                     ///< `depends` under their own name.
  std::vector<std::string> not_applicable;  ///< Requirements whose marker does not hold.
};

/// Every Requires-Dist of `metadata` whose marker holds in `environment`, without extras.
/// Errors: kInvalidInput (malformed requirement or marker), kUnsupported (a direct URL requirement: conda has
/// no such thing).
Result<MappedRequirements> MapRequirements(const wheel::CoreMetadata& metadata,
                                           const wheel::MarkerEnvironment& environment,
                                           const CondaNames& names);

/// A PEP 440 specifier as a conda version constraint: "==1.2.*" → "1.2.*", "===1.2" → "==1.2".
std::string CondaConstraint(const std::vector<std::pair<std::string, std::string>>& specifiers);

}  // namespace ptpkg::convert
