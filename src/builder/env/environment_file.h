#pragma once
// Writes the script environment as a bash file. Layer: build.

#include "builder/run_build.h"

namespace ptpkg::builder {

/// Set to 1 by the file: a shell, an editor and what they start are not the script that left them.
inline constexpr std::string_view kReadByHand = "PTPKG_ENVIRONMENT_READ";

/// Replaces `input.layout.EnvironmentFile()`, whole or not at all: a comment that says for what it is, an
/// export for each variable with a name that a shell can have, then the preamble. Sourced, it gives what the
/// script gets; nothing of the caller's environment is removed. Errors: kIo.
Result<void> WriteEnvironmentFile(Fs& fs, const BuildInput& input, const ScriptContext& place);

/// Text of the comment at the top.
struct EnvironmentOrigin {
  std::string recipe = {};   ///< Directory of the recipe.
  std::string subject = {};  ///< "toy-1.0-0"
  std::string root = {};     ///< WorkLayout::root when it was written.
};
/// Reads the comment in the file's text; fields that it does not give are empty.
EnvironmentOrigin ReadEnvironmentOrigin(std::string_view text);

}  // namespace ptpkg::builder
