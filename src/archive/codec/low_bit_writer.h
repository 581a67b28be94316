#pragma once
// Writes bits of a deflate stream, least significant first. Layer: archive, internal to it.

#include "support/files/fs.h"

namespace ptpkg::archive {

/// [begin, end) in bits.
struct BitRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

/// Borrows the sink. All functions return the sink's errors.
class LowBitWriter {
 public:
  explicit LowBitWriter(ByteSink& out) : out_(out) {}

  /// REQUIRES: count ≤ 56, and `value` has no bits above `count`.
  Result<void> Put(std::uint64_t value, unsigned count);
  /// Zeros up to the next byte.
  Result<void> Align() { return Put(0, (8 - filled_) % 8); }
  /// Copies bits of a file, counted from its byte `base`. Errors: kCorrupt when the file ends before; kIo.
  Result<void> Copy(File& file, std::uint64_t base, BitRange bits);
  /// Writes the remaining bits, padded to a whole byte. Returns the total number of bytes written.
  Result<std::uint64_t> Finish();

 private:
  Result<void> Drain();
  /// Writes all whole groups of `bits`, without a call for each. `piece`: the bytes from the byte
  /// `first` on, and eight more. Returns where the rest begins.
  std::uint64_t PutGroups(const char* piece, std::uint64_t first, BitRange bits);

  ByteSink& out_;
  std::string bytes_;
  std::uint64_t written_ = 0;
  std::uint64_t word_ = 0;
  unsigned filled_ = 0;  // bits of word_, below 8 between two calls
};

}  // namespace ptpkg::archive
