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

/// Options that several verbs have; `help` where their words differ.
Option VariantsOption(std::vector<std::string>& target);
Option SelectOption(std::vector<std::string>& target, const char* help);
Option OfflineOption(bool& target, const char* help = "Use only what is cached; ask no server");
Option FormatOption(std::vector<std::string>& target,
                    const char* help = "Make these: conda, tar.bz2, wheel, zip",
                    const char* default_text = "the recipe's");
Option TestOption(std::string& target);
Option CcacheOption(bool& target);
Option NoPreflightOption(bool& target);

/// The bucket of build results.
struct RemoteCacheFlags {
  std::string url;
  bool read_only = false;
};
/// --remote-cache and --remote-cache-read-only.
std::vector<Option> RemoteCacheOptions(RemoteCacheFlags& flags);
/// The flags, or else the variables PTPKG_REMOTE_CACHE and PTPKG_REMOTE_CACHE_READ_ONLY. `given`: long names
/// of the options on the command line. Errors: as pipeline::CheckRemoteCache.
Result<pipeline::RemoteCacheOptions> RemoteCacheOf(Context& context, const RemoteCacheFlags& flags,
                                                   const std::set<std::string>& given);

/// --from-env, for verbs that call TakeEnvironment.
Option FromEnvOption(bool& target);

/// Applies the choices of the environment to `request`, and logs a line for each. `formats`: the
/// command line's, which win. Errors: as pipeline::ApplyEnvironment.
Result<void> TakeEnvironment(Context& context, pipeline::RenderRequest& request,
                             std::set<ArtifactFormat>& formats);

/// Build request of the flags, without --from-env. Switches context.env() to offline. Errors: kUsage, and as
/// AddSource.
Result<pipeline::BuildRequest> RequestOf(Context& context, const RecipeFlags& flags);

/// "--format LIST", which can be repeated. Errors: kUsage.
Result<std::set<ArtifactFormat>> ParseFormats(const std::vector<std::string>& names);

}  // namespace ptpkg::cli
