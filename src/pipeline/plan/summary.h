#pragma once
// Summary of a plan's run. Layer: pipeline.

#include <optional>
#include <string>
#include <vector>

#include "model/artifact_record.h"
#include "model/finding.h"
#include "model/stage_time.h"
#include "support/error.h"

namespace ptpkg::pipeline {

/// Result of a run. After the first failure no further node starts, except the index; running nodes finish.
/// Then `failure` is the reason, and the rest lists what was completed anyway.
struct BuildSummary {
  std::vector<ArtifactRecord> artifacts;          ///< In the plan's order, with those from earlier runs.
  std::vector<StageTime> stages;                  ///< In the plan's order.
  std::vector<Report> reports;                    ///< Reports of checks with findings.
  std::vector<std::string> skipped;               ///< Variants whose recipe says `skip`.
  std::vector<std::string> tools;                 ///< For each build: where each of its tools comes from.
  std::vector<std::string> unknown_requirements;  ///< Repacking: kept under their own names.
  std::vector<std::string> left_out;  ///< Damaged packages of the directory, which the index lacks.
  std::optional<Error> failure;       ///< Error of the first node that failed, in the plan's order.
};

}  // namespace ptpkg::pipeline
