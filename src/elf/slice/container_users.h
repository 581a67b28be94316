#pragma once
// Finds pointers, symbols and code that refer to containers of a linked file. Layer: elf, private to it.

#include <set>
#include <vector>

#include "elf/slice/compact_parts.h"
#include "elf/symbols/relocations.h"

namespace ptpkg::elf {

/// Addresses behind sections whose users mean the section's end.
using SectionEnds = std::set<std::uint64_t>;

/// Symbols that start-up code of objects gives to containers.
struct ContainerSymbols {
  Obstacle why_not = {};
  SectionEnds ends = {};                       ///< Named by a symbol.
  std::vector<Replacement> replacements = {};  ///< Their new values and sizes.
};

/// The symbols of .symtab that follow the containers of `parts`. Errors: kCorrupt, kIo.
Result<ContainerSymbols> FindContainerSymbols(File& file, const Image& image,
                                              const std::vector<CompactPart>& parts);

/// Adds to `named`, the ends that have symbols, those that every user means as such.
SectionEnds FindSectionEnds(const Image& image, const std::vector<CompactPart>& parts, SectionEnds named);

/// A relative relocation whose target is a container.
struct ContainerPointer {
  Relocation relocation = {};
  const CompactPart* part = nullptr;
  const SlicedContainer* container = nullptr;
};

struct ContainerPointers {
  Obstacle why_not = {};
  std::vector<ContainerPointer> pointers = {};
  bool uses_room = false;  ///< A relocation leads to the layout's room, or lies in it.
};

/// The pointers to containers of `layout.parts`, which the result borrows. Errors: kCorrupt, kIo.
Result<ContainerPointers> FindContainerPointers(File& file, const Image& image, const CompactLayout& layout,
                                                const SectionEnds& ends);

/// The pointers with their new targets. Errors: kCorrupt, kIo.
Result<std::vector<Replacement>> RetargetPointers(File& file, const Image& image,
                                                  std::vector<ContainerPointer> pointers);

/// An obstacle if a symbol that other files look up moves. Errors: kCorrupt, kIo.
Result<Obstacle> FindMovedExport(File& file, const Image& image, const CompactLayout& layout);

/// An obstacle if code goes by its distance to bytes that move. Errors: kCorrupt, kIo. Cost: reads all code.
Result<Obstacle> FindCodeUser(File& file, const Image& image, const CompactLayout& layout,
                              const SectionEnds& ends);

}  // namespace ptpkg::elf
