#include "elf/header_room.h"

#include <algorithm>

namespace ptpkg::elf {
namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kMaxBlockBytes = 16U << 10U;

bool IsMovable(const Image& image, const Section& section) {
  const Segment* interpreter = image.FindSegment(kSegmentInterp);
  const bool names_interpreter =
      interpreter != nullptr && section.type == kSectionProgbits && section.addr == interpreter->vaddr;
  return section.type == kSectionNote || names_interpreter;
}

bool IsMovable(const Segment& segment) {
  return segment.type == kSegmentInterp || segment.type == kSegmentNote ||
         segment.type == kSegmentGnuProperty;
}

class RoomFinder {
 public:
  RoomFinder(const Image& image, std::size_t slots) : image_(image) {
    table_ = image.header.program_headers_offset;
    room_.begin = table_ + image.segments.size() * image.codec.SegmentSize();
    room_.end = table_ + slots * image.codec.SegmentSize();
  }

  std::optional<HeaderRoom> Run() {
    if (image_.sections.empty() || room_.end > kPage) return std::nullopt;
    for (std::uint64_t seen_end = 0; seen_end != room_.end;) {
      seen_end = room_.end;
      for (const Section& section : image_.sections) {
        if (section.type == 0 || section.type == kSectionNobits) continue;
        if (!Take(section.offset, section.size, IsMovable(image_, section))) return std::nullopt;
      }
      for (const Segment& segment : image_.segments) {
        if (segment.type == kSegmentLoad || segment.type == kSegmentPhdr) continue;
        if (!Take(segment.offset, segment.file_size, IsMovable(segment))) return std::nullopt;
      }
    }
    const std::uint64_t section_headers = image_.sections.size() * image_.codec.SectionSize();
    if (Touches(image_.header.section_headers_offset, section_headers)) return std::nullopt;
    if (room_.end - room_.begin > kMaxBlockBytes || !IsMapped()) return std::nullopt;
    return room_;
  }

 private:
  [[nodiscard]] bool Touches(std::uint64_t offset, std::uint64_t size) const {
    return size != 0 && offset < room_.end && size > room_.begin - std::min(room_.begin, offset);
  }

  /// Makes the block hold all of what it touches. False if that cannot move.
  bool Take(std::uint64_t offset, std::uint64_t size, bool is_movable) {
    if (!Touches(offset, size)) return true;
    if (!is_movable || offset < room_.begin || size > kMaxBlockBytes) return false;
    room_.end = std::max(room_.end, offset + size);
    return true;
  }

  [[nodiscard]] bool IsMapped() const {
    return std::any_of(image_.segments.begin(), image_.segments.end(), [&](const Segment& segment) {
      return segment.type == kSegmentLoad && segment.offset <= table_ &&
             room_.end <= segment.offset + segment.file_size;
    });
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

std::optional<HeaderRoom> FindHeaderRoom(const Image& image, std::size_t slots) {
  return RoomFinder(image, slots).Run();
}

}  // namespace ptpkg::elf
