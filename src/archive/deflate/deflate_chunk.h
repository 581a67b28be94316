#pragma once
// Deflates a file in chunks that join into one raw deflate stream. Layer: archive. Used by its zip writer and
// for text that is embedded deflated. Based on libdeflate; docs/decisions/0003 explains why not zlib's
// flushes.

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "support/digest/stream.h"

namespace ptpkg::archive {

enum class ChunkPlace : std::uint8_t {
  kLast,    ///< Ends the stream.
  kBefore,  ///< More chunks follow: no block is marked as last, and the text ends at a byte boundary.
};

/// libdeflate's compressors, shared by threads; each is used by one at a time.
class DeflatePool {
 public:
  /// `level`: 1..12.
  explicit DeflatePool(int level) : level_(level) {}
  ~DeflatePool();
  DeflatePool(const DeflatePool&) = delete;
  DeflatePool& operator=(const DeflatePool&) = delete;

  /// The chunk as raw deflate. Depends only on `raw`, `place`, the level and libdeflate's version.
  Result<std::string> Deflate(Bytes raw, ChunkPlace place);

 private:
  class Lease;
  int level_;
  std::mutex mutex_;
  std::vector<void*> idle_;  // libdeflate_compressor*
};

/// Running CRC-32 of zip, starting from 0.
std::uint32_t Crc32(std::uint32_t crc, Bytes bytes);

}  // namespace ptpkg::archive
