#pragma once
// Resolves recipe requirements to wheels of the Python index. Layer: builder.

#include <optional>
#include <string>
#include <vector>

#include "builder/pip/python_index.h"
#include "builder/pip/wheel_table.h"
#include "versions/match_spec.h"

namespace ptpkg::builder {

/// A requirement for the index to meet.
struct WheelRequirement {
  versions::MatchSpec spec;
  WheelRow row;
  bool in_build = false;  ///< Else a host requirement.
};

/// A program in a wheel that a script can use.
struct WheelProgram {
  std::string requirement;
  std::string path;      ///< Below BUILD_PREFIX; for a host package, below PREFIX.
  std::string variable;  ///< "CUDACXX"; "" = none.
  std::string version;
  bool in_host = false;
};

/// Wheels that one build takes from the index.
struct WheelPlan {
  IndexAccess access;
  LockedWheels wheels;
  std::vector<WheelProgram> programs;
  std::string toolkit;  ///< "13.0" of the CUDA toolkit among them; "" = none.
};

/// Queries the index, or takes `given` from a plan. Either way it checks the answer against every
/// requirement. The CUDA toolkit is one of NVIDIA's releases as a whole (the package cuda-toolkit). It is
/// resolved first, so that a version that does not exist fails before any large download. Errors:
/// - kNotFound: a version that does not exist, listing the ones that do; a toolkit older than the table's
///   first
/// - kNotFound: a release without a required part
/// - kInvalidInput: requirements or parts of a toolkit that disagree, naming both
/// - kInvalidInput: a requirement with a build string, which no wheel has
/// - as ResolveFromIndex
Result<WheelPlan> ResolveWheels(Env& env, const IndexAccess& access,
                                const std::vector<WheelRequirement>& requirements,
                                const std::optional<LockedWheels>& given);

/// Checks the packages that the table keeps together. Errors: kInvalidInput naming two of `pins` whose first
/// two version fields differ.
Result<void> CheckSameMinorVersions(const WheelTable& table, const std::vector<WheelPin>& pins);

}  // namespace ptpkg::builder
