#pragma once
// Reads members of static archives (.a). Layer: elf. Source: ar(5); the GNU and BSD forms of long names.

#include <functional>
#include <string>

#include "support/files/fs.h"

namespace ptpkg::elf {

struct MemberPlace {
  std::string name;
  std::uint64_t offset = 0;      ///< Offset of its content in the archive.
  std::uint64_t size_bytes = 0;  ///< Size of its content, without the name.
};

/// True if it is a static archive, by its magic number; thin archives count. Errors: kIo.
Result<bool> IsStaticArchive(File& file);

/// Calls `visit` with each member's name and place, and a view of its bytes that is valid during the call.
/// Skips tables of symbols and names. REQUIRES: IsStaticArchive. Errors:
/// - kInvalidInput: headers that are damaged or pass the end of the file, with the offset
/// - kUnsupported: a thin archive, which holds names of files instead of their bytes
/// - any error from `visit`, which ends the walk
Result<void> ForEachMember(File& archive,
                           const std::function<Result<void>(const MemberPlace& place, File& member)>& visit);

}  // namespace ptpkg::elf
