#pragma once
// Runs `ptpkg check` and `ptpkg index`. Layer: pipeline.

#include <optional>
#include <string>
#include <vector>

#include "model/finding.h"
#include "support/env.h"
#include "support/text/json_fwd.h"

namespace ptpkg::pipeline {

struct CheckRequest {
  std::vector<AbsPath> paths = {};  ///< Artifact files, or directories of files.
  std::string profile = {};         ///< One of ProfileNames(); "": chosen by each path's name.
  /// "pypi,uv": of TargetNames(). nullopt: none, and the profile alone decides.
  std::optional<std::string> targets = {};
  std::vector<std::string> allow_unresolved = {};  ///< Globs of library names that the environment provides.
  std::vector<std::string> forbidden_paths = {};   ///< Texts that no file may hold.
  std::vector<std::string> device_code = {};  ///< Architectures asked for; see versions::DeviceCodeRequest.
  std::vector<std::string> dependencies =
      {};  ///< Packages that the artifacts depend on, besides those declared.
  /// Public key: what lies beside each artifact must be signed by it (verify/rules/provenance_checks.h).
  std::optional<AbsPath> verify_key = {};
};

/// Findings of one path, and what its ELF files need of a machine.
struct CheckOutcome {
  Report report;
  std::string profile;
  std::string floor;  ///< One line for people: "needs glibc 2.17 …"; "" when no file requires a version.
  std::string device_code;  ///< One line for people: "device code of 3 files: …"; "" without any.
  std::vector<std::string> conda_files = {};  ///< Paths of a conda package's payload.
  JsonBox facts;  ///< {"floor": …, "files": […], "device_code": […]}: docs/cli/check.md explains the fields.
};

struct CheckSummary {
  std::vector<CheckOutcome> outcomes = {};
  std::optional<Error> failure = {};  ///< Error of the first path that could not be examined.
};

/// One outcome for each path; for a directory that offers artifacts (directly, as a channel or as an output
/// directory), one for each of them, unless the profile is "tree". Another directory is judged as installed
/// files. Wheels of one version are also held against each other (verify/rules/cross_wheel_checks.h), and
/// conda packages of one channel (verify/rules/shared_files.h); what differs is with the later one, by path.
/// A path that is not there or no artifact is a failure, and the next one is looked at (FirstFailure). Errors
/// before the first is read: kUsage (an unknown profile or target, an empty list of targets, a target for an
/// artifact that is no wheel or that contradicts the profile, no list of architectures, a key for a directory
/// of files), kNotFound and kInvalidInput for the key.
Result<CheckSummary> Check(Env& env, const CheckRequest& request);

/// Holds the wheels among `outcomes` against each other, as Check does. Errors: those of
/// verify::CheckAcrossWheels; kUsage for the targets of `request`.
Result<void> AddCrossWheelFindings(Env& env, const CheckRequest& request,
                                   const std::vector<CheckOutcome*>& outcomes);

/// Names that CheckRequest::profile takes.
std::vector<std::string> ProfileNames();
/// Names that CheckRequest::targets may list.
std::vector<std::string> TargetNames();

struct IndexOutcome {
  std::uint64_t packages = 0;
  std::vector<AbsPath> written;
  std::vector<AbsPath> left_out;   ///< Packages that could not be read; the reporter has said why.
  std::vector<std::string> roots;  ///< Backends that have an index of their own.
  std::vector<AbsPath> rootless;   ///< Wheels in none of these; the reporter has said why.
};
/// Conda channel or simple index, whichever the directory is. `roots`: also an index for each backend
/// (index/index.h). Errors: those of channel/.
Result<IndexOutcome> Index(Env& env, const AbsPath& folder, bool roots);

}  // namespace ptpkg::pipeline
