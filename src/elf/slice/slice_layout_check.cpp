#include "elf/slice/slice_layout_check.h"

#include <algorithm>
#include <fmt/core.h>
#include <iterator>
#include <map>

#include "elf/edit/edit.h"
#include "elf/edit/header_room.h"
#include "elf/read/section_table.h"
#include "elf/slice/slice_gaps.h"
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

class LayoutCheck {
 public:
  LayoutCheck(const OpenImage& original, const OpenImage& sliced, const std::vector<ContainerMoves>& device,
              RangeComparison& ranges)
      : old_(original), new_(sliced), ranges_(ranges), moves_(original.image, sliced.image) {
    for (const ContainerMoves& moves : device) device_.emplace(moves.section, &moves);
  }

  Result<void> Run() {
    for (const auto& [section, moves] : device_) {
      const Section& old = old_.image.sections[section];
      Skip(old.offset, old.size);
      if (GotSmaller(section)) smaller_.emplace_back(section, moves);
    }
    std::sort(smaller_.begin(), smaller_.end(), [&](const Smaller& left, const Smaller& right) {
      return old_.image.sections[left.first].addr < old_.image.sections[right.first].addr;
    });
    PTPKG_CHECK(CheckSegments(new_.image), "while checking the slice");
    if (const std::string shared = FindSharedBytes(new_.image); !shared.empty()) return SliceDiffers(shared);
    PTPKG_CHECK(CheckHeader());
    PTPKG_CHECK(CheckSections());
    PTPKG_CHECK(CheckBlock());
    MergeSkips();
    PTPKG_CHECK(CheckDynamic());
    PTPKG_CHECK(CheckDynamicSymbols());
    PTPKG_CHECK(CheckPointers());
    PTPKG_CHECK(CheckOtherSegments());
    PTPKG_CHECK(CheckMemory());
    PTPKG_CHECK(CheckContents());
    return CheckUnnamedBytes(old_, new_, ranges_);
  }

 private:
  /// Else it is sliced in place, if at all.
  [[nodiscard]] bool GotSmaller(std::size_t device_section) const {
    return old_.image.sections[device_section].size != new_.image.sections[device_section].size;
  }

  void Skip(std::uint64_t offset, std::uint64_t size) {
    if (size != 0) skips_[offset] = std::max(skips_[offset], offset + size);
  }

  /// Merges overlapping skips, so that each gap between them is found once.
  void MergeSkips() {
    for (auto skip = skips_.begin(); skip != skips_.end();) {
      const auto next = std::next(skip);
      if (next == skips_.end() || next->first > skip->second) {
        skip = next;
        continue;
      }
      skip->second = std::max(skip->second, next->second);
      skips_.erase(next);
    }
  }

  /// All but the places and the number of headers.
  Result<void> CheckHeader() {
    FileHeader header = new_.image.header;
    header.program_headers_offset = old_.image.header.program_headers_offset;
    header.section_headers_offset = old_.image.header.section_headers_offset;
    header.program_header_count = old_.image.header.program_header_count;
    PTPKG_CHECK(CompareFileHeaders(old_, new_, header));
    Skip(0, old_.image.codec.FileHeaderSize());
    Skip(old_.image.header.program_headers_offset,
         old_.image.segments.size() * old_.image.codec.SegmentSize());
    // patchelf puts them into a loadable segment; they are compared one by one.
    Skip(old_.image.header.section_headers_offset,
         old_.image.sections.size() * old_.image.codec.SectionSize());
    return Ok();
  }

  [[nodiscard]] bool MayMove(const Section& section) const {
    const Segment* interpreter = old_.image.FindSegment(kSegmentInterp);
    const bool names_interpreter = interpreter != nullptr && interpreter->vaddr == section.addr;
    return section.type == kSectionNote || section.type == kSectionHash || section.type == kSectionGnuHash ||
           section.type == kSectionDynsym || names_interpreter;
  }

  Result<void> CheckSections() {
    for (std::size_t i = 0; i < old_.image.sections.size(); ++i) {
      Section old = old_.image.sections[i];
      const Section& now = new_.image.sections[i];
      if (device_.contains(i)) {
        if (now.size > old.size) return SliceDiffers("a section of device code got larger");
        old.size = now.size;
      }
      if (!IsSameButPlace(old, now)) return SliceDiffers(fmt::format("section header {}", i));
      if (HasBytes(old) && old.addr == now.addr) moves_.Add(old.offset, now.offset);
      if (old.addr != now.addr) {
        if (!MayMove(old)) return SliceDiffers(fmt::format("section {} has another address", i));
        if (!KeepsRightsOfMoved(old, now))
          return SliceDiffers(fmt::format("section {} is loaded with other rights", i));
        moved_[i] = now.addr - old.addr;
        Skip(old.offset, old.size);
      }
      const bool is_loaded = HasBytes(old) && (old.flags & kSectionAlloc) != 0;
      if (is_loaded && IsMapped(old_.image, old) && !IsMapped(new_.image, now))
        return SliceDiffers(fmt::format("section {} is not mapped from its bytes", i));
    }
    return moves_.CheckEmptySections(old_.image, new_.image);
  }

