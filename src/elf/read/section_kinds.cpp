// Groups sections by purpose: code, data, device code, symbols, debug, unwind, relocations.
//
// Names come before types and flags, because device code, debug information and unwind tables look like
// plain data otherwise. Sections of a name may come from a hostile file, so names are cut and sizes are
// compared with the file.

#include "elf/read/section_kinds.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>

#include "elf/read/section_table.h"

namespace ptpkg::elf {
namespace {

constexpr std::uint32_t kSectionNull = 0;
constexpr std::uint32_t kSectionUnwind = 0x70000001;  // SHT_X86_64_UNWIND

constexpr std::array<std::string_view, 4> kDeviceNames = {".nv_fatbin", "__nv_relfatbin", ".hip_fatbin",
                                                          ".nvFatBinSegment"};
constexpr std::array<std::string_view, 6> kDebugNames = {".debug",     ".zdebug",    ".stab",
                                                         ".gdb_index", ".gnu_debug", ".gnu.debug"};
constexpr std::array<std::string_view, 4> kUnwindNames = {".eh_frame", ".gcc_except_table", ".sframe",
                                                          ".ARM.ex"};

template <std::size_t kCount>
bool BeginsWithAny(std::string_view name, const std::array<std::string_view, kCount>& beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(),
                     [&](std::string_view beginning) { return name.starts_with(beginning); });
}

bool IsSymbolTable(std::uint32_t type) {
  constexpr std::array<std::uint32_t, 8> kTypes = {kSectionSymtab,    kSectionStrtab,   kSectionHash,
                                                   kSectionDynsym,    kSectionGnuHash,  kSectionGnuVerneed,
                                                   kSectionGnuVersym, kSectionGnuVerdef};
  return std::find(kTypes.begin(), kTypes.end(), type) != kTypes.end();
}

SectionKind KindOfSection(const Section& section, std::string_view name) {
  if (BeginsWithAny(name, kDeviceNames)) return SectionKind::kDeviceCode;
  if (BeginsWithAny(name, kDebugNames)) return SectionKind::kDebug;
  if (BeginsWithAny(name, kUnwindNames) || section.type == kSectionUnwind) return SectionKind::kUnwind;
  if (section.type == kSectionRela || section.type == kSectionRel || section.type == kSectionRelr) {
    return SectionKind::kRelocations;
  }
  if (IsSymbolTable(section.type)) return SectionKind::kSymbols;
  if (section.type == kSectionNote || section.type == kSectionDynamic) return SectionKind::kOther;
  if ((section.flags & kSectionAlloc) == 0) return SectionKind::kOther;
  if ((section.flags & kSectionExecute) != 0) return SectionKind::kCode;
  return (section.flags & kSectionWrite) != 0 ? SectionKind::kData : SectionKind::kReadOnlyData;
}

/// A million sections may share one name of 16 MiB: what is longer than real names is cut.
std::string_view NameAt(std::string_view names, std::uint32_t at) {
  constexpr std::size_t kMostBytes = 256;
  if (at >= names.size()) return {};
  const std::string_view name = names.substr(at, kMostBytes);
  return name.substr(0, name.find('\0'));
}

}  // namespace

std::string_view SectionKindName(SectionKind kind) {
  static constexpr std::array<std::string_view, kSectionKinds> kNames = {
      "code", "read-only data", "data", "device code", "symbols", "debug", "unwind", "relocations", "other"};
  return kNames.at(static_cast<std::size_t>(kind));
}

Result<std::vector<NamedSection>> ReadNamedSections(File& file, const Image& image) {
  std::vector<NamedSection> found;
  if (image.sections.empty()) return found;
  PTPKG_TRY(const std::string names, ReadSectionNames(file, image));
  for (const Section& section : image.sections) {
    if (section.type == kSectionNull || section.type == kSectionNobits || section.size == 0) continue;
    if (section.offset > image.file_size || section.size > image.file_size - section.offset) {
      return Error(ErrorCode::kCorrupt, fmt::format("a section of {} bytes at {} leaves the file of {}",
                                                    section.size, section.offset, image.file_size));
    }
    const std::string_view name = NameAt(names, section.name);
    found.push_back({.name = std::string(name),
                     .kind = KindOfSection(section, name),
                     .type = section.type,
                     .address = section.addr,
                     .offset = section.offset,
                     .size_bytes = section.size});
  }
  std::stable_sort(found.begin(), found.end(), [](const NamedSection& left, const NamedSection& right) {
    return left.offset < right.offset;
  });
  return found;
}

bool IsStripped(const std::vector<NamedSection>& sections) {
  return !sections.empty() && std::none_of(sections.begin(), sections.end(), [](const NamedSection& section) {
    return section.kind == SectionKind::kDebug || section.name == ".symtab";
  });
}

}  // namespace ptpkg::elf
