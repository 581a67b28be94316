// Computes the headers of a compact slice: ELF header, program headers, section headers, dynamic entries.
//
// Sections of containers keep their address and lose their end. Everything behind them moves to a smaller
// file offset, while its address stays: the load segment is cut in two at the gap, and the rest becomes a
// segment of its own. Each cut needs a slot in the program header table. If the table is full, the block
// behind it moves into the room that the containers left, and dynamic entries and symbols follow.
//
// Invariant: the shift of each part is a multiple of the largest page, so that offset and address of every
// segment stay congruent.

#include "elf/slice/slice_headers.h"

#include <algorithm>

#include "elf/read/section_table.h"
#include "elf/symbols/symbol_table.h"

namespace ptpkg::elf {
namespace {

class HeaderPlan {
 public:
  HeaderPlan(File& file, const Image& image, const CompactLayout& layout)
      : file_(file), image_(image), layout_(layout) {}

  Result<std::vector<Replacement>> Run() {
    const std::vector<Segment> segments = NewSegments();
    PTPKG_CHECK(PlanFileHeader(segments.size()));
    PlanSegments(segments);
    PlanSections();
    if (layout_.room) {
      PlanDynamic();
      PTPKG_CHECK(PlanSymbols());
    }
    return std::move(replacements_);
  }

 private:
  /// The new file offset of a byte or header that the original has at `old`. Something without bytes may
  /// lie within a section: there it moves no further than to the section's new end.
  [[nodiscard]] std::uint64_t NewPlace(std::uint64_t old) const {
    std::uint64_t offset = old;
    for (const CompactPart& part : layout_.parts) {
      if (old >= part.End()) {
        offset -= part.shift;
      } else if (old > part.header->offset) {
        offset -= old - std::min(old, part.End() - part.shift);
      }
    }
    return offset;
  }
  [[nodiscard]] std::uint64_t BlockDelta() const {
    return layout_.parts[layout_.block_part].Address(layout_.block_at) - layout_.room->vaddr;
  }
  [[nodiscard]] std::uint64_t BlockOffset(std::uint64_t old) const {
    const std::uint64_t begin = layout_.parts[layout_.block_part].header->offset;
    return NewPlace(begin) + layout_.block_at + (old - layout_.room->begin);
  }

  [[nodiscard]] std::vector<Segment> NewSegments() const {
    std::vector<Segment> segments;
    for (std::size_t i = 0; i < image_.segments.size(); ++i) {
      if (std::binary_search(layout_.spared.begin(), layout_.spared.end(), i)) continue;
      Segment segment = image_.segments[i];
      if (layout_.room && layout_.room->Holds(segment)) {
        segment.offset = BlockOffset(segment.offset);
        segment.vaddr += BlockDelta();
        segment.paddr += BlockDelta();
      } else {
        segment.offset = NewPlace(segment.offset);
      }
      AddCut(i, segment, segments);
    }
    for (Segment& segment : segments) {
      // PT_PHDR describes the table itself, whose length has changed.
      if (segment.type != kSegmentPhdr) continue;
      segment.file_size = segments.size() * image_.codec.SegmentSize();
      segment.memory_size = segment.file_size;
    }
    return segments;
  }

  /// `segment`, at its new place; as several ones where it is the load segment of parts.
  void AddCut(std::size_t index, Segment segment, std::vector<Segment>& segments) const {
    const std::size_t first = segments.size();
    bool has_more = true;
    for (const CompactPart& part : layout_.parts) {
      if (part.load != index) continue;
      segment.file_size = part.Address(part.used_bytes) - segment.vaddr;
      segment.memory_size = segment.file_size;
      segments.push_back(segment);
      segment = Rest(image_.segments[index], part);
      has_more = part.splits;
    }
    if (has_more) segments.push_back(segment);
    if (segments.size() == first + 1) return;
    for (std::size_t i = first; i < segments.size(); ++i) DropUnusedRight(segments[i]);
  }

  /// The part behind the section, at its old addresses.
  [[nodiscard]] Segment Rest(const Segment& whole, const CompactPart& part) const {
    Segment rest = whole;
    const std::uint64_t gone = part.End() - whole.offset;
    rest.offset = NewPlace(part.End());
    rest.vaddr += gone;
    rest.paddr += gone;
    rest.file_size -= gone;
    rest.memory_size -= gone;
    return rest;
  }

  /// In a segment that held code and data, a part without code needs no right to execute (eu-elflint).
  void DropUnusedRight(Segment& part) const {
    const bool has_code =
        std::any_of(image_.sections.begin(), image_.sections.end(), [&](const Section& section) {
          return (section.flags & kSectionExecute) != 0 && section.addr < part.vaddr + part.memory_size &&
                 section.addr + section.size > part.vaddr;
        });
    if (!has_code) part.flags &= ~kFlagExecute;
  }

