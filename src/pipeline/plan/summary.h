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

/// What a run made. After the first failure no further node starts, except the index; what runs goes on to
/// its end. Then `failure` says why, and the rest tells what was done all the same.
struct BuildSummary {
  std::vector<ArtifactRecord> artifacts;          ///< In the plan's order; those that were there already too.
  std::vector<StageTime> stages;                  ///< In the plan's order.
  std::vector<Report> reports;                    ///< Of checks with findings.
  std::vector<std::string> skipped;               ///< Variants whose recipe says `skip`.
  std::vector<std::string> tools;                 ///< For each build: where each of its tools comes from.
  std::vector<std::string> unknown_requirements;  ///< Repacking: kept under their own names.
  std::vector<std::string> left_out;              ///< Damaged packages of the folder, which the index lacks.
  std::optional<Error> failure;                   ///< Of the first node that failed, in the plan's order.
};

}  // namespace ptpkg::pipeline
