#pragma once
// Runs the build script of a recipe. Layer: build.

#include <map>
#include <optional>
#include <string>

#include "build/build.h"

namespace ptpkg::build {

/// The script as one text: the recipe's lines, else its file, else "build.sh" of the recipe's folder if there
/// is one; nullopt for a recipe without a script. A file name may lack its ".sh" (CEP 14).
/// Errors: kNotFound at the recipe's file name.
Result<std::optional<std::string>> ScriptText(Fs& fs, const recipe::Recipe& recipe);

struct ScriptInput {
  const BuildInput& build;
  const std::string& text;
  std::map<std::string, std::string> variables;  ///< The whole environment.
  std::string preamble;                          ///< Shell lines before the script; "" = none.
};

/// Writes the environment and then all output to `build.log_file`, and runs the script in the sources, with
/// `bash -e` or the recipe's interpreter. There is no time limit. Each line also goes to the reporter.
/// Errors: kNotFound (interpreter); kCommandFailed with the last 40 lines and the log's path as context;
/// kCancelled with the log's path, after the whole process group has ended.
Result<void> RunScript(Env& env, const ScriptInput& input);

}  // namespace ptpkg::build
