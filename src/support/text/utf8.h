#pragma once
// Validates and displays UTF-8 text. Layer: support. Source: RFC 3629.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ptpkg {

/// The length of the well-formed character at the start of `text`; 0 if there is none (empty, overlong form,
/// surrogate, above U+10FFFF, cut off).
std::size_t Utf8Length(std::string_view text);
bool IsUtf8(std::string_view text);
/// The characters of `text`. A byte that begins none stands for itself.
std::vector<std::string_view> Utf8Characters(std::string_view text);
/// REQUIRES: `character` is one well-formed character.
char32_t Utf8CodePoint(std::string_view character);
/// One or two units of UTF-16.
std::vector<std::uint16_t> Utf16Units(char32_t code);

/// True if `text` holds a byte below 0x20, 0x7F, or U+0080 to U+009F, which terminals obey as well. PyPI
/// refuses the former in names of either zip directory.
bool HasControlCharacter(std::string_view text);
/// `text` with control and invalid bytes as "\xNN", for messages.
std::string Printable(std::string_view text);

}  // namespace ptpkg
