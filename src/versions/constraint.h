#pragma once
// Combines match specs and tests satisfiability. Layer: versions.

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "versions/build_string.h"
#include "versions/match_spec.h"
#include "versions/version_spec.h"

namespace ptpkg::versions {

/// A package of the name in question, as far as a match spec can see it.
struct Choice {
  Version version;
  std::string build;
};

/// A match spec, parsed once.
class Constraint {
 public:
  /// Errors: any from VersionSpec::Parse and BuildPattern::Parse. As in conda, the version of a match spec is
  /// not quite a VersionSpec: "=1.2" with a build is "==1.2" ("numpy=1.2=py311_0" names one package), and
  /// "==1.2.*" without a build is "1.2.*".
  static Result<Constraint> Of(const MatchSpec& spec);

  [[nodiscard]] bool Admits(const Choice& choice) const {
    return version_.Matches(choice.version) && build_.Matches(choice.build);
  }
  [[nodiscard]] const VersionSpec& version() const { return version_; }
  [[nodiscard]] const BuildPattern& build() const { return build_; }

 private:
  VersionSpec version_;
  BuildPattern build_;
};

/// Two constraints that together admit none of `choices`; `first` == `second` when that one alone admits
/// none.
struct Collision {
  std::size_t first = 0;
  std::size_t second = 0;
};
/// The collision with the smallest `second`, and among those the smallest `first`. nullopt when there is none
/// in pairs: three constraints can exclude everything although each two of them agree on something.
std::optional<Collision> FindCollision(std::span<const Constraint> constraints,
                                       std::span<const Choice> choices);

/// For callers that do not know the existing packages: true if some version and some build satisfy all
/// `constraints`. True is uncertain for builds that are patterns and for versions with a star inside.
/// "<3.13.0a0" is taken in its intended sense: it excludes all of 3.13, also a "3.13dev" that sorts below it.
bool CanBeSatisfied(std::span<const Constraint> constraints);

/// Two that cannot meet: the collision with the smallest `second`, and among those the smallest `first`.
std::optional<Collision> FindCollision(std::span<const Constraint> constraints);

}  // namespace ptpkg::versions
