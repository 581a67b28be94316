#include "elf/slice/slice_compact.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>
#include <set>

#include "elf/edit/edit.h"
#include "elf/read/section_table.h"
#include "elf/slice/code_references.h"
#include "elf/slice/slice_headers.h"
#include "elf/symbols/relocations.h"
#include "elf/symbols/symbol_table.h"

namespace ptpkg::elf {
namespace {

constexpr std::uint64_t kMovedAlign = 64;  // of notes, hash tables and symbols none asks for more
constexpr std::uint64_t kSmallestPage = 4096;

/// Why the compact form is not possible; "" when nothing is in the way.
using Obstacle = std::string;

std::uint64_t Up(std::uint64_t value, std::uint64_t align) { return (value + align - 1) / align * align; }
std::uint64_t Down(std::uint64_t value, std::uint64_t align) { return value / align * align; }

class CompactPlanner {
 public:
  CompactPlanner(File& file, const Image& image, const std::vector<const SlicedSection*>& sections)
      : file_(file), image_(image) {
    for (const SlicedSection* section : sections) layout_.parts.emplace_back(*section, image);
    std::sort(layout_.parts.begin(), layout_.parts.end(),
              [](const CompactPart& left, const CompactPart& right) {
                return left.header->offset < right.header->offset;
              });
  }

  Result<CompactPlan> Run() {
    PTPKG_TRY(Obstacle why, FindObstacle());
    CompactPlan plan;
    plan.why_not = std::move(why);
    if (!plan.why_not.empty()) return plan;
    PTPKG_TRY(plan.replacements, PlanHeaders(file_, image_, layout_));
    for (Replacement& replacement : replacements_) plan.replacements.push_back(std::move(replacement));
    PTPKG_CHECK(PlanPointers(plan.replacements));
    for (std::size_t i = 0; i < layout_.parts.size(); ++i) {
      plan.replacements.push_back(BytesOf(i));
      plan.compacted.push_back(layout_.parts[i].sliced->index);
    }
    return plan;
  }

 private:
  Result<Obstacle> FindObstacle() {
    if (Obstacle why = CheckKind(); !why.empty()) return why;
    if (Obstacle why = LeaveSmallParts(); !why.empty()) return why;
    for (CompactPart& part : layout_.parts) {
      if (Obstacle why = FindLoad(part); !why.empty()) return why;
      if (Obstacle why = CheckOthers(part); !why.empty()) return why;
      if (Obstacle why = CheckDynamic(part); !why.empty()) return why;
    }
    if (Obstacle why = CheckSound(); !why.empty()) return why;
    PTPKG_CHECK(FindSlots());
    PTPKG_TRY(Obstacle symbols, PlanSymbols());  // told last
    FindEnds();
    PTPKG_TRY(Obstacle pointers, ReadPointers());
    if (!pointers.empty()) return pointers;
    if (Obstacle why = PlanBlock(); !why.empty()) return why;
    if (Obstacle why = FindShifts(); !why.empty()) return why;
    PTPKG_TRY(Obstacle exported, CheckDynamicSymbols());
    if (!exported.empty()) return exported;
    PTPKG_TRY(Obstacle computed, CheckCode());
    if (!computed.empty()) return computed;
    return symbols;
  }

  [[nodiscard]] Obstacle CheckKind() const {
    if (layout_.parts.size() > kMaxCompactParts)
      return fmt::format("it has {} sections of device code", layout_.parts.size());
    if (!image_.codec.Is64() || image_.codec.order() != ByteOrder::kLittle)
      return "the file is not a 64-bit little-endian one";
    if (image_.header.type == kTypeExec)
      return "the program has fixed addresses, so no relocations show the pointers to its containers";
    if (image_.header.type != kTypeDyn || !image_.dynamic)
      return "the file is not a linked library or program";
    if (image_.header.machine != kMachineX8664 && image_.header.machine != kMachineAarch64)
      return fmt::format("relocations of machine {} are not known", image_.header.machine);
    if (image_.dynamic->Find(kDtRel)) return "its relocations have no addends (DT_REL)";
    if (image_.sections.size() >= kFirstReservedIndex) return "the file has more than 65,279 sections";
    const bool has_static = std::any_of(image_.sections.begin(), image_.sections.end(), [](const Section& s) {
      return (s.type == kSectionRela || s.type == kSectionRel || s.type == kSectionCrel) && s.addr == 0;
    });
    return has_static ? "the file keeps the relocations of its link (ld --emit-relocs)" : "";
  }

