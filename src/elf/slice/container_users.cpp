// Idea: containers move only if every user of their addresses is found and follows. Relative relocations show
// the pointers in data, and .symtab shows the names that start-up code has for containers. Both are
// rewritten. Users that cannot follow are obstacles: other files (by .dynsym), and code that goes by a
// distance.

#include "elf/slice/container_users.h"

#include <algorithm>
#include <fmt/core.h>

#include "elf/slice/code_references.h"
#include "elf/symbols/symbol_table.h"

namespace ptpkg::elf {
namespace {

/// The part that has the address; null when none does.
const CompactPart* PartAt(const std::vector<CompactPart>& parts, std::uint64_t vaddr) {
  const auto found =
      std::find_if(parts.begin(), parts.end(), [&](const CompactPart& part) { return part.Holds(vaddr); });
  return found == parts.end() ? nullptr : &*found;
}

/// The part that is the section; null when none is.
const CompactPart* PartOf(const std::vector<CompactPart>& parts, std::size_t section) {
  const auto found = std::find_if(parts.begin(), parts.end(),
                                  [&](const CompactPart& part) { return part.sliced->index == section; });
  return found == parts.end() ? nullptr : &*found;
}

bool IsInRoom(const std::optional<HeaderRoom>& room, std::uint64_t vaddr) {
  return room && vaddr >= room->vaddr && vaddr - room->vaddr < room->end - room->begin;
}

/// Adds the new value and size of a symbol that lies in `part`.
Obstacle FollowContainer(const CompactPart& part, const TableSymbol& symbol, ContainerSymbols& symbols) {
  const std::uint64_t end = part.EndAddress();
  if (symbol.value == end) symbols.ends.insert(end);
  if (symbol.value == end && symbol.size == 0) {  // __stop___nv_relfatbin
    symbols.replacements.push_back(WordReplacement(symbol.value_offset, part.Address(part.packed.size_bytes),
                                                   "a symbol of a section's end"));
    return "";
  }
  const SlicedContainer* container = part.Find(symbol.value - part.header->addr);
  if (container == nullptr) {
    return fmt::format("a symbol of .symtab lies in the midst of {} (address {:#x})", part.sliced->name,
                       symbol.value);
  }
  if (symbol.size != 0 && symbol.size != container->size_bytes) {
    return fmt::format("a symbol of .symtab has {} bytes of {}, but its container has {}", symbol.size,
                       part.sliced->name, container->size_bytes);
  }
  if (part.Moves(*container)) {
    symbols.replacements.push_back(
        WordReplacement(symbol.value_offset, part.NewAddress(*container), "a symbol of a container"));
  }
  if (symbol.size != 0 && container->new_size != container->size_bytes) {
    symbols.replacements.push_back(
        WordReplacement(symbol.size_offset, container->new_size, "a symbol of a container"));
  }
  return "";
}

/// Why the relocation keeps the part's section from shrinking: the loader writes there, or it is stored
/// there, or it means the section's end.
Obstacle CheckPart(const CompactPart& part, const Relocation& relocation, const SectionEnds& ends) {
  if (part.Holds(relocation.place) || part.Holds(relocation.place + 7))
    return fmt::format("the loader writes into {} (address {:#x})", part.sliced->name, relocation.place);
  if (relocation.addend_offset >= part.header->offset && relocation.addend_offset < part.End())
    return fmt::format("relocations lie in {}", part.sliced->name);
  if (relocation.symbol == 0 && relocation.addend == part.EndAddress() && ends.contains(part.EndAddress()))
    return fmt::format("a pointer leads to the end of {}", part.sliced->name);
  return "";
}

/// Adds the relocation to `found` if it points to a container.
Obstacle TakeRelocation(const Image& image, const CompactLayout& layout, const Relocation& relocation,
                        ContainerPointers& found) {
  // Words that the loader writes would have to follow too.
  found.uses_room = found.uses_room || IsInRoom(layout.room, relocation.place) ||
                    IsInRoom(layout.room, relocation.place + 7) ||
                    (relocation.symbol == 0 && IsInRoom(layout.room, relocation.addend));
  const CompactPart* part = PartAt(layout.parts, relocation.addend);
  if (part == nullptr) return "";
  if (relocation.type != RelativeType(image)) {
    if (relocation.symbol != 0) return "";  // the addend is added to a symbol's address
    return fmt::format("a relocation of type {} points into {}", relocation.type, part->sliced->name);
  }
  const SlicedContainer* container = part->Find(relocation.addend - part->header->addr);
  if (container == nullptr) {
    return fmt::format("a pointer leads into the middle of {} (address {:#x})", part->sliced->name,
                       relocation.addend);
  }
  found.pointers.push_back({.relocation = relocation, .part = part, .container = container});
  return "";
}

/// A container that moves must have a pointer, else its users are unknown.
Obstacle CheckEachHasPointer(const std::vector<CompactPart>& parts,
                             const std::vector<ContainerPointer>& pointers) {
  std::set<const SlicedContainer*> has_pointer;
  for (const ContainerPointer& pointer : pointers) has_pointer.insert(pointer.container);
  for (const CompactPart& part : parts) {
    for (const SlicedContainer& container : part.sliced->containers) {
      if (!has_pointer.contains(&container) && part.Moves(container))
        return fmt::format("no relocation points to the container at file offset {}", container.offset);
    }
  }
  return "";
}

/// Addresses that move, and the sections that hold nothing else.
ReferencedRanges MovingRanges(const Image& image, const CompactLayout& layout, const SectionEnds& ends) {
  constexpr std::uint64_t kHeaders = 16 + 64;
  ReferencedRanges moving;
  for (const CompactPart& part : layout.parts) {
    moving.wholes.push_back({.begin = part.header->addr, .size_bytes = part.header->size});
    for (const SlicedContainer& container : part.sliced->containers) {
      if (part.Moves(container))
        moving.places.push_back(
            {.begin = part.OldAddress(container), .size_bytes = std::min(kHeaders, container.size_bytes)});
    }
  }
  for (const std::uint64_t end : ends) moving.places.push_back({.begin = end});
  for (const Section& section : image.sections) {
    const bool moves = layout.block_bytes != 0 && layout.room->Holds(image, section);
    // The loader alone reads the others, by .dynamic.
    if (moves && !IsLookupTable(image, section))
      moving.places.push_back({.begin = section.addr, .size_bytes = section.size});
  }
  for (std::vector<AddressRange>* ranges : {&moving.places, &moving.wholes}) {
    std::sort(ranges->begin(), ranges->end(),
              [](const AddressRange& left, const AddressRange& right) { return left.begin < right.begin; });
  }
  return moving;
}

}  // namespace

Result<ContainerSymbols> FindContainerSymbols(File& file, const Image& image,
                                              const std::vector<CompactPart>& parts) {
  ContainerSymbols symbols;
  const Section* table = FindSymbolTable(image);
  if (table == nullptr) return symbols;
  const auto tables = std::count_if(image.sections.begin(), image.sections.end(),
                                    [](const Section& section) { return section.type == kSectionSymtab; });
  if (tables != 1) {
    symbols.why_not = fmt::format("the file has {} tables of symbols", tables);
    return symbols;
  }
  PTPKG_TRY(symbols.why_not, ForEachSymbol(file, image, *table, [&](const TableSymbol& symbol) -> Obstacle {
              const CompactPart* part = PartOf(parts, symbol.section);
              if (part == nullptr || symbol.IsOfSection()) return "";
              return FollowContainer(*part, symbol, symbols);
            }));
  return symbols;
}

/// Whoever names such an address may mean the section's end. Sections named like a C identifier are walked up
/// to there by the symbols __start_ and __stop_ that linkers define. A symbol of a program's own may be there
/// (`named`). Otherwise it is the end of nothing but the section.
SectionEnds FindSectionEnds(const Image& image, const std::vector<CompactPart>& parts, SectionEnds named) {
  for (const CompactPart& part : parts) {
    const bool has_other_meaning =
        std::any_of(image.sections.begin(), image.sections.end(), [&](const Section& section) {
          return (section.flags & kSectionAlloc) != 0 && section.addr == part.EndAddress();
        });
    if (part.sliced->name == kRelocatableCode || !has_other_meaning) named.insert(part.EndAddress());
  }
  return named;
}

Result<ContainerPointers> FindContainerPointers(File& file, const Image& image, const CompactLayout& layout,
                                                const SectionEnds& ends) {
  ContainerPointers found;
  const Result<void> read = ForEachRelocation(file, image, [&](const Relocation& relocation) {
    for (const CompactPart& part : layout.parts) {
      if (found.why_not.empty()) found.why_not = CheckPart(part, relocation, ends);
    }
    if (found.why_not.empty()) found.why_not = TakeRelocation(image, layout, relocation, found);
    return Ok();
  });
  if (!read && read.error().code() == ErrorCode::kUnsupported) {
    found.why_not = read.error().message();
    return found;
  }
  PTPKG_CHECK(read);
  if (found.why_not.empty()) found.why_not = CheckEachHasPointer(layout.parts, found.pointers);
  return found;
}

Result<std::vector<Replacement>> RetargetPointers(File& file, const Image& image,
                                                  std::vector<ContainerPointer> pointers) {
  std::sort(pointers.begin(), pointers.end(),
            [](const ContainerPointer& left, const ContainerPointer& right) {
              return left.relocation.place < right.relocation.place;
            });
  std::vector<Replacement> replacements;
  WordReader words(file, image);
  for (const auto& [pointer, part, container] : pointers) {
    if (!part->Moves(*container)) continue;
    const std::uint64_t target = part->NewAddress(*container);
    replacements.push_back(WordReplacement(pointer.addend_offset, target, "a pointer to a container"));
    if (pointer.is_relr) continue;
    // The loader does not read this word; tools do, where the linker wrote it (lld --apply-dynamic-relocs).
    PTPKG_TRY(const WordReader::Word word, words.Read(pointer.place));
    if (word.value == pointer.addend)
      replacements.push_back(WordReplacement(word.offset, target, "a pointer to a container"));
  }
  return replacements;
}

Result<Obstacle> FindMovedExport(File& file, const Image& image, const CompactLayout& layout) {
  const auto address = image.dynamic->Find(kDtSymtab);
  const auto table = address ? image.FindSection(kSectionDynsym, *address) : std::nullopt;
  if (!table) return Obstacle("no section header tells the size of .dynsym");
  return ForEachSymbol(file, image, image.sections[*table], [&](const TableSymbol& symbol) -> Obstacle {
    const CompactPart* part = symbol.section == 0 ? nullptr : PartAt(layout.parts, symbol.value);
    if (part == nullptr) part = PartOf(layout.parts, symbol.section);
    if (part != nullptr) return fmt::format("a symbol of .dynsym lies in {}", part->sliced->name);
    const bool is_in_section = symbol.section != 0 && symbol.section < kFirstReservedIndex;
    const bool moves = layout.block_bytes != 0 && is_in_section && IsInRoom(layout.room, symbol.value);
    return moves ? "a symbol of .dynsym lies in the bytes behind the program headers" : "";
  });
}

/// nvcc's start-up code goes by pointers in data. Code that a program embeds itself may go by a distance: to
/// a container's header, the header of its first element, the end of all; or to a note.
Result<Obstacle> FindCodeUser(File& file, const Image& image, const CompactLayout& layout,
                              const SectionEnds& ends) {
  const ReferencedRanges moving = MovingRanges(image, layout, ends);
  PTPKG_TRY(const std::optional<std::uint64_t> found, FindCodeReference(file, image, moving));
  return found ? fmt::format("code at address {:#x} depends on its distance to bytes that would move", *found)
               : Obstacle();
}

}  // namespace ptpkg::elf
