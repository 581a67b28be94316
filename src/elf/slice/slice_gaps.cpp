// Checks bytes that no header names: between sections, and between the headers and the first section.
//
// Such bytes move with the part behind them. In front of each part, the shorter of the old and new gap must
// be equal in both files, and additional bytes of a longer new gap must be zero. So no byte of the original
// can hide in a gap of the slice, except at its own place.

#include "elf/slice/slice_gaps.h"

#include <algorithm>
#include <fmt/core.h>

#include "elf/read/section_table.h"
#include "support/digest/scratch_buffer.h"

namespace ptpkg::elf {
namespace {

constexpr std::uint64_t kReadAtOnce = 1U << 20U;

/// A range named by a header, or the end of the file.
struct Named {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

/// The same things of both files have the same index: headers, sections, the end of the file.
std::vector<Named> NamedParts(const Image& image) {
  std::vector<Named> parts;
  const auto add = [&](std::uint64_t offset, std::uint64_t size) {
    parts.push_back({.begin = offset, .end = offset + size});
  };
  add(0, image.codec.FileHeaderSize());
  add(image.header.program_headers_offset, image.segments.size() * image.codec.SegmentSize());
  add(image.header.section_headers_offset, image.sections.size() * image.codec.SectionSize());
  for (const Section& section : image.sections) {
    add(HasBytes(section) ? section.offset : 0, HasBytes(section) ? section.size : 0);
  }
  add(image.file_size, 0);
  return parts;
}

/// The bytes between each part and the part before it. 0 where parts overlap.
std::vector<std::uint64_t> GapsBefore(const std::vector<Named>& parts) {
  std::vector<std::size_t> order(parts.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t left, std::size_t right) {
    return parts[left].begin < parts[right].begin;
  });
  std::vector<std::uint64_t> gaps(parts.size());
  std::uint64_t end = 0;
  for (const std::size_t index : order) {
    const Named& part = parts[index];
    gaps[index] = part.begin - std::min(part.begin, end);
    end = std::max(end, part.end);
  }
  return gaps;
}

Result<void> RequireZeros(File& file, std::uint64_t begin, std::uint64_t end) {
  ScratchBuffer buffer(std::min(kReadAtOnce, end - begin));
  for (std::uint64_t at = begin; at < end;) {
    PTPKG_TRY(const std::uint64_t data, file.NextData(at));
    at = std::min(data, end);
    const MutableBytes bytes = buffer.bytes().first(std::min<std::uint64_t>(buffer.bytes().size(), end - at));
    if (bytes.empty()) break;
    PTPKG_TRY(const std::size_t got, file.ReadAt(at, bytes));
    const bool is_zero =
        std::all_of(bytes.begin(), bytes.end(), [](std::byte byte) { return byte == std::byte{0}; });
    if (got != bytes.size() || !is_zero)
      return SliceDiffers(fmt::format("bytes at file offset {} belong to no header, but are not zero", at));
    at += bytes.size();
  }
  return Ok();
}

}  // namespace

Result<void> CheckUnnamedBytes(const OpenImage& original, const OpenImage& sliced, RangeComparison& ranges) {
  const std::vector<Named> old = NamedParts(original.image);
  const std::vector<Named> now = NamedParts(sliced.image);
  const std::vector<std::uint64_t> old_gaps = GapsBefore(old);
  const std::vector<std::uint64_t> new_gaps = GapsBefore(now);
  for (std::size_t i = 0; i < now.size(); ++i) {
    const std::uint64_t same = std::min(old_gaps[i], new_gaps[i]);
    ranges.Add({.original = old[i].begin - same,
                .sliced = now[i].begin - same,
                .size_bytes = same,
                .what = "a part that no header names"});
    PTPKG_CHECK(RequireZeros(sliced.file, now[i].begin - new_gaps[i], now[i].begin - same));
  }
  return Ok();
}

}  // namespace ptpkg::elf
