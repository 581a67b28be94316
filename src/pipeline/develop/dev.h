#pragma once
// Runs `ptpkg dev`: incremental builds in a persistent directory. Layer: pipeline.
// docs/tutorials/long-builds.md says what people see of it.

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
  std::vector<RelPath> copied = {};  ///< Source files copied since the last run; empty when all is new.
  std::vector<RelPath> removed = {};
  std::string script = {};  ///< "build.script" or "extra.ptpkg.dev.script"; "": there is none.
  double script_seconds = 0;
  double test_seconds = 0;
  builder::PrefixTests tests = {};  ///< Failed ones are findings.
};

/// Brings the directory of the request's one native build up to date and runs its script in it: the build's
/// in the first run, and until one has ended well; then extra.ptpkg.dev.script, if the recipe has it. Then
/// the tests, in the prefix, unless request.build.test is off. To resume, sources that are local
/// directories are synchronised; host prefix and environment stay as they were made. Whatever else has
/// changed makes the directory anew, with a note that names it, as does request.build.fresh. The whole script
/// runs again when it or a file that it may read has changed, and when the sources have a file more or less:
/// it may list them. What a person changed in the directory (shell.h) is taken from the sources again, with a
/// warning; what a script was writing when it was cut off is made again. A recipe whose script cannot run
/// twice in one directory (extra.ptpkg.resume: false) starts anew where that would happen. The directory
/// stays however the run ends. Formats, output packages and options of packing are not looked at. Errors:
/// those of ChooseNative, PlanNative, DevFolder::Take, source::Prepare, builder::SyncSources,
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
