#pragma once
// One member of a tar, without its content. Layer: archive.

#include <cstdint>
#include <string>

namespace ptpkg::archive {

enum class TarKind : std::uint8_t { kRegular, kDirectory, kSymlink, kHardLink, kOther };

struct TarMember {
  std::string name;
  TarKind kind = TarKind::kRegular;
  std::uint32_t mode = 0644;     ///< Permission bits, 07777.
  std::uint64_t size_bytes = 0;  ///< Regular members.
  std::string link_target;       ///< Symlinks and hard links.
  std::int64_t mtime = 0;        ///< Unix seconds, rounded down.
};

}  // namespace ptpkg::archive
