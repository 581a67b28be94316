#pragma once
// Final dynamic entries and version records of an edit. Layer: elf, private to it.

#include <map>
#include <optional>
#include <vector>

#include "elf/edit/string_placement.h"

namespace ptpkg::elf {

/// Bytes that moved as one block, by address.
struct MovedBlock {
  std::uint64_t from = 0;
  std::uint64_t to = 0;
  std::uint64_t size_bytes = 0;
};

/// Addresses of the tables after the edit.
struct FinalAddresses {
  std::uint64_t strings = 0;       ///< DT_STRTAB.
  std::uint64_t strings_size = 0;  ///< DT_STRSZ.
  std::uint64_t dynamic = 0;
  std::optional<std::uint64_t> needs;  ///< DT_VERNEED.
  std::optional<MovedBlock> block;     ///< DT_HASH, DT_GNU_HASH and DT_SYMTAB follow it.
};

/// Version records with their strings' offsets.
std::vector<VersionNeed> FinalVersionNeeds(const NewDynamicState& state, const Placement& placement);

/// Dynamic entries with their values. MIPS: DT_MIPS_RLD_MAP_REL counts from the entry's own address, so
/// it is corrected when the entry moves.
std::vector<DynamicEntry> FinalEntries(const Image& image, const NewDynamicState& state,
                                       const Placement& placement, const FinalAddresses& addresses);

/// By index: the section headers of version tables that .dynamic no longer names, as plain data. Readers that
/// go by section headers would take what is left in them for versions; by name some do, so ".gnu.version_r"
/// is called
/// ".version_r" then. Errors: kIo.
Result<std::map<std::size_t, Section>> RetiredSections(File& file, const Image& image,
                                                       const NewDynamicState& state);

/// Writes that make the version indices in `state.dropped_versions` unversioned in .gnu.version.
Result<std::vector<PlannedWrite>> PlanVersionIndices(File& file, const Image& image,
                                                     const NewDynamicState& state);

}  // namespace ptpkg::elf
