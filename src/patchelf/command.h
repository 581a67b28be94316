#pragma once
// Command line of the patchelf program. Layer: patchelf. Source: patchelf 0.19: options, what it prints, exit
// status 0 or 1, and the messages that scripts look for.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "elf/edit/edit_request.h"
#include "support/files/fs.h"

namespace ptpkg::patchelf {

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
/// Errors: kUsage ("missing argument", "missing filename", an empty name), kNotFound and kIo (@FILE).
Result<PatchelfCommand> ParsePatchelf(Fs& fs, const AbsPath& cwd, const std::vector<std::string>& words);

/// Runs the command line: results on stdout, "patchelf: message" on stderr. Returns the exit status.
int RunPatchelf(Fs& fs, const AbsPath& cwd, const std::vector<std::string>& words);

}  // namespace ptpkg::patchelf
