#pragma once
// Runs `ptpkg dev`: incremental builds in a persistent directory. Layer: pipeline.
// User guide: docs/tutorials/long-builds.md.

#include <string>
#include <vector>

#include "builder/test/prefix_test.h"
#include "pipeline/develop/dev_folder.h"
#include "pipeline/develop/native_choice.h"

namespace ptpkg::pipeline {

struct DevSummary {
  std::string subject;  ///< "toy-1.0-0"
  builder::WorkLayout layout;
  AbsPath log = AbsPath::Literal("/nonexistent");  ///< Log of the script; grows while it runs.
  bool anew = false;                               ///< Everything was made from the beginning.
  std::string why_anew = {};                       ///< "" for a first run.
  std::vector<RelPath> copied = {};   ///< Source files copied since the last run; empty when all is new.
  std::vector<RelPath> removed = {};  ///< Likewise.
  std::string script = {};            ///< "build.script" or "extra.ptpkg.dev.script"; "": there is none.
  double script_seconds = 0;
  double test_seconds = 0;
  builder::PrefixTests tests = {};  ///< Failed ones are findings.
};

/// Updates the directory of the request's one native build and runs its script there, then the tests in the
/// prefix, unless request.build.test is off. Until one run has succeeded, this is the build script. Later
/// runs use extra.ptpkg.dev.script, if the recipe has it.
///
/// To resume, ptpkg synchronises sources that are local directories, and leaves host prefix and environment
/// unchanged. Any other change empties the directory for a fresh start, with a note that names the change, as
/// does request.build.fresh. The whole script runs again when it or a file that it can read changed. It also
/// runs again after a source file was added or removed, because it can list them. Files that a person changed
/// in the directory (shell.h) are copied from the sources again, with a warning. Files that an interrupted
/// script was writing are made again. If a recipe's script cannot run twice in one directory
/// (extra.ptpkg.resume: false), ptpkg starts anew instead.
///
/// The directory stays however the run ends. Formats, output packages and options of packing have no effect.
/// Errors: any from ChooseNative, PlanNative, DevFolder::Take, source::Prepare, builder::SyncSources,
/// builder::MakePrefix and builder::RunScriptIn.
Result<DevSummary> Dev(Env& env, const NativeRequest& request);

/// Maximum number of files of a list to name.
inline constexpr std::size_t kMostShown = 3;

/// A directory in which a script could run.
struct DevWorkDir {
  DevFolder folder;
  builder::WorkLayout layout;
};

/// Does the part of Dev before the script. Errors: Dev's.
Result<DevWorkDir> PrepareDev(Env& env, const NativeRequest& request, const NativeChoice& choice);

}  // namespace ptpkg::pipeline
