#pragma once
// Fits text to a width: terminal columns, shortened names, wrapped prose. Layer: cli. Text is UTF-8; an
// invalid byte counts as one column.

#include <cstddef>
#include <string>
#include <string_view>

namespace ptpkg::cli {

/// Columns of `text` on a terminal: two for wide characters (Unicode's East Asian Width W and F), none for
/// combining marks, one for all others. Control characters count as one: sanitise the text first.
[[nodiscard]] std::size_t DisplayWidth(std::string_view text);

/// `text` if it fits `width` columns, else its beginning and its end with "…" between, because the end of a
/// file name identifies it. "" for width 0.
[[nodiscard]] std::string ShortenMiddle(std::string_view text, std::size_t width);

/// The beginning of `text` that fits `width` columns.
[[nodiscard]] std::string_view CutEnd(std::string_view text, std::size_t width);

struct WrapOptions {
  std::size_t width = 80;   ///< Columns of a line, indent included.
  std::size_t indent = 0;   ///< Spaces before the second and later lines.
  std::size_t already = 0;  ///< Columns already used on the first line.
};
/// Breaks `text` between words. A word longer than a line stays whole, so that people can copy a path. The
/// result ends without a line break.
[[nodiscard]] std::string WrapWords(std::string_view text, const WrapOptions& options);

}  // namespace ptpkg::cli
