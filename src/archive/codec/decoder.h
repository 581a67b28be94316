#pragma once
// Decompressing sources that report the stream format. Layer: archive. Reads concatenated streams to the end,
// like Python's bz2. It reports their count because rattler stops after the first one.

#include <cstdint>
#include <memory>

#include "support/digest/stream.h"

namespace ptpkg::archive {

/// Facts about the bytes read so far; complete once Read has returned 0.
struct StreamFacts {
  std::uint64_t streams = 0;       ///< bzip2 streams, or zstd frames without the skippable ones.
  std::uint64_t window_bytes = 0;  ///< zstd: the largest window that a frame asks for.
  bool content_size_known = true;  ///< zstd: every frame states its content size.
  std::uint64_t packed_bytes = 0;  ///< Bytes taken from the source below.
};

class DecodingSource : public ByteSource {
 public:
  [[nodiscard]] virtual const StreamFacts& facts() const = 0;
};

/// Borrows `packed`. Read errors: kCorrupt for damaged or truncated data, and for bytes after a stream that
/// do not begin another one.
std::unique_ptr<DecodingSource> MakeBzip2Source(ByteSource& packed);

/// Decodes zstd. Accepts windows of up to 2^`window_log_max` bytes; the default is the most that libzstd
/// takes, so that the caller can judge them.
std::unique_ptr<DecodingSource> MakeZstdSource(ByteSource& packed, int window_log_max = 31);

}  // namespace ptpkg::archive