  /// Leaves sections in place that would lose less than a page.
  Obstacle LeaveSmallParts() {
    for (const Segment& segment : image_.segments) {
      if (segment.type != kSegmentLoad) continue;
      if ((segment.align & (segment.align - 1)) != 0)
        return fmt::format("a segment is aligned to {:#x}, no power of 2", segment.align);
      page_bytes_ = std::max(page_bytes_, segment.align);
    }
    std::uint64_t most = 0;
    for (CompactPart& part : layout_.parts) {
      part.used_bytes = part.packed.size_bytes;
      most = std::max(most, GainOf(part));
    }
    std::erase_if(layout_.parts, [&](const CompactPart& part) { return GainOf(part) < page_bytes_; });
    return layout_.parts.empty() ? TooLittle(most) : "";
  }

  [[nodiscard]] static std::uint64_t GainOf(const CompactPart& part) {
    return part.header->size - std::min(part.header->size, part.used_bytes);
  }
  [[nodiscard]] Obstacle TooLittle(std::uint64_t gain) const {
    return fmt::format("the file would get smaller by {} bytes, less than a page of {}", gain, page_bytes_);
  }

  Obstacle FindLoad(CompactPart& part) const {
    const Section& section = *part.header;
    const auto holds = [&](const Segment& load) {
      return load.type == kSegmentLoad && section.offset >= load.offset &&
             part.End() <= load.offset + load.file_size &&
             load.vaddr + (section.offset - load.offset) == section.addr;
    };
    const auto found = std::find_if(image_.segments.begin(), image_.segments.end(), holds);
    if (found == image_.segments.end())
      return fmt::format("{} lies in no loadable segment", part.sliced->name);
    part.load = static_cast<std::size_t>(found - image_.segments.begin());
    part.splits = found->vaddr + found->memory_size != section.addr + section.size;
    if (part.splits && found->offset + found->file_size == part.End())
      return fmt::format("memory without bytes in the file follows {}", part.sliced->name);
    if (section.addr % kContainerAlign != 0) return fmt::format("{} is not aligned", part.sliced->name);
    return "";
  }

  /// Content that shares bytes with the section could not be told apart from it afterwards.
  [[nodiscard]] Obstacle CheckOthers(const CompactPart& part) const {
    const std::uint64_t begin = part.header->offset;
    for (std::size_t i = 0; i < image_.segments.size(); ++i) {
      const Segment& segment = image_.segments[i];
      const bool is_behind = segment.offset >= part.End();
      const bool is_before = segment.offset <= begin && segment.file_size <= begin - segment.offset;
      const bool is_empty = segment.file_size == 0 && segment.type != kSegmentLoad;
      if (i == part.load || is_empty || is_behind || is_before) continue;
      return fmt::format("program header {} (type {:#x}) maps part of {} too", i, segment.type,
                         part.sliced->name);
    }
    return "";
  }

  [[nodiscard]] Obstacle CheckSound() const {
    if (const Result<void> sound = CheckSegments(image_); !sound) return sound.error().message();
    for (std::size_t i = 0; i < image_.sections.size(); ++i) {
      const Section& section = image_.sections[i];
      if (HasBytes(section) && (section.flags & kSectionAlloc) == 0 && IsInLoad(section))
        return fmt::format("section {} is not to be loaded by its flags, and lies in a load segment", i);
    }
    return FindSharedBytes(image_);
  }

  [[nodiscard]] bool IsInLoad(const Section& section) const {
    return std::any_of(image_.segments.begin(), image_.segments.end(), [&](const Segment& load) {
      return load.type == kSegmentLoad && section.offset < load.offset + load.file_size &&
             load.offset < section.offset + section.size;
    });
  }

  /// Data that the loader reads must not be dropped, whatever section headers say.
  [[nodiscard]] Obstacle CheckDynamic(const CompactPart& part) const {
    for (const DynamicEntry& entry : image_.dynamic->entries) {
      if (HoldsAddress(entry.tag) && IsIn(part, entry.value))
        return fmt::format("an entry of .dynamic (tag {:#x}) leads into {}", entry.tag, part.sliced->name);
    }
    const MappedRange& strings = image_.strings;
    const std::uint64_t begin = part.header->offset;
    const bool apart = strings.offset >= part.End() ||
                       (strings.offset <= begin && strings.size_bytes <= begin - strings.offset);
    return apart ? "" : fmt::format("the dynamic string table reaches into {}", part.sliced->name);
  }

