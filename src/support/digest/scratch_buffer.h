#pragma once
// Uninitialised memory for reading. Layer: support.

#include <memory>

#include "support/digest/stream.h"

namespace ptpkg {

/// Not zeroed, unlike a vector: for a hundred thousand empty files, filling 1 MiB each took 10 seconds.
class ScratchBuffer {
 public:
  explicit ScratchBuffer(std::size_t size_bytes)
      : bytes_(std::make_unique_for_overwrite<std::byte[]>(size_bytes)), size_bytes_(size_bytes) {}

  [[nodiscard]] MutableBytes bytes() { return {bytes_.get(), size_bytes_}; }
  /// The first `count` bytes, which were read into it.
  [[nodiscard]] Bytes First(std::size_t count) const { return Bytes(bytes_.get(), size_bytes_).first(count); }

 private:
  std::unique_ptr<std::byte[]> bytes_;
  std::size_t size_bytes_;
};

}  // namespace ptpkg
