#pragma once
// The compact form of an object's slice: what changes in it beside the containers. Layer: elf, private to
// it. Source: gABI "Sections" and "Relocation"; the ABI supplements of x86-64 and AArch64 for relocations.

#include "elf/read/image.h"
#include "elf/slice/slice_pieces.h"

namespace ptpkg::elf {

struct ObjectPlan {
  std::string why_not = {};  ///< Why it cannot be compact; "" when it can, and when nothing is dropped.
  std::vector<Replacement> replacements = {};
  std::uint64_t removed_bytes = 0;  ///< The object gets smaller by as much: a multiple of 8.
};

/// Whether what a section of this type says of others is known: plain bytes, symbols, names, relocations that
/// are followed, notes, groups, arrays of functions. SHT_CREL (clang -Wa,--crel) is one that is not.
bool IsKnownInObjects(std::uint32_t type);

/// Plans the compact form of a relocatable object, whose sections of device code are `sections`: containers
/// move together, pointers to them (relocations, symbols) follow, and what lies behind a section moves to the
/// front by what it lost, as far as the alignment of all that follows allows. Nothing else changes. Errors:
/// kCorrupt (tables that leave the file), kIo. Cost: the symbol table and all relocations.
Result<ObjectPlan> PlanObject(File& file, const Image& image, const std::vector<SlicedSection>& sections);

}  // namespace ptpkg::elf
