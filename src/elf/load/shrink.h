#pragma once
// Removes search path entries that provide no needed library. Layer: elf. Source: patchelf's --shrink-rpath,
// whose results scripts rely on.

#include <string>
#include <vector>

#include "elf/read/image.h"
#include "support/files/fs.h"

namespace ptpkg::elf {

struct ShrinkInput {
  std::vector<std::string> entries;
  std::vector<std::string> needed;
  std::uint16_t machine = 0;  ///< e_machine of the file: libraries of another machine do not count.
  /// When not empty, absolute entries that begin with none of these are dropped unread.
  std::vector<std::string> allowed_prefixes;
};

/// The entries to keep, in order. Keeps all entries that are not absolute (the "$ORIGIN" forms). Keeps an
/// absolute entry if it holds at least one needed library that no kept entry before it holds. An unreadable
/// library counts as missing. Errors: kInvalidInput (an entry or name that is not a path).
Result<std::vector<std::string>> ShrinkSearchPath(Fs& fs, const ShrinkInput& input);

}  // namespace ptpkg::elf
