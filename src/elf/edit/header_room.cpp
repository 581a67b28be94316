// Finds room to lengthen the program headers in their place, by moving the block that follows them.
//
// Program headers have to stay in front: strip and objcopy put them there without a look at the bytes that
// they overwrite. Libraries of GNU ld have no free slot, but notes, hash tables and .dynsym follow the
// headers. These may move, since only the loader finds them, through headers and dynamic entries that the
// edit corrects.
//
// The block starts behind the headers and grows until it cuts no section or segment in two. It qualifies
// only if each part in it can move, one segment maps all of it, no other dynamic entry points into it, and
// its notes are of known kinds. Unknown notes may hold distances from themselves, such as Crashpad's. The
// new table must lie within one page, so that one atomic write switches to it.

#include "elf/edit/header_room.h"

#include <algorithm>
#include <array>

#include "elf/edit/byte_diff.h"
#include "elf/read/notes.h"
#include "elf/read/section_table.h"

namespace ptpkg::elf {
namespace {

bool IsMovable(const Image& image, const Section& section) {
  const Segment* interpreter = image.FindSegment(kSegmentInterp);
  const bool names_interpreter =
      interpreter != nullptr && section.type == kSectionProgbits && section.addr == interpreter->vaddr;
  return section.type == kSectionNote || names_interpreter || IsLookupTable(image, section);
}

bool IsMovable(const Segment& segment) {
  return segment.type == kSegmentInterp || segment.type == kSegmentNote ||
         segment.type == kSegmentGnuProperty;
}

/// True if all of `notes` mean the same at any place.
bool AreKnownNotes(const Codec& codec, Bytes notes, std::uint64_t align) {
  constexpr std::array kOwners = {std::string_view("GNU"), std::string_view("FDO"), std::string_view("Go"),
                                  std::string_view("Android")};
  constexpr std::uint32_t kGnuTypes =
      5;  // ABI tag, hardware capabilities, build id, gold version, properties
  const auto check = [&](const Note& note) -> Result<void> {
    const bool is_known = std::find(kOwners.begin(), kOwners.end(), note.owner) != kOwners.end() &&
                          (note.owner != kOwners.front() || note.type <= kGnuTypes);
    return is_known ? Ok() : Error(ErrorCode::kUnsupported, "a note of an unknown kind");
  };
  return ForEachNote(codec, notes, align == 8 ? 8 : 4, check).has_value();
}

class RoomFinder {
 public:
  RoomFinder(const Image& image, std::size_t slots) : image_(image) {
    table_ = image.header.program_headers_offset;
    room_.begin = table_ + image.segments.size() * image.codec.SegmentSize();
    room_.end = table_ + slots * image.codec.SegmentSize();
  }

  std::optional<HeaderRoom> Run() {
    if (image_.sections.empty() || room_.end > kAtomicBlock) return std::nullopt;
    // Each part that the block takes can touch another one: repeat until its end stays.
    for (std::uint64_t seen_end = 0; seen_end != room_.end;) {
      seen_end = room_.end;
      if (!TakeSections() || !TakeSegments()) return std::nullopt;
    }
    const std::uint64_t section_headers = image_.sections.size() * image_.codec.SectionSize();
    if (Touches(image_.header.section_headers_offset, section_headers)) return std::nullopt;
    if (!FindAddress()) return std::nullopt;
    if (image_.dynamic && !AllPointersFollow()) return std::nullopt;
    return room_;
  }

 private:
  [[nodiscard]] bool Touches(std::uint64_t offset, std::uint64_t size) const {
    return size != 0 && offset < room_.end && size > room_.begin - std::min(room_.begin, offset);
  }

  bool TakeSections() {
    return std::all_of(image_.sections.begin(), image_.sections.end(), [&](const Section& section) {
      return !HasBytes(section) || Take(section.offset, section.size, IsMovable(image_, section));
    });
  }

  bool TakeSegments() {
    return std::all_of(image_.segments.begin(), image_.segments.end(), [&](const Segment& segment) {
      const bool is_own =
          segment.type != kSegmentLoad && segment.type != kSegmentPhdr && segment.file_size != 0;
      if (!is_own) return true;
      return segment.offset >= room_.begin && Take(segment.offset, segment.file_size, IsMovable(segment));
    });
  }