  [[nodiscard]] static bool IsIn(const CompactPart& part, std::uint64_t vaddr) {
    return vaddr >= part.header->addr && vaddr - part.header->addr < part.header->size;
  }
  /// The part that has the address; null when none does.
  [[nodiscard]] const CompactPart* PartAt(std::uint64_t vaddr) const {
    const auto found = std::find_if(layout_.parts.begin(), layout_.parts.end(),
                                    [&](const CompactPart& part) { return IsIn(part, vaddr); });
    return found == layout_.parts.end() ? nullptr : &*found;
  }

  /// The address behind the section.
  [[nodiscard]] static std::uint64_t OldEnd(const CompactPart& part) {
    return part.Address(part.header->size);
  }
  /// Whoever names such an address may mean the section's end: what has the name of a C identifier is walked
  /// up to there by the symbols __start_ and __stop_ that linkers define; a symbol of a program's own may
  /// stand there (PlanSymbols); and else it is the end of nothing but the section.
  void FindEnds() {
    for (const CompactPart& part : layout_.parts) {
      const bool has_other_meaning =
          std::any_of(image_.sections.begin(), image_.sections.end(), [&](const Section& section) {
            return (section.flags & kSectionAlloc) != 0 && section.addr == OldEnd(part);
          });
      if (part.sliced->name == kRelocatableCode || !has_other_meaning) ends_.insert(OldEnd(part));
    }
  }

  /// The address of one of its containers before and after.
  [[nodiscard]] static std::uint64_t OldAddress(const CompactPart& part, const SlicedContainer& container) {
    return part.Address(container.offset - part.header->offset);
  }
  [[nodiscard]] static std::uint64_t NewAddress(const CompactPart& part, const SlicedContainer& container) {
    return part.Address(part.NewPlace(container));
  }
  [[nodiscard]] static bool Moves(const CompactPart& part, const SlicedContainer& container) {
    return OldAddress(part, container) != NewAddress(part, container);
  }

  /// Program headers for what lies behind the parts: unused ones, else room for more.
  Result<void> FindSlots() {
    const std::vector<Segment>& segments = image_.segments;
    for (std::size_t i = 0; i < segments.size(); ++i) {
      if (segments[i].type == kSegmentNull) layout_.spared.push_back(i);
    }
    if (CanDropPhdr(image_))
      layout_.spared.push_back(static_cast<std::size_t>(image_.FindSegment(kSegmentPhdr) - segments.data()));
    layout_.spared.resize(std::min(layout_.spared.size(), layout_.Splits()));
    std::sort(layout_.spared.begin(), layout_.spared.end());
    const std::size_t missing = layout_.Splits() - layout_.spared.size();
    if (missing == 0) return Ok();
    PTPKG_TRY(layout_.room, FindHeaderRoom(file_, image_, segments.size() + missing));
    return Ok();
  }

  Result<Obstacle> ReadPointers() {
    Obstacle why;
    const Result<void> read = ForEachRelocation(file_, image_, [&](const Relocation& relocation) {
      if (why.empty()) why = Take(relocation);
      return Ok();
    });
    if (!read && read.error().code() == ErrorCode::kUnsupported) return read.error().message();
    PTPKG_CHECK(read);
    if (!why.empty()) return why;
    std::set<const SlicedContainer*> has_pointer;
    for (const Pointer& pointer : pointers_) has_pointer.insert(pointer.container);
    for (const CompactPart& part : layout_.parts) {
      for (const SlicedContainer& container : part.sliced->containers) {
        if (!has_pointer.contains(&container) && Moves(part, container))
          return fmt::format("no relocation points to the container at file offset {}", container.offset);
      }
    }
    return Obstacle();
  }

