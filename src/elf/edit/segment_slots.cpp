// Finds slots in the program header table for the segments that an edit adds.
//
// The ways are tried from harmless to costly (docs/formats/elf-search-path.md compares them):
// 1. Unused or emptied slots.
// 2. The slot of PT_PHDR in a library: only the loader of a program reads it.
// 3. The block behind the table moves (elf/edit/header_room.cpp).
// 4. Two neighbouring PT_LOADs become one.
// 5. The table moves to the end. strip silently destroys such a file, so PlanEdit refuses it by default.
//
// Invariants: a merge never joins a writable segment, since that would change rights. It takes the pair
// that makes the fewest bytes executable. No PT_LOAD may stay without sections: binutils writes such a
// segment at an offset that ld.so refuses, so EmptiedFinder drops it.

#include "elf/edit/segment_slots.h"

#include <algorithm>
#include <set>

#include "elf/edit/address_users.h"
#include "elf/edit/byte_diff.h"
#include "elf/read/notes.h"
#include "elf/read/section_table.h"

namespace ptpkg::elf {
namespace {

constexpr std::size_t kMaxSegments = 0xffff;  // PN_XNUM, the escape value
constexpr std::uint64_t kLargestGap = 64U << 10U;

bool IsInside(std::uint64_t address, const Segment& segment) {
  return address >= segment.vaddr && address - segment.vaddr < segment.memory_size;
}

/// Adds the addresses at which the notes of a section, their owners and contents begin.
Result<void> AddNoteStarts(File& file, const Image& image, const Section& section,
                           std::set<std::uint64_t>& starts) {
  PTPKG_TRY(const auto bytes, ReadExact(file, section.offset, section.size, "notes"));
  constexpr std::uint64_t kNoteHeader = 12;
  return ForEachNote(image.codec, bytes, section.align == 8 ? 8 : 4, [&](const Note& note) -> Result<void> {
    const auto owner =
        static_cast<std::uint64_t>(reinterpret_cast<const std::byte*>(note.owner.data()) - bytes.data());
    const auto content = static_cast<std::uint64_t>(note.content.data() - bytes.data());
    for (const std::uint64_t at : {owner - kNoteHeader, owner, content}) starts.insert(section.addr + at);
    return Ok();
  });
}

/// Notes and the interpreter's name, which other code than the loader's may read.
Result<bool> IsReferenced(File& file, const Image& image, const HeaderRoom& room) {
  std::vector<AddressRange> places;
  std::set<std::uint64_t> starts;
  for (const Section& section : image.sections) {
    if (!room.Holds(image, section) || IsLookupTable(image, section)) continue;
    places.push_back({.begin = section.addr, .size_bytes = section.size});
    starts.insert(section.addr);
    if (section.type == kSectionNote) PTPKG_CHECK(AddNoteStarts(file, image, section, starts));
  }
  if (places.empty() || !image.dynamic) return false;
  std::sort(places.begin(), places.end(),
            [](const AddressRange& left, const AddressRange& right) { return left.begin < right.begin; });
  PTPKG_TRY(const std::string user, FindAddressReference(file, image, places, starts));
  return !user.empty();
}

class SlotFinder {
 public:
  SlotFinder(File& file, const Image& image, const SlotRequest& request)
      : file_(file), image_(image), request_(request) {}

  Result<SegmentSlots> Run() {
    const std::set<std::size_t> emptied(request_.emptied.begin(), request_.emptied.end());
    for (std::size_t i = 0; i < image_.segments.size(); ++i) {
      if (image_.segments[i].type != kSegmentNull && !emptied.contains(i))
        slots_.kept.push_back(image_.segments[i]);
    }
    if (Missing() != 0 && CanDropPhdr(image_)) {
      std::erase_if(slots_.kept, [](const Segment& segment) { return segment.type == kSegmentPhdr; });
    }
    slots_.is_short = Missing() != 0;
    if (slots_.is_short) {
      PTPKG_CHECK(FindRoom());
      if (!slots_.room && !MergeLoads()) slots_.moves_headers = true;
    }
    slots_.count = std::max(image_.segments.size(), slots_.kept.size() + request_.wanted);
    if (slots_.count >= kMaxSegments)
      return Error(ErrorCode::kUnsupported, "no program header can be added to 65,534 others");
    // The table is switched by one write, so it has to lie in one page.
    const std::uint64_t table = image_.header.program_headers_offset;
    if (!slots_.room && !IsInOneBlock(table, slots_.count * image_.codec.SegmentSize()))
      slots_.moves_headers = true;
    return std::move(slots_);
  }

