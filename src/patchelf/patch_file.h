#pragma once
// Reads and edits one ELF file like patchelf. Layer: patchelf. Source: patchelf 0.19 (its manual page and
// tests): which edits there are, and in which order they work.

#include <optional>
#include <string>
#include <vector>

#include "elf/edit/edit_request.h"
#include "support/files/fs.h"

namespace ptpkg::patchelf {

/// Values that the --print options show.
struct ElfSummary {
  bool is_linked = false;  ///< A program or library; not an object file, not a core.
  bool has_dynamic = false;
  bool declares_dynamic = false;  ///< Also true for debug companions, which have no dynamic section to read.
  bool is_library = false;        ///< ET_DYN.
  std::optional<std::string> interpreter;
  std::optional<std::string> soname;
  std::optional<std::string> search_path;  ///< DT_RUNPATH, else DT_RPATH.
  std::vector<std::string> needed;
  char executable_stack = '?';        ///< 'X', '-', or '?' when the file does not say.
  std::vector<std::string> warnings;  ///< From elf::CheckSectionTable.
};

/// Summarises the file, or after a killed edit its values before that edit (elf::OpenRecovered). Writes
/// nothing. Errors: kNotFound, kUnsupported (not ELF), kCorrupt (also where the loader would not care:
/// elf/read/section_table.h), kIo.
Result<ElfSummary> SummarizeElf(Fs& fs, const AbsPath& file);

struct PatchElfRequest {
  AbsPath file = AbsPath::Literal("/nonexistent");  ///< The file itself (Fs::RealPath), no symlink.
  /// Path of the result, through a symlink; the input then stays unchanged. A new file gets mode 0777 less
  /// the umask. An existing one keeps mode, owner and attributes. FIFOs, devices, names below /dev (not
  /// /dev/shm) and /proc, and files that this user can write but not replace are written into: the content is
  /// held in memory, and a failure leaves a part of it.
  std::optional<AbsPath> output = {};
  elf::EditRequest edits = {};
};

/// All edits as one transaction. Without anything to change `file` is not touched; `output` is written
/// anyway. Returns EditPlan::strip_hazard. Errors: kNotFound, kUnsupported, kCorrupt, kInvalidInput, kIo.
Result<bool> PatchElf(Fs& fs, const PatchElfRequest& request);

}  // namespace ptpkg::patchelf
