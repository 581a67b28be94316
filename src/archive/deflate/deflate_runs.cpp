// Deflates a chunk, but stores pieces that do not shrink, such as compressed device code in CUDA libraries.
//
// Matching costs the most time exactly where it finds nothing. Each piece of 256 KiB passes two tests. A
// count of its bytes rejects most compressible pieces cheaply. A sample of 64 KiB, deflated at level 1,
// then shows whether the piece shrinks at all. Pieces that fail become stored blocks inside the stream, and
// the runs between them are deflated as before.
//
// Invariants: the decision follows from the content of the piece alone, in integer arithmetic, so that
// every machine writes the same bytes. Above level 6 the user asked for size, so nothing is skipped.

#include "archive/deflate/deflate_runs.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace ptpkg::archive {
namespace {

constexpr std::size_t kPieceBytes = 256U << 10U;
constexpr std::size_t kProbeBytes = 64U << 10U;
constexpr std::size_t kStoredBlockBytes = 65535;  // RFC 1951, 3.2.4
constexpr int kLastSparingLevel = 6;

/// True if the sum of squared byte counts is at most 15 % above the sum for even counts: about 7.9 bits a
/// byte. In whole numbers, because the answer decides bytes that have to be equal on every machine.
bool IsSpreadEvenly(Bytes piece) {
  std::array<std::array<std::uint32_t, 256>, 4> counts{};  // four, so that equal bytes in a row do not wait
  const std::size_t even = piece.size() / 4 * 4;
  for (std::size_t i = 0; i < even; i += 4) {
    for (std::size_t lane = 0; lane < 4; ++lane)
      ++counts[lane][std::to_integer<std::uint8_t>(piece[i + lane])];
  }
  std::uint64_t squares = 0;
  for (std::size_t byte = 0; byte < 256; ++byte) {
    const std::uint64_t count =
        std::uint64_t{counts[0][byte]} + counts[1][byte] + counts[2][byte] + counts[3][byte];
    squares += count * count;
  }
  // 2^18 bytes: the square is 2^36, times 115 below 2^43.
  return squares * 256 * 100 <= std::uint64_t{even} * even * 115;
}

void AppendStored(Bytes raw, bool ends_stream, std::string& out) {
  for (std::size_t at = 0; at < raw.size(); at += kStoredBlockBytes) {
    const std::size_t length = std::min(kStoredBlockBytes, raw.size() - at);
    const bool is_last = ends_stream && at + length == raw.size();
    out += is_last ? '\x01' : '\x00';  // BFINAL, BTYPE 00, padding up to the byte
    for (const std::size_t half : {length, ~length}) {
      out += static_cast<char>(half & 0xFFU);
      out += static_cast<char>((half >> 8U) & 0xFFU);
    }
    const Bytes block = raw.subspan(at, length);
    out.append(reinterpret_cast<const char*>(block.data()), block.size());
  }
}

}  // namespace

RunDeflater::RunDeflater(int level) : level_(level), pool_(level), probe_(1) {}

Result<bool> RunDeflater::Shrinks(Bytes piece) {
  if (!IsSpreadEvenly(piece)) return true;
  const Bytes sample = piece.subspan((piece.size() - kProbeBytes) / 2, kProbeBytes);
  PTPKG_TRY(const std::string packed, probe_.Deflate(sample, ChunkPlace::kLast));
  return packed.size() * 1000 < sample.size() * 997;
}

Result<std::string> RunDeflater::Deflate(Bytes raw, ChunkPlace place) {
  if (level_ > kLastSparingLevel || raw.size() < kPieceBytes) return pool_.Deflate(raw, place);
  std::string out;
  std::size_t begin = 0;  // of the bytes that `out` lacks
  const auto deflate_until = [&](std::size_t end) -> Result<void> {
    if (end == begin) return Ok();
    const bool ends_stream = place == ChunkPlace::kLast && end == raw.size();
    PTPKG_TRY(const std::string run, pool_.Deflate(raw.subspan(begin, end - begin),
                                                   ends_stream ? ChunkPlace::kLast : ChunkPlace::kBefore));
    out += run;
    begin = end;
    return Ok();
  };
  for (std::size_t at = 0; at + kPieceBytes <= raw.size(); at += kPieceBytes) {
    const Bytes piece = raw.subspan(at, kPieceBytes);
    PTPKG_TRY(const bool shrinks, Shrinks(piece));
    if (shrinks) continue;
    PTPKG_CHECK(deflate_until(at));
    begin = at + kPieceBytes;
    AppendStored(piece, place == ChunkPlace::kLast && begin == raw.size(), out);
  }
  PTPKG_CHECK(deflate_until(raw.size()));
  return out;
}

}  // namespace ptpkg::archive
