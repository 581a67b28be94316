#pragma once
// Runs the scripts of a recipe. Layer: builder.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "recipe/recipe.h"
#include "support/env.h"

namespace ptpkg::builder {

/// A script as one text: its lines, else its file in `folder`. A file name can omit its ".sh" (CEP 14).
/// Errors: kNotFound at the recipe's file name.
Result<std::string> ScriptText(Fs& fs, const recipe::BuildScript& script, const AbsPath& folder);

/// The build script: as ScriptText. Without one, "build.sh" of `folder` if it exists, else nullopt. An empty
/// interpreter gives nullopt.
Result<std::optional<std::string>> BuildScriptText(Fs& fs, const recipe::BuildScript& script,
                                                   const AbsPath& folder);

struct ScriptRun {
  std::string stage;    ///< For the reporter: "build", "test".
  std::string subject;  ///< "toy-1.0-0"
  std::string title;    ///< Name of this script among the subject's, for progress; "" if there is one only.
  std::string interpreter;  ///< "bash", "python", or another program of PATH.
  std::string text;
  AbsPath file = AbsPath::Literal("/nonexistent");      ///< File for `text`; its directory is made.
  AbsPath cwd = AbsPath::Literal("/nonexistent");       ///< Working directory.
  AbsPath log_file = AbsPath::Literal("/nonexistent");  ///< Appended to; its directory is made.
  std::map<std::string, std::string> variables;         ///< The whole environment.
  std::string how = {};                                 ///< Number of jobs and its reason, for progress.
  std::uint64_t bytes_per_job = 0;                      ///< Memory that one of env.jobs needs; 0 = not known.
  std::uint64_t free_bytes = 0;                         ///< Memory for all of them; 0 = not known.
  bool remembers = true;  ///< Reads and writes the time of its steps (step_estimate.h).
  /// For RunBuildScript: the file that records failing commands meanwhile (failed_commands.h). Then the
  /// directories in which the script must leave no process writing, by the variables that name them.
  std::optional<AbsPath> failed_commands = {};
  std::map<std::string, AbsPath> watched = {};
  /// The result of SecretsOf. It replaces entries of `variables`.
  std::map<std::string, std::string> secrets = {};
};

/// The variables `names` of the caller's environment. From now on MaskSecrets() hides their values, in logs
/// too. A warning names those that are not set or are too short to hide.
std::map<std::string, std::string> SecretsOf(Env& env, const std::vector<std::string>& names,
                                             const std::string& subject);

/// Writes the command and its environment, then all output, to the log. Runs the script with `bash -e` or its
/// interpreter ("python" is $PYTHON if that is set). There is no time limit. Each line also goes to the
/// reporter. A failing script is a value. Errors: kNotFound (interpreter), kIo. kCancelled with the log's
/// path, after the whole process group has ended.
Result<ExitStatus> RunScript(Env& env, const ScriptRun& run);

/// Like RunScript. Also reports the steps that the script's tools count, with the remaining time. Errors:
/// kCommandFailed for a script that fails. Its context holds the log's path and the block of the first
/// command that failed, else up to 10 errors and the last 40 lines. Its hint explains known failures. Its
/// message names a compiler that was killed for lack of memory (memory_shortage.h).
///
/// A script can succeed while a process that it started writes to a file below `watched`. This is
/// kCommandFailed too, and the file is recorded as half-written. Other processes that it left are ended with
/// a note.
Result<void> RunBuildScript(Env& env, const ScriptRun& run);

/// "ended with status 3", "was ended by signal 9".
std::string ExitSummary(const ExitStatus& status);

/// The last 40 lines of `output`, each after a line break and two blanks; "" when there are none.
std::string LastLines(const std::string& output);

/// `text` with "$PREFIX", "$BUILD_PREFIX" and "$SRC_DIR" in place of the paths that they have in `variables`.
/// Paths of a prefix are as long as a placeholder (255 bytes), which hides what a message says about them.
std::string ReplaceFoldersByVariables(std::string text, const std::map<std::string, std::string>& variables);

}  // namespace ptpkg::builder
