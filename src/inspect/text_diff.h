#pragma once
// Compares two texts line by line. Layer: inspect.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ptpkg::inspect {

struct TextLine {
  char mark =
      ' ';  ///< '-' only in the old text, '+' only in the new one, ' ' in both; '\\': see CompareTexts.
  std::string text;  ///< Without its line feed.
};

/// Lines that follow each other. Line numbers begin with 1.
struct TextHunk {
  std::size_t old_line = 1;
  std::size_t new_line = 1;
  std::vector<TextLine> lines = {};
};

struct TextDiff {
  std::size_t removed = 0;  ///< Lines, of the whole text.
  std::size_t added = 0;
  std::vector<TextHunk> hunks =
      {};  ///< The first 1000 lines, 64 KiB at most, with one line of context around each change.
  std::size_t more_lines = 0;  ///< Lines of hunks beyond these.
};

/// Comparisons of lines for all files of two artifacts: a second, at most.
inline constexpr std::uint64_t kMostLineSteps = 50'000'000;

/// nullopt: one of the two is not text (not UTF-8, or with a NUL). As in diff(1), a line without a line feed
/// is followed by one with the mark '\\': " No newline at end of file". Each comparison of two lines takes
/// one from `steps_left`. The diff is minimal up to 1000 changed lines and while `steps_left` lasts. Beyond
/// that, all lines between the first and the last change count as changed. Memory: 4 MiB, and some 100 bytes
/// per line.
std::optional<TextDiff> CompareTexts(std::string_view before, std::string_view after,
                                     std::uint64_t& steps_left);

}  // namespace ptpkg::inspect
