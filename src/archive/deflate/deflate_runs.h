#pragma once
// Deflates a chunk and stores incompressible parts. Layer: archive, internal to it. Half of PyTorch's CUDA
// libraries is device code that is compressed already; at level 6, matching it costs a quarter of the time of
// the whole wheel and saves 0.2 % of it.

#include <string>

#include "archive/deflate/deflate_chunk.h"

namespace ptpkg::archive {

/// Shared by threads.
class RunDeflater {
 public:
  /// `level`: 1..12. From 7 on nothing is stored unseen: who asks for that wants the smallest file.
  explicit RunDeflater(int level);

  /// The chunk as raw deflate that joins with others, as DeflatePool::Deflate gives it; pieces of 256 KiB
  /// whose bytes are spread evenly, and of which a sample shrinks by less than 0.3 % at level 1, become
  /// stored blocks. Depends on the arguments, the level and libdeflate's version only.
  Result<std::string> Deflate(Bytes raw, ChunkPlace place);

 private:
  Result<bool> Shrinks(Bytes piece);

  int level_;
  DeflatePool pool_;
  DeflatePool probe_;
};

}  // namespace ptpkg::archive
