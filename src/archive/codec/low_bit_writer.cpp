// Copies bit ranges to another bit offset, for deflate blocks that keep their bits but move by a few
// positions.
//
// The common case takes groups of 56 bits: an unaligned load of 8 bytes holds 56 bits at every start
// position from 0 to 7, and 7 waiting bits plus 56 still fit into a word. No byte needs a branch of its
// own. Fewer than 56 bits at the end of a range go through Put. Buffers have 8 spare bytes, because loads
// and stores always move whole words.

#include "archive/codec/low_bit_writer.h"

#include <algorithm>
#include <cstring>

namespace ptpkg::archive {
namespace {

constexpr std::size_t kCopiedBytes = 256U << 10U;
constexpr unsigned kGroupBits = 56;
constexpr std::uint64_t kGroupMask = (std::uint64_t{1} << kGroupBits) - 1;

}  // namespace

Result<void> LowBitWriter::Put(std::uint64_t value, unsigned count) {
  word_ |= value << filled_;
  filled_ += count;
  char raw[8];
  std::memcpy(raw, &word_, 8);  // little-endian machines only: deflate_walk.h asserts it
  const unsigned whole = filled_ / 8;
  bytes_.append(raw, whole);
  word_ = whole == 8 ? 0 : word_ >> (whole * 8);
  filled_ %= 8;
  return bytes_.size() < kCopiedBytes ? Ok() : Drain();
}

std::uint64_t LowBitWriter::PutGroups(const char* piece, std::uint64_t first, BitRange bits) {
  // Eight spare bytes: each store writes a whole word, though only seven bytes count.
  const std::size_t kept = bytes_.size();
  const std::uint64_t groups = (bits.end - bits.begin) / kGroupBits;
  bytes_.resize(kept + groups * (kGroupBits / 8) + 8);
  char* to = bytes_.data() + kept;
  for (std::uint64_t i = 0; i < groups; ++i, to += kGroupBits / 8, bits.begin += kGroupBits) {
    std::uint64_t word = 0;
    std::memcpy(&word, piece + (bits.begin / 8 - first), 8);
    word_ |= ((word >> (bits.begin % 8)) & kGroupMask) << filled_;
    std::memcpy(to, &word_, 8);
    word_ >>= kGroupBits;
  }
  bytes_.resize(kept + groups * (kGroupBits / 8));
  return bits.begin;
}

Result<void> LowBitWriter::Drain() {
  PTPKG_CHECK(out_.Write(AsBytes(bytes_)));
  written_ += bytes_.size();
  bytes_.clear();
  return Ok();
}

Result<void> LowBitWriter::Copy(File& file, std::uint64_t base, BitRange bits) {
  std::string piece;
  while (bits.begin < bits.end) {
    const std::uint64_t first = bits.begin / 8;
    const std::uint64_t last = std::min((bits.end + 7) / 8, first + kCopiedBytes);
    const std::size_t size = last - first;
    piece.assign(size + 8, '\0');  // room for whole words
    PTPKG_TRY(const std::size_t got,
              file.ReadAt(base + first, std::as_writable_bytes(std::span(piece).first(size))));
    if (got != size) return Error(ErrorCode::kCorrupt, "the file ends inside of a deflate stream");
    const std::uint64_t end = std::min(bits.end, last * 8);
    bits.begin = PutGroups(piece.data(), first, {bits.begin, end});
    while (bits.begin < end) {
      const auto count = static_cast<unsigned>(std::min<std::uint64_t>(kGroupBits, end - bits.begin));
      std::uint64_t word = 0;
      std::memcpy(&word, piece.data() + (bits.begin / 8 - first), 8);
      word = (word >> (bits.begin % 8)) & (kGroupMask >> (kGroupBits - count));
      PTPKG_CHECK(Put(word, count));
      bits.begin += count;
    }
  }
  return Ok();
}

Result<std::uint64_t> LowBitWriter::Finish() {
  PTPKG_CHECK(Align());
  PTPKG_CHECK(Drain());
  return written_;
}

}  // namespace ptpkg::archive
