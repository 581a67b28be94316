// Idea: nothing that the loader uses is moved within the file. New strings, the dynamic section, version
// records, the interpreter and, if needed, the program headers go to the end of the file, into the last
// PT_LOAD where it can grow, else into a new one. Then one write of the ELF header and the program headers
// switches from the old layout to the new one.
// Invariants: every byte of the tail is written before the switch, so the file loads at each
// moment, first as the old one, then as the new one; file offset and address of a segment are congruent
// modulo the largest page; bytes that are not used any more (old paths, copied tables) are erased after the
// switch. docs/formats/elf-search-path.md has the measurements behind the choices, elf/edit/tail_layout.cpp
// makes them.

#include "elf/edit/grow_file.h"

#include <algorithm>
#include <map>

#include "elf/edit/byte_diff.h"
#include "elf/edit/finalize.h"
#include "elf/edit/tail_layout.h"
#include "elf/symbols/symbol_table.h"

namespace ptpkg::elf {
namespace {

using Writes = std::vector<PlannedWrite>;

/// Tables as the new file has them, and where .dynstr is then.
struct GrownTables {
  std::vector<std::byte> dynamic = {};
  std::vector<std::byte> needs = {};
  std::uint64_t strings_address = 0;
  std::uint64_t strings_size = 0;
};

/// A section header that changes.
struct SectionChange {
  std::size_t index = 0;
  Section section = {};
  bool blanks_old = false;  ///< Nothing reads the bytes at the section's old place any more.
};

void AppendWrites(Writes& writes, Writes more) {
  std::move(more.begin(), more.end(), std::back_inserter(writes));
}

/// Bytes to write whatever the file has there.
PlannedWrite Literal(std::uint64_t offset, std::vector<std::byte> bytes) {
  return {.offset = offset, .bytes = std::move(bytes)};
}

/// Writes `bytes` where they differ from those of the file.
Result<std::optional<PlannedWrite>> Difference(const GrowingFile& growing, std::uint64_t offset, Bytes bytes,
                                               std::string_view what) {
  PTPKG_TRY(const auto old, ReadExact(growing.file, offset, bytes.size(), what));
  return DiffWrite(offset, old, bytes);
}

/// File offset where the bytes that stand in .dynstr today end in the new file.
std::uint64_t StringsEnd(const GrowingFile& growing, const TailLayout& tail) {
  return tail.parts.strings + growing.image.strings.size_bytes;
}

/// Lets the last PT_LOAD reach to the tail's end, or adds one.
void MapTail(const TailLayout& tail, std::vector<Segment>& segments) {
  const TailPlace& place = tail.headers.place;
  const std::size_t last = LastLoad(segments);
  const std::uint32_t flags = kFlagRead | (tail.moves.moves_dynamic ? kFlagWrite : 0U);
  if (place.extends) {
    Segment& load = segments[last];
    load.flags |= flags;
    load.file_size = load.memory_size = tail.parts.end - load.offset;
    return;
  }
  const std::uint64_t size = tail.parts.end - place.begin;
  segments.insert(segments.begin() + static_cast<std::ptrdiff_t>(last) + 1, Segment{.type = kSegmentLoad,
                                                                                    .flags = flags,
                                                                                    .offset = place.begin,
                                                                                    .vaddr = place.vaddr,
                                                                                    .paddr = place.vaddr,
                                                                                    .file_size = size,
                                                                                    .memory_size = size,
                                                                                    .align = place.align});
}

void SetStackFlag(bool is_executable, std::vector<Segment>& segments) {
  const std::uint32_t execute = is_executable ? kFlagExecute : 0U;
  const auto it = std::find_if(segments.begin(), segments.end(),
                               [](const Segment& s) { return s.type == kSegmentGnuStack; });
  if (it != segments.end()) {
    it->flags = (it->flags & ~kFlagExecute) | execute;
  } else {
    segments.push_back({.type = kSegmentGnuStack,
                        .flags = kFlagRead | kFlagWrite | execute,
                        .offset = 0,
                        .vaddr = 0,
                        .paddr = 0,
                        .file_size = 0,
                        .memory_size = 0,
                        .align = 16});
  }
}

/// Lets the segments of what stood behind the program headers follow it to the tail.
void FollowBlock(const GrowingFile& growing, const TailLayout& tail, std::vector<Segment>& segments) {
  const SegmentSlots& slots = tail.headers.slots;
  for (Segment& segment : segments) {
    if (segment.type == kSegmentPhdr)
      segment.file_size = segment.memory_size = slots.count * growing.image.codec.SegmentSize();
    // An interpreter that changes has its own place.
    if (slots.room->Holds(segment) && !(segment.type == kSegmentInterp && growing.state.interpreter)) {
      segment.offset = tail.parts.block + (segment.offset - slots.room->begin);
      segment.vaddr = segment.paddr = tail.AddressOf(segment.offset);
    }
  }
}

/// The program headers of the new file.
std::vector<Segment> GrownSegments(const GrowingFile& growing, const TailLayout& tail) {
  const NewDynamicState& state = growing.state;
  const Codec& codec = growing.image.codec;
  const SegmentSlots& slots = tail.headers.slots;
  std::vector<Segment> segments = slots.kept;
  if (tail.headers.has_tail) MapTail(tail, segments);
  if (state.executable_stack) SetStackFlag(*state.executable_stack, segments);
  segments.resize(slots.count);
  const auto move = [&](std::uint32_t type, std::uint64_t offset, std::uint64_t size) {
    for (Segment& segment : segments) {
      if (segment.type != type) continue;
      segment.offset = offset;
      segment.vaddr = segment.paddr = tail.AddressOf(offset);
      segment.file_size = segment.memory_size = size;
    }
  };
  if (slots.moves_headers) move(kSegmentPhdr, tail.parts.headers, slots.count * codec.SegmentSize());
  if (slots.room) FollowBlock(growing, tail, segments);
  if (tail.moves.moves_dynamic) {
    move(kSegmentDynamic, tail.parts.dynamic, tail.parts.dynamic_capacity * codec.DynamicEntrySize());
  }
  if (state.interpreter) move(kSegmentInterp, tail.parts.interpreter, state.interpreter->size() + 1);
  return segments;
}

/// Addresses of the tables in the new file.
FinalAddresses AddressesOf(const GrowingFile& growing, const TailLayout& tail) {
  const Image& image = growing.image;
  const std::optional<HeaderRoom>& room = tail.headers.slots.room;
  FinalAddresses addresses;
  addresses.strings = tail.moves.strings_mode == StringsMode::kCopy ? tail.AddressOf(tail.parts.strings)
                                                                    : image.strings.vaddr;
  addresses.strings_size = image.strings.size_bytes + tail.moves.StringGrowth(StringsEnd(growing, tail));
  addresses.dynamic =
      tail.moves.moves_dynamic ? tail.AddressOf(tail.parts.dynamic) : image.dynamic->range.vaddr;
  if (tail.moves.moves_needs) addresses.needs = tail.AddressOf(tail.parts.needs);
  if (room) {
    addresses.block = {
        .from = room->vaddr, .to = tail.AddressOf(tail.parts.block), .size_bytes = room->end - room->begin};
  }
  return addresses;
}

GrownTables EncodeTables(const GrowingFile& growing, const TailLayout& tail) {
  const auto& [file, image, state] = growing;
  GrownTables tables;
  tables.needs = EncodeVersionNeeds(image.codec, FinalVersionNeeds(state, tail.moves.placement));
  if (!image.dynamic) return tables;
  const FinalAddresses addresses = AddressesOf(growing, tail);
  tables.strings_address = addresses.strings;
  tables.strings_size = addresses.strings_size;
  tables.dynamic = EncodeDynamic(image.codec, FinalEntries(image, state, tail.moves.placement, addresses),
                                 tail.parts.dynamic_capacity);
  return tables;
}

/// The old bytes of .dynstr, and over them its changes.
void CopyStrings(const GrowingFile& growing, const TailLayout& tail, Writes& writes) {
  writes.push_back({.offset = tail.parts.strings,
                    .bytes = {},
                    .copy_from = growing.image.strings.offset,
                    .copy_bytes = growing.image.strings.size_bytes});
  for (const auto* patches : {&tail.moves.placement.blanks, &tail.moves.placement.strings}) {
    for (const TablePatch& patch : *patches) {
      const Bytes bytes = AsBytes(patch.bytes);
      writes.push_back(Literal(tail.parts.strings + patch.offset, {bytes.begin(), bytes.end()}));
    }
  }
}

/// Everything beyond the old end of the file: nothing refers to it yet.
Writes TailWrites(const GrowingFile& growing, const TailLayout& tail, const GrownTables& tables,
                  const std::vector<Segment>& segments) {
  const StringsMode mode = tail.moves.strings_mode;
  const std::uint64_t begin = tail.headers.place.begin;
  const std::uint64_t parts_begin =
      begin + (mode == StringsMode::kContinue ? tail.moves.StringGrowth(begin) : 0);
  const std::uint64_t parts_end = mode == StringsMode::kCopy ? tail.parts.strings : tail.parts.end;
  std::vector<std::byte> parts(parts_end - parts_begin);
  const auto put = [&](std::uint64_t offset, Bytes bytes) {
    if (offset == 0) return;
    std::copy(bytes.begin(), bytes.end(), parts.begin() + static_cast<std::ptrdiff_t>(offset - parts_begin));
  };
  put(tail.parts.headers, EncodeSegments(growing.image.codec, segments));
  put(tail.parts.block, tail.headers.block_bytes);
  put(tail.parts.dynamic, tables.dynamic);
  put(tail.parts.needs, tables.needs);
  put(tail.parts.interpreter, AsBytes(growing.state.interpreter.value_or("")));
  Writes writes;
  if (!parts.empty()) writes.push_back(Literal(parts_begin, std::move(parts)));
  if (mode == StringsMode::kCopy) CopyStrings(growing, tail, writes);
  if (mode == StringsMode::kStay) return writes;
  const std::uint64_t strings_end = StringsEnd(growing, tail);
  std::vector<std::byte> grown(tail.moves.StringGrowth(strings_end));
  const Bytes appended = AsBytes(tail.moves.placement.appended);
  std::copy(appended.begin(), appended.end(), grown.begin());
  writes.push_back(Literal(strings_end, std::move(grown)));
  return writes;
}

/// One write: the ELF header and, unless they move, the program headers. nullopt if they stay as they are.
Result<std::optional<PlannedWrite>> SwitchHeaders(const GrowingFile& growing, const TailLayout& tail,
                                                  const std::vector<Segment>& segments) {
  const Image& image = growing.image;
  const SegmentSlots& slots = tail.headers.slots;
  const auto headers = EncodeSegments(image.codec, segments);
  const std::uint64_t table = image.header.program_headers_offset;
  const bool in_place = !slots.moves_headers;
  if (in_place && !slots.room) return Difference(growing, table, headers, "the program header table");
  const std::uint64_t size = in_place ? table + headers.size() : image.codec.FileHeaderSize();
  PTPKG_TRY(const auto old, ReadExact(growing.file, 0, size, "the ELF header"));
  std::vector<std::byte> bytes = old;
  FileHeader header = image.header;
  if (slots.moves_headers) header.program_headers_offset = tail.parts.headers;
  header.program_header_count = static_cast<std::uint16_t>(slots.count);
  image.codec.EncodeFileHeader(header, bytes);
  if (in_place) {
    std::copy(headers.begin(), headers.end(), bytes.begin() + static_cast<std::ptrdiff_t>(table));
  }
  return DiffWrite(0, old, bytes);
}

/// The sections of what stood behind the program headers, at their new places.
std::vector<SectionChange> BlockSections(const GrowingFile& growing, const TailLayout& tail) {
  const Image& image = growing.image;
  const HeaderRoom& room = *tail.headers.slots.room;
  std::vector<SectionChange> changes;
  for (std::size_t i = 0; i < image.sections.size(); ++i) {
    Section section = image.sections[i];
    const bool is_interpreter = section.type == kSectionProgbits;
    const bool moves = room.Holds(image, section) && !(is_interpreter && growing.state.interpreter);
    if (!moves) continue;
    section.offset = tail.parts.block + (section.offset - room.begin);
    section.addr = tail.AddressOf(section.offset);
    changes.push_back(
        {.index = i, .section = section, .blanks_old = IsLookupTable(image, image.sections[i])});
  }
  return changes;
}

/// Section headers follow, for debuggers and strip; the loader never reads them.
Result<std::vector<SectionChange>> ChangedSections(const GrowingFile& growing, const TailLayout& tail,
                                                   const GrownTables& tables) {
  const auto& [file, image, state] = growing;
  std::vector<SectionChange> changes;
  // Moves the section that begins at `old_address`, if there is one.
  const auto move = [&](std::uint32_t type, std::uint64_t old_address, const MappedRange& range) {
    const auto index = growing.image.FindSection(type, old_address);
    if (!index) return;
    Section section = growing.image.sections[*index];
    section.offset = range.offset;
    section.addr = range.vaddr;
    section.size = range.size_bytes;
    if (type == kSectionGnuVerneed) section.info = static_cast<std::uint32_t>(growing.state.needs.size());
    changes.push_back({.index = *index, .section = section});
  };
  const auto in_tail = [&](std::uint64_t offset, std::uint64_t size) -> MappedRange {
    return {.offset = offset, .vaddr = tail.AddressOf(offset), .size_bytes = size};
  };
  if (image.dynamic) {
    move(kSectionStrtab, image.strings.vaddr,
         {.offset = tail.parts.strings, .vaddr = tables.strings_address, .size_bytes = tables.strings_size});
    if (tail.moves.moves_dynamic) {
      move(kSectionDynamic, image.dynamic->range.vaddr, in_tail(tail.parts.dynamic, tables.dynamic.size()));
    }
  }
  PTPKG_TRY(const auto retired, RetiredSections(file, image, state));
  for (const auto& [index, section] : retired) changes.push_back({.index = index, .section = section});
  if (tail.headers.slots.room) {
    for (const SectionChange& change : BlockSections(growing, tail)) changes.push_back(change);
  }
  if (tail.moves.moves_needs) {
    move(kSectionGnuVerneed, state.needs_range.vaddr, in_tail(tail.parts.needs, tables.needs.size()));
  }
  if (state.interpreter) {
    move(kSectionProgbits, image.FindSegment(kSegmentInterp)->vaddr,
         in_tail(tail.parts.interpreter, state.interpreter->size() + 1));
  }
  return changes;
}

/// True if a PT_LOAD has the file offset, or ends there.
bool HasLoadAt(const std::vector<Segment>& segments, std::uint64_t offset) {
  return std::any_of(segments.begin(), segments.end(), [&](const Segment& segment) {
    return segment.type == kSegmentLoad && offset >= segment.offset &&
           offset - segment.offset <= segment.file_size;
  });
}

/// Empty sections of a PT_LOAD that the edit drops follow to the start of a new one, since a section in
/// memory belongs in a segment: lld leaves .data and .bss beside a lone .dynamic.
std::vector<SectionChange> OrphanedSections(const Image& image, const TailLayout& tail,
                                            const std::vector<Segment>& segments) {
  std::vector<SectionChange> changes;
  if (!tail.headers.has_tail || tail.headers.place.extends) return changes;
  for (std::size_t i = 0; i < image.sections.size(); ++i) {
    Section section = image.sections[i];
    const bool is_empty = section.type != 0 && (section.flags & kSectionAlloc) != 0 && section.size == 0;
    if (!is_empty || !HasLoadAt(image.segments, section.offset) || HasLoadAt(segments, section.offset))
      continue;
    section.offset = tail.headers.place.begin;
    section.addr = tail.headers.place.vaddr;
    changes.push_back({.index = i, .section = section});
  }
  return changes;
}

/// Blanks an old table that nothing reads any more, to save space. Notes stay: they are small, and
/// linker scripts give names to their bytes.
std::optional<PlannedWrite> BlankOldTable(const Image& image, const Section& section,
                                          std::size_t header_count) {
  const std::uint64_t headers_end =
      image.header.program_headers_offset + header_count * image.codec.SegmentSize();
  const std::uint64_t begin = std::max(section.offset, headers_end);
  const std::uint64_t end = section.offset + section.size;
  if (begin >= end) return std::nullopt;
  return Literal(begin, std::vector<std::byte>(end - begin));
}

Result<Writes> SectionWrites(const GrowingFile& growing, const TailLayout& tail,
                             const std::vector<SectionChange>& changes) {
  const Image& image = growing.image;
  Writes writes;
  for (const SectionChange& change : changes) {
    std::vector<std::byte> bytes(image.codec.SectionSize());
    image.codec.EncodeSection(change.section, bytes);
    const std::uint64_t at = image.header.section_headers_offset + change.index * bytes.size();
    PTPKG_TRY(auto write, Difference(growing, at, bytes, "a section header"));
    if (write) writes.push_back(std::move(*write));
    if (!change.blanks_old) continue;
    if (auto blank = BlankOldTable(image, image.sections[change.index], tail.headers.slots.count))
      writes.push_back(std::move(*blank));
  }
  return writes;
}

/// Section index → growth of its address.
std::map<std::size_t, std::uint64_t> AddressGrowth(const Image& image,
                                                   const std::vector<SectionChange>& changes) {
  std::map<std::size_t, std::uint64_t> growth;
  for (const SectionChange& change : changes)
    growth[change.index] = change.section.addr - image.sections[change.index].addr;
  return growth;
}

/// True if the section headers say that nothing else lives in the bytes of .dynstr.
bool StringsStandAlone(const Image& image) {
  const MappedRange& table = image.strings;
  const auto index = image.FindSection(kSectionStrtab, table.vaddr);
  if (!index || image.sections[*index].offset != table.offset ||
      image.sections[*index].size != table.size_bytes) {
    return false;
  }
  const auto shares = [&](const Section& section) {
    if (&section == &image.sections[*index] || section.type == 0) return false;
    if (section.type == kSectionSymtab && section.link == *index) return true;
    return section.type != kSectionNobits && section.size != 0 &&
           section.offset < table.offset + table.size_bytes && section.offset + section.size > table.offset;
  };
  return std::none_of(image.sections.begin(), image.sections.end(), shares);
}

/// Old paths are erased, even in unused bytes: a build path there would still leak. So is a table that was
/// copied: megabytes of names twice would be megabytes in every package.
Result<Writes> BlankOldStrings(const GrowingFile& growing, const TailMoves& moves) {
  const MappedRange& strings = growing.image.strings;
  const bool is_copied = moves.strings_mode == StringsMode::kCopy;
  Writes writes;
  if (is_copied && StringsStandAlone(growing.image)) {
    writes.push_back(Literal(strings.offset, std::vector<std::byte>(strings.size_bytes)));
    return writes;
  }
  for (const TablePatch& patch : moves.placement.blanks) {
    const Bytes bytes = AsBytes(patch.bytes);
    writes.push_back(Literal(strings.offset + patch.offset, {bytes.begin(), bytes.end()}));
  }
  if (!is_copied) return writes;
  for (const TablePatch& patch : moves.placement.strings) {
    const std::vector<std::byte> zeros(patch.bytes.size());
    PTPKG_TRY(auto write, Difference(growing, strings.offset + patch.offset, zeros, "a string"));
    if (write) writes.push_back(std::move(*write));
  }
  return writes;
}

/// The writes below the old end of the file, in their order. They follow those of the tail.
Result<Writes> WritesInFile(const GrowingFile& growing, const TailLayout& tail, const GrownTables& tables,
                            const std::vector<Segment>& segments) {
  const auto& [file, image, state] = growing;
  PTPKG_TRY(Writes writes, PlanVersionIndices(file, image, state));
  PTPKG_TRY(auto headers, SwitchHeaders(growing, tail, segments));
  if (headers) writes.push_back(std::move(*headers));
  if (image.dynamic && !tail.moves.moves_dynamic) {
    const MappedRange& range = image.dynamic->range;
    PTPKG_TRY(const auto old, ReadExact(file, range.offset, range.size_bytes, "the dynamic section"));
    if (auto write = DiffWrite(range.offset, old, tables.dynamic)) writes.push_back(std::move(*write));
  }
  PTPKG_TRY(std::vector<SectionChange> changes, ChangedSections(growing, tail, tables));
  for (const SectionChange& change : OrphanedSections(image, tail, segments)) changes.push_back(change);
  PTPKG_TRY(Writes sections, SectionWrites(growing, tail, changes));
  AppendWrites(writes, std::move(sections));
  PTPKG_TRY(Writes symbols, PlanSymbolValues(file, image, AddressGrowth(image, changes)));
  AppendWrites(writes, std::move(symbols));
  if (image.dynamic) {
    PTPKG_TRY(Writes blanks, BlankOldStrings(growing, tail.moves));
    AppendWrites(writes, std::move(blanks));
  }
  return writes;
}

/// True if strip, objcopy and their like would destroy the new file.
bool HasStripHazard(const Image& image, const TailHeaders& headers) {
  const bool were_in_front = image.header.program_headers_offset == image.codec.FileHeaderSize();
  return ((headers.slots.moves_headers && were_in_front) || headers.leaves_bytes) && !image.sections.empty();
}

}  // namespace

Result<EditPlan> PlanGrownFile(File& file, const Image& image, const NewDynamicState& state) {
  const GrowingFile growing{.file = file, .image = image, .state = state};
  PTPKG_TRY(const TailLayout tail, LayOutTail(growing));
  const std::vector<Segment> segments = GrownSegments(growing, tail);
  const GrownTables tables = EncodeTables(growing, tail);
  EditPlan plan;
  plan.tier = WriteTier::kAppend;
  plan.old_size = image.file_size;
  plan.new_size = tail.parts.end;
  plan.strip_hazard = HasStripHazard(image, tail.headers);
  if (tail.headers.has_tail) plan.writes = TailWrites(growing, tail, tables, segments);
  PTPKG_TRY(Writes in_file, WritesInFile(growing, tail, tables, segments));
  AppendWrites(plan.writes, std::move(in_file));
  return plan;
}

}  // namespace ptpkg::elf
