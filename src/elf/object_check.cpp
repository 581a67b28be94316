#include "elf/object_check.h"

#include <algorithm>
#include <fmt/core.h>
#include <map>

#include "elf/object_compact.h"
#include "elf/relocations.h"
#include "elf/section_table.h"
#include "elf/symbol_table.h"

namespace ptpkg::elf {
namespace {

constexpr std::uint64_t kRecordsAtOnce = 32U << 10U;

class ObjectCheck {
 public:
  ObjectCheck(const OpenImage& original, const OpenImage& sliced, const std::vector<ContainerMoves>& device)
      : old_(original), new_(sliced), device_(device) {}

  Result<void> Run() {
    PTPKG_CHECK(CheckHeader());
    PTPKG_CHECK(CheckSections());
    PTPKG_CHECK(ReadSymbols());
    for (std::size_t i = 0; i < old_.image.sections.size(); ++i) PTPKG_CHECK(CheckContent(i));
    return Ok();
  }

 private:
  Result<void> CheckHeader() {
    const std::size_t size = old_.image.codec.FileHeaderSize();
    PTPKG_TRY(const auto old, ReadExact(old_.file, 0, size, "the ELF header"));
    PTPKG_TRY(auto now, ReadExact(new_.file, 0, size, "the ELF header"));
    FileHeader header = new_.image.header;
    header.section_headers_offset = old_.image.header.section_headers_offset;
    old_.image.codec.EncodeFileHeader(header, now);
    if (old != now || !old_.image.codec.Is64()) return SliceDiffers("the ELF header");
    if (!old_.image.segments.empty()) return SliceDiffers("an object with program headers got smaller");
    if (new_.image.header.section_headers_offset % 8 != 0)
      return SliceDiffers("the section headers are not aligned");
    return Ok();
  }

  Result<void> CheckSections() {
    if (const std::string shared = FindSharedBytes(new_.image); !shared.empty()) return SliceDiffers(shared);
    std::map<std::uint64_t, std::uint64_t> moves = {{0, 0}};  // by place in the original
    for (std::size_t i = 0; i < old_.image.sections.size(); ++i) {
      Section old = old_.image.sections[i];
      if (!IsKnownInObjects(old.type)) return SliceDiffers(fmt::format("section {} of a type not known", i));
      const Section& now = new_.image.sections[i];
      if (MovesOf(i) != nullptr && now.size <= old.size) old.size = now.size;
      const std::uint64_t place = old.offset;
      const std::uint64_t moved = place - now.offset;
      old.offset = now.offset;
      if (old != now) return SliceDiffers(fmt::format("section header {}", i));
      const bool has_bytes = old.type != 0 && old.type != kSectionNobits && old.size != 0;
      if (has_bytes && old.align > 1 && moved % old.align != 0)
        return SliceDiffers(fmt::format("section {} has lost its alignment", i));
      if (has_bytes) moves[place] = moved;
    }
    const std::uint64_t headers = old_.image.header.section_headers_offset;
    moves[headers] = headers - new_.image.header.section_headers_offset;
    return CheckEmptySections(moves);
  }

  /// What has no bytes moves no less than what stands before it, and no more than what stands behind.
  Result<void> CheckEmptySections(const std::map<std::uint64_t, std::uint64_t>& moves) {
    for (std::size_t i = 0; i < old_.image.sections.size(); ++i) {
      const Section& old = old_.image.sections[i];
      const bool has_bytes = old.type != 0 && old.type != kSectionNobits && old.size != 0;
      if (has_bytes) continue;
      const auto behind = moves.upper_bound(old.offset);
      const std::uint64_t least = std::prev(behind)->second;
      const std::uint64_t most =
          behind == moves.end() ? old_.image.file_size - new_.image.file_size : behind->second;
      const std::uint64_t moved = old.offset - new_.image.sections[i].offset;
      if (moved < least || moved > most)
        return SliceDiffers(fmt::format("section {}, which has no bytes, stands elsewhere", i));
    }
    return Ok();
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
    const std::string what = fmt::format("section {}", index);
    if (&old == FindSymbolTable(old_.image)) {
      return CompareRecords(old, now, old_.image.codec.SymbolSize(), what,
                            [&](MutableBytes record) { FollowSymbol(record); });
    }
    if (old.type == kSectionRela) {
      return CompareRecords(old, now, kRelaSize, what, [&](MutableBytes record) { FollowPointer(record); });
    }
    return CompareBytes({old_.file, old.offset}, {new_.file, now.offset}, old.size, what);
  }

  /// `follow` gives a record of the original what it has to hold in the slice.
  template <class Follow>
  Result<void> CompareRecords(const Section& old, const Section& now, std::uint64_t record,
                              const std::string& what, Follow follow) {
    const std::uint64_t whole = old.size / record * record;
    for (std::uint64_t at = 0; at < whole; at += kRecordsAtOnce * record) {
      const std::uint64_t size = std::min(kRecordsAtOnce * record, whole - at);
      PTPKG_TRY(auto wanted, ReadExact(old_.file, old.offset + at, size, what));
      PTPKG_TRY(const auto found, ReadExact(new_.file, now.offset + at, size, what));
      for (std::uint64_t i = 0; i < size; i += record) follow(MutableBytes(wanted).subspan(i, record));
      if (wanted != found) return SliceDiffers(fmt::format("{}, from byte {} on", what, at));
    }
    return CompareBytes({old_.file, old.offset + whole}, {new_.file, now.offset + whole}, old.size - whole,
                        what);
  }

  void FollowSymbol(MutableBytes record) const {
    const Codec& codec = old_.image.codec;
    const ContainerMoves* moves = MovesOf(codec.U16(record, 6));
    const bool is_section = (std::to_integer<std::uint32_t>(record[4]) & 0xfU) == 3;
    if (moves == nullptr || is_section) return;
    const ContainerMoves::Move* move = moves->Find(codec.Word(record, 8));
    if (move == nullptr) return;
    codec.PutWord(record, 8, move->to);
    if (codec.Word(record, 16) == move->from_size) codec.PutWord(record, 16, move->to_size);
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
  std::map<std::uint64_t, const ContainerMoves*> section_symbols_;  ///< By number in .symtab.
};

}  // namespace

Result<void> CheckObject(const OpenImage& original, const OpenImage& sliced,
                         const std::vector<ContainerMoves>& device) {
  return ObjectCheck(original, sliced, device).Run();
}

}  // namespace ptpkg::elf
