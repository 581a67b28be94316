// Finds names of libraries in read-only data, as candidates for dlopen.
//
// A name is a run of file-name characters that contains ".so" and stands alone: a NUL or a slash before it,
// a NUL behind it. A pattern like "libfoo.so.%d" counts with its beginning. Only .rodata is read, or
// read-only segments of a file without section headers. Windows of 1 MiB overlap by two longest names, so
// no name is lost at a border and none is found with its beginning cut off.

#include "elf/read/string_scan.h"

#include <algorithm>
#include <fmt/core.h>
#include <set>

#include "elf/read/section_table.h"

namespace ptpkg::elf {
namespace {

constexpr std::uint64_t kScanBytes = 1U << 20U;
constexpr std::size_t kMaxNameBytes = 255;                 // NAME_MAX: no longer name can be opened
constexpr std::size_t kOverlap = 2 * (kMaxNameBytes + 2);  // see ScanWindow
constexpr std::size_t kMaxNames = 4096;                    // libtorch_cpu has 12
constexpr std::uint64_t kMaxSectionNamesBytes = 16U << 20U;
constexpr std::string_view kMark = ".so";

struct DataRange {
  std::uint64_t offset = 0;
  std::uint64_t size_bytes = 0;
};

bool IsNameChar(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
         c == '+' || c == '.';
}

/// The name around the ".so" at `mark`; "" if there is none. `starts` tells whether the window is where its
/// range begins: otherwise what stands before it is unknown.
std::string_view NameAround(std::string_view window, std::size_t mark, bool starts) {
  std::size_t begin = mark;
  while (begin > 0 && mark - begin < kMaxNameBytes && IsNameChar(window[begin - 1])) --begin;
  const bool opened = begin == 0 ? starts : window[begin - 1] == '\0' || window[begin - 1] == '/';
  if (!opened) return {};
  std::size_t end = mark + kMark.size();
  if (end < window.size() && window[end] != '\0' && window[end] != '.') return {};
  while (end < window.size() && IsNameChar(window[end])) ++end;
  if (end == window.size() || begin == mark || end - begin > kMaxNameBytes) return {};
  const bool closed = window[end] == '\0' || (window[end] == '%' && window[end - 1] == '.');
  return closed ? window.substr(begin, end - begin) : std::string_view{};
}

void ScanWindow(std::string_view window, bool starts, std::set<std::string, std::less<>>& names) {
  // A name cut by the window's end is whole in the next window, which repeats the last kOverlap bytes. A
  // name at the begin of that repetition was whole in this window, since it is at most half as long.
  for (std::size_t at = window.find(kMark); at != std::string_view::npos; at = window.find(kMark, at + 1)) {
    const std::string_view name = NameAround(window, at, starts);
    if (!name.empty() && names.size() < kMaxNames) names.emplace(name);
  }
}

Result<void> ScanRange(File& file, const DataRange& range, std::set<std::string, std::less<>>& names) {
  std::string window;
  for (std::uint64_t at = 0; at < range.size_bytes;) {
    const std::uint64_t size = std::min(kScanBytes, range.size_bytes - at);
    const std::size_t kept = std::min(window.size(), kOverlap);
    window.erase(0, window.size() - kept);
    PTPKG_TRY(const auto bytes, ReadExact(file, range.offset + at, size, "the read-only data"));
    window.append(AsText(bytes));
    ScanWindow(window, at == 0, names);
    at += size;
  }
  return Ok();
}

/// Empty for a file without readable section names. ReadSectionNames reports these as defects, while this
/// search only skips them.
Result<std::vector<std::byte>> SectionNamesOrNone(File& file, const Image& image) {
  std::uint64_t index = image.header.section_names_index;
  if (index == kEscapedIndex) index = image.sections.front().link;
  if (index >= image.sections.size()) return std::vector<std::byte>();
  const Section& names = image.sections[index];
  if (names.type != kSectionStrtab || names.size > kMaxSectionNamesBytes) return std::vector<std::byte>();
  return ReadExact(file, names.offset, names.size, "the table of section names");
}

bool IsReadOnlyDataName(std::string_view names, std::uint32_t at) {
  if (at >= names.size()) return false;
  const std::string_view name = names.substr(at);
  return name.starts_with(".rodata") || name.starts_with(".lrodata");
}

/// Sorted and without overlaps, so that no byte is read twice, whatever the headers say.
std::vector<DataRange> Merge(std::vector<DataRange> ranges) {
  std::sort(ranges.begin(), ranges.end(),
            [](const DataRange& a, const DataRange& b) { return a.offset < b.offset; });
  std::vector<DataRange> merged;
  for (const DataRange& range : ranges) {
    if (merged.empty() || range.offset - merged.back().offset >= merged.back().size_bytes) {
      merged.push_back(range);
      continue;
    }
    const std::uint64_t ahead = range.offset - merged.back().offset;
    merged.back().size_bytes = std::max(merged.back().size_bytes, ahead + range.size_bytes);
  }
  return merged;
}

Result<std::vector<DataRange>> FindRanges(File& file, const Image& image) {
  std::vector<DataRange> ranges;
  if (image.sections.empty()) {
    for (const Segment& segment : image.segments) {
      if (segment.type != kSegmentLoad || (segment.flags & kFlagWrite) != 0) continue;
      ranges.push_back({.offset = segment.offset, .size_bytes = segment.file_size});
    }
    return Merge(std::move(ranges));
  }
  PTPKG_TRY(const auto names, SectionNamesOrNone(file, image));
  for (const Section& section : image.sections) {
    const bool data = section.type == kSectionProgbits && (section.flags & kSectionAlloc) != 0 &&
                      (section.flags & (kSectionWrite | kSectionExecute)) == 0;
    if (!data || !IsReadOnlyDataName(AsText(names), section.name)) continue;
    // Checked here, so that sums of offset and size cannot wrap.
    if (section.offset > image.file_size || section.size > image.file_size - section.offset) {
      return Error(ErrorCode::kCorrupt,
                   fmt::format("read-only data of {} bytes at offset {} in a file of {} bytes", section.size,
                               section.offset, image.file_size));
    }
    ranges.push_back({.offset = section.offset, .size_bytes = section.size});
  }
  return Merge(std::move(ranges));
}

}  // namespace

Result<std::vector<std::string>> ScanLibraryNames(File& file, const Image& image) {
  std::set<std::string, std::less<>> names;
  PTPKG_TRY(const std::vector<DataRange> ranges, FindRanges(file, image));
  for (const DataRange& range : ranges) PTPKG_CHECK(ScanRange(file, range, names));
  return std::vector<std::string>(names.begin(), names.end());
}

}  // namespace ptpkg::elf
