#pragma once
// Maps Python requirements to conda dependencies. Layer: convert. Names come from data/conda_names.yaml,
// built into the program.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "wheel/metadata/core_metadata.h"
#include "wheel/metadata/marker.h"

namespace ptpkg::convert {

/// Conda names of one distribution. See data/conda_names.yaml.
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
  std::vector<std::string> depends;  ///< MatchSpec text, sorted, one a package.
  std::vector<std::string> unknown;  ///< Requirements whose name (or extra) the table lacks; they are in
                                     ///< `depends` under their own name.
  std::vector<std::string> widened;  ///< Requirements that some environments lack; they are in `depends`.
  /// Requirements whose marker holds in no environment; those of extras are not listed.
  std::vector<std::string> not_applicable;
};

/// Every Requires-Dist of `metadata` whose marker holds in one of `environments`, without extras. A conda
/// dependency has no marker: where environments ask for different versions, all of them are allowed
/// ("numpy <2|>=2.1"), as one set could be impossible to meet.
/// Errors: kInvalidInput (malformed requirement or marker), kUnsupported (a direct URL requirement: conda has
/// no such thing).
Result<MappedRequirements> MapRequirements(const wheel::CoreMetadata& metadata,
                                           const std::vector<wheel::MarkerEnvironment>& environments,
                                           const CondaNames& names);

/// PEP 440 specifiers as a conda version constraint, versions in normal form: "==1.2.*" → "1.2.*",
/// "===1.2" → "==1.2".
std::string CondaConstraint(const std::vector<std::pair<std::string, std::string>>& specifiers);

}  // namespace ptpkg::convert
