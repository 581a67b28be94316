// Checks the section headers: the loader ignores them, but strip, objcopy, patchelf and debuggers use them.
// The checks follow patchelf 0.19. Also finds bytes that two parts claim, and the end of all bytes
// that any header names. Whatever lies behind that end is a payload.

#include "elf/read/section_table.h"

#include <algorithm>
#include <fmt/core.h>

#include "elf/read/corrupt.h"

namespace ptpkg::elf {
namespace {

constexpr std::uint64_t kMaxNameTableBytes = 16U << 20U;
constexpr std::uint64_t kGnuHashHeaderBytes = 16;

Result<void> CheckRange(const Image& image, const Section& section, std::string_view what) {
  if (section.offset > image.file_size) {
    return Corrupt(fmt::format("{}: data offset extends past file end ({} of {})", what, section.offset,
                               image.file_size));
  }
  if (section.size > image.file_size - section.offset) {
    return Corrupt(fmt::format("{}: data region extends past file end ({} bytes at {}, of {})", what,
                               section.size, section.offset, image.file_size));
  }
  return Ok();
}

Result<void> CheckStrings(File& file, const Section& section) {
  if (section.size == 0) return Ok();
  PTPKG_TRY(const auto last, ReadExact(file, section.offset + section.size - 1, 1, "the dynamic strings"));
  if (last[0] != std::byte{0}) {
    return Corrupt("dynamic strings: string table is not NUL-terminated");
  }
  return Ok();
}

/// Header: u32 buckets, first symbol, filter words, shift.
Result<void> CheckGnuHash(File& file, const Image& image, const Section& section) {
  const auto out_of_range = Corrupt("GNU hash section: hash table header out of range");
  if (section.size < kGnuHashHeaderBytes) return out_of_range;
  PTPKG_TRY(const auto bytes, ReadExact(file, section.offset, kGnuHashHeaderBytes, "the GNU hash section"));
  const std::uint64_t buckets = image.codec.U32(bytes, 0);
  const std::uint64_t filter_words = image.codec.U32(bytes, 8);
  const std::uint64_t body = filter_words * image.codec.WordSize() + buckets * 4;
  if (buckets == 0 || body > section.size - kGnuHashHeaderBytes) return out_of_range;
  return Ok();
}

Result<void> CheckDynamicParts(File& file, const Image& image) {
  for (std::size_t i = 0; i < image.sections.size(); ++i) {
    const Section& section = image.sections[i];
    const bool is_dynamic = section.type == kSectionDynamic;
    const bool is_hash = section.type == kSectionGnuHash;
    const bool is_strings = image.dynamic && section.type == kSectionStrtab && section.addr != 0 &&
                            section.addr == image.strings.vaddr;
    if (!is_dynamic && !is_hash && !is_strings) continue;
    PTPKG_CHECK(CheckRange(image, section, fmt::format("section {}", i)));
    if (is_dynamic && section.offset % image.codec.WordSize() != 0) {
      return Corrupt(
          fmt::format("section {}: section content is not naturally aligned ({})", i, section.offset));
    }
    if (is_hash) PTPKG_CHECK(CheckGnuHash(file, image, section));
    if (is_strings) PTPKG_CHECK(CheckStrings(file, section));
  }
  return Ok();
}

}  // namespace

Result<std::string> ReadSectionNames(File& file, const Image& image) {
  constexpr std::string_view kWhat = "section names";
  std::uint64_t index = image.header.section_names_index;
  // gABI: an index from 0xff00 on does not fit e_shstrndx, and sh_link of section 0 holds it.
  if (index == kEscapedIndex && image.sections[0].link != 0) index = image.sections[0].link;
  if (index >= image.sections.size()) {
    return Corrupt(fmt::format("{}: string table index out of bounds ({} of {} sections)", kWhat, index,
                               image.sections.size()));
  }
  const Section& section = image.sections[index];
  PTPKG_CHECK(CheckRange(image, section, kWhat));
  if (section.size == 0) return Corrupt(fmt::format("{}: string table size is zero", kWhat));
  if (section.size > kMaxNameTableBytes) {
    return Corrupt(fmt::format("{}: a table of {} bytes", kWhat, section.size));
  }
  PTPKG_TRY(const auto bytes, ReadExact(file, section.offset, section.size, kWhat));
  std::string names(AsText(bytes));
  if (names.back() != '\0') return Corrupt(fmt::format("{}: string table is not zero terminated", kWhat));
  return names;
}

Result<std::vector<std::string>> CheckSectionTable(File& file, const Image& image) {
  std::vector<std::string> warnings;
  if (image.sections.empty()) return warnings;
  PTPKG_TRY(const std::string names, ReadSectionNames(file, image));
  for (std::size_t i = 1; i < image.sections.size(); ++i) {
    const std::uint32_t name = image.sections[i].name;
    if (name >= names.size()) {
      return Corrupt(
          fmt::format("section {}: section name offset out of bounds ({} of {})", i, name, names.size()));
    }
    if (names[name] == '\0' && image.sections[i].type != 0) {
      warnings.push_back(fmt::format("section header {} refers to an unnamed section", i));
    }
  }
  PTPKG_CHECK(CheckDynamicParts(file, image));
  return warnings;
}

std::string FindSharedBytes(const Image& image) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
  bool fits = true;
  const auto add = [&](std::uint64_t offset, std::uint64_t size) {
    if (size == 0) return;
    fits = fits && offset <= image.file_size && size <= image.file_size - offset;
    ranges.emplace_back(offset, size);
  };
  add(0, image.codec.FileHeaderSize());
  add(image.header.program_headers_offset, image.segments.size() * image.codec.SegmentSize());
  add(image.header.section_headers_offset, image.sections.size() * image.codec.SectionSize());
  for (const Section& section : image.sections) {
    if (HasBytes(section)) add(section.offset, section.size);
  }
  if (!fits) return "a section passes the end of the file";
  std::sort(ranges.begin(), ranges.end());
  for (std::size_t i = 1; i < ranges.size(); ++i) {
    if (ranges[i - 1].first + ranges[i - 1].second > ranges[i].first)
      return fmt::format("sections or headers share bytes (file offset {})", ranges[i].first);
  }
  return "";
}

std::uint64_t EndOfNamedBytes(const Image& image) {
  std::uint64_t end = image.codec.FileHeaderSize();
  const auto add = [&](std::uint64_t offset, std::uint64_t size) {
    if (size != 0) end = std::max(end, offset + size);
  };
  add(image.header.program_headers_offset, image.segments.size() * image.codec.SegmentSize());
  add(image.header.section_headers_offset, image.sections.size() * image.codec.SectionSize());
  for (const Segment& segment : image.segments) add(segment.offset, segment.file_size);
  for (const Section& section : image.sections) {
    if (HasBytes(section)) add(section.offset, section.size);
  }
  return end;
}

}  // namespace ptpkg::elf
