#include "elf/slice/object_check.h"

#include <algorithm>
#include <fmt/core.h>
#include <map>

#include "elf/read/section_table.h"
#include "elf/slice/object_compact.h"
#include "elf/symbols/relocations.h"
#include "elf/symbols/symbol_table.h"

namespace ptpkg::elf {
namespace {

class ObjectCheck {
 public:
  ObjectCheck(const OpenImage& original, const OpenImage& sliced, const std::vector<ContainerMoves>& device,
              RangeComparison& ranges)
      : old_(original), new_(sliced), device_(device), ranges_(ranges) {}

  Result<void> Run() {
    PTPKG_CHECK(CheckHeader());
    PTPKG_CHECK(CheckSections());
    PTPKG_CHECK(ReadSymbols());
    for (std::size_t i = 0; i < old_.image.sections.size(); ++i) PTPKG_CHECK(CheckContent(i));
    return Ok();
  }

 private:
  Result<void> CheckHeader() {
    FileHeader header = new_.image.header;
    header.section_headers_offset = old_.image.header.section_headers_offset;
    PTPKG_CHECK(CompareFileHeaders(old_, new_, header));
    if (!old_.image.codec.Is64()) return SliceDiffers("the ELF header");
    if (!old_.image.segments.empty()) return SliceDiffers("an object with program headers got smaller");
    if (new_.image.header.section_headers_offset % 8 != 0)
      return SliceDiffers("the section headers are not aligned");
    return Ok();
  }

  Result<void> CheckSections() {
    if (const std::string shared = FindSharedBytes(new_.image); !shared.empty()) return SliceDiffers(shared);
    MovesByPlace moves(old_.image, new_.image);
    for (std::size_t i = 0; i < old_.image.sections.size(); ++i) {
      Section old = old_.image.sections[i];
      if (!IsKnownInObjects(old.type)) return SliceDiffers(fmt::format("section {} of a type not known", i));
      const Section& now = new_.image.sections[i];
      if (MovesOf(i) != nullptr && now.size <= old.size) old.size = now.size;
      const std::uint64_t place = old.offset;
      const std::uint64_t moved = place - now.offset;
      old.offset = now.offset;
      if (old != now) return SliceDiffers(fmt::format("section header {}", i));
      if (HasBytes(old) && old.align > 1 && moved % old.align != 0)
        return SliceDiffers(fmt::format("section {} has lost its alignment", i));
      if (HasBytes(old)) moves.Add(place, now.offset);
    }
    return moves.CheckEmptySections(old_.image, new_.image);
  }

  /// Null: it is no section of containers.
  [[nodiscard]] const ContainerMoves* MovesOf(std::size_t section) const {
    const auto found = std::find_if(device_.begin(), device_.end(),
                                    [&](const ContainerMoves& moves) { return moves.section == section; });
    return found == device_.end() ? nullptr : &*found;
  }

  /// The symbols of sections of containers, by which relocations lead there.
  Result<void> ReadSymbols() {
    const Section* table = FindSymbolTable(old_.image);
    if (table == nullptr) return Ok();
    PTPKG_CHECK(ForEachSymbol(old_.file, old_.image, *table, [&](const TableSymbol& symbol) {
      const bool is_here = symbol.IsOfSection() && MovesOf(symbol.section) != nullptr;
      if (is_here) section_symbols_[symbol.number] = MovesOf(symbol.section);
      return std::string();
    }));
    return Ok();
  }

  Result<void> CheckContent(std::size_t index) {
    const Section& old = old_.image.sections[index];
    const Section& now = new_.image.sections[index];
    if (old.type == 0 || old.type == kSectionNobits || MovesOf(index) != nullptr) return Ok();
    const ComparedRange range{
        .original = old.offset, .sliced = now.offset, .size_bytes = old.size, .what = "a section"};
    if (&old == FindSymbolTable(old_.image)) {
      return CompareRecords(old_.file, new_.file, range, old_.image.codec.SymbolSize(),
                            [&](MutableBytes record) { FollowSymbol(record); });
    }
    if (old.type == kSectionRela) {
      return CompareRecords(old_.file, new_.file, range, kRelaSize,
                            [&](MutableBytes record) { FollowPointer(record); });
    }
    ranges_.Add(range);
    return Ok();
  }

  void FollowSymbol(MutableBytes record) const {
    const ContainerMoves* moves = MovesOf(old_.image.codec.U16(record, 6));
    if (moves != nullptr) moves->FollowSymbol(old_.image.codec, record);
  }

  void FollowPointer(MutableBytes record) const {
    const Codec& codec = old_.image.codec;
    const auto moves = section_symbols_.find(codec.Word(record, 8) >> 32U);
    if (moves == section_symbols_.end()) return;
    const ContainerMoves::Move* move = moves->second->Find(codec.Word(record, 16));
    if (move != nullptr) codec.PutWord(record, 16, move->to);
  }

  const OpenImage& old_;
  const OpenImage& new_;
  const std::vector<ContainerMoves>& device_;
  RangeComparison& ranges_;
  std::map<std::uint64_t, const ContainerMoves*> section_symbols_;  ///< By number in .symtab.
};

}  // namespace

Result<void> CheckObject(const OpenImage& original, const OpenImage& sliced,
                         const std::vector<ContainerMoves>& device, RangeComparison& ranges) {
  return ObjectCheck(original, sliced, device, ranges).Run();
}

}  // namespace ptpkg::elf
