#pragma once
// Compressing sinks. Layer: archive. Their output depends on input and level alone, never on `jobs`
// or on how the input was cut into Write calls.

#include <memory>

#include "support/digest/stream.h"

namespace ptpkg::archive {

/// A sink with an end. Finish flushes what is buffered; the destructor abandons.
class CodecSink : public ByteSink {
 public:
  /// Call once, last. The sink below is not finished by it.
  virtual Result<void> Finish() = 0;
};

struct Bzip2Options {
  int level = 9;  ///< 1..9, block size in 100 kB.
  int jobs = 1;
};

/// One bzip2 stream, bytes equal to `bzip2 -<level>` of the same input; blocks are compressed in
/// parallel (docs/formats/bzip2.md). Several concatenated streams would be truncated by rattler.
/// `out` is written only from the thread that calls Write and Finish. With jobs ≥ 2 the compression runs
/// on `jobs` threads of its own, beside the caller. Memory: about jobs * 11 MB at level 9, for any input.
/// REQUIRES: level and jobs in range.
std::unique_ptr<CodecSink> MakeBzip2Sink(ByteSink& out, const Bzip2Options& options);

struct ZstdOptions {
  int level = 12;      ///< 1..22.
  int window_log = 0;  ///< 0 = the level's own; at most 27, which every conda client accepts. 25..27 turn on
                       ///< long-distance matching.
  int jobs = 1;
  std::uint64_t content_size = 0;  ///< Exact input size, written into the frame; 0 = unknown.
};

/// One zstd frame with content size and checksum. Bytes equal for every jobs ≥ 1 (of one libzstd version).
/// Compression runs on `jobs` threads of its own. Errors: kInvalidInput for options out of range, and at
/// Finish "changed while being packed" when the input was not content_size bytes long.
Result<std::unique_ptr<CodecSink>> MakeZstdSink(ByteSink& out, const ZstdOptions& options);

}  // namespace ptpkg::archive