 private:
  /// Number of slots that the old table lacks.
  [[nodiscard]] std::size_t Missing() const {
    const std::size_t all = slots_.kept.size() + request_.wanted;
    return all - std::min(all, image_.segments.size());
  }

  Result<void> FindRoom() {
    PTPKG_TRY(auto room, FindHeaderRoom(file_, image_, slots_.kept.size() + request_.wanted));
    if (!room) return Ok();
    // In a damaged file the chain of requirements may lead anywhere.
    const MappedRange& needs = request_.needs;
    if (needs.offset < room->end && room->begin < needs.offset + needs.size_bytes) return Ok();
    PTPKG_TRY(const bool has_user, IsReferenced(file_, image_, *room));
    if (!has_user) slots_.room = room;
    return Ok();
  }

  /// Joins neighbours until the table is long enough; false, and nothing is changed, if it cannot be.
  bool MergeLoads() {
    if (image_.sections.empty()) return false;
    const std::vector<Segment> before = slots_.kept;
    while (Missing() != 0) {
      if (MergeOne()) continue;
      // A merge that does not suffice would make bytes executable for nothing.
      slots_.kept = before;
      return false;
    }
    return true;
  }

  /// Merges the pair that makes the fewest bytes executable.
  bool MergeOne() {
    std::vector<Segment>& kept = slots_.kept;
    std::optional<std::pair<std::size_t, std::size_t>> best;
    std::uint64_t least = ~std::uint64_t{0};
    std::optional<std::size_t> previous;
    for (std::size_t i = 0; i < kept.size(); ++i) {
      if (kept[i].type != kSegmentLoad) continue;
      if (previous && CanMerge(kept[*previous], kept[i])) {
        const bool differ = ((kept[*previous].flags ^ kept[i].flags) & kFlagExecute) != 0;
        const Segment& widened = (kept[i].flags & kFlagExecute) == 0 ? kept[i] : kept[*previous];
        const std::uint64_t cost = differ ? widened.file_size : 0;
        if (cost < least) best = {*previous, i};
        least = std::min(least, cost);
      }
      previous = i;
    }
    if (!best) return false;
    Segment& first = kept[best->first];
    const Segment& second = kept[best->second];
    first.file_size = first.memory_size = second.offset + second.file_size - first.offset;
    first.flags |= second.flags;
    first.align = std::max(first.align, second.align);
    kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(best->second));
    return true;
  }

  /// True if one PT_LOAD can map both: none is writable, and the bytes between them are padding.
  [[nodiscard]] bool CanMerge(const Segment& first, const Segment& second) const {
    const std::uint64_t end = first.offset + first.file_size;
    const bool is_writable = ((first.flags | second.flags) & kFlagWrite) != 0;
    const bool fits = first.vaddr - first.offset == second.vaddr - second.offset && second.offset >= end &&
                      second.offset - end <= kLargestGap && first.file_size == first.memory_size &&
                      second.file_size == second.memory_size;
    // A segment with more memory than file content ends in zeros, which cannot be in the middle.
    if (is_writable || !fits) return false;
    return std::none_of(image_.sections.begin(), image_.sections.end(), [&](const Section& section) {
      return HasBytes(section) && section.offset < second.offset && end < section.offset + section.size;
    });
  }

  File& file_;
  const Image& image_;
  const SlotRequest& request_;
  SegmentSlots slots_;
};

class EmptiedFinder {
 public:
  EmptiedFinder(File& file, const Image& image, const MovedSections& moved)
      : file_(file), image_(image), moved_(moved.begin(), moved.end()) {}

