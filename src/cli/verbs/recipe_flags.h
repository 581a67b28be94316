#pragma once
// Flags of every verb that works on recipes: variants, sources, tools. Layer: cli.

#include <set>
#include <string>
#include <vector>

#include "cli/verbs/verbs.h"
#include "pipeline/commands/render.h"
#include "pipeline/plan/build_plan.h"

namespace ptpkg::cli {

/// Flags as typed.
struct RecipeFlags {
  std::vector<std::string> recipes;
  std::vector<std::string> variant_files;
  std::vector<std::string> select;
  std::vector<std::string> sources;
  std::string output = "dist";
  std::string host_env = "auto";
  std::string python_exe;
  std::string conda_exe;
  std::string cuda_home;
  bool offline = false;
  bool from_env = false;
};

/// --variants, --select, --output, --source, --offline, --env, --python-exe, --conda-exe, --cuda-home; not
/// the recipes themselves. `output`: help of --output.
std::vector<Option> RecipeOptions(RecipeFlags& flags, const char* output);

/// --from-env, for verbs that call TakeEnvironment.
Option FromEnvOption(bool& target);

/// Applies the choices of the environment to `request`, and logs a line for each. Errors: as
/// pipeline::ApplyEnvironment.
Result<void> TakeEnvironment(Context& context, pipeline::RenderRequest& request,
                             std::set<ArtifactFormat>& formats);

/// Build request of the flags, without --from-env. Switches context.env() to offline. Errors: kUsage, and as
/// AddSource.
Result<pipeline::BuildRequest> RequestOf(Context& context, const RecipeFlags& flags);

/// "--format LIST", which can be repeated. Errors: kUsage.
Result<std::set<ArtifactFormat>> ParseFormats(const std::vector<std::string>& names);

}  // namespace ptpkg::cli
