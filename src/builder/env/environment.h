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

/// Takes from the caller's environment only the variables that `tools` was found with. Later sources win: the
/// fixed variables, the variant's keys that are usable names, the recipe's own `script.env`. PyTorch's
/// version follows from these (torch_version.h). LDFLAGS holds the search path pad (SearchPathPad) and
/// disables build ids. Otherwise the linker's digest and the length of .dynstr would depend on the directory.
/// CPPFLAGS, CFLAGS and CXXFLAGS include the prefix's headers, as conda's compilers do.
std::map<std::string, std::string> ScriptEnvironment(const Env& env, const EnvironmentInput& input);

/// Sets the variables for the number of jobs, unless the recipe's `script.env` does.
void SetJobs(int jobs, const recipe::Recipe& recipe, std::map<std::string, std::string>& out);

}  // namespace ptpkg::builder
