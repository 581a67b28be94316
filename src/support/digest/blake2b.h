#pragma once
// BLAKE2b with a 32-byte digest and no key. Layer: support. For digests that never leave ptpkg: the first
// use of OpenSSL (1.8 MB, 1 ms) would cost more than the work, and patchelf links none. Source: RFC 7693.
// OpenSSL 3.0 offers only the 64-byte digest, and the length is part of the initial state, so the short one
// is not a prefix of it.

#include <array>
#include <cstdint>

#include "support/digest/stream.h"

namespace ptpkg {

class Blake2b256Hasher {
 public:
  Blake2b256Hasher();
  void Update(Bytes bytes);
  /// Call once, last.
  std::array<std::uint8_t, 32> Finish();

 private:
  static constexpr std::size_t kBlockBytes = 128;

  void Compress(const std::byte* block, bool last);

  std::array<std::uint64_t, 8> state_;
  std::uint64_t total_bytes_ = 0;  // 2^64 bytes suffice; the high counter word stays 0
  std::array<std::byte, kBlockBytes> pending_{};
  std::size_t pending_bytes_ = 0;
};

}  // namespace ptpkg
