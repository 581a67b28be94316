#include "support/text/utf8.h"

#include <algorithm>
#include <fmt/core.h>

namespace ptpkg {
namespace {

/// True if `text` begins with a control: C0, DEL, or C1 (U+0080 to U+009F), which terminals obey as well.
bool BeginsWithControl(std::string_view text) {
  const auto byte = static_cast<unsigned char>(text[0]);
  if (byte == 0xC2 && text.size() > 1) {
    const auto second = static_cast<unsigned char>(text[1]);
    return second >= 0x80 && second < 0xA0;
  }
  return byte < 0x20 || byte == 0x7F;
}

}  // namespace

std::size_t Utf8Length(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : static_cast<unsigned char>(0);
  };
  const auto is_tail = [&](std::size_t i) { return (byte(i) & 0xC0U) == 0x80U; };
  // The table of well-formed sequences in RFC 3629, 4. A missing byte reads as 0, so it never counts as a
  // tail.
  const unsigned char lead = byte(0);
  const unsigned char second = byte(1);
  if (lead < 0x80) return text.empty() ? 0 : 1;
  if (lead >= 0xC2 && lead <= 0xDF) return is_tail(1) ? 2 : 0;
  if (lead >= 0xE0 && lead <= 0xEF) {
    const bool overlong = lead == 0xE0 && second < 0xA0;
    const bool surrogate = lead == 0xED && second >= 0xA0;
    return is_tail(1) && is_tail(2) && !overlong && !surrogate ? 3 : 0;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    const bool overlong = lead == 0xF0 && second < 0x90;
    const bool too_large = lead == 0xF4 && second >= 0x90;
    return is_tail(1) && is_tail(2) && is_tail(3) && !overlong && !too_large ? 4 : 0;
  }
  return 0;
}

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = Utf8Length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::vector<std::string_view> Utf8Characters(std::string_view text) {
  std::vector<std::string_view> characters;
  while (!text.empty()) {
    characters.push_back(text.substr(0, std::max<std::size_t>(Utf8Length(text), 1)));
    text.remove_prefix(characters.back().size());
  }
  return characters;
}

char32_t Utf8CodePoint(std::string_view character) {
  const auto byte = [&](std::size_t i) {
    return static_cast<char32_t>(static_cast<unsigned char>(character[i]));
  };
  if (character.size() == 1) return byte(0);
  // The lead byte of n bytes has n ones and a zero in front of its bits.
  char32_t code = byte(0) & (0x7FU >> character.size());
  for (std::size_t i = 1; i < character.size(); ++i) code = (code << 6U) | (byte(i) & 0x3FU);
  return code;
}

std::vector<std::uint16_t> Utf16Units(char32_t code) {
  if (code < 0x10000) return {static_cast<std::uint16_t>(code)};
  code -= 0x10000;
  return {static_cast<std::uint16_t>(0xD800U | (code >> 10U)),
          static_cast<std::uint16_t>(0xDC00U | (code & 0x3FFU))};
}

bool HasControlCharacter(std::string_view text) {
  // By bytes, which is safe: 0xC2 is never inside of a character, and tails are neither C0 nor DEL.
  for (; !text.empty(); text.remove_prefix(1)) {
    if (BeginsWithControl(text)) return true;
  }
  return false;
}

std::string Printable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = Utf8Length(text);
    if (length == 0 || BeginsWithControl(text)) {
      const std::size_t shown = length == 0 ? 1 : length;
      for (const char byte : text.substr(0, shown))
        out += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
      text.remove_prefix(shown);
    } else {
      out += text.substr(0, length);
      text.remove_prefix(length);
    }
  }
  return out;
}

}  // namespace ptpkg
