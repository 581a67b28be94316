#pragma once
// The whole environment of a build script. Layer: builder.
// Sources: conda-build environ.py, rattler-build's env_vars.rs (names and meanings of the variables).

#include <map>
#include <set>
#include <string>

#include "builder/resume/work_layout.h"
#include "builder/tools/tools.h"
#include "recipe/recipe.h"
#include "support/env.h"

namespace ptpkg::builder {

struct EnvironmentInput {
  const recipe::Recipe& recipe;
  const WorkLayout& layout;
  const AbsPath& source_root;
  const ToolSet& tools;  ///< `python` is the one below the prefix.
  /// Which of PKG_BUILDNUM, PKG_BUILD_STRING and PKG_HASH the script gets (recipe::NativeBuild).
  std::set<std::string> mentioned = {};
  std::string source_commit = {};  ///< As in BuildInput.
};

/// Nothing of the caller's environment enters but what `tools` was found with. Later ones win: the fixed
/// variables, the variant's keys that are usable names, the recipe's own `script.env`. PyTorch's version
/// follows from these (torch_version.h). LDFLAGS holds the search path pad (SearchPathPad) and switches build
/// ids off: both the linker's digest and the length of .dynstr would otherwise depend on the directory.
/// CPPFLAGS, CFLAGS and CXXFLAGS see the prefix's headers, as those of conda's compilers do.
std::map<std::string, std::string> ScriptEnvironment(const Env& env, const EnvironmentInput& input);

/// Tells tools how many jobs to run, but where the recipe's `script.env` does.
void SetJobs(int jobs, const recipe::Recipe& recipe, std::map<std::string, std::string>& out);

}  // namespace ptpkg::builder