  /// But for that to execute.
  [[nodiscard]] bool KeepsRightsOfMoved(const Section& old, const Section& now) const {
    const Segment* before = old_.image.LoadAt(old.addr);
    const Segment* after = new_.image.LoadAt(now.addr);
    if (before == nullptr || after == nullptr) return false;
    return ((before->flags ^ after->flags) & ~kFlagExecute) == 0;
  }

  [[nodiscard]] static bool IsMapped(const Image& image, const Section& section) {
    const auto offset = image.OffsetOf(section.addr, section.size, "a section");
    return offset && *offset == section.offset;
  }
  [[nodiscard]] static bool IsMapped(const Image& image, const Segment& segment) {
    const auto offset = image.OffsetOf(segment.vaddr, segment.file_size, "a segment");
    return offset && *offset == segment.offset;
  }

  /// More program headers stand on what moved out of their way, and on nothing else.
  Result<void> CheckBlock() {
    const std::size_t record = old_.image.codec.SegmentSize();
    const std::uint64_t begin = old_.image.header.program_headers_offset;
    std::uint64_t end = begin + new_.image.segments.size() * record;
    if (moved_.empty() && new_.image.segments.size() <= old_.image.segments.size()) return Ok();
    for (const auto& [section, delta] : moved_)
      end = std::max(end, old_.image.sections[section].offset + old_.image.sections[section].size);
    const auto is_here = [&](std::uint64_t offset, std::uint64_t size) {
      return offset < end && offset + size > begin;
    };
    for (std::size_t i = 0; i < old_.image.sections.size(); ++i) {
      const Section& section = old_.image.sections[i];
      if (HasBytes(section) && is_here(section.offset, section.size) && !moved_.contains(i))
        return SliceDiffers(fmt::format("section {} was overwritten", i));
    }
    for (const Segment& segment : old_.image.segments) {
      const bool is_own = segment.type != kSegmentLoad && segment.type != kSegmentNull &&
                          segment.type != kSegmentPhdr && segment.file_size != 0;
      if (is_own && is_here(segment.offset, segment.file_size) && DeltaOf(segment) == 0)
        return SliceDiffers(fmt::format("the segment of type {:#x} was overwritten", segment.type));
    }
    Skip(begin, end - begin);
    return Ok();
  }

  Result<void> CheckDynamic() {
    const DynamicTable& old = *old_.image.dynamic;
    if (!new_.image.dynamic || new_.image.dynamic->range.vaddr != old.range.vaddr ||
        new_.image.dynamic->entries.size() != old.entries.size())
      return SliceDiffers("the dynamic section");
    for (std::size_t i = 0; i < old.entries.size(); ++i) {
      const DynamicEntry& entry = old.entries[i];
      const bool is_table = entry.tag == kDtHash || entry.tag == kDtGnuHash || entry.tag == kDtSymtab;
      if (!is_table) continue;
      for (const auto& [section, delta] : moved_) {
        if (old_.image.sections[section].addr != entry.value) continue;
        ranges_.Expect(old.range.offset + i * old_.image.codec.DynamicEntrySize() + kWordBytes,
                       entry.value + delta);
      }
    }
    return Ok();
  }

  /// No symbol that other files look for lies in what moved.
  Result<void> CheckDynamicSymbols() const {
    const auto is_in = [](const Section& section, std::uint64_t value) {
      return value >= section.addr && value - section.addr < section.size;
    };
    const auto moves = [&](std::size_t index) {
      const auto device = device_.find(index);
      return moved_.contains(index) || (device != device_.end() && GotSmaller(index));
    };
    for (const Section& table : old_.image.sections) {
      if (table.type != kSectionDynsym) continue;
      PTPKG_TRY(const std::string why,
                ForEachSymbol(old_.file, old_.image, table, [&](const TableSymbol& symbol) -> std::string {
                  bool is_here = moves(symbol.section);
                  const bool is_in_section = symbol.section != 0 && symbol.section < kFirstReservedIndex;
                  for (const auto& [section, delta] : moved_)
                    is_here |= is_in_section && is_in(old_.image.sections[section], symbol.value);
                  for (const auto& [section, containers] : smaller_)
                    is_here |= is_in_section && is_in(old_.image.sections[section], symbol.value);
                  return is_here ? fmt::format("symbol {} of .dynsym lies in the moved bytes", symbol.number)
                                 : "";
                }));
      if (!why.empty()) return SliceDiffers(why);
    }
    return Ok();
  }

