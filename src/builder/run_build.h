#pragma once
// Runs one build: host prefix, script, staged tree. Layer: builder. Sources: conda-build's and
// rattler-build's build environment and post-processing (docs/formats/build-environment.md).

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "builder/env/host.h"
#include "builder/license_files.h"
#include "builder/recipe_folder.h"
#include "builder/resume/work_layout.h"
#include "builder/staging.h"
#include "builder/tools/compiler_cache.h"
#include "builder/tools/tools.h"
#include "model/staged_tree.h"
#include "recipe/recipe.h"
#include "support/env.h"

namespace ptpkg::builder {

struct BuildInput {
  const recipe::Recipe& recipe;
  std::string subject;  ///< Name of this build in progress and errors: "toytorch-1.4.0-py311_cpu_0".
  AbsPath source_root = AbsPath::Literal("/nonexistent");  ///< From source::Prepare; the script's directory.
  std::vector<LocalPackage> packages;                      ///< For the host prefix.
  UnpackFunction unpack;                                   ///< Needed when `packages` is not empty.
  HostPlan host = {};                                      ///< From CheckTools, a moment ago.
  WorkLayout layout = {};  ///< From MakeWorkLayout; `source_root` should be `layout.source`.
  AbsPath log_file = AbsPath::Literal("/nonexistent");  ///< Replaced if it exists; its directory is made.
  std::set<std::string> mentioned = {};                 ///< recipe::NativeBuild's.
  std::string source_commit = {};  ///< Commit of the first source; "" if it is not a git repository.
  std::optional<RecipeFolder> recipe_folder =
      {};                            ///< The hashed state; nullopt: read now, without exceptions.
  std::uint64_t memory_per_job = 0;  ///< extra.ptpkg.memory_per_job in bytes; 0: by the compilers (jobs.h).
  std::optional<StagingArchives> inherited = {};  ///< From the staging output that the recipe inherits.
  std::optional<AbsPath> compiler_cache = {};     ///< ccache, wraps the C and C++ compilers.
};

struct StagedBuild {
  /// Files that the script added below the prefix, post-processed. `tree.root` is the prefix, which now holds
  /// nothing else.
  StagedTree tree;
  /// Path of the prefix in the files of `tree`: the same 255 characters on every machine. Files that hold it
  /// can be relocated at install.
  std::string prefix;
  std::string python_version;  ///< "3.11" of the interpreter used, "" if the recipe needs none.
  /// The build's directories, as spelled in the files of `tree`. They mean nothing elsewhere, so one in an
  /// artifact is a leak. The prefix is not in the list, because an installer can replace it.
  std::vector<std::string> forbidden_paths;
  /// Files of `tree` only for a wheel and a zip, sorted. In an output that inherits, these are the files that
  /// build.files leaves out, because another conda package holds them. Users of a wheel or a zip do not get
  /// that package.
  std::vector<RelPath> wheel_only;
  std::vector<LicenseFile> licenses = {};            ///< The copies below the prefix.
  std::map<std::string, std::uint64_t> counts = {};  ///< CompilerCacheCounts, if the input names a cache.
};

/// Result of a staging output.
struct StagingBuild {
  std::vector<RelPath> files;                        ///< Files added to the prefix, for SaveStaging.
  std::vector<std::string> forbidden_paths;          ///< See StagedBuild; only paths without a placeholder.
  std::map<std::string, std::uint64_t> counts = {};  ///< See StagedBuild.
};

/// Makes the host prefix, runs the build script in the sources and returns the files that it added to the
/// prefix. `input.layout` must be empty except for the sources. In the returned files a placeholder of the
/// same length replaces the path of the work directory. The placeholder is the same for every directory, so
/// equal sources give equal bytes wherever they are built. Inherited files are in the prefix when the script
/// starts. They count as added by the script, unless a host package has them too. The log stays in every
/// case. Errors:
/// - kCommandFailed (context: last 40 lines and the log's path), kCancelled
/// - kInvalidInput: the script added nothing to the prefix, unless the recipe allows it or has neither script
///   nor source
/// - kInvalidInput: with a compiler cache, a file of the result contains its path
Result<StagedBuild> Run(Env& env, const BuildInput& input);

/// Runs a staging output, up to the end of its script, without selection and post-processing.
Result<StagingBuild> RunStaging(Env& env, const BuildInput& input);

/// Inputs of a script besides its text.
struct ScriptContext {
  std::map<std::string, std::string> variables = {};  ///< ScriptEnvironment.
  std::string preamble = {};                          ///< Shell commands to run before the script.
};

struct MadePrefix {
  ScriptContext place;
  std::vector<RelPath> host_files;  ///< Files of the prefix that belong to no package of the script, sorted.
};

/// The first half of Run, up to the script: RECIPE_DIR, host prefix, inherited files. Writes
/// layout.EnvironmentFile(). Errors: as Run.
Result<MadePrefix> MakePrefix(Env& env, const BuildInput& input);

struct ScriptToRun {
  std::string interpreter = "bash";
  std::string text = {};
  bool whole = true;                            ///< False for a partial build, whose time is not recorded.
  std::map<std::string, std::string> env = {};  ///< Set last, over `variables` and the number of jobs.
  std::vector<std::string> secrets = {};        ///< As in recipe::BuildScript.
};

/// The second half: runs the script in the sources with as many jobs as fit, and leaves its files in place.
/// Writes layout.EnvironmentFile(). Appends to the log. Errors: as RunBuildScript.
Result<void> RunScriptIn(Env& env, const BuildInput& input, const ScriptContext& place,
                         const ScriptToRun& script);

}  // namespace ptpkg::builder
