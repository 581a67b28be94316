#pragma once
// Parses conda match specs. Layer: versions. Source: CEP 29, the positional form "name [version [build]]"
// (CEP 14 for recipes, CEP 34 for index.json); conda models/match_spec.py.

#include <string>
#include <string_view>
#include <vector>

#include "support/result.h"

namespace ptpkg::versions {

struct MatchSpec {
  std::string name;
  std::string version = {};  ///< A VersionSpec; "" = any.
  std::string build = {};    ///< A BuildPattern; "" = any.

  /// "numpy", "numpy >=1.21,<2", "numpy>=1.21", "numpy=1.21=py311_0", "python 3.11.* *_cpython"; blanks in
  /// the version are dropped. A bracket replaces the field (CEP 29): "x *[build=cuda*]" is "x * cuda*".
  /// Errors (without span): kInvalidInput for a name that CEP 26 forbids, except virtual packages ("__cuda"),
  /// and for a field that conda would refuse. Also kUnsupported for a channel ("conda-forge::x"), for a
  /// bracket other than version and build ("x[build_number=1]"), and for syntax that VersionSpec and
  /// BuildPattern do not support.
  static Result<MatchSpec> Parse(std::string_view text);

  /// The fields with one blank between them; "*" stands for a missing version before a build.
  [[nodiscard]] std::string str() const;
  bool operator==(const MatchSpec&) const = default;
};

/// The name that a spec would have, also where Parse refuses the rest: text up to a blank or an operator.
std::string_view MatchSpecName(std::string_view text);

/// Parsed and printed again.
Result<std::string> NormalizeMatchSpec(std::string_view text);

/// Every spec normalised, sorted byte-wise, duplicates dropped: conda-build's order.
Result<std::vector<std::string>> NormalizeMatchSpecs(const std::vector<std::string>& specs);

}  // namespace ptpkg::versions
