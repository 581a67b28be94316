// Idea: the expected program headers follow from the original's: each PT_LOAD is cut behind each section in
// it that got smaller, and ends behind the containers and the content that moved there. The slice must have
// those headers and no others. File offsets are not expected. They follow from a walk over the original's
// loaded bytes, which notes for each address the place of the byte in the slice.

#include "elf/slice/slice_memory_check.h"

#include <algorithm>
#include <fmt/core.h>
#include <iterator>

#include "elf/edit/header_room.h"

namespace ptpkg::elf {
namespace {

bool IsSegmentMapped(const Image& image, const Segment& segment) {
  const auto offset = image.OffsetOf(segment.vaddr, segment.file_size, "a segment");
  return offset && *offset == segment.offset;
}

/// True if both files must have the segment, and it is not loaded: neither unused ones, nor the
/// original's of the program headers where the slice does without.
bool IsListed(const SlicePair& files, const Segment& segment) {
  const bool is_spared = segment.type == kSegmentPhdr &&
                         files.now.image.FindSegment(kSegmentPhdr) == nullptr && CanDropPhdr(files.old.image);
  return segment.type != kSegmentLoad && segment.type != kSegmentNull && !is_spared;
}

std::vector<Segment> ListedSegments(const SlicePair& files, const Image& image) {
  std::vector<Segment> listed;
  std::copy_if(image.segments.begin(), image.segments.end(), std::back_inserter(listed),
               [&](const Segment& segment) { return IsListed(files, segment); });
  return listed;
}

bool IsSameSegment(const SlicePair& files, const MovedContent& moved, const Segment& old,
                   const Segment& now) {
  const Image& sliced = files.now.image;
  const std::uint64_t growth = moved.GrowthOf(files.old.image, old);
  Segment wanted = old;
  wanted.offset = now.offset;
  wanted.vaddr += growth;
  wanted.paddr += growth;
  if (old.type == kSegmentPhdr) {
    wanted.offset = sliced.header.program_headers_offset;
    wanted.file_size = sliced.segments.size() * sliced.codec.SegmentSize();
    wanted.memory_size = wanted.file_size;
  }
  if (wanted != now) return false;
  if (now.file_size == 0) return moved.places.IsBetweenNeighbours(old.offset, now.offset);
  return !IsSegmentMapped(files.old.image, old) || IsSegmentMapped(sliced, now);
}

/// True if the segment keeps the rights `flags`, except the right to execute where no section of code lies.
bool KeepsRights(const Image& original, const Segment& now, std::uint32_t flags) {
  if (now.flags == flags) return true;
  if (now.flags != (flags & ~kFlagExecute)) return false;
  return std::none_of(original.sections.begin(), original.sections.end(), [&](const Section& section) {
    return (section.flags & kSectionExecute) != 0 && section.addr < now.vaddr + now.memory_size &&
           section.addr + section.size > now.vaddr;
  });
}

/// Checks that memory behind the segment's bytes stays zero.
Result<void> CheckZeros(const SlicePair& files, const Segment& old) {
  const std::vector<Segment>& segments = files.now.image.segments;
  const bool has_zeros = std::any_of(segments.begin(), segments.end(), [&](const Segment& now) {
    return now.type == kSegmentLoad && KeepsRights(files.old.image, now, old.flags) &&
           now.vaddr + now.file_size == old.vaddr + old.file_size &&
           now.vaddr + now.memory_size == old.vaddr + old.memory_size;
  });
  return has_zeros ? Ok() : SliceDiffers(fmt::format("zeros behind the segment at address {:#x}", old.vaddr));
}

/// Adds the bytes of a segment to `ranges`, each where the slice loads its address.
Result<void> CheckLoad(const SlicePair& files, const Segment& old, const SkippedRanges& skips,
                       RangeComparison& ranges) {
  const std::uint64_t end = old.offset + old.file_size;
  for (std::uint64_t at = old.offset; at < end;) {
    std::uint64_t stop = end;
    const std::uint64_t behind = skips.Pass(at, stop);
    if (behind != at) {
      at = behind;
      continue;
    }
    const std::uint64_t vaddr = old.vaddr + (at - old.offset);
    const Segment* now = files.now.image.LoadAt(vaddr);
    if (now == nullptr || !KeepsRights(files.old.image, *now, old.flags))
      return SliceDiffers(fmt::format("address {:#x} is not loaded as it was", vaddr));
    const std::uint64_t size = std::min(stop - at, now->vaddr + now->file_size - vaddr);
    ranges.Add({.original = at,
                .sliced = now->offset + (vaddr - now->vaddr),
                .size_bytes = size,
                .what = "what is loaded"});
    at += size;
  }
  return old.memory_size == old.file_size ? Ok() : CheckZeros(files, old);
}

/// The address behind the containers of the section and what moved there.
Result<std::uint64_t> EndOfCode(const SlicePair& files, const MovedContent& moved, std::size_t index) {
  const Image& sliced = files.now.image;
  const std::uint64_t begin = files.old.image.sections[index].addr;
  const std::uint64_t limit = begin + files.old.image.sections[index].size;
  const std::uint64_t end_of_containers = begin + sliced.sections[index].size;
  std::uint64_t end = end_of_containers;
  bool is_behind = true;
  const auto take = [&](std::uint64_t vaddr, std::uint64_t size) {
    if (vaddr < begin || vaddr >= limit) return;
    is_behind = is_behind && vaddr >= end_of_containers && size <= limit - vaddr;
    end = std::max(end, vaddr + size);
  };
  for (const auto& [section, growth] : moved.growth)
    take(sliced.sections[section].addr, sliced.sections[section].size);
  for (const Segment& old : files.old.image.segments) {
    const std::uint64_t growth = moved.GrowthOf(files.old.image, old);
    if (growth != 0) take(old.vaddr + growth, old.file_size);
  }
  if (!is_behind) return SliceDiffers("the moved bytes lie on containers, or pass the end of their section");
  return end;
}

/// Expected form of `old` in the slice, but for offsets and the execute right: cut behind each section in
/// it that got smaller.
Result<std::vector<Segment>> CutLoad(const SlicePair& files, const DeviceSections& device,
                                     const MovedContent& moved, const Segment& old) {
  std::vector<Segment> loads;
  Segment rest = old;
  for (const ContainerMoves* smaller : device.smaller) {
    const Section& section = files.old.image.sections[smaller->section];
    const std::uint64_t section_end = section.addr + section.size;
    const bool holds = section.addr >= old.vaddr && section_end <= old.vaddr + old.file_size &&
                       section.offset - old.offset == section.addr - old.vaddr;
    if (!holds) continue;
    PTPKG_TRY(const std::uint64_t end, EndOfCode(files, moved, smaller->section));
    loads.push_back(rest);
    loads.back().file_size = end - rest.vaddr;
    loads.back().memory_size = end - rest.vaddr;
    const std::uint64_t gone = section_end - rest.vaddr;
    rest.vaddr += gone;
    rest.paddr += gone;
    rest.file_size -= gone;
    rest.memory_size -= gone;
  }
  if (rest == old || rest.memory_size != 0) loads.push_back(rest);
  return loads;
}

/// Loadable segments, and the types of all headers, in their order.
struct ProgramHeaders {
  std::vector<Segment> loads = {};
  std::vector<std::uint32_t> types = {};
};

Result<ProgramHeaders> ExpectedHeaders(const SlicePair& files, const DeviceSections& device,
                                       const MovedContent& moved) {
  ProgramHeaders expected;
  for (const Segment& old : files.old.image.segments) {
    if (old.type == kSegmentLoad) {
      PTPKG_TRY(const std::vector<Segment> loads, CutLoad(files, device, moved, old));
      expected.loads.insert(expected.loads.end(), loads.begin(), loads.end());
      expected.types.insert(expected.types.end(), loads.size(), kSegmentLoad);
    }
    if (IsListed(files, old)) expected.types.push_back(old.type);
  }
  return expected;
}

Result<void> CompareHeaders(const SlicePair& files, ProgramHeaders expected) {
  std::vector<Segment>& loads = expected.loads;
  ProgramHeaders found;
  for (const Segment& segment : files.now.image.segments) {
    if (segment.type != kSegmentNull) found.types.push_back(segment.type);
    if (segment.type != kSegmentLoad) continue;
    const std::size_t index = found.loads.size();
    if (index < loads.size()) {
      if (KeepsRights(files.old.image, segment, loads[index].flags)) loads[index].flags = segment.flags;
      loads[index].offset = segment.offset;  // CheckLoad compares the bytes
    }
    found.loads.push_back(segment);
  }
  if (found.loads != loads) return SliceDiffers("the loadable segments");
  return found.types == expected.types ? Ok() : SliceDiffers("the order of program headers");
}

}  // namespace

std::uint64_t MovedContent::GrowthOf(const Image& original, const Segment& segment) const {
  if (segment.type == kSegmentLoad || segment.file_size == 0) return 0;
  for (const auto& [section, by] : growth) {
    const Section& old = original.sections[section];
    if (segment.offset >= old.offset && segment.offset - old.offset < old.size) return by;
  }
  return 0;
}

void SkippedRanges::Add(std::uint64_t offset, std::uint64_t size) {
  if (size != 0) ends_[offset] = std::max(ends_[offset], offset + size);
}

void SkippedRanges::Merge() {
  for (auto range = ends_.begin(); range != ends_.end();) {
    const auto next = std::next(range);
    if (next == ends_.end() || next->first > range->second) {
      range = next;
      continue;
    }
    range->second = std::max(range->second, next->second);
    ends_.erase(next);
  }
}

std::uint64_t SkippedRanges::Pass(std::uint64_t at, std::uint64_t& stop) const {
  const auto next = ends_.upper_bound(at);
  if (next != ends_.end()) stop = std::min(stop, next->first);
  return next == ends_.begin() ? at : std::max(at, std::prev(next)->second);
}

Result<void> CheckOtherSegments(const SlicePair& files, const MovedContent& moved) {
  const std::vector<Segment> old = ListedSegments(files, files.old.image);
  const std::vector<Segment> now = ListedSegments(files, files.now.image);
  if (old.size() != now.size())
    return SliceDiffers(fmt::format("{} segments that are not loaded instead of {}", now.size(), old.size()));
  for (std::size_t i = 0; i < old.size(); ++i) {
    if (!IsSameSegment(files, moved, old[i], now[i])) {
      return SliceDiffers(
          fmt::format("the segment of type {:#x} at address {:#x}", old[i].type, old[i].vaddr));
    }
  }
  return Ok();
}

Result<void> CheckMemory(const SlicePair& files, const DeviceSections& device, const MovedContent& moved,
                         const SkippedRanges& skips, RangeComparison& ranges) {
  for (const Segment& old : files.old.image.segments) {
    if (old.type == kSegmentLoad) PTPKG_CHECK(CheckLoad(files, old, skips, ranges));
  }
  PTPKG_TRY(ProgramHeaders expected, ExpectedHeaders(files, device, moved));
  return CompareHeaders(files, std::move(expected));
}

}  // namespace ptpkg::elf