  Obstacle Take(const Relocation& relocation) {
    for (const CompactPart& part : layout_.parts) {
      if (IsIn(part, relocation.place) || IsIn(part, relocation.place + 7))
        return fmt::format("the loader writes into {} (address {:#x})", part.sliced->name, relocation.place);
      if (relocation.addend_offset >= part.header->offset && relocation.addend_offset < part.End())
        return fmt::format("relocations lie in {}", part.sliced->name);
      if (relocation.symbol == 0 && relocation.addend == OldEnd(part) && ends_.contains(OldEnd(part)))
        return fmt::format("a pointer leads to the end of {}", part.sliced->name);
    }
    const bool is_relative = relocation.type == RelativeType(image_);
    // Words that the loader writes would have to follow too.
    const bool uses_room = IsInRoom(relocation.place) || IsInRoom(relocation.place + 7) ||
                           (relocation.symbol == 0 && IsInRoom(relocation.addend));
    if (uses_room) layout_.room.reset();
    const CompactPart* part = PartAt(relocation.addend);
    if (part == nullptr) return "";
    if (!is_relative) {
      if (relocation.symbol != 0) return "";  // the addend is added to a symbol's address
      return fmt::format("a relocation of type {} points into {}", relocation.type, part->sliced->name);
    }
    const SlicedContainer* container = part->Find(relocation.addend - part->header->addr);
    if (container == nullptr) {
      return fmt::format("a pointer leads into the middle of {} (address {:#x})", part->sliced->name,
                         relocation.addend);
    }
    pointers_.push_back({.relocation = relocation, .part = part, .container = container});
    return "";
  }

  [[nodiscard]] bool IsInRoom(std::uint64_t vaddr) const {
    const std::optional<HeaderRoom>& room = layout_.room;
    return room && vaddr >= room->vaddr && vaddr - room->vaddr < room->end - room->begin;
  }

  [[nodiscard]] bool IsInMovedSection(std::uint64_t offset) const {
    return std::any_of(image_.sections.begin(), image_.sections.end(), [&](const Section& section) {
      return layout_.room->Holds(image_, section) && offset >= section.offset &&
             offset - section.offset < section.size;
    });
  }

  /// Moves the block in the way of the headers behind the containers of the part that loses most.
  Obstacle PlanBlock() {
    if (layout_.spared.size() == layout_.Splits()) return "";
    if (!layout_.room) return "there is no room for another program header";
    const HeaderRoom& room = *layout_.room;
    std::uint64_t end = room.begin;
    bool is_mapped = true;  // at the addresses that the load segment gives its bytes
    const auto take = [&](std::uint64_t offset, std::uint64_t vaddr, std::uint64_t size) {
      is_mapped = is_mapped && vaddr - room.vaddr == offset - room.begin;
      end = std::max(end, offset + size);
    };
    for (const Section& section : image_.sections) {
      if (room.Holds(image_, section)) take(section.offset, section.addr, section.size);
    }
    bool is_named = true;  // by the header of a section that moves along
    for (const Segment& segment : image_.segments) {
      if (!room.Holds(segment)) continue;
      take(segment.offset, segment.vaddr, segment.file_size);
      is_named = is_named && (segment.file_size == 0 || IsInMovedSection(segment.offset));
    }
    if (!is_named) return "no section header covers the bytes behind the program headers";
    if (!is_mapped) return "the bytes behind the program headers are mapped from elsewhere";
    layout_.block_bytes = end - room.begin;
    if (layout_.block_bytes == 0) return "";
    auto host = layout_.parts.end();
    for (auto part = layout_.parts.begin(); part != layout_.parts.end(); ++part) {
      if (!HasRightsOfRoom(*part)) continue;
      if (host == layout_.parts.end() || GainOf(*host) < GainOf(*part)) host = part;
    }
    if (host == layout_.parts.end())
      return "the bytes behind the program headers would become writable, or unreadable";
    layout_.block_part = static_cast<std::size_t>(host - layout_.parts.begin());
    const std::uint64_t past = Up(host->Address(host->packed.size_bytes), kMovedAlign);
    layout_.block_at = past + room.vaddr % kMovedAlign - host->header->addr;
    host->used_bytes = layout_.block_at + layout_.block_bytes;
    return "";
  }

  /// True if the part is loaded with the rights of the block behind the program headers.
  [[nodiscard]] bool HasRightsOfRoom(const CompactPart& part) const {
    const Segment* load = image_.LoadAt(layout_.room->vaddr);
    return load != nullptr && ((load->flags ^ image_.segments[part.load].flags) & ~kFlagExecute) == 0;
  }

