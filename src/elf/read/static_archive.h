#pragma once
// Reads members and tables of static archives (.a). Layer: elf. Source: ar(5); the GNU and BSD forms of long
// names.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "support/files/fs.h"

namespace ptpkg::elf {

struct MemberPlace {
  std::string name;
  std::uint64_t offset = 0;  ///< Of its content, in the archive.
  /// Of its header there. In the BSD form the name lies between header and content, and counts as content in
  /// the header's size.
  std::uint64_t header_offset = 0;
  std::uint64_t size_bytes = 0;  ///< Of its content, without the name.
};

/// A member that is a table of the archive itself.
struct ArchiveTable {
  enum class Kind : std::uint8_t {
    kSymbols32,   ///< "/": a count, offsets of members' headers, names of symbols; all big-endian u32.
    kSymbols64,   ///< "/SYM64/": the same of u64.
    kNames,       ///< "//": long names of members.
    kBsdSymbols,  ///< "__.SYMDEF" and its kin.
  };
  Kind kind = Kind::kNames;
  std::uint64_t header_offset = 0;
  std::uint64_t offset = 0;  ///< Of its content.
  std::uint64_t size_bytes = 0;

  /// Bytes of a place of a member in GNU's tables of symbols: 4 or 8; 0 of other tables.
  [[nodiscard]] std::uint64_t PlaceBytes() const {
    if (kind == Kind::kSymbols64) return 8;
    return kind == Kind::kSymbols32 ? 4 : 0;
  }
};

/// In a member's header: where the decimal number of its bytes stands, and how long it is.
inline constexpr std::uint64_t kMemberSizeAt = 48;
inline constexpr std::uint64_t kMemberSizeDigits = 10;
inline constexpr std::uint64_t kMemberHeaderBytes = 60;
inline constexpr std::string_view kArchiveMagic = "!<arch>\n";

struct ArchiveParts {
  std::vector<ArchiveTable> tables = {};  ///< In file order.
  std::vector<MemberPlace> members = {};  ///< Likewise.

  /// Index of the member whose header is at `header_offset`; nullopt when none is.
  [[nodiscard]] std::optional<std::size_t> MemberAt(std::uint64_t header_offset) const;
};

/// By its magic number; thin archives count. Errors: kIo.
Result<bool> IsStaticArchive(File& file);

/// Calls `visit` with each member's name and place and a view of its bytes, which ends with the call; tables
/// of symbols and names are passed over. REQUIRES: IsStaticArchive. Errors: kInvalidInput for headers that
/// are damaged or pass the end of the file, with the offset; kUnsupported for a thin archive, which holds
/// names of files instead of their bytes; those of `visit`, which end the walk.
Result<void> ForEachMember(File& archive,
                           const std::function<Result<void>(const MemberPlace& place, File& member)>& visit);

/// Where members and tables lie; contents are not read. REQUIRES, errors: as ForEachMember. Cost: a read for
/// each header. Memory: 100 bytes for each member.
Result<ArchiveParts> ReadArchiveParts(File& archive);

}  // namespace ptpkg::elf
