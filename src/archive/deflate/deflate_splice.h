#pragma once
// Edits inside a deflate stream: encodes only the blocks that hold changed bytes. Layer: archive. Source: RFC
// 1951. Each block can be decoded alone, given the 32 KiB before it. So a block keeps its bits unless it
// holds changed bytes or copies some from before it. Kept blocks move by a few bits.

#include <string>
#include <vector>

#include "support/digest/hash.h"
#include "support/files/fs.h"

namespace ptpkg::archive {

/// Replacement of the bytes from `offset` on, as many as `bytes` has.
struct ContentEdit {
  std::uint64_t offset = 0;
  std::string bytes;
};

/// Edits of one content.
struct ContentEdits {
  std::vector<ContentEdit> replaced = {};  ///< Ascending by offset, none overlapping another.
  std::string appended = {};               ///< Behind the old end.
};

/// A raw deflate stream, or plain content, in a file.
struct DeflateRange {
  std::uint64_t offset = 0;
  std::uint64_t stored_bytes = 0;
  std::uint64_t size_bytes = 0;  ///< Size of its content.
};

struct SplicedStream {
  std::uint64_t stored_bytes = 0;
  std::uint64_t size_bytes = 0;  ///< Size of the new content, which the next two describe too.
  std::uint32_t crc32 = 0;
  Sha256 sha256;
  std::uint32_t old_crc32 = 0;  ///< CRC of the old content.
  std::uint64_t kept_blocks = 0;
  std::uint64_t encoded_blocks = 0;  ///< Encoded again, plus the blocks of appended bytes.
};

/// Writes the stream of the new content to `out`. One pass inflates the old stream block by block, hashes the
/// new content, and finds the blocks that must change. Each of these is inflated a second time, and
/// libdeflate deflates it at `level` (1 to 12), by itself, in pieces of 1 MiB. Equal input gives equal bytes.
/// Memory: 8 MiB and the edits, whatever the block sizes. Leaves out bytes behind the end of the stream.
/// Errors: kCorrupt when the range is not a deflate stream or its content does not have `size_bytes`.
/// kInvalidInput for edits out of order, overlapping or behind the end. Also for a level out of range. kIo,
/// and any error from `out`.
Result<SplicedStream> SpliceDeflate(File& file, const DeflateRange& range, const ContentEdits& edits,
                                    int level, ByteSink& out);

/// Splices content that is stored uncompressed; no blocks are counted.
Result<SplicedStream> SpliceStored(File& file, const DeflateRange& range, const ContentEdits& edits,
                                   ByteSink& out);

}  // namespace ptpkg::archive