  Obstacle FindShifts() {
    std::uint64_t gain = 0;
    for (CompactPart& part : layout_.parts) {
      gain += GainOf(part);
      part.shift = Down(GainOf(part), page_bytes_);
      if (part.used_bytes > part.header->size) return TooLittle(0);
    }
    const bool is_smaller = std::any_of(layout_.parts.begin(), layout_.parts.end(),
                                        [](const CompactPart& part) { return part.shift != 0; });
    return is_smaller ? "" : TooLittle(gain);
  }

  /// Symbols that other files look up must not move.
  [[nodiscard]] Result<Obstacle> CheckDynamicSymbols() const {
    const auto address = image_.dynamic->Find(kDtSymtab);
    const auto table = address ? image_.FindSection(kSectionDynsym, *address) : std::nullopt;
    if (!table) return Obstacle("no section header tells the size of .dynsym");
    return ForEachSymbol(file_, image_, image_.sections[*table], [&](const TableSymbol& symbol) -> Obstacle {
      const CompactPart* part = symbol.section == 0 ? nullptr : PartAt(symbol.value);
      if (part == nullptr) part = PartOf(symbol.section);
      if (part != nullptr) return fmt::format("a symbol of .dynsym lies in {}", part->sliced->name);
      const bool is_in_section = symbol.section != 0 && symbol.section < kFirstReservedIndex;
      const bool moves = layout_.block_bytes != 0 && is_in_section && IsInRoom(symbol.value);
      return moves ? "a symbol of .dynsym lies in the bytes behind the program headers" : "";
    });
  }

  /// The part that is the section; null when none is.
  [[nodiscard]] const CompactPart* PartOf(std::size_t section) const {
    const auto found = std::find_if(layout_.parts.begin(), layout_.parts.end(),
                                    [&](const CompactPart& part) { return part.sliced->index == section; });
    return found == layout_.parts.end() ? nullptr : &*found;
  }

  /// nvcc's start-up code goes by pointers in data; what a program embeds itself may go by a distance: to a
  /// container's header, the header of its first element, the end of all; or to a note.
  [[nodiscard]] Result<Obstacle> CheckCode() const {
    constexpr std::uint64_t kHeaders = 16 + 64;
    ReferencedRanges moving;
    for (const CompactPart& part : layout_.parts) {
      moving.wholes.push_back({.begin = part.header->addr, .size_bytes = part.header->size});
      for (const SlicedContainer& container : part.sliced->containers) {
        if (Moves(part, container))
          moving.places.push_back(
              {.begin = OldAddress(part, container), .size_bytes = std::min(kHeaders, container.size_bytes)});
      }
    }
    for (const std::uint64_t end : ends_) moving.places.push_back({.begin = end});
    for (const Section& section : image_.sections) {
      const bool moves = layout_.block_bytes != 0 && layout_.room->Holds(image_, section);
      // The loader alone reads the others, by .dynamic.
      if (moves && !IsLookupTable(image_, section))
        moving.places.push_back({.begin = section.addr, .size_bytes = section.size});
    }
    for (std::vector<AddressRange>* ranges : {&moving.places, &moving.wholes}) {
      std::sort(ranges->begin(), ranges->end(),
                [](const AddressRange& left, const AddressRange& right) { return left.begin < right.begin; });
    }
    PTPKG_TRY(const std::optional<std::uint64_t> found, FindCodeReference(file_, image_, moving));
    return found
               ? fmt::format("code at address {:#x} depends on its distance to bytes that would move", *found)
               : Obstacle();
  }

