// Turns the wanted dynamic section into final entries, once the places of strings and tables are known.
//
// Entries with a string get its offset, and the tags of moved tables get new addresses. DT_MIPS_RLD_MAP_REL
// holds a distance from its own entry, so it changes whenever the entry or its table moves.
//
// When the last version requirement goes, the section header of .gnu.version_r stays, since removing it
// would renumber all sections. It becomes plain data instead, under a name without ".gnu". Symbols that
// required a dropped version become global and unversioned. patchelf leaves both, and ld.so then aborts
// (docs/formats/patchelf.md).

#include "elf/edit/finalize.h"

#include <algorithm>

#include "elf/edit/string_slots.h"

namespace ptpkg::elf {
namespace {

constexpr std::string_view kGnuPrefix = ".gnu";

/// True if the name of `section` begins with ".gnu".
Result<bool> IsNamedGnu(File& file, const Image& image, const Section& section) {
  if (image.header.section_names_index >= image.sections.size()) return false;
  const Section& names = image.sections[image.header.section_names_index];
  if (names.offset > image.file_size || section.name >= names.size ||
      kGnuPrefix.size() > names.size - section.name)
    return false;
  std::string begin(kGnuPrefix.size(), '\0');
  PTPKG_TRY(const std::size_t got,
            file.ReadAt(names.offset + section.name, std::as_writable_bytes(std::span(begin))));
  return got == begin.size() && begin == kGnuPrefix;
}

}  // namespace

std::vector<VersionNeed> FinalVersionNeeds(const NewDynamicState& state, const Placement& placement) {
  std::vector<VersionNeed> needs;
  for (const NewVersionNeed& desired : state.needs) {
    VersionNeed need = desired.need;
    if (desired.wish) need.name = static_cast<std::uint32_t>(placement.offsets[*desired.wish]);
    needs.push_back(std::move(need));
  }
  return needs;
}

std::vector<DynamicEntry> FinalEntries(const Image& image, const NewDynamicState& state,
                                       const Placement& placement, const FinalAddresses& addresses) {
  std::vector<DynamicEntry> entries;
  const std::uint64_t record = image.codec.DynamicEntrySize();
  for (std::size_t i = 0; i < state.entries.size(); ++i) {
    const NewDynamicEntry& desired = state.entries[i];
    DynamicEntry entry = desired.entry;
    if (desired.wish) entry.value = placement.offsets[*desired.wish];
    if (entry.tag == kDtStrtab) entry.value = addresses.strings;
    if (entry.tag == kDtStrsz) entry.value = addresses.strings_size;
    if (entry.tag == kDtVerneed && addresses.needs) entry.value = *addresses.needs;
    const bool is_table = entry.tag == kDtHash || entry.tag == kDtGnuHash || entry.tag == kDtSymtab;
    if (is_table && addresses.block && entry.value >= addresses.block->from &&
        entry.value - addresses.block->from < addresses.block->size_bytes) {
      entry.value = addresses.block->to + (entry.value - addresses.block->from);
    }
    if (entry.tag == kDtMipsRldMapRel && image.header.machine == kMachineMips && desired.old_index) {
      const std::uint64_t old_address = image.dynamic->range.vaddr + *desired.old_index * record;
      entry.value += old_address - (addresses.dynamic + i * record);
    }
    entries.push_back(entry);
  }
  return entries;
}

Result<std::map<std::size_t, Section>> RetiredSections(File& file, const Image& image,
                                                       const NewDynamicState& state) {
  std::map<std::size_t, Section> retired;
  if (!state.NeedsChanged() || !state.needs.empty()) return retired;
  const auto retire = [&](std::uint32_t type, std::uint64_t address) -> Result<void> {
    const auto index = image.FindSection(type, address);
    if (!index) return Ok();
    Section section = image.sections[*index];
    section.type = kSectionProgbits;
    section.link = section.info = 0;
    section.entry_size = 0;
    PTPKG_TRY(const bool has_known_name, IsNamedGnu(file, image, section));
    // The tail of the same string is a name too: ".version_r". No byte of the name table changes.
    if (has_known_name) section.name += static_cast<std::uint32_t>(kGnuPrefix.size());
    retired[*index] = section;
    return Ok();
  };
  PTPKG_CHECK(retire(kSectionGnuVerneed, state.needs_range.vaddr));
  const bool keeps_indices =
      std::any_of(state.entries.begin(), state.entries.end(),
                  [](const NewDynamicEntry& entry) { return entry.entry.tag == kDtVersym; });
  const auto indices = image.dynamic->Find(kDtVersym);
  if (indices && !keeps_indices) PTPKG_CHECK(retire(kSectionGnuVersym, *indices));
  return retired;
}

Result<std::vector<PlannedWrite>> PlanVersionIndices(File& file, const Image& image,
                                                     const NewDynamicState& state) {
  std::vector<PlannedWrite> writes;
  if (state.dropped_versions.empty()) return writes;
  const auto versym = image.dynamic->Find(kDtVersym);
  PTPKG_TRY(const auto count, CountDynamicSymbols(file, image));
  if (!versym || !count) return writes;
  constexpr std::uint16_t kGlobal = 1;  // VER_NDX_GLOBAL
  constexpr std::uint16_t kHidden = 0x8000;
  PTPKG_TRY(const std::uint64_t offset, image.OffsetOf(*versym, *count * 2, "the symbol version table"));
  PTPKG_TRY(const auto old, ReadExact(file, offset, *count * 2, "the symbol version table"));
  // The hidden bit is not part of the version index (VERSYM_HIDDEN).
  for (std::size_t at = 0; at < old.size(); at += 2) {
    const std::uint16_t index = image.codec.U16(old, at);
    if (!state.dropped_versions.contains(static_cast<std::uint16_t>(index & ~kHidden))) continue;
    PlannedWrite write{.offset = offset + at, .bytes = std::vector<std::byte>(2)};
    image.codec.PutU16(write.bytes, 0, kGlobal);
    writes.push_back(std::move(write));
  }
  return writes;
}

}  // namespace ptpkg::elf
