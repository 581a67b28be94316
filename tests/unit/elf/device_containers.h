#pragma once
// Containers of GPU code and static archives, put together byte by byte.

#include <string>
#include <utility>
#include <vector>

#include "unit/elf/synthetic_elf.h"

namespace ptpkg::elf::test {

/// One element of a container, as fatbinary writes it.
struct Element {
  std::uint16_t kind = 2;  ///< 1: PTX, 2: machine code.
  std::uint32_t number = 90;
  std::uint64_t flags = 0x11;
  std::string payload = "payload.";
  std::uint32_t header_bytes = 64;

  [[nodiscard]] std::string Build() const;
};

inline constexpr std::uint64_t kFlagA = 0x100000;
inline constexpr std::uint64_t kFlagF = 0x200000;

std::string Container(const std::vector<Element>& elements);

/// A library, or object, with a section of that name for each.
std::string LibraryWith(const std::vector<std::pair<std::string, std::string>>& sections,
                        std::uint16_t type = kTypeDyn);

/// A library with `embedded` in .nv_fatbin and `relocatable` in __nv_relfatbin, where they are not empty.
std::string DeviceLibrary(const std::string& embedded, const std::string& relocatable = {},
                          std::uint16_t type = kTypeDyn);

/// A header and content of a member, padded to an even size.
std::string ArchiveMember(const std::string& name, const std::string& content);
/// GNU form; names above 15 bytes go to a table, which comes first, behind an empty table of symbols.
std::string StaticArchive(const std::vector<std::pair<std::string, std::string>>& members);

}  // namespace ptpkg::elf::test