  /// Symbols that start-up code of objects gives to containers follow them.
  Result<Obstacle> PlanSymbols() {
    const Section* table = FindSymbolTable(image_);
    if (table == nullptr) return Obstacle();
    const auto tables = std::count_if(image_.sections.begin(), image_.sections.end(),
                                      [](const Section& section) { return section.type == kSectionSymtab; });
    if (tables != 1) return fmt::format("the file has {} tables of symbols", tables);
    return ForEachSymbol(file_, image_, *table, [&](const TableSymbol& symbol) -> Obstacle {
      const CompactPart* part = PartOf(symbol.section);
      if (part == nullptr || symbol.IsOfSection()) return "";
      if (symbol.value == OldEnd(*part)) ends_.insert(OldEnd(*part));
      if (symbol.value == OldEnd(*part) && symbol.size == 0) {  // __stop___nv_relfatbin
        replacements_.push_back(WordReplacement(symbol.value_offset, part->Address(part->packed.size_bytes),
                                                "a symbol of a section's end"));
        return "";
      }
      const SlicedContainer* container = part->Find(symbol.value - part->header->addr);
      if (container == nullptr) {
        return fmt::format("a symbol of .symtab lies in the midst of {} (address {:#x})", part->sliced->name,
                           symbol.value);
      }
      if (symbol.size != 0 && symbol.size != container->size_bytes) {
        return fmt::format("a symbol of .symtab has {} bytes of {}, but its container has {}", symbol.size,
                           part->sliced->name, container->size_bytes);
      }
      if (Moves(*part, *container)) {
        replacements_.push_back(
            WordReplacement(symbol.value_offset, NewAddress(*part, *container), "a symbol of a container"));
      }
      if (symbol.size != 0 && container->new_size != container->size_bytes) {
        replacements_.push_back(
            WordReplacement(symbol.size_offset, container->new_size, "a symbol of a container"));
      }
      return "";
    });
  }

  Result<void> PlanPointers(std::vector<Replacement>& replacements) {
    std::sort(pointers_.begin(), pointers_.end(), [](const Pointer& left, const Pointer& right) {
      return left.relocation.place < right.relocation.place;
    });
    WordReader words(file_, image_);
    for (const auto& [pointer, part, container] : pointers_) {
      if (!Moves(*part, *container)) continue;
      const std::uint64_t target = NewAddress(*part, *container);
      replacements.push_back(WordReplacement(pointer.addend_offset, target, "a pointer to a container"));
      if (pointer.is_relr) continue;
      // The loader does not read this word; tools do, where the linker wrote it (lld --apply-dynamic-relocs).
      PTPKG_TRY(const WordReader::Word word, words.Read(pointer.place));
      if (word.value == pointer.addend)
        replacements.push_back(WordReplacement(word.offset, target, "a pointer to a container"));
    }
    return Ok();
  }

  [[nodiscard]] Replacement BytesOf(std::size_t index) const {
    const CompactPart& part = layout_.parts[index];
    Replacement packed{.offset = part.header->offset,
                       .size_bytes = part.header->size,
                       .pieces = PiecesOf(part.sliced->containers, part.packed),
                       .what = part.sliced->name};
    std::uint64_t at = part.packed.size_bytes;
    if (layout_.block_bytes != 0 && index == layout_.block_part) {
      packed.pieces.push_back(ZeroPiece(layout_.block_at - at));
      packed.pieces.push_back(CopyPiece(layout_.room->begin, layout_.block_bytes));
      at = part.used_bytes;
    }
    packed.pieces.push_back(ZeroPiece(part.header->size - part.shift - at));
    return packed;
  }

  struct Pointer {
    Relocation relocation;
    const CompactPart* part = nullptr;
    const SlicedContainer* container = nullptr;
  };

  File& file_;
  const Image& image_;
  CompactLayout layout_;
  std::uint64_t page_bytes_ = kSmallestPage;
  std::set<std::uint64_t> ends_;   ///< Addresses behind parts that are meant as such.
  std::vector<Pointer> pointers_;  ///< To containers.
  std::vector<Replacement> replacements_;
};

}  // namespace

Result<CompactPlan> PlanCompact(File& file, const Image& image, const std::vector<SlicedSection>& sections) {
  std::vector<const SlicedSection*> changed;
  for (const SlicedSection& section : sections) {
    if (section.Changes()) changed.push_back(&section);
  }
  if (changed.empty()) return CompactPlan{.why_not = "nothing is dropped"};
  PTPKG_TRY(CompactPlan plan, CompactPlanner(file, image, changed).Run());
  if (changed.size() == 1 || plan.why_not.empty()) return plan;
  // An obstacle may concern one section alone.
  const auto loss_of = [&](const SlicedSection* section) {
    const std::uint64_t packed = Pack(section->containers).size_bytes;
    const std::uint64_t size = image.sections[section->index].size;
    return size - std::min(size, packed);
  };
  const auto largest = std::max_element(
      changed.begin(), changed.end(),
      [&](const SlicedSection* left, const SlicedSection* right) { return loss_of(left) < loss_of(right); });
  PTPKG_TRY(CompactPlan alone, CompactPlanner(file, image, {*largest}).Run());
  alone.why_not = std::move(plan.why_not);
  return alone;
}

}  // namespace ptpkg::elf
