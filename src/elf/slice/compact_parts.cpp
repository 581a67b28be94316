#include "elf/slice/compact_parts.h"

#include <algorithm>
#include <fmt/core.h>

#include "elf/edit/edit.h"
#include "elf/read/section_table.h"
#include "elf/symbols/symbol_table.h"

namespace ptpkg::elf {
namespace {

constexpr std::uint64_t kSmallestPage = 4096;

Obstacle CheckKind(const Image& image, std::size_t parts) {
  if (parts > kMaxCompactParts) return fmt::format("it has {} sections of device code", parts);
  if (!image.codec.Is64() || image.codec.order() != ByteOrder::kLittle)
    return "the file is not a 64-bit little-endian one";
  if (image.header.type == kTypeExec)
    return "the program has fixed addresses, so no relocations show the pointers to its containers";
  if (image.header.type != kTypeDyn || !image.dynamic) return "the file is not a linked library or program";
  if (image.header.machine != kMachineX8664 && image.header.machine != kMachineAarch64)
    return fmt::format("relocations of machine {} are not known", image.header.machine);
  if (image.dynamic->Find(kDtRel)) return "its relocations have no addends (DT_REL)";
  if (image.sections.size() >= kFirstReservedIndex) return "the file has more than 65,279 sections";
  const bool has_static = std::any_of(image.sections.begin(), image.sections.end(), [](const Section& s) {
    return (s.type == kSectionRela || s.type == kSectionRel || s.type == kSectionCrel) && s.addr == 0;
  });
  return has_static ? "the file keeps the relocations of its link (ld --emit-relocs)" : "";
}

Obstacle CheckAlignments(const Image& image) {
  for (const Segment& segment : image.segments) {
    if (segment.type == kSegmentLoad && (segment.align & (segment.align - 1)) != 0)
      return fmt::format("a segment is aligned to {:#x}, no power of 2", segment.align);
  }
  return "";
}

std::uint64_t LargestPage(const Image& image) {
  std::uint64_t page_bytes = kSmallestPage;
  for (const Segment& segment : image.segments) {
    if (segment.type == kSegmentLoad) page_bytes = std::max(page_bytes, segment.align);
  }
  return page_bytes;
}

std::vector<CompactPart> PartsOf(const Image& image, const std::vector<const SlicedSection*>& sections) {
  std::vector<CompactPart> parts;
  for (const SlicedSection* section : sections) {
    parts.emplace_back(*section, image);
    parts.back().used_bytes = parts.back().packed.size_bytes;
  }
  std::sort(parts.begin(), parts.end(), [](const CompactPart& left, const CompactPart& right) {
    return left.header->offset < right.header->offset;
  });
  return parts;
}

/// Leaves sections in place that would lose less than a page.
Obstacle LeaveSmallParts(CompactParts& chosen) {
  std::uint64_t most = 0;
  for (const CompactPart& part : chosen.parts) most = std::max(most, part.Gain());
  std::erase_if(chosen.parts, [&](const CompactPart& part) { return part.Gain() < chosen.page_bytes; });
  return chosen.parts.empty() ? TooLittleGain(most, chosen.page_bytes) : "";
}

Obstacle FindLoad(const Image& image, CompactPart& part) {
  const Section& section = *part.header;
  const auto holds = [&](const Segment& load) {
    return load.type == kSegmentLoad && section.offset >= load.offset &&
           part.End() <= load.offset + load.file_size &&
           load.vaddr + (section.offset - load.offset) == section.addr;
  };
  const auto found = std::find_if(image.segments.begin(), image.segments.end(), holds);
  if (found == image.segments.end()) return fmt::format("{} lies in no loadable segment", part.sliced->name);
  part.load = static_cast<std::size_t>(found - image.segments.begin());
  part.splits = found->vaddr + found->memory_size != section.addr + section.size;
  if (part.splits && found->offset + found->file_size == part.End())
    return fmt::format("memory without bytes in the file follows {}", part.sliced->name);
  if (section.addr % kContainerAlign != 0) return fmt::format("{} is not aligned", part.sliced->name);
  return "";
}

/// Content that shares bytes with the section could not be told apart from it afterwards.
Obstacle CheckOthers(const Image& image, const CompactPart& part) {
  const std::uint64_t begin = part.header->offset;
  for (std::size_t i = 0; i < image.segments.size(); ++i) {
    const Segment& segment = image.segments[i];
    const bool is_behind = segment.offset >= part.End();
    const bool is_before = segment.offset <= begin && segment.file_size <= begin - segment.offset;
    const bool is_empty = segment.file_size == 0 && segment.type != kSegmentLoad;
    if (i == part.load || is_empty || is_behind || is_before) continue;
    return fmt::format("program header {} (type {:#x}) maps part of {} too", i, segment.type,
                       part.sliced->name);
  }
  return "";
}

/// Data that the loader reads must not be dropped, whatever section headers say.
Obstacle CheckDynamicTables(const Image& image, const CompactPart& part) {
  for (const DynamicEntry& entry : image.dynamic->entries) {
    if (HoldsAddress(entry.tag) && part.Holds(entry.value))
      return fmt::format("an entry of .dynamic (tag {:#x}) leads into {}", entry.tag, part.sliced->name);
  }
  const MappedRange& strings = image.strings;
  const std::uint64_t begin = part.header->offset;
  const bool apart = strings.offset >= part.End() ||
                     (strings.offset <= begin && strings.size_bytes <= begin - strings.offset);
  return apart ? "" : fmt::format("the dynamic string table reaches into {}", part.sliced->name);
}

bool IsInLoad(const Image& image, const Section& section) {
  return std::any_of(image.segments.begin(), image.segments.end(), [&](const Segment& load) {
    return load.type == kSegmentLoad && section.offset < load.offset + load.file_size &&
           load.offset < section.offset + section.size;
  });
}

Obstacle CheckSound(const Image& image) {
  if (const Result<void> sound = CheckSegments(image); !sound) return sound.error().message();
  for (std::size_t i = 0; i < image.sections.size(); ++i) {
    const Section& section = image.sections[i];
    if (HasBytes(section) && (section.flags & kSectionAlloc) == 0 && IsInLoad(image, section))
      return fmt::format("section {} is not to be loaded by its flags, and lies in a load segment", i);
  }
  return FindSharedBytes(image);
}

/// Drops small parts, and finds the load segment of each of the others.
Obstacle FitParts(const Image& image, CompactParts& chosen) {
  if (Obstacle why = CheckKind(image, chosen.parts.size()); !why.empty()) return why;
  if (Obstacle why = CheckAlignments(image); !why.empty()) return why;
  if (Obstacle why = LeaveSmallParts(chosen); !why.empty()) return why;
  for (CompactPart& part : chosen.parts) {
    if (Obstacle why = FindLoad(image, part); !why.empty()) return why;
    if (Obstacle why = CheckOthers(image, part); !why.empty()) return why;
    if (Obstacle why = CheckDynamicTables(image, part); !why.empty()) return why;
  }
  return CheckSound(image);
}

}  // namespace

CompactParts ChooseCompactParts(const Image& image, const std::vector<const SlicedSection*>& sections) {
  CompactParts chosen{.parts = PartsOf(image, sections), .page_bytes = LargestPage(image)};
  chosen.why_not = FitParts(image, chosen);
  return chosen;
}

Obstacle TooLittleGain(std::uint64_t gain, std::uint64_t page_bytes) {
  return fmt::format("the file would get smaller by {} bytes, less than a page of {}", gain, page_bytes);
}

}  // namespace ptpkg::elf
