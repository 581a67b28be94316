#pragma once
// Runs `ptpkg inspect` and `ptpkg diff`. Layer: pipeline.

#include <optional>
#include <string>
#include <vector>

#include "model/finding.h"
#include "support/env.h"
#include "support/text/json_fwd.h"

namespace ptpkg::pipeline {

struct InspectRequest {
  std::vector<AbsPath> artifacts = {};  ///< .conda, .tar.bz2, .whl and .zip files.
  bool quick = false;                   ///< Directories and metadata alone; the rest then has no effect.
  std::vector<std::string> device_code = {};       ///< See CheckRequest.
  std::vector<std::string> allow_unresolved = {};  ///< See CheckRequest.
  std::vector<std::string> dependencies = {};      ///< See CheckRequest.
};

struct InspectOutcome {
  Report report;     ///< Findings of the artifact; they are not in `document`.
  JsonBox document;  ///< One item of docs/json/inspect.json.
};

struct InspectSummary {
  std::vector<InspectOutcome> outcomes = {};
  std::optional<Error> failure = {};  ///< Error of the first artifact that could not be examined.
};

/// One outcome for each artifact, in order. A path that does not exist, or is not a readable artifact, is a
/// failure, and the next one is inspected (FirstFailure). Errors before the first is read: kUsage (an invalid
/// list of architectures).
Result<InspectSummary> Inspect(Env& env, const InspectRequest& request);

struct DiffOutcome {
  bool identical = false;  ///< Byte by byte.
  JsonBox document;        ///< docs/json/diff.json
};

/// Errors: kNotFound, and kInvalidInput or kCorrupt for a file that is not a readable artifact.
Result<DiffOutcome> Diff(Env& env, const AbsPath& before, const AbsPath& after);

}  // namespace ptpkg::pipeline