  Result<void> PlanFileHeader(std::size_t segments) {
    PTPKG_TRY(std::vector<std::byte> bytes,
              ReadExact(file_, 0, image_.codec.FileHeaderSize(), "the ELF header"));
    FileHeader header = image_.header;
    header.program_headers_offset = NewPlace(header.program_headers_offset);
    header.section_headers_offset = NewPlace(header.section_headers_offset);
    header.program_header_count = static_cast<std::uint16_t>(segments);
    image_.codec.EncodeFileHeader(header, bytes);
    Put(0, std::move(bytes), "the ELF header");
    return Ok();
  }

  void PlanSegments(const std::vector<Segment>& segments) {
    const std::uint64_t offset = image_.header.program_headers_offset;
    const std::size_t record = image_.codec.SegmentSize();
    const std::uint64_t end = layout_.room ? layout_.room->end : offset + image_.segments.size() * record;
    std::vector<std::byte> bytes(end - offset);
    for (std::size_t i = 0; i < segments.size(); ++i) {
      image_.codec.EncodeSegment(segments[i], MutableBytes(bytes).subspan(i * record, record));
    }
    Put(offset, std::move(bytes), "the program headers");
  }

  void PlanSections() {
    const std::size_t record = image_.codec.SectionSize();
    std::vector<std::byte> bytes(image_.sections.size() * record);
    for (std::size_t i = 0; i < image_.sections.size(); ++i) {
      Section section = image_.sections[i];
      if (layout_.room && layout_.room->Holds(image_, section)) {
        section.offset = BlockOffset(section.offset);
        section.addr += BlockDelta();
      } else {
        section.offset = NewPlace(section.offset);
      }
      for (const CompactPart& part : layout_.parts) {
        if (part.sliced->index == i) section.size = part.packed.size_bytes;
      }
      image_.codec.EncodeSection(section, MutableBytes(bytes).subspan(i * record, record));
    }
    Put(image_.header.section_headers_offset, std::move(bytes), "the section headers");
  }

  void PlanDynamic() {
    const std::size_t record = image_.codec.DynamicEntrySize();
    for (const Section& section : image_.sections) {
      if (!IsLookupTable(image_, section) || !layout_.room->Holds(image_, section)) continue;
      for (std::size_t i = 0; i < image_.dynamic->entries.size(); ++i) {
        const DynamicEntry& entry = image_.dynamic->entries[i];
        const bool is_table = entry.tag == kDtHash || entry.tag == kDtGnuHash || entry.tag == kDtSymtab;
        if (!is_table || entry.value != section.addr) continue;
        const std::uint64_t at = image_.dynamic->range.offset + i * record + image_.codec.WordSize();
        replacements_.push_back(WordReplacement(at, entry.value + BlockDelta(), "the dynamic section"));
      }
    }
  }

  Result<void> PlanSymbols() {
    std::map<std::size_t, std::uint64_t> moved;
    for (std::size_t i = 0; i < image_.sections.size(); ++i) {
      if (layout_.room->Holds(image_, image_.sections[i])) moved.emplace(i, BlockDelta());
    }
    PTPKG_TRY(std::vector<PlannedWrite> writes, PlanSymbolValues(file_, image_, moved));
    for (PlannedWrite& write : writes) Put(write.offset, std::move(write.bytes), "the symbol table");
    return Ok();
  }

  void Put(std::uint64_t offset, std::vector<std::byte> bytes, std::string_view what) {
    Replacement replacement{.offset = offset, .size_bytes = bytes.size(), .pieces = {}, .what = what};
    replacement.pieces.push_back(BytesPiece(std::move(bytes)));
    replacements_.push_back(std::move(replacement));
  }

  File& file_;
  const Image& image_;
  const CompactLayout& layout_;
  std::vector<Replacement> replacements_;
};

}  // namespace

CompactPart::CompactPart(const SlicedSection& section, const Image& image)
    : sliced(&section), header(&image.sections[section.index]), packed(Pack(section.containers)) {}

const SlicedContainer* CompactPart::Find(std::uint64_t from_begin) const {
  if (from_begin >= header->size) return nullptr;
  const std::size_t index = sliced->ContainerAt(header->offset + from_begin);
  return index == sliced->containers.size() ? nullptr : &sliced->containers[index];
}

std::uint64_t CompactPart::NewPlace(const SlicedContainer& container) const {
  return packed.places[static_cast<std::size_t>(&container - sliced->containers.data())];
}

std::size_t CompactLayout::Splits() const {
  return static_cast<std::size_t>(
      std::count_if(parts.begin(), parts.end(), [](const CompactPart& part) { return part.splits; }));
}

Result<std::vector<Replacement>> PlanHeaders(File& file, const Image& image, const CompactLayout& layout) {
  return HeaderPlan(file, image, layout).Run();
}

}  // namespace ptpkg::elf
