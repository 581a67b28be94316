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
  AbsPath source_root = AbsPath::Literal("/nonexistent");  ///< From source::Prepare; the script works in it.
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
  std::optional<AbsPath> compiler_cache = {};     ///< ccache, to be put before C and C++ compilers.
};

struct StagedBuild {
  /// Files that the script added below the prefix, post-processed. `tree.root` is the prefix, which holds
  /// nothing else any more.
  StagedTree tree;
  /// Path of the prefix in the files of `tree`: the same 255 characters on every machine. Files
  /// that hold it can be relocated at install.
  std::string prefix;
  std::string python_version;  ///< "3.11" of the interpreter used, "" if the recipe needs none.
  /// Directories of the build, as they are called in the files of `tree`, that mean nothing elsewhere: one in
  /// an artifact is a leak. The prefix is none of them, because an installer can replace it.
  std::vector<std::string> forbidden_paths;
  /// Files of `tree` for a wheel and a zip alone, sorted: in an output that inherits, those that build.files
  /// leaves out, because another conda package holds them. Users of a wheel or a zip do not get that package.
  std::vector<RelPath> wheel_only;
  std::vector<LicenseFile> licenses = {};            ///< Those below the prefix, copied.
  std::map<std::string, std::uint64_t> counts = {};  ///< CompilerCacheCounts, if the input names a cache.
};

/// Result of a staging output.
struct StagingBuild {
  std::vector<RelPath> files;                ///< Files added to the prefix, for SaveStaging.
  std::vector<std::string> forbidden_paths;  ///< See StagedBuild; those that have no name of the same length.
  std::map<std::string, std::uint64_t> counts = {};  ///< See StagedBuild.
};

/// `input.layout` but for the sources holds nothing yet. Makes the host prefix, runs the build script in the
/// sources and returns what it added to the prefix. Where the path of the work directory has entered a file,
/// it is replaced by a text of the same length that is the same for every directory, so that equal sources
/// give equal bytes wherever they are built. Errors: kCommandFailed (context: last 40 lines and the log's
/// path), kCancelled; kInvalidInput when the script added nothing to the prefix, unless the recipe allows it
/// or has neither script nor source. The log stays in every case. With a compiler cache, kInvalidInput also
/// when a file of the result tells of it. What the recipe inherits lies in the prefix when the script starts,
/// and counts as added by it, but for files that a host package has too.
Result<StagedBuild> Run(Env& env, const BuildInput& input);

/// Runs a staging output, up to the end of its script: nothing is selected or post-processed.
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

/// The first half of Run, up to the script: RECIPE_DIR, host prefix, what is inherited. Writes
/// layout.EnvironmentFile(). Errors: those of Run.
Result<MadePrefix> MakePrefix(Env& env, const BuildInput& input);

struct ScriptToRun {
  std::string interpreter = "bash";
  std::string text = {};
  bool whole = true;  ///< False: it builds a part, and the time that it takes is not remembered.
  std::map<std::string, std::string> env = {};  ///< Set last, over the place's and the number of jobs.
  std::vector<std::string> secrets = {};        ///< As in recipe::BuildScript.
};

/// The second half: runs it in the sources with as many jobs as fit, and leaves what it made. Writes
/// layout.EnvironmentFile(). The log grows. Errors: those of RunBuildScript.
Result<void> RunScriptIn(Env& env, const BuildInput& input, const ScriptContext& place,
                         const ScriptToRun& script);

}  // namespace ptpkg::builder
