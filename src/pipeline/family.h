#pragma once
// The part of the pipeline that runs once per package family: tree, search paths, package, check, publish.
// Layer: pipeline. pipeline/build.h calls these in order.

#include <set>
#include <string>
#include <vector>

#include "build/build.h"
#include "graph/store.h"
#include "pipeline/build.h"
#include "pipeline/staged_result.h"
#include "publish/output_folder.h"

namespace ptpkg::pipeline {

struct FamilyContext {
  const recipe::Recipe& recipe;
  const StagedResult& staged;
  std::string staged_key;  ///< Key of the build stage: stands for the tree's content.
  const std::vector<std::string>& run_exports;
  publish::OutputFolder& output;
  graph::StageStore& store;
  bool dry_run = false;
};

/// `.conda` and/or `.tar.bz2`: search paths by layout "conda", packed in one pass, checked, published.
Result<void> PackCondaFamily(Env& env, const FamilyContext& context, const std::set<ArtifactFormat>& formats,
                             BuildSummary& summary);
/// `.whl`: search paths by layout "wheel", packed, checked, published.
Result<void> PackWheelFamily(Env& env, const FamilyContext& context, BuildSummary& summary);

}  // namespace ptpkg::pipeline
