#pragma once
// Writes the script environment as a bash file. Layer: build.

#include "builder/run_build.h"

namespace ptpkg::builder {

/// The file sets it to 1: a shell, an editor and their child processes are not the script's leftovers.
inline constexpr std::string_view kReadByHand = "PTPKG_ENVIRONMENT_READ";

/// Replaces `input.layout.EnvironmentFile()`, whole or not at all. It holds a comment with its origin, an
/// export for each variable with a valid shell name, then the preamble. A shell that sources it gets the
/// script's environment, and keeps its own variables. Errors: kIo.
Result<void> WriteEnvironmentFile(Fs& fs, const BuildInput& input, const ScriptContext& place);

/// True for a name that a shell can assign to.
bool IsShellName(std::string_view name);

/// Text of the comment at the top.
struct EnvironmentOrigin {
  std::string recipe = {};   ///< Directory of the recipe.
  std::string subject = {};  ///< "toy-1.0-0"
  std::string root = {};     ///< WorkLayout::root when it was written.
};
/// Reads the comment in the file's text. Fields that it lacks are empty.
EnvironmentOrigin ReadEnvironmentOrigin(std::string_view text);

}  // namespace ptpkg::builder
