#pragma once
// Deflates a chunk and stores incompressible parts. Layer: archive, internal to it. Half of PyTorch's CUDA
// libraries is already compressed device code. At level 6, matching it takes a quarter of the whole wheel's
// time and saves 0.2 % of its size.

#include <string>

#include "archive/deflate/deflate_chunk.h"

namespace ptpkg::archive {

/// Shared by threads.
class RunDeflater {
 public:
  /// `level`: 1..12. From 7 on it tries to deflate every piece, because such levels ask for the smallest
  /// file.
  explicit RunDeflater(int level);

  /// The chunk as raw deflate that joins with others, like DeflatePool::Deflate. Pieces of 256 KiB become
  /// stored blocks if their bytes are spread evenly and a sample shrinks by less than 0.3 % at level 1.
  /// Depends only on the arguments, the level and libdeflate's version.
  Result<std::string> Deflate(Bytes raw, ChunkPlace place);

 private:
  Result<bool> Shrinks(Bytes piece);

  int level_;
  DeflatePool pool_;
  DeflatePool probe_;
};

}  // namespace ptpkg::archive
