// Idea: everything in a compact slice but containers is the original's, at the same address. So each header
// is compared with the original's, and from the differences that are allowed (containers that moved, a block
// that made room for program headers) follow the words that must differ. All other bytes must be equal: they
// are noted in a RangeComparison, which reads them later.

#include "elf/slice/slice_layout_check.h"

#include <algorithm>
#include <fmt/core.h>
#include <map>

#include "elf/edit/edit.h"
#include "elf/read/section_table.h"
#include "elf/slice/slice_gaps.h"
#include "elf/slice/slice_memory_check.h"
#include "elf/symbols/relocations.h"
#include "elf/symbols/symbol_table.h"

namespace ptpkg::elf {
namespace {

constexpr std::uint64_t kWordBytes = 8;

bool IsSameButPlace(const Section& left, const Section& right) {
  Section moved = left;
  moved.offset = right.offset;
  moved.addr = right.addr;
  return moved == right;
}

/// Else it is sliced in place, if at all.
bool GotSmaller(const SlicePair& files, std::size_t device_section) {
  return files.old.image.sections[device_section].size != files.now.image.sections[device_section].size;
}

DeviceSections DeviceSectionsOf(const SlicePair& files, const std::vector<ContainerMoves>& device) {
  DeviceSections sections;
  for (const ContainerMoves& moves : device) sections.by_index.emplace(moves.section, &moves);
  for (const auto& [index, moves] : sections.by_index) {
    if (GotSmaller(files, index)) sections.smaller.push_back(moves);
  }
  std::sort(sections.smaller.begin(), sections.smaller.end(),
            [&](const ContainerMoves* left, const ContainerMoves* right) {
              return files.old.image.sections[left->section].addr <
                     files.old.image.sections[right->section].addr;
            });
  return sections;
}

/// All but the places and the number of headers.
Result<void> CheckFileHeader(const SlicePair& files) {
  const FileHeader& old = files.old.image.header;
  FileHeader header = files.now.image.header;
  header.program_headers_offset = old.program_headers_offset;
  header.section_headers_offset = old.section_headers_offset;
  header.program_header_count = old.program_header_count;
  return CompareFileHeaders(files.old, files.now, header);
}

bool MayMove(const Image& original, const Section& section) {
  const Segment* interpreter = original.FindSegment(kSegmentInterp);
  const bool names_interpreter = interpreter != nullptr && interpreter->vaddr == section.addr;
  return section.type == kSectionNote || section.type == kSectionHash || section.type == kSectionGnuHash ||
         section.type == kSectionDynsym || names_interpreter;
}

/// But for that to execute.
bool KeepsRightsOfMoved(const SlicePair& files, const Section& old, const Section& now) {
  const Segment* before = files.old.image.LoadAt(old.addr);
  const Segment* after = files.now.image.LoadAt(now.addr);
  if (before == nullptr || after == nullptr) return false;
  return ((before->flags ^ after->flags) & ~kFlagExecute) == 0;
}

bool IsSectionMapped(const Image& image, const Section& section) {
  const auto offset = image.OffsetOf(section.addr, section.size, "a section");
  return offset && *offset == section.offset;
}

Result<void> CheckSection(const SlicePair& files, const DeviceSections& device, std::size_t index) {
  Section old = files.old.image.sections[index];
  const Section& now = files.now.image.sections[index];
  if (device.by_index.contains(index)) {
    if (now.size > old.size) return SliceDiffers("a section of device code got larger");
    old.size = now.size;
  }
  if (!IsSameButPlace(old, now)) return SliceDiffers(fmt::format("section header {}", index));
  if (old.addr != now.addr) {
    if (!MayMove(files.old.image, old))
      return SliceDiffers(fmt::format("section {} has another address", index));
    if (!KeepsRightsOfMoved(files, old, now))
      return SliceDiffers(fmt::format("section {} is loaded with other rights", index));
  }
  const bool is_loaded = HasBytes(old) && (old.flags & kSectionAlloc) != 0;
  if (is_loaded && IsSectionMapped(files.old.image, old) && !IsSectionMapped(files.now.image, now))
    return SliceDiffers(fmt::format("section {} is not mapped from its bytes", index));
  return Ok();
}

/// Compares the section headers. Returns the sections that have another place.
Result<MovedContent> CheckSections(const SlicePair& files, const DeviceSections& device) {
  MovedContent moved{.places = MovesByPlace(files.old.image, files.now.image)};
  for (std::size_t i = 0; i < files.old.image.sections.size(); ++i) {
    PTPKG_CHECK(CheckSection(files, device, i));
    const Section& old = files.old.image.sections[i];
    const Section& now = files.now.image.sections[i];
    if (HasBytes(now) && old.addr == now.addr) moved.places.Add(old.offset, now.offset);
    if (old.addr != now.addr) moved.growth[i] = now.addr - old.addr;
  }
  PTPKG_CHECK(moved.places.CheckEmptySections(files.old.image, files.now.image));
  return moved;
}

/// A range of the original.
struct OldRange {
  std::uint64_t offset = 0;
  std::uint64_t size_bytes = 0;
};

/// More program headers stand on what moved out of their way, and on nothing else. Returns their range.
Result<OldRange> CheckBlock(const SlicePair& files, const MovedContent& moved) {
  const Image& original = files.old.image;
  const std::size_t headers = files.now.image.segments.size();
  const std::uint64_t begin = original.header.program_headers_offset;
  std::uint64_t end = begin + headers * original.codec.SegmentSize();
  if (moved.growth.empty() && headers <= original.segments.size()) return OldRange{};
  for (const auto& [section, growth] : moved.growth)
    end = std::max(end, original.sections[section].offset + original.sections[section].size);
  const auto is_here = [&](std::uint64_t offset, std::uint64_t size) {
    return offset < end && offset + size > begin;
  };
  for (std::size_t i = 0; i < original.sections.size(); ++i) {
    const Section& section = original.sections[i];
    if (HasBytes(section) && is_here(section.offset, section.size) && !moved.growth.contains(i))
      return SliceDiffers(fmt::format("section {} was overwritten", i));
  }
  for (const Segment& segment : original.segments) {
    const bool is_own = segment.type != kSegmentLoad && segment.type != kSegmentNull &&
                        segment.type != kSegmentPhdr && segment.file_size != 0;
    if (is_own && is_here(segment.offset, segment.file_size) && moved.GrowthOf(original, segment) == 0)
      return SliceDiffers(fmt::format("the segment of type {:#x} was overwritten", segment.type));
  }
  return OldRange{.offset = begin, .size_bytes = end - begin};
}

/// Headers, containers, content that moved and the `block` that made room: other checks compare them.
SkippedRanges RangesWithOwnChecks(const Image& original, const DeviceSections& device,
                                  const MovedContent& moved, const OldRange& block) {
  SkippedRanges skips;
  for (const auto& [index, moves] : device.by_index)
    skips.Add(original.sections[index].offset, original.sections[index].size);
  skips.Add(0, original.codec.FileHeaderSize());
  skips.Add(original.header.program_headers_offset, original.segments.size() * original.codec.SegmentSize());
  // patchelf puts them into a loadable segment; they are compared one by one.
  skips.Add(original.header.section_headers_offset, original.sections.size() * original.codec.SectionSize());
  for (const auto& [index, growth] : moved.growth)
    skips.Add(original.sections[index].offset, original.sections[index].size);
  skips.Add(block.offset, block.size_bytes);
  skips.Merge();
  return skips;
}

/// Expects the addresses of tables that moved in .dynamic.
Result<void> CheckDynamicSection(const SlicePair& files, const MovedContent& moved, RangeComparison& ranges) {
  const Image& original = files.old.image;
  const DynamicTable& old = *original.dynamic;
  const std::optional<DynamicTable>& now = files.now.image.dynamic;
  if (!now || now->range.vaddr != old.range.vaddr || now->entries.size() != old.entries.size())
    return SliceDiffers("the dynamic section");
  for (std::size_t i = 0; i < old.entries.size(); ++i) {
    const DynamicEntry& entry = old.entries[i];
    const bool is_table = entry.tag == kDtHash || entry.tag == kDtGnuHash || entry.tag == kDtSymtab;
    if (!is_table) continue;
    for (const auto& [section, growth] : moved.growth) {
      if (original.sections[section].addr != entry.value) continue;
      ranges.Expect(old.range.offset + i * original.codec.DynamicEntrySize() + kWordBytes,
                    entry.value + growth);
    }
  }
  return Ok();
}

/// No symbol that other files look for lies in what moved.
Result<void> CheckExports(const SlicePair& files, const DeviceSections& device, const MovedContent& moved) {
  const std::vector<Section>& sections = files.old.image.sections;
  const auto is_in = [](const Section& section, std::uint64_t value) {
    return value >= section.addr && value - section.addr < section.size;
  };
  const auto moves = [&](std::size_t index) {
    return moved.growth.contains(index) || (device.by_index.contains(index) && GotSmaller(files, index));
  };
  for (const Section& table : sections) {
    if (table.type != kSectionDynsym) continue;
    PTPKG_TRY(
        const std::string why,
        ForEachSymbol(files.old.file, files.old.image, table, [&](const TableSymbol& symbol) -> std::string {
          bool is_here = moves(symbol.section);
          const bool is_in_section = symbol.section != 0 && symbol.section < kFirstReservedIndex;
          for (const auto& [section, growth] : moved.growth)
            is_here |= is_in_section && is_in(sections[section], symbol.value);
          for (const ContainerMoves* smaller : device.smaller)
            is_here |= is_in_section && is_in(sections[smaller->section], symbol.value);
          return is_here ? fmt::format("symbol {} of .dynsym lies in the moved bytes", symbol.number) : "";
        }));
    if (!why.empty()) return SliceDiffers(why);
  }
  return Ok();
}

/// Relocations into sections that got smaller.
Result<std::vector<Relocation>> DevicePointers(const OpenImage& of, const DeviceSections& device) {
  std::vector<Relocation> pointers;
  PTPKG_CHECK(ForEachRelocation(of.file, of.image, [&](const Relocation& relocation) {
    const bool is_here =
        std::any_of(device.smaller.begin(), device.smaller.end(), [&](const ContainerMoves* one) {
          const Section& section = of.image.sections[one->section];
          return relocation.addend >= section.addr && relocation.addend - section.addr < section.size;
        });
    if (is_here && relocation.type == RelativeType(of.image)) pointers.push_back(relocation);
    return Ok();
  }));
  return pointers;
}

/// The container of a section that got smaller which begins at the address; null when none does.
const ContainerMoves::Move* FindMove(const DeviceSections& device, std::uint64_t vaddr) {
  for (const ContainerMoves* smaller : device.smaller) {
    if (const ContainerMoves::Move* move = smaller->Find(vaddr)) return move;
  }
  return nullptr;
}

/// Both files have the same relocations but for those to containers.
Result<void> CheckPointers(const SlicePair& files, const DeviceSections& device, RangeComparison& ranges) {
  const Image& original = files.old.image;
  PTPKG_TRY(const std::vector<Relocation> old, DevicePointers(files.old, device));
  PTPKG_TRY(const std::vector<Relocation> now, DevicePointers(files.now, device));
  if (old.size() != now.size())
    return SliceDiffers(fmt::format("{} pointers to device code instead of {}", now.size(), old.size()));
  for (std::size_t i = 0; i < old.size(); ++i) {
    const ContainerMoves::Move* move = FindMove(device, old[i].addend);
    if (move == nullptr || now[i].place != old[i].place || now[i].type != old[i].type ||
        now[i].addend != move->to)
      return SliceDiffers(fmt::format("the pointer to a container at address {:#x}", old[i].place));
    ranges.Expect(old[i].addend_offset, move->to);
    if (old[i].is_relr || move->to == move->from) continue;
    PTPKG_TRY(const std::uint64_t offset, original.OffsetOf(old[i].place, kWordBytes, "a pointer"));
    PTPKG_TRY(const auto word, ReadExact(files.old.file, offset, kWordBytes, "a pointer"));
    if (original.codec.Word(word, 0) == old[i].addend) ranges.Expect(offset, move->to);
  }
  return Ok();
}

/// Gives a symbol of the original the value and size that it has in the slice.
void FollowMoves(const SlicePair& files, const DeviceSections& device, const MovedContent& moved,
                 MutableBytes symbol) {
  const Codec& codec = files.old.image.codec;
  const std::size_t section = codec.U16(symbol, 6);
  if (const auto found = moved.growth.find(section); found != moved.growth.end()) {
    codec.PutWord(symbol, 8, codec.Word(symbol, 8) + found->second);
  } else if (const auto container = device.by_index.find(section); container != device.by_index.end()) {
    if (GotSmaller(files, section)) container->second->FollowSymbol(codec, symbol);
  }
}

/// Checks content that is not loaded, and content that moved.
Result<void> CheckContents(const SlicePair& files, const DeviceSections& device, const MovedContent& moved,
                           RangeComparison& ranges) {
  const Image& original = files.old.image;
  for (std::size_t i = 0; i < original.sections.size(); ++i) {
    const Section& old = original.sections[i];
    const bool is_loaded = (old.flags & kSectionAlloc) != 0 && IsSectionMapped(original, old);
    if (!HasBytes(old) || device.by_index.contains(i) || (is_loaded && !moved.growth.contains(i))) continue;
    ComparedRange range{.original = old.offset,
                        .sliced = files.now.image.sections[i].offset,
                        .size_bytes = old.size,
                        .what = "a section"};
    if (old.type != kSectionSymtab) {
      ranges.Add(range);
      continue;
    }
    range.what = "a symbol of .symtab";
    PTPKG_CHECK(CompareRecords(files.old.file, files.now.file, range, original.codec.SymbolSize(),
                               [&](MutableBytes symbol) { FollowMoves(files, device, moved, symbol); }));
  }
  return Ok();
}

}  // namespace

Result<void> CheckLayout(const OpenImage& original, const OpenImage& sliced,
                         const std::vector<ContainerMoves>& device, RangeComparison& ranges) {
  const SlicePair files{.old = original, .now = sliced};
  const DeviceSections sections = DeviceSectionsOf(files, device);
  PTPKG_CHECK(CheckSegments(sliced.image), "while checking the slice");
  if (const std::string shared = FindSharedBytes(sliced.image); !shared.empty()) return SliceDiffers(shared);
  PTPKG_CHECK(CheckFileHeader(files));
  PTPKG_TRY(const MovedContent moved, CheckSections(files, sections));
  PTPKG_TRY(const OldRange block, CheckBlock(files, moved));
  const SkippedRanges skips = RangesWithOwnChecks(original.image, sections, moved, block);
  PTPKG_CHECK(CheckDynamicSection(files, moved, ranges));
  PTPKG_CHECK(CheckExports(files, sections, moved));
  PTPKG_CHECK(CheckPointers(files, sections, ranges));
  PTPKG_CHECK(CheckOtherSegments(files, moved));
  PTPKG_CHECK(CheckMemory(files, sections, moved, skips, ranges));
  PTPKG_CHECK(CheckContents(files, sections, moved, ranges));
  return CheckUnnamedBytes(original, sliced, ranges);
}

}  // namespace ptpkg::elf
