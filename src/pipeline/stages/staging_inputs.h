#pragma once
// Passes staging outputs to the builds that inherit them. Layer: pipeline.
//
// The build node of a staging output keeps prefix.tar and work.tar (builder/staging.h), with the value
// {"files": members of prefix.tar, "root": …, "prefix": …, "forbidden": […], "ccache": whether this
// build or one that it inherits from had --ccache}. The last is in no key: which build was first decides it.
// The build node of an output that inherits needs the result as "staging".

#include <string>
#include <vector>

#include "builder/run_build.h"
#include "graph/stage.h"
#include "source/prepare.h"

namespace ptpkg::pipeline {

struct InheritedStaging {
  std::optional<builder::StagingArchives> archives = {};  ///< nullopt: the node inherits nothing.
  std::vector<std::string> forbidden = {};  ///< Texts forbidden in artifacts made of the inherited files.
  bool compiler_cache = false;              ///< Files of the work directory may name programs of --ccache.
};

/// Reads the need "staging". Errors: kInvalidInput for a result of another kind.
Result<InheritedStaging> ReadInheritedStaging(const graph::NodeRun& run);

/// The directory of `recipe` without the build scripts of its other outputs (among `recipes`, which hold all
/// of them) and without the files that load_from_file() read, as far as its own script does not name them: an
/// edit of one output's script builds no other again, and neither does a new row of a table.
Result<builder::RecipeFolder> OwnRecipeFolder(Env& env, const recipe::Recipe& recipe,
                                              const std::vector<recipe::Recipe>& recipes,
                                              const builder::RecipeFolder& folder);

/// Content of a source directory.
struct SourceOrigin {
  const InheritedStaging& inheritance;
  const builder::WorkLayout& layout;
};

/// Leaves in layout.source the inherited work directory, as far as the recipe has a use for it (a script,
/// licence files), and the sources of the recipe. Where that directory was made with --ccache,
/// builder::HasCompilerCache is true after it. Returns source::SourceKey of what was copied; zeros where
/// all is inherited. Errors: those of source::Prepare and builder::RestoreWork.
Result<Sha256> MakeSources(Env& env, const recipe::Recipe& recipe, const source::SourceOptions& sources,
                           const SourceOrigin& origin);

/// The result of a staging output's node, of what its script made. Errors: those of builder::SaveStaging.
Result<graph::NodeResult> StoreStaging(Env& env, const graph::NodeRun& run, const builder::WorkLayout& layout,
                                       const builder::StagingBuild& made,
                                       const InheritedStaging& inheritance);

std::vector<std::string> PathTexts(const std::vector<RelPath>& paths);

}  // namespace ptpkg::pipeline
