#pragma once
// Numbers of the zip format and little-endian access. Layer: archive, internal to it.
// Source: APPNOTE 6.3.10; section numbers next to the constants.

#include <cstdint>
#include <string>
#include <string_view>

#include "support/digest/stream.h"

namespace ptpkg::archive::zip {

constexpr std::uint32_t kLocalSignature = 0x04034B50;         // 4.3.7
constexpr std::uint32_t kDescriptorSignature = 0x08074B50;    // 4.3.9.3
constexpr std::uint32_t kCentralSignature = 0x02014B50;       // 4.3.12
constexpr std::uint32_t kEndSignature = 0x06054B50;           // 4.3.16
constexpr std::uint32_t kEnd64Signature = 0x06064B50;         // 4.3.14
constexpr std::uint32_t kEnd64LocatorSignature = 0x07064B50;  // 4.3.15

constexpr std::size_t kLocalBytes = 30;
constexpr std::size_t kCentralBytes = 46;
constexpr std::size_t kEndBytes = 22;
constexpr std::size_t kEnd64Bytes = 56;
constexpr std::size_t kEnd64LocatorBytes = 20;

constexpr std::uint32_t kMax32 = 0xFFFFFFFF;  // "look into the ZIP64 field"
constexpr std::uint16_t kMax16 = 0xFFFF;

constexpr std::uint16_t kZip64ExtraId = 0x0001;           // 4.5.3
constexpr std::uint16_t kUnicodePathExtraId = 0x7075;     // 4.6.9
constexpr std::uint16_t kUnicodeCommentExtraId = 0x6375;  // 4.6.8
constexpr std::size_t kUnicodeTextAt = 5;                 // behind a version and the CRC of the replaced text

constexpr std::uint16_t kFlagEncrypted = 1U << 0U;  // 4.4.4
constexpr std::uint16_t kFlagDescriptor = 1U << 3U;
constexpr std::uint16_t kFlagUtf8 = 1U << 11U;
/// Patched data, strong encryption, masked local headers: no package reader accepts them.
constexpr std::uint16_t kFlagsNobodyReads = 1U << 5U | 1U << 6U | 1U << 13U;

constexpr std::uint16_t kVersionDeflate = 20;  // 4.4.3.2
constexpr std::uint16_t kVersionZip64 = 45;
constexpr std::uint16_t kVersionNewest = 63;     // 6.3: Python's zipfile refuses what needs more
constexpr std::uint16_t kMadeByUnix = 3U << 8U;  // 4.4.2.2

/// Type bits of st_mode, in the upper half of the external attributes. pip honours the executable bit only
/// together with the type of a regular file.
constexpr std::uint32_t kModeType = 0170000;
constexpr std::uint32_t kModeRegular = 0100000;

/// Appends little-endian fields to a text.
class Fields {
 public:
  Fields& U16(std::uint64_t value) { return Put(value, 2); }
  Fields& U32(std::uint64_t value) { return Put(value, 4); }
  Fields& U64(std::uint64_t value) { return Put(value, 8); }
  Fields& Text(std::string_view text) {
    bytes_ += text;
    return *this;
  }
  [[nodiscard]] const std::string& str() const { return bytes_; }

 private:
  Fields& Put(std::uint64_t value, int count) {
    for (int i = 0; i < count; ++i) bytes_ += static_cast<char>((value >> (8 * i)) & 0xFFU);
    return *this;
  }
  std::string bytes_;
};

/// Little-endian value of `count` ≤ 8 bytes at `offset`. REQUIRES: they lie inside `bytes`.
inline std::uint64_t Get(std::string_view bytes, std::size_t offset, std::size_t count) {
  PTPKG_ASSERT(offset <= bytes.size() && count <= bytes.size() - offset);
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < count; ++i) {
    value |= std::uint64_t{static_cast<unsigned char>(bytes[offset + i])} << (8 * i);
  }
  return value;
}
inline std::uint16_t Get16(std::string_view bytes, std::size_t offset) {
  return static_cast<std::uint16_t>(Get(bytes, offset, 2));
}
inline std::uint32_t Get32(std::string_view bytes, std::size_t offset) {
  return static_cast<std::uint32_t>(Get(bytes, offset, 4));
}
inline std::uint64_t Get64(std::string_view bytes, std::size_t offset) { return Get(bytes, offset, 8); }

}  // namespace ptpkg::archive::zip
