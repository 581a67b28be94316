#pragma once
// The command line of patchelf, for scripts that call it. Layer: cli.
// Source: patchelf 0.19: options, what it prints, exit status 0 or 1, and the messages that scripts look for.

#include <string>
#include <vector>

#include "pipeline/patch_elf.h"
#include "support/env.h"

namespace ptpkg::cli {

/// The version that this command line answers to; auditwheel refuses less than 0.14.
inline constexpr std::string_view kPatchelfVersion = "0.19.0";

struct PatchelfCommand {
  bool help = false;
  bool version = false;
  bool debug = false;
  bool print_interpreter = false;
  bool print_soname = false;
  bool print_search_path = false;
  bool print_needed = false;
  bool print_executable_stack = false;
  std::string unsupported = {};  ///< An option of patchelf that there is no edit for.
  std::vector<std::string> files = {};
  std::optional<AbsPath> output = {};
  elf::EditRequest edits = {};
};

/// Takes the words after the program's name. A value "@FILE" stands for the content of FILE.
/// Options that only steer patchelf's own rewriting (--page-size, --no-sort, --no-clobber-old-sections) are
/// accepted and change nothing. An unknown option is taken as a file name, as patchelf does.
/// Errors: kUsage ("missing argument", "missing filename"), kNotFound and kIo (@FILE).
Result<PatchelfCommand> ParsePatchelf(Env& env, const std::vector<std::string>& words);

/// True if `program` (argv[0]) names this command line.
bool IsPatchelfName(std::string_view program);

/// Runs the command line: results on stdout, "patchelf: message" on stderr. Returns the exit status.
int RunPatchelf(Env& env, const std::vector<std::string>& words);

}  // namespace ptpkg::cli
