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
  /// Requirements whose marker is false in every environment; requirements of extras are not listed.
  std::vector<std::string> not_applicable;
};

/// Every Requires-Dist of `metadata` whose marker is true in one of `environments`, without extras. A conda
/// dependency has no marker. If environments require different versions, it allows all of them ("numpy
/// <2|>=2.1"), because their intersection could be empty. Errors: kInvalidInput (malformed requirement or
/// marker), kUnsupported (a direct URL requirement, which has no conda equivalent).
Result<MappedRequirements> MapRequirements(const wheel::CoreMetadata& metadata,
                                           const std::vector<wheel::MarkerEnvironment>& environments,
                                           const CondaNames& names);

/// PEP 440 specifiers as a conda version constraint, versions in normal form: "==1.2.*" → "1.2.*",
/// "===1.2" → "==1.2".
std::string CondaConstraint(const std::vector<std::pair<std::string, std::string>>& specifiers);

}  // namespace ptpkg::convert
