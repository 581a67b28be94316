// Idea: in each section of device code the kept containers move together, and all that stands behind them in
// the file moves to the front by whole pages. Addresses stay, but for those of containers. The load segment
// is cut behind each section, so there are more program headers. They take unused slots, or the room of
// notes, hash tables and .dynsym, which move as one block behind the containers of a section. Each phase
// finds one thing, or an obstacle: the sections, the slots, the users of containers, the block, the
// distances. Only then the bytes are planned.

#include "elf/slice/slice_compact.h"

#include <algorithm>
#include <fmt/core.h>

#include "elf/slice/compact_parts.h"
#include "elf/slice/container_users.h"
#include "elf/slice/slice_headers.h"

namespace ptpkg::elf {
namespace {

constexpr std::uint64_t kMovedAlign = 64;  // of notes, hash tables and symbols none asks for more

std::uint64_t Up(std::uint64_t value, std::uint64_t align) { return (value + align - 1) / align * align; }
std::uint64_t Down(std::uint64_t value, std::uint64_t align) { return value / align * align; }

/// Program headers that other segments may take.
struct SpareSlots {
  std::vector<std::size_t> spared = {};  ///< CompactLayout::spared.
  std::optional<HeaderRoom> room = {};   ///< Room for more, if they are too few.
};

/// Program headers for what lies behind the parts: unused ones, else room for more.
Result<SpareSlots> FindSpareSlots(File& file, const Image& image, std::size_t splits) {
  const std::vector<Segment>& segments = image.segments;
  SpareSlots slots;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    if (segments[i].type == kSegmentNull) slots.spared.push_back(i);
  }
  if (CanDropPhdr(image))
    slots.spared.push_back(static_cast<std::size_t>(image.FindSegment(kSegmentPhdr) - segments.data()));
  slots.spared.resize(std::min(slots.spared.size(), splits));
  std::sort(slots.spared.begin(), slots.spared.end());
  const std::size_t missing = splits - slots.spared.size();
  if (missing == 0) return slots;
  PTPKG_TRY(slots.room, FindHeaderRoom(file, image, segments.size() + missing));
  return slots;
}

bool IsInMovedSection(const Image& image, const HeaderRoom& room, std::uint64_t offset) {
  return std::any_of(image.sections.begin(), image.sections.end(), [&](const Section& section) {
    return room.Holds(image, section) && offset >= section.offset && offset - section.offset < section.size;
  });
}

/// The bytes of the room up to the end of the last thing in it.
struct MovedBytes {
  Obstacle why_not = {};
  std::uint64_t size_bytes = 0;
};

MovedBytes MeasureBlock(const Image& image, const HeaderRoom& room) {
  std::uint64_t end = room.begin;
  bool is_mapped = true;  // at the addresses that the load segment gives its bytes
  const auto take = [&](std::uint64_t offset, std::uint64_t vaddr, std::uint64_t size) {
    is_mapped = is_mapped && vaddr - room.vaddr == offset - room.begin;
    end = std::max(end, offset + size);
  };
  for (const Section& section : image.sections) {
    if (room.Holds(image, section)) take(section.offset, section.addr, section.size);
  }
  bool is_named = true;  // by the header of a section that moves along
  for (const Segment& segment : image.segments) {
    if (!room.Holds(segment)) continue;
    take(segment.offset, segment.vaddr, segment.file_size);
    is_named = is_named && (segment.file_size == 0 || IsInMovedSection(image, room, segment.offset));
  }
  if (!is_named) return {.why_not = "no section header covers the bytes behind the program headers"};
  if (!is_mapped) return {.why_not = "the bytes behind the program headers are mapped from elsewhere"};
  return {.size_bytes = end - room.begin};
}

/// True if the part is loaded with the rights of the block behind the program headers.
bool HasRightsOfRoom(const Image& image, const HeaderRoom& room, const CompactPart& part) {
  const Segment* load = image.LoadAt(room.vaddr);
  return load != nullptr && ((load->flags ^ image.segments[part.load].flags) & ~kFlagExecute) == 0;
}

/// Moves the block in the way of the headers behind the containers of the part that loses most.
Obstacle PlaceBlock(const Image& image, CompactLayout& layout) {
  if (layout.spared.size() == layout.Splits()) return "";
  if (!layout.room) return "there is no room for another program header";
  const HeaderRoom& room = *layout.room;
  MovedBytes block = MeasureBlock(image, room);
  if (!block.why_not.empty()) return std::move(block.why_not);
  layout.block_bytes = block.size_bytes;
  if (layout.block_bytes == 0) return "";
  auto host = layout.parts.end();
  for (auto part = layout.parts.begin(); part != layout.parts.end(); ++part) {
    if (!HasRightsOfRoom(image, room, *part)) continue;
    if (host == layout.parts.end() || host->Gain() < part->Gain()) host = part;
  }
  if (host == layout.parts.end())
    return "the bytes behind the program headers would become writable, or unreadable";
  layout.block_part = static_cast<std::size_t>(host - layout.parts.begin());
  const std::uint64_t past = Up(host->Address(host->packed.size_bytes), kMovedAlign);
  layout.block_at = past + room.vaddr % kMovedAlign - host->header->addr;
  host->used_bytes = layout.block_at + layout.block_bytes;
  return "";
}

/// Sets the distance that the rest of the file moves, for each part.
Obstacle FindShifts(std::uint64_t page_bytes, std::vector<CompactPart>& parts) {
  std::uint64_t gain = 0;
  for (CompactPart& part : parts) {
    gain += part.Gain();
    part.shift = Down(part.Gain(), page_bytes);
    if (part.used_bytes > part.header->size) return TooLittleGain(0, page_bytes);
  }
  const bool is_smaller =
      std::any_of(parts.begin(), parts.end(), [](const CompactPart& part) { return part.shift != 0; });
  return is_smaller ? "" : TooLittleGain(gain, page_bytes);
}

/// The containers of a part, the block if it moves there, and zeros up to the next page that moves.
Replacement BytesOfPart(const CompactLayout& layout, std::size_t index) {
  const CompactPart& part = layout.parts[index];
  Replacement packed{.offset = part.header->offset,
                     .size_bytes = part.header->size,
                     .pieces = PiecesOf(part.sliced->containers, part.packed),
                     .what = part.sliced->name};
  std::uint64_t at = part.packed.size_bytes;
  if (layout.block_bytes != 0 && index == layout.block_part) {
    packed.pieces.push_back(ZeroPiece(layout.block_at - at));
    packed.pieces.push_back(CopyPiece(layout.room->begin, layout.block_bytes));
    at = part.used_bytes;
  }
  packed.pieces.push_back(ZeroPiece(part.header->size - part.shift - at));
  return packed;
}

/// The bytes of the compact form, of a layout without obstacles.
Result<CompactPlan> PlanBytes(File& file, const Image& image, const CompactLayout& layout,
                              std::vector<Replacement> symbols, std::vector<ContainerPointer> pointers) {
  CompactPlan plan;
  PTPKG_TRY(plan.replacements, PlanHeaders(file, image, layout));
  std::move(symbols.begin(), symbols.end(), std::back_inserter(plan.replacements));
  PTPKG_TRY(std::vector<Replacement> targets, RetargetPointers(file, image, std::move(pointers)));
  std::move(targets.begin(), targets.end(), std::back_inserter(plan.replacements));
  for (std::size_t i = 0; i < layout.parts.size(); ++i) {
    plan.replacements.push_back(BytesOfPart(layout, i));
    plan.compacted.push_back(layout.parts[i].sliced->index);
  }
  return plan;
}

CompactPlan NotCompact(Obstacle why) { return {.why_not = std::move(why)}; }

/// Plans the compact form of all `sections`, or says why it is not possible.
Result<CompactPlan> PlanTogether(File& file, const Image& image,
                                 const std::vector<const SlicedSection*>& sections) {
  CompactParts chosen = ChooseCompactParts(image, sections);
  if (!chosen.why_not.empty()) return NotCompact(std::move(chosen.why_not));
  CompactLayout layout{.parts = std::move(chosen.parts)};
  PTPKG_TRY(SpareSlots slots, FindSpareSlots(file, image, layout.Splits()));
  layout.spared = std::move(slots.spared);
  layout.room = slots.room;
  PTPKG_TRY(ContainerSymbols symbols, FindContainerSymbols(file, image, layout.parts));
  const SectionEnds ends = FindSectionEnds(image, layout.parts, symbols.ends);
  PTPKG_TRY(ContainerPointers found, FindContainerPointers(file, image, layout, ends));
  if (!found.why_not.empty()) return NotCompact(std::move(found.why_not));
  if (found.uses_room) layout.room.reset();
  if (Obstacle why = PlaceBlock(image, layout); !why.empty()) return NotCompact(std::move(why));
  if (Obstacle why = FindShifts(chosen.page_bytes, layout.parts); !why.empty())
    return NotCompact(std::move(why));
  PTPKG_TRY(Obstacle exported, FindMovedExport(file, image, layout));
  if (!exported.empty()) return NotCompact(std::move(exported));
  PTPKG_TRY(Obstacle computed, FindCodeUser(file, image, layout, ends));
  if (!computed.empty()) return NotCompact(std::move(computed));
  // Obstacles of .symtab come last: the others hold for a stripped file too.
  if (!symbols.why_not.empty()) return NotCompact(std::move(symbols.why_not));
  return PlanBytes(file, image, layout, std::move(symbols.replacements), std::move(found.pointers));
}

}  // namespace

Result<CompactPlan> PlanCompact(File& file, const Image& image, const std::vector<SlicedSection>& sections) {
  std::vector<const SlicedSection*> changed;
  for (const SlicedSection& section : sections) {
    if (section.Changes()) changed.push_back(&section);
  }
  if (changed.empty()) return CompactPlan{.why_not = "nothing is dropped"};
  PTPKG_TRY(CompactPlan plan, PlanTogether(file, image, changed));
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
  PTPKG_TRY(CompactPlan alone, PlanTogether(file, image, {*largest}));
  alone.why_not = std::move(plan.why_not);
  return alone;
}

}  // namespace ptpkg::elf
