#pragma once
// The compact form of a static archive's slice: what changes in it beside its members. Layer: elf, private to
// it. Source: ar(5), "The GNU ar Format" of binutils.

#include <string>
#include <vector>

#include "elf/read/static_archive.h"
#include "elf/slice/slice_pieces.h"

namespace ptpkg::elf {

/// A member that gets smaller.
struct SmallerMember {
  MemberPlace place = {};
  std::uint64_t removed_bytes = 0;  ///< Even, as members begin at even offsets.
};

/// Why members of the archive cannot get smaller: a table of symbols that is not understood. "" when they
/// can. Errors: kIo. Cost: reads the table of symbols. Memory: as much as it has, at most 64 MiB.
Result<std::string> FindArchiveObstacle(File& archive, const ArchiveParts& parts);

/// The sizes in the headers of `smaller` (ascending), and the places of members in the tables of symbols.
/// REQUIRES: FindArchiveObstacle found none. Errors: kIo.
Result<std::vector<Replacement>> PlanArchive(File& archive, const ArchiveParts& parts,
                                             const std::vector<SmallerMember>& smaller);

/// The table of symbols of an archive: where it has the members' headers, in the order of its symbols.
/// Errors: kInvalidInput for a table that does not hold what its count says; kIo. REQUIRES: of kind
/// kSymbols32 or kSymbols64, of at most 64 MiB.
Result<std::vector<std::uint64_t>> ReadSymbolPlaces(File& archive, const ArchiveTable& table);

}  // namespace ptpkg::elf