  /// Both files have the same relocations but for those to containers.
  Result<void> CheckPointers() {
    PTPKG_TRY(const std::vector<Relocation> old, Pointers(old_));
    PTPKG_TRY(const std::vector<Relocation> now, Pointers(new_));
    if (old.size() != now.size())
      return SliceDiffers(fmt::format("{} pointers to device code instead of {}", now.size(), old.size()));
    for (std::size_t i = 0; i < old.size(); ++i) {
      const ContainerMoves::Move* move = FindMove(old[i].addend);
      if (move == nullptr || now[i].place != old[i].place || now[i].type != old[i].type ||
          now[i].addend != move->to)
        return SliceDiffers(fmt::format("the pointer to a container at address {:#x}", old[i].place));
      ranges_.Expect(old[i].addend_offset, move->to);
      if (old[i].is_relr || move->to == move->from) continue;
      PTPKG_TRY(const std::uint64_t offset, old_.image.OffsetOf(old[i].place, kWordBytes, "a pointer"));
      PTPKG_TRY(const auto word, ReadExact(old_.file, offset, kWordBytes, "a pointer"));
      if (old_.image.codec.Word(word, 0) == old[i].addend) ranges_.Expect(offset, move->to);
    }
    return Ok();
  }

  /// The container of a section that got smaller which begins at the address; null when none does.
  [[nodiscard]] const ContainerMoves::Move* FindMove(std::uint64_t vaddr) const {
    for (const auto& [section, moves] : smaller_) {
      if (const ContainerMoves::Move* move = moves->Find(vaddr)) return move;
    }
    return nullptr;
  }

  /// Relocations into sections that got smaller.
  [[nodiscard]] Result<std::vector<Relocation>> Pointers(const OpenImage& of) const {
    std::vector<Relocation> pointers;
    PTPKG_CHECK(ForEachRelocation(of.file, of.image, [&](const Relocation& relocation) {
      const bool is_here = std::any_of(smaller_.begin(), smaller_.end(), [&](const Smaller& one) {
        const Section& section = of.image.sections[one.first];
        return relocation.addend >= section.addr && relocation.addend - section.addr < section.size;
      });
      if (is_here && relocation.type == RelativeType(of.image)) pointers.push_back(relocation);
      return Ok();
    }));
    return pointers;
  }

  /// By how much the segment's address grew: it begins with bytes of a section that moved.
  [[nodiscard]] std::uint64_t DeltaOf(const Segment& segment) const {
    if (segment.type == kSegmentLoad || segment.file_size == 0) return 0;
    for (const auto& [section, delta] : moved_) {
      const Section& old = old_.image.sections[section];
      if (segment.offset >= old.offset && segment.offset - old.offset < old.size) return delta;
    }
    return 0;
  }

  /// True if both files must have the segment, and it is not loaded: neither unused ones, nor the
  /// original's of the program headers where the slice does without.
  [[nodiscard]] bool IsListed(const Segment& segment) const {
    const bool is_spared = segment.type == kSegmentPhdr && new_.image.FindSegment(kSegmentPhdr) == nullptr &&
                           CanDropPhdr(old_.image);
    return segment.type != kSegmentLoad && segment.type != kSegmentNull && !is_spared;
  }
  [[nodiscard]] std::vector<Segment> Others(const Image& image) const {
    std::vector<Segment> others;
    std::copy_if(image.segments.begin(), image.segments.end(), std::back_inserter(others),
                 [&](const Segment& segment) { return IsListed(segment); });
    return others;
  }

  Result<void> CheckOtherSegments() {
    const std::vector<Segment> old = Others(old_.image);
    const std::vector<Segment> now = Others(new_.image);
    if (old.size() != now.size())
      return SliceDiffers(
          fmt::format("{} segments that are not loaded instead of {}", now.size(), old.size()));
    for (std::size_t i = 0; i < old.size(); ++i) {
      if (!IsSameSegment(old[i], now[i])) {
        return SliceDiffers(
            fmt::format("the segment of type {:#x} at address {:#x}", old[i].type, old[i].vaddr));
      }
    }
    return Ok();
  }

