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

/// The directory of `recipe` without two kinds of files: the build scripts of its other outputs (`recipes`
/// has all of them), and files that load_from_file() read. Files that its own script names stay. An edit of
/// one output's script, or a new row of a table, does not rebuild other outputs.
Result<builder::RecipeFolder> OwnRecipeFolder(Env& env, const recipe::Recipe& recipe,
                                              const std::vector<recipe::Recipe>& recipes,
                                              const builder::RecipeFolder& folder);

/// Content of a source directory.
struct SourceOrigin {
  const InheritedStaging& inheritance;
  const builder::WorkLayout& layout;
};

/// Leaves in layout.source the inherited work directory, if the recipe uses it (a script, licence files), and
/// the sources of the recipe. If that directory was made with --ccache, builder::HasCompilerCache is true
/// afterwards. Returns source::SourceKey of the copied files, or zeros if all are inherited. Errors: any from
/// source::Prepare and builder::RestoreWork.
Result<Sha256> MakeSources(Env& env, const recipe::Recipe& recipe, const source::SourceOptions& sources,
                           const SourceOrigin& origin);

/// The result of a staging output's node, from the files that its script made. Errors: any from
/// builder::SaveStaging.
Result<graph::NodeResult> StoreStaging(Env& env, const graph::NodeRun& run, const builder::WorkLayout& layout,
                                       const builder::StagingBuild& made,
                                       const InheritedStaging& inheritance);

std::vector<std::string> PathTexts(const std::vector<RelPath>& paths);

}  // namespace ptpkg::pipeline