  Result<EmptiedSegments> Run(std::optional<std::size_t> extended) {
    for (std::size_t i = 0; i < image_.segments.size(); ++i) {
      const Segment& load = image_.segments[i];
      const bool maps_headers = load.offset <= image_.header.program_headers_offset &&
                                image_.header.program_headers_offset - load.offset < load.file_size;
      if (load.type != kSegmentLoad || i == extended || maps_headers || !LosesAllSections(load)) continue;
      PTPKG_TRY(const bool is_droppable, MapsNothingElse(load));
      if (is_droppable) {
        Drop(i);
      } else {
        emptied_.leaves_bytes = true;
      }
    }
    return std::move(emptied_);
  }

 private:
  [[nodiscard]] bool LosesAllSections(const Segment& load) const {
    bool loses = false;
    for (std::size_t i = 0; i < image_.sections.size(); ++i) {
      const Section& section = image_.sections[i];
      const bool is_mapped = section.type != 0 && (section.flags & kSectionAlloc) != 0 && section.size != 0;
      if (!is_mapped || !IsInside(section.addr, load)) continue;
      if (!moved_.contains(i)) return false;
      loses = true;
    }
    return loses;
  }

  /// Neither another segment nor .dynamic leads there. The bytes next to the moved sections are padding or
  /// have no user: patchelf leaves old section headers there.
  Result<bool> MapsNothingElse(const Segment& load) {
    for (const Segment& other : image_.segments) {
      const bool may_stay = other.type == kSegmentLoad || other.type == kSegmentGnuRelro ||
                            other.type == kSegmentDynamic || other.memory_size == 0;
      if (!may_stay && IsInside(other.vaddr, load) && !BeginsMoved(other.vaddr)) return false;
    }
    if (image_.dynamic) {
      for (const DynamicEntry& entry : image_.dynamic->entries) {
        if (HoldsAddress(entry.tag) && IsInside(entry.value, load) && !BeginsMoved(entry.value)) return false;
      }
    }
    PTPKG_TRY(const bool is_padding, HasOnlyPadding(load));
    if (is_padding || !image_.dynamic) return is_padding;
    PTPKG_TRY(const std::string user,
              FindAddressReference(file_, image_, {{.begin = load.vaddr, .size_bytes = load.memory_size}}));
    return user.empty();
  }

  /// True if the bytes beside the sections are NUL.
  Result<bool> HasOnlyPadding(const Segment& load) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> named;  // begin, end
    for (const std::size_t index : moved_) {
      const Section& section = image_.sections[index];
      if (IsInside(section.addr, load)) named.emplace_back(section.offset, section.offset + section.size);
    }
    const std::uint64_t load_end = load.offset + load.file_size;
    named.emplace_back(load_end, load_end);
    std::sort(named.begin(), named.end());
    std::uint64_t at = load.offset;
    for (const auto& [begin, end] : named) {
      if (begin > at) {
        PTPKG_TRY(const auto gap, ReadExact(file_, at, begin - at, "a segment without sections"));
        const bool is_padding =
            std::all_of(gap.begin(), gap.end(), [](std::byte byte) { return byte == std::byte{0}; });
        if (!is_padding) return false;
      }
      at = std::max(at, end);
    }
    return true;
  }

  [[nodiscard]] bool BeginsMoved(std::uint64_t address) const {
    return std::any_of(moved_.begin(), moved_.end(),
                       [&](std::size_t index) { return image_.sections[index].addr == address; });
  }

  void Drop(std::size_t index) {
    emptied_.dropped.push_back(index);
    for (std::size_t i = 0; i < image_.segments.size(); ++i) {
      const Segment& segment = image_.segments[i];
      if (segment.type == kSegmentGnuRelro && IsInside(segment.vaddr, image_.segments[index]))
        emptied_.dropped.push_back(i);
    }
  }

  File& file_;
  const Image& image_;
  std::set<std::size_t> moved_;
  EmptiedSegments emptied_;
};

}  // namespace

Result<SegmentSlots> FindSegmentSlots(File& file, const Image& image, const SlotRequest& request) {
  return SlotFinder(file, image, request).Run();
}

Result<EmptiedSegments> FindEmptied(File& file, const Image& image, const MovedSections& moved,
                                    std::optional<std::size_t> extended) {
  return EmptiedFinder(file, image, moved).Run(extended);
}

}  // namespace ptpkg::elf
