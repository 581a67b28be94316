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
  /// When not empty, absolute entries that begin with none of these are dropped unseen.
  std::vector<std::string> allowed_prefixes;
};

/// The entries worth keeping, in order: all that are not absolute (the "$ORIGIN" forms), and absolute ones
/// that hold at least one needed library which no kept entry before them holds.
/// A library that cannot be read counts as not there. Errors: kInvalidInput (an entry or name that is no
/// path).
Result<std::vector<std::string>> ShrinkSearchPath(Fs& fs, const ShrinkInput& input);

}  // namespace ptpkg::elf
