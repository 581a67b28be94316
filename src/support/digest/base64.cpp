#include "support/digest/base64.h"

#include "support/digest/hash.h"
#include "support/text/text.h"

namespace ptpkg {

// Both alphabets of RFC 4648 differ only in their last two digits.
std::string Base64(Bytes bytes) {
  std::string text = ReplaceAll(ReplaceAll(Base64UrlUnpadded(bytes), "-", "+"), "_", "/");
  while (text.size() % 4 != 0) text += '=';
  return text;
}

Result<std::string> DecodeBase64(std::string_view text) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  std::uint32_t group = 0;
  unsigned bits = 0;
  // Padding and left-over bits are not checked here: the comparison at the end finds all of them.
  const std::string_view digits = text.substr(0, text.find('='));
  for (const char c : digits) {
    const std::size_t value = kDigits.find(c);
    if (value == std::string_view::npos) return Error(ErrorCode::kInvalidInput, "not base64");
    group = (group << 6U | static_cast<std::uint32_t>(value)) & 0xFFFFFFU;
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes += static_cast<char>(static_cast<unsigned char>(group >> bits & 0xFFU));
  }
  // Two texts for the same bytes would be two digests of one statement.
  if (Base64(AsBytes(bytes)) != text) return Error(ErrorCode::kInvalidInput, "not base64");
  return bytes;
}

}  // namespace ptpkg
