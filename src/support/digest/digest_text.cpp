// Digests as text. Layer: support. Apart from hash.cpp, so that whoever only prints a digest needs no
// OpenSSL.

#include <fmt/core.h>

#include "support/digest/hash.h"

namespace ptpkg {
namespace {

/// -1 for anything but a hexadecimal digit.
int HexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

template <std::size_t kBytes>
std::string Digest<kBytes>::Hex() const {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(2 * kBytes);
  for (const std::uint8_t byte : bytes) {
    text += kDigits[byte >> 4U];
    text += kDigits[byte & 15U];
  }
  return text;
}

template <std::size_t kBytes>
Result<Digest<kBytes>> Digest<kBytes>::FromHex(std::string_view text) {
  Digest digest;
  bool valid = text.size() == 2 * kBytes;
  for (std::size_t i = 0; valid && i < kBytes; ++i) {
    const int high = HexValue(text[2 * i]);
    const int low = HexValue(text[2 * i + 1]);
    valid = high >= 0 && low >= 0;
    if (valid) digest.bytes[i] = static_cast<std::uint8_t>(high * 16 + low);
  }
  if (valid) return digest;
  // A wrong field of a hostile index may be megabytes long.
  return Error(ErrorCode::kInvalidInput, fmt::format("'{}' is not a digest of {} hexadecimal digits",
                                                     text.substr(0, 4 * kBytes), 2 * kBytes));
}

template struct Digest<32>;
template struct Digest<20>;
template struct Digest<16>;

std::string Base64UrlUnpadded(Bytes bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string text;
  text.reserve((bytes.size() * 4 + 2) / 3);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      group = group << 8U | (k < count ? std::to_integer<std::uint32_t>(bytes[i + k]) : 0U);
    }
    // n bytes give n + 1 digits, and the missing ones would be padding.
    for (std::size_t k = 0; k <= count; ++k) text += kDigits[group >> (18U - 6U * k) & 63U];
  }
  return text;
}

}  // namespace ptpkg
