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
  /// Called right before the command gets the terminal: whoever else writes to it stops then.
  std::function<void()> on_enter = [] {};
};

struct ShellSummary {
  std::string subject;                                ///< "toy-1.0-0"
  AbsPath source = AbsPath::Literal("/nonexistent");  ///< SRC_DIR
  AbsPath environment =
      AbsPath::Literal("/nonexistent");  ///< A file for bash (builder/env/environment_file.h).
  int status = 0;                        ///< Exit status of what ran in it, as a shell says it.
};

/// Runs the command in the source directory of the request's one native build, with the environment of its
/// script and nothing of the caller's but TERM. Which directory, with a note: that of `ptpkg dev` or one that
/// a failed or interrupted build has left, the newest that is free; else what --keep-work kept; else that of
/// `ptpkg dev` is made, up to the script. Its lease is held meanwhile. A build does not go on in a work
/// directory in which something was changed here: it would not be what the recipe says; `ptpkg dev` takes
/// such sources again. Errors: those of ChooseNative and PrepareDev; kNotFound without bash.
Result<ShellSummary> Shell(Env& env, const ShellRequest& request);

}  // namespace ptpkg::pipeline
