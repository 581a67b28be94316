#pragma once
// The whole pipeline: recipe → variant → source → build → search paths → package → check → index.
// Layer: pipeline. This folder is the only place that knows the order; Build() reads top to bottom.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "build/build.h"
#include "model/finding.h"
#include "publish/output_folder.h"
#include "recipe/recipe.h"
#include "support/env.h"

namespace ptpkg::pipeline {

struct BuildRequest {
  std::vector<AbsPath> recipes;        ///< recipe.yaml files, or folders that hold one.
  std::vector<AbsPath> variant_files;  ///< Empty: variants.yaml beside each recipe.
  std::map<std::string, std::vector<std::string>> select;
  std::set<ArtifactFormat> formats;  ///< Empty: what each recipe names.
  AbsPath output = AbsPath::Literal("/nonexistent");
  std::map<std::string, AbsPath> sources;  ///< "--source NAME=PATH".
  build::HostEnv host_env = build::HostEnv::kAuto;
  bool force = false;      ///< Replace artifacts that ptpkg did not make.
  bool keep_work = false;  ///< Leave the work folder of each build, and say where it is.
  bool dry_run = false;    ///< Report which stages would run; write nothing.
};

struct BuildSummary {
  std::vector<ArtifactRecord> artifacts;  ///< In the order they were made.
  std::vector<StageTime> stages;          ///< In the order of the pipeline.
  std::vector<Report> reports;            ///< Of checks with findings.
  std::vector<std::string> skipped;       ///< Variants whose recipe says `skip`.
};

/// Builds every variant of every recipe, recipes that others need first.
/// A variant's artifacts appear in the output folder only after all checks passed.
/// Errors: those of the stages, with the variant as context; kCheckFailed when a check found errors.
Result<BuildSummary> Build(Env& env, const BuildRequest& request);

}  // namespace ptpkg::pipeline
