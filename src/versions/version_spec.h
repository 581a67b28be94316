#pragma once
// Parses and matches conda version specs. Layer: versions. Source: CEP 29; conda models/version.py
// VersionSpec.

#include <string>
#include <string_view>
#include <vector>

#include "support/result.h"
#include "versions/conda_version.h"

namespace ptpkg::versions {

/// Clauses joined by ',' (all hold, binds tighter), '|' (one holds) and parentheses:
/// "1.2" and "==1.2" (equal), "1.2.*", "1.2*" and "=1.2" (Version::StartsWith), "!=1.2", "!=1.2.*", "<",
/// "<=",
/// ">", ">=", "~=1.4.5" (at least 1.4.5, and starts with 1.4), "*", and "1.*.3" (any text for each '*').
/// White space around clauses and after operators is dropped.
class VersionSpec {
 public:
  /// Errors: kInvalidInput for anything else ("~=1" among it, which has nothing to be compatible with), and
  /// for parentheses nested more than 16 deep; kUnsupported for a regular expression ("^1\.[02]$").
  static Result<VersionSpec> Parse(std::string_view text);

  [[nodiscard]] bool Matches(const Version& version) const;
  /// The versions at which the result of Matches can change: those in the clauses. Clauses with a star inside
  /// are matched as text and have none.
  void AddBounds(std::vector<Version>& bounds) const;
  [[nodiscard]] bool HasWildcard() const;

 private:
  friend class VersionSpecParser;
  enum class Kind : std::uint8_t {
    kAll,
    kAny,  // of `parts`; kAll without parts is "*"
    kEqual,
    kNotEqual,
    kLess,
    kLessEqual,
    kGreater,
    kGreaterEqual,
    kStartsWith,
    kNotStartsWith,
    kCompatible,
    kWildcard,
  };

  Kind kind_ = Kind::kAll;
  std::vector<VersionSpec> parts_;
  Version bound_;
  Version head_;          // kCompatible: `bound_` without its last segment
  std::string wildcard_;  // kWildcard
};

/// Both parsed and matched; "" allows every version. Errors: any from Version::Parse and VersionSpec::Parse.
Result<bool> VersionMatches(std::string_view version, std::string_view spec);

/// The one version that `spec` names: "1.26" of "==1.26", "1.26.*", "=1.26" and "1.26". "" if it allows
/// several versions, or none.
std::string SingleVersion(std::string_view spec);

}  // namespace ptpkg::versions
