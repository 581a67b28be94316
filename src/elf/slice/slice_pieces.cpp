// Builds a slice from pieces: copies of original ranges, new bytes, zeros. Replacements are sorted by
// offset, and the original fills the space between them. Two replacements that overlap show that two parts
// of the file claim the same bytes: the file is refused, because each order of the replacements would
// damage one of them. Neighbouring copies are joined, so that the writer and the comparison handle long
// ranges.

#include "elf/slice/slice_pieces.h"

#include <algorithm>
#include <fmt/core.h>

namespace ptpkg::elf {
namespace {

/// Copies of neighbouring ranges, and neighbouring zeros, become one piece.
void Append(SlicePiece piece, std::vector<SlicePiece>& pieces) {
  if (piece.size_bytes == 0) return;
  if (!pieces.empty() && pieces.back().kind == piece.kind) {
    SlicePiece& last = pieces.back();
    const bool goes_on = piece.kind == SlicePiece::Kind::kZeros ||
                         (piece.kind == SlicePiece::Kind::kCopy && last.from + last.size_bytes == piece.from);
    if (goes_on) {
      last.size_bytes += piece.size_bytes;
      return;
    }
  }
  pieces.push_back(std::move(piece));
}

}  // namespace

SlicePiece CopyPiece(std::uint64_t from, std::uint64_t size_bytes) {
  return {.kind = SlicePiece::Kind::kCopy, .size_bytes = size_bytes, .from = from};
}

SlicePiece ZeroPiece(std::uint64_t size_bytes) {
  return {.kind = SlicePiece::Kind::kZeros, .size_bytes = size_bytes};
}

SlicePiece BytesPiece(std::vector<std::byte> bytes) {
  const std::uint64_t size = bytes.size();
  return {.kind = SlicePiece::Kind::kBytes, .size_bytes = size, .bytes = std::move(bytes)};
}

std::uint64_t SizeOf(const std::vector<SlicePiece>& pieces) {
  std::uint64_t sum = 0;
  for (const SlicePiece& piece : pieces) sum += piece.size_bytes;
  return sum;
}

bool SlicedSection::Changes() const {
  return std::any_of(containers.begin(), containers.end(),
                     [](const SlicedContainer& one) { return one.new_size != one.size_bytes; });
}

std::size_t SlicedSection::ContainerAt(std::uint64_t offset) const {
  const auto found = std::lower_bound(
      containers.begin(), containers.end(), offset,
      [](const SlicedContainer& container, std::uint64_t at) { return container.offset < at; });
  const bool is_start = found != containers.end() && found->offset == offset;
  return is_start ? static_cast<std::size_t>(found - containers.begin()) : containers.size();
}

PackedContainers Pack(const std::vector<SlicedContainer>& containers) {
  PackedContainers packed;
  for (const SlicedContainer& container : containers) {
    const std::uint64_t at = (packed.size_bytes + kContainerAlign - 1) / kContainerAlign * kContainerAlign;
    packed.places.push_back(at);
    packed.size_bytes = at + container.new_size;
  }
  return packed;
}

std::vector<SlicePiece> PiecesOf(const std::vector<SlicedContainer>& containers,
                                 const PackedContainers& packed) {
  std::vector<SlicePiece> pieces;
  std::uint64_t at = 0;
  for (std::size_t i = 0; i < containers.size(); ++i) {
    pieces.push_back(ZeroPiece(packed.places[i] - at));
    pieces.insert(pieces.end(), containers[i].pieces.begin(), containers[i].pieces.end());
    at = packed.places[i] + containers[i].new_size;
  }
  return pieces;
}

Replacement WordReplacement(std::uint64_t offset, std::uint64_t value, std::string_view what) {
  std::vector<std::byte> word(8);
  Codec(ElfClass::k64, ByteOrder::kLittle).PutWord(word, 0, value);
  Replacement replacement{.offset = offset, .size_bytes = word.size(), .pieces = {}, .what = what};
  replacement.pieces.push_back(BytesPiece(std::move(word)));
  return replacement;
}

Result<std::vector<SlicePiece>> KeptOf(File& file, const DeviceContainer& container,
                                       const DeviceChoice& choice) {
  std::vector<SlicePiece> pieces;
  if (!choice.DropsElements(container)) {
    pieces.push_back(CopyPiece(container.offset, container.size_bytes));
    return pieces;
  }
  PTPKG_TRY(std::vector<std::byte> header,
            ReadExact(file, container.offset, container.header_bytes, "the header of a container"));
  std::uint64_t size = 0;
  for (const std::size_t kept : choice.kept) size += container.elements[kept].size_bytes;
  Codec(ElfClass::k64, ByteOrder::kLittle).PutWord(header, kContainerSizeAt, size);
  Append(BytesPiece(std::move(header)), pieces);
  for (const std::size_t kept : choice.kept) {
    Append(CopyPiece(container.elements[kept].offset, container.elements[kept].size_bytes), pieces);
  }
  return pieces;
}

Result<std::vector<SlicePiece>> Assemble(std::uint64_t file_size, std::vector<Replacement> replacements) {
  std::stable_sort(
      replacements.begin(), replacements.end(),
      [](const Replacement& left, const Replacement& right) { return left.offset < right.offset; });
  std::vector<SlicePiece> pieces;
  std::uint64_t at = 0;
  std::string_view before = "the file's begin";
  for (Replacement& replacement : replacements) {
    const bool fits =
        replacement.offset <= file_size && replacement.size_bytes <= file_size - replacement.offset;
    if (replacement.offset < at || !fits) {
      return Error(ErrorCode::kInvalidInput,
                   fits ? fmt::format("file offset {}: {} overlaps {}", replacement.offset, replacement.what,
                                      before)
                        : fmt::format("file offset {}: {} passes the end of the file", replacement.offset,
                                      replacement.what))
          .WithHint("rebuild the file: two of its parts claim the same bytes");
    }
    Append(CopyPiece(at, replacement.offset - at), pieces);
    for (SlicePiece& piece : replacement.pieces) Append(std::move(piece), pieces);
    at = replacement.offset + replacement.size_bytes;
    before = replacement.what;
  }
  Append(CopyPiece(at, file_size - at), pieces);
  return pieces;
}

}  // namespace ptpkg::elf
