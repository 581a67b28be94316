#pragma once
// Prepares the directory of `ptpkg dev` for a run of the script. Layer: pipeline.

#include <optional>
#include <string>
#include <vector>

#include "builder/run_build.h"
#include "graph/stage.h"
#include "pipeline/develop/dev_folder.h"
#include "pipeline/develop/dev_sources.h"
#include "pipeline/develop/native_choice.h"
#include "recipe/native_build.h"

namespace ptpkg::pipeline {

/// Inputs of a build node, as `ptpkg dev` uses them.
struct DevInputs {
  recipe::NativeBuild native;
  builder::RecipeFolder recipe_folder;
  DevSources sources;
  DevState state;  ///< State of a directory made from these inputs; without key, tools and place.
};

/// Reads the inputs of the node `run`. Errors: kInvalidInput, kRefused, kIo; as SplitSources.
Result<DevInputs> ReadDevInputs(Env& env, const recipe::Recipe& recipe, const graph::NodeRun& run);

/// One run of `ptpkg dev`.
struct DevJob {
  const NativeRequest& request;
  const recipe::Recipe& recipe;
  const graph::NodeRun& run;
  const DevInputs& inputs;
  /// The plan has the tools of the last run and has not looked at them. Such a plan can resume in the
  /// directory, but cannot make it anew.
  bool knows_tools;
};

/// A directory in which the script can run.
struct PreparedDev {
  DevState state = {};  ///< As saved.
  builder::WorkLayout layout = {};
  bool anew = false;                 ///< Everything was made from the beginning.
  std::string why_anew = {};         ///< "" for a first run.
  std::vector<RelPath> copied = {};  ///< Source files copied since the last run; empty with `anew`.
  std::vector<RelPath> removed = {};
};

/// Resumes in the directory, or makes it anew with a note that names the reason. nullopt: it has to be made
/// anew, and job.knows_tools. Errors: as Dev (dev.h).
Result<std::optional<PreparedDev>> PrepareDevFolder(Env& env, const DevJob& job, DevFolder& folder);

/// Log of the script.
AbsPath DevLogFile(const DevFolder& folder);

/// Input for the builder, without packages and tools.
builder::BuildInput DevBuildInput(const DevJob& job, const builder::WorkLayout& layout,
                                  const DevFolder& folder);

/// True if the recipe has a script for later runs (extra.ptpkg.dev.script).
bool HasIncrementalScript(const recipe::Recipe& recipe);

/// Changes when the tools of `files` change, as far as their files tell. Errors: as builder::ToolFingerprint.
Result<std::string> DevToolFingerprint(Env& env, const BuildRequest& request, const recipe::Recipe& recipe,
                                       const std::vector<std::string>& files);

}  // namespace ptpkg::pipeline
