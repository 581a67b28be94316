#pragma once
// Runs `ptpkg shell` in the environment of a build. Layer: pipeline.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/develop/native_choice.h"

namespace ptpkg::pipeline {

struct ShellRequest {
  NativeRequest native;
  std::vector<std::string> command = {};  ///< Empty: an interactive bash.
  bool enters = true;                     ///< False: nothing is run in it.
  /// Called right before the command gets the terminal: all other writers must stop then.
  std::function<void()> on_enter = [] {};
};

struct ShellSummary {
  std::string subject;                                ///< "toy-1.0-0"
  AbsPath source = AbsPath::Literal("/nonexistent");  ///< SRC_DIR
  AbsPath environment =
      AbsPath::Literal("/nonexistent");  ///< A file for bash (builder/env/environment_file.h).
  int status = 0;                        ///< Exit status of the command, in a shell's numbering.
};

/// Runs the command in the source directory of the request's one native build. Its environment is the build
/// script's, plus only TERM from the caller. A note names the chosen directory. The first choice is the
/// newest free one of two kinds: the directory of `ptpkg dev`, and directories that a failed or interrupted
/// build left. The second choice is a directory from --keep-work. Otherwise the directory of `ptpkg dev` is
/// made, up to the script. Its lease is held meanwhile. A build does not resume in a work directory that was
/// changed here, because the result would differ from the recipe. `ptpkg dev` copies such sources again.
/// Errors: any from ChooseNative and PrepareDev, kNotFound without bash.
Result<ShellSummary> Shell(Env& env, const ShellRequest& request);

}  // namespace ptpkg::pipeline
