#pragma once
// Selects the native build for `ptpkg dev` and `ptpkg shell`. Layer: pipeline.

#include <string>
#include <vector>

#include "pipeline/plan/build_plan.h"

namespace ptpkg::pipeline {

struct NativeRequest {
  BuildRequest build;     ///< Request for one recipe.
  std::string name = {};  ///< Name of an output or a staging output; "": the recipe has one.
};

struct NativeChoice {
  recipe::Recipe recipe;
  std::vector<recipe::Recipe> rendered;  ///< The variants and outputs that --select leaves.
};

/// Errors: any from Render and DetectInBuildStrings. Also kUsage for a name that no output has, and when more
/// than one build is left, with all of them and the flag that picks one. Also kInvalidInput when the recipe
/// skips all.
Result<NativeChoice> ChooseNative(Env& env, const NativeRequest& request);

}  // namespace ptpkg::pipeline