  [[nodiscard]] bool IsSameSegment(const Segment& old, const Segment& now) const {
    Segment wanted = old;
    wanted.offset = now.offset;
    wanted.vaddr += DeltaOf(old);
    wanted.paddr += DeltaOf(old);
    if (old.type == kSegmentPhdr) {
      wanted.offset = new_.image.header.program_headers_offset;
      wanted.file_size = new_.image.segments.size() * new_.image.codec.SegmentSize();
      wanted.memory_size = wanted.file_size;
    }
    if (wanted != now) return false;
    if (now.file_size == 0) return moves_.IsBetweenNeighbours(old.offset, now.offset);
    return !IsMapped(old_.image, old) || IsMapped(new_.image, now);
  }

  /// True if the segment keeps the rights `flags`, except the right to execute where no section of code lies.
  [[nodiscard]] bool KeepsRights(const Segment& now, std::uint32_t flags) const {
    if (now.flags == flags) return true;
    if (now.flags != (flags & ~kFlagExecute)) return false;
    return std::none_of(old_.image.sections.begin(), old_.image.sections.end(), [&](const Section& section) {
      return (section.flags & kSectionExecute) != 0 && section.addr < now.vaddr + now.memory_size &&
             section.addr + section.size > now.vaddr;
    });
  }

  /// Every address keeps its bytes and rights, and no address got new ones.
  Result<void> CheckMemory() {
    for (const Segment& old : old_.image.segments) {
      if (old.type == kSegmentLoad) PTPKG_CHECK(CheckLoad(old));
    }
    std::vector<Segment> loads;
    std::vector<std::uint32_t> types;  // in the order of the headers
    for (const Segment& old : old_.image.segments) {
      const std::size_t before = loads.size();
      if (old.type == kSegmentLoad) PTPKG_CHECK(AddLoads(old, loads));
      types.insert(types.end(), loads.size() - before, kSegmentLoad);
      if (IsListed(old)) types.push_back(old.type);
    }
    std::vector<Segment> now;
    std::vector<std::uint32_t> types_now;
    for (Segment segment : new_.image.segments) {
      if (segment.type != kSegmentNull) types_now.push_back(segment.type);
      if (segment.type != kSegmentLoad) continue;
      if (now.size() < loads.size() && KeepsRights(segment, loads[now.size()].flags)) {
        loads[now.size()].flags = segment.flags;
      }
      if (now.size() < loads.size())
        loads[now.size()].offset = segment.offset;  // CheckLoad compares the bytes
      now.push_back(segment);
    }
    if (now != loads) return SliceDiffers("the loadable segments");
    return types_now == types ? Ok() : SliceDiffers("the order of program headers");
  }

