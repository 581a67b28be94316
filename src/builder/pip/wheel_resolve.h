#pragma once
// Resolves recipe requirements to wheels of the Python index. Layer: builder.

#include <optional>
#include <string>
#include <vector>

#include "builder/pip/python_index.h"
#include "builder/pip/wheel_table.h"
#include "versions/match_spec.h"

namespace ptpkg::builder {

/// A requirement that the index is to meet.
struct WheelRequirement {
  versions::MatchSpec spec;
  WheelRow row;
  bool in_build = false;  ///< Else it is the host's.
};

/// A program that a wheel brings and a script may want to know.
struct WheelProgram {
  std::string requirement;
  std::string path;      ///< Below BUILD_PREFIX; of a package of the host, below PREFIX.
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

/// Asks the index, or takes `given`, which a plan says; either way the answer is compared with every
/// requirement. The CUDA toolkit is one of NVIDIA's releases as a whole (the package cuda-toolkit), found
/// first, so that a version that does not exist is known before anything large is fetched.
/// Errors: kNotFound (no such version, with those that exist; a toolkit before the table's first; a release
/// without a part), kInvalidInput (requirements or parts of a toolkit that disagree, naming both; a
/// requirement with a build string, which no wheel has), those of ResolveFromIndex.
Result<WheelPlan> ResolveWheels(Env& env, const IndexAccess& access,
                                const std::vector<WheelRequirement>& requirements,
                                const std::optional<LockedWheels>& given);

/// Errors: kInvalidInput naming two packages of `pins` whose first two fields differ, of those that the table
/// holds together.
Result<void> CheckSameMinorVersions(const WheelTable& table, const std::vector<WheelPin>& pins);

}  // namespace ptpkg::builder
