#pragma once
// What a run of a plan came to. Layer: pipeline.

#include <string>
#include <vector>

#include "model/artifact_record.h"
#include "model/finding.h"
#include "model/stage_time.h"

namespace ptpkg::pipeline {

struct BuildSummary {
  std::vector<ArtifactRecord> artifacts;          ///< In the plan's order; those that were there already too.
  std::vector<StageTime> stages;                  ///< In the plan's order.
  std::vector<Report> reports;                    ///< Of checks with findings.
  std::vector<std::string> skipped;               ///< Variants whose recipe says `skip`.
  std::vector<std::string> unknown_requirements;  ///< Repacking: kept under their own names.
};

}  // namespace ptpkg::pipeline
