// BLAKE2b-256. Layer: support. Names and numbers follow RFC 7693.

#include "support/digest/blake2b.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace ptpkg {
namespace {

static_assert(std::endian::native == std::endian::little, "words are loaded by memcpy");

// The initial values of SHA-512 (RFC 7693, 2.6).
constexpr std::array<std::uint64_t, 8> kIv = {0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b,
                                              0xa54ff53a5f1d36f1, 0x510e527fade682d1, 0x9b05688c2b3e6c1f,
                                              0x1f83d9abfb41bd6b, 0x5be0cd19137e2179};

// The order in which each round takes the words of the message (RFC 7693, 2.7). Rounds 10 and 11 begin again.
constexpr std::array<std::array<std::uint8_t, 16>, 10> kSigma = {{
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
    {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
    {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
    {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
    {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0},
}};

constexpr int kRounds = 12;
constexpr std::uint64_t kParameters = 0x01010020;  // depth 1, fan-out 1, no key, 32-byte digest

}  // namespace

Blake2b256Hasher::Blake2b256Hasher() : state_(kIv) { state_[0] ^= kParameters; }

void Blake2b256Hasher::Compress(const std::byte* block, bool last) {
  std::array<std::uint64_t, 16> m{};
  std::memcpy(m.data(), block, kBlockBytes);
  std::array<std::uint64_t, 16> v{};
  std::copy(state_.begin(), state_.end(), v.begin());
  std::copy(kIv.begin(), kIv.end(), v.begin() + 8);
  // v[13] takes the upper half of the 128-bit counter, which stays 0 below 2^64 bytes.
  v[12] ^= total_bytes_;
  if (last) v[14] = ~v[14];

  const auto mix = [&v](std::array<std::size_t, 4> i, std::uint64_t x, std::uint64_t y) {
    const auto [a, b, c, d] = i;
    v[a] += v[b] + x;
    v[d] = std::rotr(v[d] ^ v[a], 32);
    v[c] += v[d];
    v[b] = std::rotr(v[b] ^ v[c], 24);
    v[a] += v[b] + y;
    v[d] = std::rotr(v[d] ^ v[a], 16);
    v[c] += v[d];
    v[b] = std::rotr(v[b] ^ v[c], 63);
  };
  for (std::size_t round = 0; round < kRounds; ++round) {
    const std::array<std::uint8_t, 16>& s = kSigma[round % kSigma.size()];
    // The columns of the 4 × 4 state, then its diagonals.
    mix({0, 4, 8, 12}, m[s[0]], m[s[1]]);
    mix({1, 5, 9, 13}, m[s[2]], m[s[3]]);
    mix({2, 6, 10, 14}, m[s[4]], m[s[5]]);
    mix({3, 7, 11, 15}, m[s[6]], m[s[7]]);
    mix({0, 5, 10, 15}, m[s[8]], m[s[9]]);
    mix({1, 6, 11, 12}, m[s[10]], m[s[11]]);
    mix({2, 7, 8, 13}, m[s[12]], m[s[13]]);
    mix({3, 4, 9, 14}, m[s[14]], m[s[15]]);
  }
  for (std::size_t i = 0; i < state_.size(); ++i) state_[i] ^= v[i] ^ v[i + 8];
}

void Blake2b256Hasher::Update(Bytes bytes) {
  while (!bytes.empty()) {
    // The last block is flagged, so a full one waits until more bytes come.
    if (pending_bytes_ == kBlockBytes) {
      total_bytes_ += kBlockBytes;
      Compress(pending_.data(), false);
      pending_bytes_ = 0;
    }
    while (pending_bytes_ == 0 && bytes.size() > kBlockBytes) {
      total_bytes_ += kBlockBytes;
      Compress(bytes.data(), false);
      bytes = bytes.subspan(kBlockBytes);
    }
    const std::size_t take = std::min(bytes.size(), kBlockBytes - pending_bytes_);
    std::memcpy(pending_.data() + pending_bytes_, bytes.data(), take);
    pending_bytes_ += take;
    bytes = bytes.subspan(take);
  }
}

std::array<std::uint8_t, 32> Blake2b256Hasher::Finish() {
  // The counter holds the real length: the zeros that fill the last block don't count.
  total_bytes_ += pending_bytes_;
  std::fill(pending_.begin() + static_cast<std::ptrdiff_t>(pending_bytes_), pending_.end(), std::byte{0});
  Compress(pending_.data(), true);
  std::array<std::uint8_t, 32> digest{};
  std::memcpy(digest.data(), state_.data(), digest.size());
  return digest;
}

}  // namespace ptpkg