  /// Extends the block to the end of the range that it touches. False if the range cannot move.
  bool Take(std::uint64_t offset, std::uint64_t size, bool is_movable) {
    if (!Touches(offset, size)) return true;
    const bool is_in_file = offset <= image_.file_size && size <= image_.file_size - offset;
    if (!is_movable || offset < room_.begin || !is_in_file) return false;
    room_.end = std::max(room_.end, offset + size);
    return true;
  }

  /// False if .dynamic points into the headers or the block other than to a table that moves: section headers
  /// may be wrong.
  [[nodiscard]] bool AllPointersFollow() const {
    const MappedRange& dynamic = image_.dynamic->range;
    const std::uint64_t headers =
        room_.vaddr - room_.begin;  // a pointer into the headers would change as well
    if (Touches(dynamic.offset, dynamic.size_bytes) ||
        Touches(image_.strings.offset, image_.strings.size_bytes))
      return false;
    return std::all_of(
        image_.dynamic->entries.begin(), image_.dynamic->entries.end(), [&](const DynamicEntry& e) {
          if (!HoldsAddress(e.tag) || e.value < headers || e.value - headers >= room_.end) return true;
          return std::any_of(image_.sections.begin(), image_.sections.end(), [&](const Section& section) {
            return section.addr == e.value && IsLookupTable(image_, section) && room_.Holds(image_, section);
          });
        });
  }

  /// False unless the segment that maps the program headers maps all of the block.
  bool FindAddress() {
    const auto load =
        std::find_if(image_.segments.begin(), image_.segments.end(), [&](const Segment& segment) {
          return segment.type == kSegmentLoad && segment.offset <= table_ &&
                 room_.end <= segment.offset + segment.file_size;
        });
    if (load == image_.segments.end()) return false;
    room_.vaddr = load->vaddr + (room_.begin - load->offset);
    return true;
  }

  const Image& image_;
  std::uint64_t table_ = 0;
  HeaderRoom room_;
};

}  // namespace

bool HeaderRoom::Holds(const Image& image, const Section& section) const {
  return section.size != 0 && IsMovable(image, section) && section.offset >= begin &&
         section.offset + section.size <= end;
}

bool HeaderRoom::Holds(const Segment& segment) const {
  return segment.file_size != 0 && IsMovable(segment) && segment.offset >= begin &&
         segment.offset + segment.file_size <= end;
}

bool IsLookupTable(const Image& image, const Section& section) {
  const auto is_at = [&](std::uint64_t tag) {
    return image.dynamic && image.dynamic->Find(tag) == section.addr;
  };
  return (section.type == kSectionHash && is_at(kDtHash)) ||
         (section.type == kSectionGnuHash && is_at(kDtGnuHash)) ||
         (section.type == kSectionDynsym && is_at(kDtSymtab));
}

bool CanDropPhdr(const Image& image) {
  return image.header.type == kTypeDyn && image.dynamic && image.FindSegment(kSegmentInterp) == nullptr &&
         !IsStaticPie(image) && image.FindSegment(kSegmentPhdr) != nullptr;
}

Result<std::optional<HeaderRoom>> FindHeaderRoom(File& file, const Image& image, std::size_t slots) {
  const std::optional<HeaderRoom> room = RoomFinder(image, slots).Run();
  if (!room) return room;
  const auto check = [&](std::uint64_t offset, std::uint64_t size, std::uint64_t align) -> Result<bool> {
    PTPKG_TRY(const auto notes, ReadExact(file, offset, size, "notes"));
    return AreKnownNotes(image.codec, notes, align);
  };
  for (const Section& section : image.sections) {
    if (section.type != kSectionNote || !room->Holds(image, section)) continue;
    PTPKG_TRY(const bool is_known, check(section.offset, section.size, section.align));
    if (!is_known) return std::optional<HeaderRoom>();
  }
  // Not by segment: mold puts notes of both alignments into one.
  return room;
}

}  // namespace ptpkg::elf
