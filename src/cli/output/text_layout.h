#pragma once
// Text that fits a width: columns of a terminal, shortened names, wrapped prose. Layer: cli. Text is UTF-8; a
// byte that is none counts as one column.

#include <cstddef>
#include <string>
#include <string_view>

namespace ptpkg::cli {

/// Columns that a terminal gives to `text`: two for wide characters (Unicode's East Asian Width W and F),
/// none for combining marks, one for all else. Control characters count as one: put them through a sanitiser
/// first.
[[nodiscard]] std::size_t DisplayWidth(std::string_view text);

/// `text` if it fits `width` columns, else its beginning and its end with "…" between: the end of a file name
/// says what it is. "" for width 0.
[[nodiscard]] std::string ShortenMiddle(std::string_view text, std::size_t width);

/// The beginning of `text` that fits `width` columns.
[[nodiscard]] std::string_view CutEnd(std::string_view text, std::size_t width);

struct WrapOptions {
  std::size_t width = 80;   ///< Columns of a line, indent included.
  std::size_t indent = 0;   ///< Spaces before the second and later lines.
  std::size_t already = 0;  ///< Columns that are taken on the first line.
};
/// Line breaks where words of `text` do not fit any more. A word longer than a line stays whole: a path is
/// there to be copied. Ends without a line break.
[[nodiscard]] std::string WrapWords(std::string_view text, const WrapOptions& options);

}  // namespace ptpkg::cli
