#include "support/text.h"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>
#include <utility>

namespace ptpkg {

std::vector<std::string> Split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (;;) {
    const std::size_t at = text.find(separator);
    parts.emplace_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

std::vector<std::string> SplitLines(std::string_view text) {
  if (text.empty()) return {};
  if (text.back() == '\n') text.remove_suffix(1);
  std::vector<std::string> lines = Split(text, '\n');
  for (std::string& line : lines) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
  }
  return lines;
}

std::string Join(std::span<const std::string> parts, std::string_view separator) {
  return fmt::format("{}", fmt::join(parts.begin(), parts.end(), separator));
}

std::string_view Trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n\f\v";
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

std::string ToLower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

std::string ReplaceAll(std::string_view text, std::string_view from, std::string_view to) {
  if (from.empty()) return std::string(text);
  std::string result;
  for (;;) {
    const std::size_t at = text.find(from);
    result += text.substr(0, at);
    if (at == std::string_view::npos) return result;
    result += to;
    text.remove_prefix(at + from.size());
  }
}

namespace {

/// Matches "[...]" at the start of `pattern` against `c`. Returns the pattern's length up to and including
/// ']', or 0 when the bracket never closes (then '[' is an ordinary character).
std::size_t MatchSet(std::string_view pattern, char c, bool& matches) {
  const bool negated = pattern.size() > 1 && (pattern[1] == '!' || pattern[1] == '^');
  const std::size_t first = negated ? 2 : 1;
  const std::size_t close = pattern.find(']', first + 1);
  if (close == std::string_view::npos) return 0;
  bool found = false;
  for (std::size_t i = first; i < close; ++i) {
    if (i + 2 < close && pattern[i + 1] == '-') {
      found = found || (pattern[i] <= c && c <= pattern[i + 2]);
      i += 2;
    } else {
      found = found || pattern[i] == c;
    }
  }
  matches = found != negated && c != '/';
  return close + 1;
}

/// Matches one pattern character (not '*') at the start of `pattern`; returns its length, 0 = no match.
std::size_t MatchOne(std::string_view pattern, char c) {
  if (pattern.front() == '?') return c == '/' ? 0 : 1;
  if (pattern.front() == '[') {
    bool matches = false;
    const std::size_t length = MatchSet(pattern, c, matches);
    if (length > 0) return matches ? length : 0;
  }
  return pattern.front() == c ? 1 : 0;
}

}  // namespace

bool GlobMatch(std::string_view pattern, std::string_view path) {
  // Backtracks to the last '*' that may cross '/' and to the last one that may not.
  while (!pattern.empty()) {
    if (pattern.front() != '*') {
      if (path.empty()) return false;
      const std::size_t length = MatchOne(pattern, path.front());
      if (length == 0) return false;
      pattern.remove_prefix(length);
      path.remove_prefix(1);
      continue;
    }
    const bool crosses = pattern.starts_with("**");
    // "**/" also matches no folder at all: "**/a" matches "a".
    if (pattern.starts_with("**/") && GlobMatch(pattern.substr(3), path)) return true;
    pattern.remove_prefix(crosses ? 2 : 1);
    for (;;) {
      if (GlobMatch(pattern, path)) return true;
      if (path.empty() || (!crosses && path.front() == '/')) return false;
      path.remove_prefix(1);
    }
  }
  return path.empty();
}

std::optional<std::string> NearestMatch(std::string_view word, std::span<const std::string> candidates) {
  std::optional<std::string> best;
  std::size_t best_distance = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    // Three rows of the edit distance table; two neighbours in each other's place ("biuld") are one slip.
    std::vector<std::size_t> row(candidate.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    std::vector<std::size_t> before;
    std::vector<std::size_t> before_that;
    for (std::size_t i = 0; i < word.size(); ++i) {
      before_that = std::exchange(before, row);
      row[0] = i + 1;
      for (std::size_t j = 0; j < candidate.size(); ++j) {
        const std::size_t substituted = before[j] + (word[i] == candidate[j] ? 0 : 1);
        row[j + 1] = std::min({before[j + 1] + 1, row[j] + 1, substituted});
        const bool swapped = i > 0 && j > 0 && word[i] == candidate[j - 1] && word[i - 1] == candidate[j];
        if (swapped) row[j + 1] = std::min(row[j + 1], before_that[j - 1] + 1);
      }
    }
    if (row.back() < best_distance) {
      best_distance = row.back();
      best = candidate;
    }
  }
  return best;
}

std::string HumanBytes(std::uint64_t bytes) {
  if (bytes < 1000) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes);
  constexpr std::string_view kUnits = "kMGTPE";
  std::size_t unit = 0;
  for (value /= 1000; value >= 999.95 && unit + 1 < kUnits.size(); value /= 1000) ++unit;
  return fmt::format("{:.1f} {}B", value, kUnits[unit]);
}

}  // namespace ptpkg
