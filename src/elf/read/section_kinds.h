#pragma once
// Classifies ELF sections for size reports. Layer: elf. Source: System V gABI chapter 4 "Special Sections",
// and section names of GCC, binutils and nvcc.

#include <string>
#include <string_view>
#include <vector>

#include "elf/read/image.h"

namespace ptpkg::elf {

enum class SectionKind : std::uint8_t {
  kCode,
  kReadOnlyData,
  kData,
  kDeviceCode,  ///< Containers of GPU code: .nv_fatbin, __nv_relfatbin, .hip_fatbin.
  kSymbols,     ///< Tables of symbols, their names, hashes and versions.
  kDebug,
  kUnwind,  ///< Tables of exceptions and stack frames.
  kRelocations,
  kOther,
};
inline constexpr std::size_t kSectionKinds = 9;

/// Name in JSON and text: "read-only data".
std::string_view SectionKindName(SectionKind kind);

struct NamedSection {
  std::string name;
  SectionKind kind = SectionKind::kOther;
  std::uint32_t type = 0;  ///< sh_type
  std::uint64_t address = 0;
  std::uint64_t offset = 0;
  std::uint64_t size_bytes = 0;
};

/// Sections that have bytes in the file, in file order. Empty for a file without section headers. Errors:
/// kCorrupt for a damaged name table, and for a section that leaves the file; kIo. Cost: the name table.
Result<std::vector<NamedSection>> ReadNamedSections(File& file, const Image& image);

/// True if there is neither a full symbol table (.symtab) nor debug information. Also false for a file
/// without section headers, where this is unknown.
bool IsStripped(const std::vector<NamedSection>& sections);

}  // namespace ptpkg::elf
