// Widths are counted from a table and not by wcwidth(3): that follows the locale of the process, which ptpkg
// leaves at "C", so that no output depends on it. Layer: cli.

#include "cli/output/text_layout.h"

#include <algorithm>
#include <array>

#include "support/text/utf8.h"

namespace ptpkg::cli {

namespace {

struct Range {
  char32_t first;
  char32_t last;
};

// Whole blocks and not single code points: an error of one column in a progress line does no harm.
constexpr std::array<Range, 8> kWide = {{{0x1100, 0x115F},
                                         {0x2E80, 0x303E},
                                         {0x3041, 0xA4CF},
                                         {0xAC00, 0xD7A3},
                                         {0xF900, 0xFAFF},
                                         {0xFE30, 0xFE6F},
                                         {0xFF00, 0xFF60},
                                         {0x1F300, 0x3FFFD}}};
// Combining marks, and characters without any width, such as joiners and variation selectors.
constexpr std::array<Range, 6> kZero = {{{0x0300, 0x036F},
                                         {0x0483, 0x0489},
                                         {0x200B, 0x200F},
                                         {0x20D0, 0x20FF},
                                         {0xFE00, 0xFE0F},
                                         {0xFE20, 0xFE2F}}};

template <std::size_t kCount>
bool Among(const std::array<Range, kCount>& ranges, char32_t point) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [point](const Range& range) { return point >= range.first && point <= range.last; });
}

struct Character {
  std::size_t bytes = 1;
  std::size_t columns = 1;
};

/// The character at the front of `text`, which is not empty.
Character FrontOf(std::string_view text) {
  const std::size_t length = Utf8Length(text);
  // ASCII, or a byte that is not UTF-8. Either takes a column, so every loop below ends.
  if (length < 2) return {};
  const char32_t point = Utf8CodePoint(text.substr(0, length));
  if (Among(kZero, point)) return {.bytes = length, .columns = 0};
  return {.bytes = length, .columns = Among(kWide, point) ? std::size_t{2} : std::size_t{1}};
}

/// The end of `text` that fits `width` columns.
std::string_view KeepEnd(std::string_view text, std::size_t width) {
  // From the front, because UTF-8 is decoded forwards only.
  std::size_t left = DisplayWidth(text);
  while (left > width) {
    const Character front = FrontOf(text);
    left -= front.columns;
    text.remove_prefix(front.bytes);
  }
  return text;
}

}  // namespace

std::size_t DisplayWidth(std::string_view text) {
  std::size_t columns = 0;
  while (!text.empty()) {
    const Character front = FrontOf(text);
    columns += front.columns;
    text.remove_prefix(front.bytes);
  }
  return columns;
}

std::string_view CutEnd(std::string_view text, std::size_t width) {
  std::size_t bytes = 0;
  while (bytes < text.size()) {
    const Character front = FrontOf(text.substr(bytes));
    if (front.columns > width) break;
    width -= front.columns;
    bytes += front.bytes;
  }
  return text.substr(0, bytes);
}

std::string ShortenMiddle(std::string_view text, std::size_t width) {
  if (DisplayWidth(text) <= width) return std::string(text);
  if (width == 0) return "";
  // The end gets as much room as the beginning: it has the version and the extension.
  const std::size_t end = width / 2;
  return std::string(CutEnd(text, width - 1 - end)) + "…" + std::string(KeepEnd(text, end));
}

std::string WrapWords(std::string_view text, const WrapOptions& options) {
  std::string out;
  std::size_t column = options.already;
  bool first_of_line = true;
  while (!text.empty()) {
    const std::size_t begin = text.find_first_not_of(' ');
    if (begin == std::string_view::npos) break;
    text.remove_prefix(begin);
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(word.size());
    const std::size_t columns = DisplayWidth(word);
    if (!first_of_line && column + 1 + columns > options.width) {
      out += "\n" + std::string(options.indent, ' ');
      column = options.indent;
      first_of_line = true;
    }
    if (!first_of_line) {
      out += ' ';
      ++column;
    }
    out += word;
    column += columns;
    first_of_line = false;
  }
  return out;
}

}  // namespace ptpkg::cli
