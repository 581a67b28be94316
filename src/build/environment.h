#pragma once
// The whole environment of a build script. Layer: build.
// Sources: conda-build environ.py, rattler-build's env_vars.rs (names and meanings of the variables).

#include <map>
#include <string>

#include "build/tools.h"
#include "build/work_layout.h"
#include "recipe/recipe.h"
#include "support/env.h"

namespace ptpkg::build {

struct EnvironmentInput {
  const recipe::Recipe& recipe;
  const WorkLayout& layout;
  const AbsPath& source_root;
  const ToolSet& tools;
};

/// Nothing of the caller's environment enters but what `tools` was found with. Later ones win: the fixed
/// variables, the variant's keys that are usable names, the recipe's own `script.env`.
/// LDFLAGS holds the search path pad (SearchPathPad) and switches build ids off: both the linker's
/// digest and the length of .dynstr would otherwise depend on the folder.
std::map<std::string, std::string> ScriptEnvironment(const Env& env, const EnvironmentInput& input);

}  // namespace ptpkg::build
