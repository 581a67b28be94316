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
  /// Public key that must have signed the sidecar files of each artifact (verify/rules/provenance_checks.h).
  std::optional<AbsPath> verify_key = {};
};

/// Findings of one path, and the machine requirements of its ELF files.
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

/// Checks each path and returns one outcome for it. A directory that offers artifacts (directly, as a channel
/// or as an output directory) gives one outcome for each artifact, unless the profile is "tree". Any other
/// directory is checked as installed files. Wheels of one version are also compared with each other
/// (verify/rules/cross_wheel_checks.h), as are conda packages of one channel (verify/rules/shared_files.h). A
/// difference is a finding of the later one, by path.
///
/// A path that does not exist or is not an artifact is a failure, and the check continues with the next one
/// (FirstFailure). Errors before the first is read: kUsage, and kNotFound and kInvalidInput for the key.
/// Causes of kUsage: an unknown profile or target, an empty list of targets, an invalid list of
/// architectures, a key for a directory of files. Also a target that contradicts the profile, or whose
/// artifact is not a wheel.
Result<CheckSummary> Check(Env& env, const CheckRequest& request);

/// Compares the wheels among `outcomes` with each other, as Check does. Errors: any from
/// verify::CheckAcrossWheels, kUsage for the targets of `request`.
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
struct IndexRequest {
  AbsPath folder;
  bool roots = false;  ///< As index::FolderIndexOptions.
  // As index::ChannelParts.
  bool shards = false;
  bool current_repodata = false;
  std::optional<AbsPath> patch = {};
};
/// Writes the index of a conda channel or simple index, depending on the directory. Errors: any from
/// index::IndexFolder.
Result<IndexOutcome> Index(Env& env, const IndexRequest& request);

}  // namespace ptpkg::pipeline