  /// Expected form of `old` in the slice, but for offsets and the execute right: cut behind each section in
  /// it that got smaller.
  Result<void> AddLoads(const Segment& old, std::vector<Segment>& loads) const {
    Segment rest = old;
    for (const auto& [index, moves] : smaller_) {
      const Section& section = old_.image.sections[index];
      const std::uint64_t section_end = section.addr + section.size;
      const bool holds = section.addr >= old.vaddr && section_end <= old.vaddr + old.file_size &&
                         section.offset - old.offset == section.addr - old.vaddr;
      if (!holds) continue;
      PTPKG_TRY(const std::uint64_t end, EndOfCode(index));
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
    return Ok();
  }

  /// The address behind the containers of the section and what moved there.
  [[nodiscard]] Result<std::uint64_t> EndOfCode(std::size_t index) const {
    const std::uint64_t begin = old_.image.sections[index].addr;
    const std::uint64_t limit = begin + old_.image.sections[index].size;
    const std::uint64_t end_of_containers = begin + new_.image.sections[index].size;
    std::uint64_t end = end_of_containers;
    bool is_behind = true;
    const auto take = [&](std::uint64_t vaddr, std::uint64_t size) {
      if (vaddr < begin || vaddr >= limit) return;
      is_behind = is_behind && vaddr >= end_of_containers && size <= limit - vaddr;
      end = std::max(end, vaddr + size);
    };
    for (const auto& [section, delta] : moved_)
      take(new_.image.sections[section].addr, new_.image.sections[section].size);
    for (const Segment& old : old_.image.segments) {
      if (const std::uint64_t delta = DeltaOf(old); delta != 0) take(old.vaddr + delta, old.file_size);
    }
    if (!is_behind)
      return SliceDiffers("the moved bytes lie on containers, or pass the end of their section");
    return end;
  }

  Result<void> CheckLoad(const Segment& old) {
    const std::uint64_t end = old.offset + old.file_size;
    for (std::uint64_t at = old.offset; at < end;) {
      std::uint64_t stop = end;
      const std::uint64_t behind = PassSkipped(at, stop);
      if (behind != at) {
        at = behind;
        continue;
      }
      const std::uint64_t vaddr = old.vaddr + (at - old.offset);
      const Segment* now = new_.image.LoadAt(vaddr);
      if (now == nullptr || !KeepsRights(*now, old.flags))
        return SliceDiffers(fmt::format("address {:#x} is not loaded as it was", vaddr));
      const std::uint64_t size = std::min(stop - at, now->vaddr + now->file_size - vaddr);
      ranges_.Add({.original = at,
                   .sliced = now->offset + (vaddr - now->vaddr),
                   .size_bytes = size,
                   .what = "what is loaded"});
      at += size;
    }
    if (old.memory_size == old.file_size) return Ok();
    const bool has_zeros =
        std::any_of(new_.image.segments.begin(), new_.image.segments.end(), [&](const Segment& now) {
          return now.type == kSegmentLoad && KeepsRights(now, old.flags) &&
                 now.vaddr + now.file_size == old.vaddr + old.file_size &&
                 now.vaddr + now.memory_size == old.vaddr + old.memory_size;
        });
    return has_zeros ? Ok()
                     : SliceDiffers(fmt::format("zeros behind the segment at address {:#x}", old.vaddr));
  }

  /// The end of the skipped range at `at`; else `at`, and `stop` is where the next one begins. REQUIRES:
  /// MergeSkips.
  [[nodiscard]] std::uint64_t PassSkipped(std::uint64_t at, std::uint64_t& stop) const {
    const auto next = skips_.upper_bound(at);
    if (next != skips_.end()) stop = std::min(stop, next->first);
    return next == skips_.begin() ? at : std::max(at, std::prev(next)->second);
  }

  /// Checks content that is not loaded, and content that moved.
  Result<void> CheckContents() {
    for (std::size_t i = 0; i < old_.image.sections.size(); ++i) {
      const Section& old = old_.image.sections[i];
      const Section& now = new_.image.sections[i];
      const bool is_loaded = (old.flags & kSectionAlloc) != 0 && IsMapped(old_.image, old);
      if (!HasBytes(old) || device_.contains(i) || (is_loaded && !moved_.contains(i))) continue;
      if (old.type == kSectionSymtab) {
        PTPKG_CHECK(CheckSymbols(old, now));
        continue;
      }
      ranges_.Add(
          {.original = old.offset, .sliced = now.offset, .size_bytes = old.size, .what = "a section"});
    }
    return Ok();
  }

  Result<void> CheckSymbols(const Section& old, const Section& now) {
    const ComparedRange range{
        .original = old.offset, .sliced = now.offset, .size_bytes = old.size, .what = "a symbol of .symtab"};
    return CompareRecords(old_.file, new_.file, range, old_.image.codec.SymbolSize(),
                          [&](MutableBytes symbol) { Follow(symbol); });
  }

  void Follow(MutableBytes symbol) const {
    const Codec& codec = old_.image.codec;
    const std::size_t section = codec.U16(symbol, 6);
    if (const auto moved = moved_.find(section); moved != moved_.end()) {
      codec.PutWord(symbol, 8, codec.Word(symbol, 8) + moved->second);
    } else if (const auto device = device_.find(section); device != device_.end()) {
      if (GotSmaller(section)) device->second->FollowSymbol(codec, symbol);
    }
  }

  const OpenImage& old_;
  const OpenImage& new_;
  RangeComparison& ranges_;
  using Smaller = std::pair<std::size_t, const ContainerMoves*>;
  std::map<std::size_t, const ContainerMoves*> device_;  ///< By section.
  std::vector<Smaller> smaller_;                         ///< Sections that got smaller, ascending by address.
  MovesByPlace moves_;                                   ///< Moves of sections that kept their address.
  std::map<std::uint64_t, std::uint64_t> skips_;         ///< Offset → end, in the original.
  std::map<std::size_t, std::uint64_t> moved_;           ///< Section → by how much its address grew.
};

}  // namespace

Result<void> CheckLayout(const OpenImage& original, const OpenImage& sliced,
                         const std::vector<ContainerMoves>& device, RangeComparison& ranges) {
  return LayoutCheck(original, sliced, device, ranges).Run();
}

}  // namespace ptpkg::elf
