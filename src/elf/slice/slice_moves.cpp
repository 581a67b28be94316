// Follows what moves in a compact slice: containers, symbols of containers, and sections without bytes. A
// symbol at the end of the section is `__stop_…` and moves with the end. A section without bytes has no
// content to compare, so its offset must lie between the moves of its neighbours.

#include "elf/slice/slice_moves.h"

#include <algorithm>
#include <fmt/core.h>

#include "elf/read/section_table.h"
#include "elf/slice/slice_compare.h"

namespace ptpkg::elf {

const ContainerMoves::Move* ContainerMoves::Find(std::uint64_t vaddr) const {
  const auto found = std::lower_bound(moves.begin(), moves.end(), vaddr,
                                      [](const Move& move, std::uint64_t at) { return move.from < at; });
  return found == moves.end() || found->from != vaddr ? nullptr : &*found;
}

void ContainerMoves::FollowSymbol(const Codec& codec, MutableBytes symbol) const {
  constexpr std::uint32_t kOfSection = 3;  // STT_SECTION
  if ((std::to_integer<std::uint32_t>(symbol[4]) & 0xfU) == kOfSection) return;
  const std::uint64_t value = codec.Word(symbol, 8);
  if (value == from_end && codec.Word(symbol, 16) == 0) codec.PutWord(symbol, 8, to_end);  // __stop_ of it
  const Move* move = Find(value);
  if (move == nullptr) return;
  codec.PutWord(symbol, 8, move->to);
  if (codec.Word(symbol, 16) == move->from_size) codec.PutWord(symbol, 16, move->to_size);
}

Result<void> CompareFileHeaders(const OpenImage& original, const OpenImage& sliced,
                                const FileHeader& excused) {
  const std::size_t size = original.image.codec.FileHeaderSize();
  PTPKG_TRY(const auto old, ReadExact(original.file, 0, size, "the ELF header"));
  PTPKG_TRY(auto now, ReadExact(sliced.file, 0, size, "the ELF header"));
  original.image.codec.EncodeFileHeader(excused, now);
  return old == now ? Ok() : SliceDiffers("the ELF header");
}

MovesByPlace::MovesByPlace(const Image& original, const Image& sliced) {
  Add(0, 0);
  Add(original.header.section_headers_offset, sliced.header.section_headers_offset);
  Add(original.file_size, sliced.file_size);
}

bool MovesByPlace::IsBetweenNeighbours(std::uint64_t original, std::uint64_t sliced) const {
  const auto behind = moves_.upper_bound(original);
  const std::uint64_t most = behind == moves_.end() ? std::prev(behind)->second : behind->second;
  const std::uint64_t moved = original - sliced;
  return moved >= std::prev(behind)->second && moved <= most;
}

Result<void> MovesByPlace::CheckEmptySections(const Image& original, const Image& sliced) const {
  for (std::size_t i = 0; i < original.sections.size(); ++i) {
    const Section& old = original.sections[i];
    if (!HasBytes(old) && !IsBetweenNeighbours(old.offset, sliced.sections[i].offset))
      return SliceDiffers(fmt::format("section {}, which has no bytes, stands elsewhere", i));
  }
  return Ok();
}

}  // namespace ptpkg::elf
