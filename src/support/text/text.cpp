#include "support/text/text.h"

#include <algorithm>
#include <array>
#include <charconv>
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

/// One element of a pattern.
struct GlobToken {
  enum class Kind : std::uint8_t { kChar, kAny, kSet, kStar, kStarStar };
  Kind kind = Kind::kChar;
  char c = '\0';
  std::string_view set = {};  ///< Between the brackets.
  bool may_vanish = false;    ///< "**" of "**/", which also stands for no directory at all.

  [[nodiscard]] bool IsStar() const { return kind == Kind::kStar || kind == Kind::kStarStar; }
};

bool IsInSet(std::string_view set, char c) {
  // Not even a negated set matches '/': a wildcard never leaves its component.
  if (c == '/') return false;
  const bool negated = set.size() > 1 && (set[0] == '!' || set[0] == '^');
  bool found = false;
  for (std::size_t i = negated ? 1 : 0; i < set.size(); ++i) {
    if (i + 2 < set.size() && set[i + 1] == '-') {
      found = found || (set[i] <= c && c <= set[i + 2]);
      i += 2;
    } else {
      found = found || set[i] == c;
    }
  }
  return found != negated;
}

/// The token at the start of `pattern`, which moves on.
GlobToken TakeToken(std::string_view& pattern) {
  using Kind = GlobToken::Kind;
  GlobToken token{.kind = Kind::kChar, .c = pattern.front()};
  std::size_t length = 1;
  if (token.c == '*') {
    // Three and more stars are one "**".
    length = std::min(pattern.find_first_not_of('*'), pattern.size());
    token.kind = length > 1 ? Kind::kStarStar : Kind::kStar;
    token.may_vanish = length == 2 && pattern.size() > 2 && pattern[2] == '/';
  } else if (token.c == '?') {
    token.kind = Kind::kAny;
  } else if (token.c == '[') {
    // A ']' that comes first belongs to the set; without a closing one, '[' is an ordinary character.
    const std::size_t first = pattern.size() > 1 && (pattern[1] == '!' || pattern[1] == '^') ? 2 : 1;
    const std::size_t close = pattern.find(']', first + 1);
    if (close != std::string_view::npos) {
      token.kind = Kind::kSet;
      token.set = pattern.substr(1, close - 1);
      length = close + 1;
    }
  }
  pattern.remove_prefix(length);
  return token;
}

bool Matches(const GlobToken& token, char c) {
  switch (token.kind) {
    case GlobToken::Kind::kChar:
      return c == token.c;
    case GlobToken::Kind::kAny:
    case GlobToken::Kind::kStar:
      return c != '/';
    case GlobToken::Kind::kSet:
      return IsInSet(token.set, c);
    case GlobToken::Kind::kStarStar:
      return true;
  }
  return false;
}

/// All ways to match at once, a byte of the path at a time: the work is the product of the two lengths, where
/// trying one way after the other doubles with each star.
class GlobStates {
 public:
  explicit GlobStates(std::string_view pattern) {
    while (!pattern.empty()) tokens_.push_back(TakeToken(pattern));
    states_.resize(tokens_.size() + 1);
    states_[0] = kEntered;
    PassStars();
  }

  /// False when nothing can match any more.
  bool Step(char c) {
    std::vector<std::uint8_t> next(states_.size());
    bool alive = false;
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      if (states_[i] == 0 || !Matches(tokens_[i], c)) continue;
      alive = true;
      if (tokens_[i].IsStar()) {
        next[i] |= kStayed;
      } else {
        next[i + 1] |= kEntered;
      }
    }
    states_ = std::move(next);
    PassStars();
    return alive;
  }

  [[nodiscard]] bool AtEnd() const { return states_.back() != 0; }

 private:
  static constexpr std::uint8_t kEntered = 1;
  static constexpr std::uint8_t kStayed = 2;  // of a star that took a byte already

  /// A star may stand for nothing.
  void PassStars() {
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      // In order, so that a star that was entered just now is passed in the same run.
      if (states_[i] == 0 || !tokens_[i].IsStar()) continue;
      states_[i + 1] |= kEntered;
      // Only a star that has taken nothing vanishes with its '/': "a/**/b" must not match "a/xb".
      if (tokens_[i].may_vanish && (states_[i] & kEntered) != 0) states_[i + 2] |= kEntered;
    }
  }

  std::vector<GlobToken> tokens_;
  std::vector<std::uint8_t>
      states_;  // where in the pattern the match may stand: before each token, and at its end
};

}  // namespace

bool GlobMatch(std::string_view pattern, std::string_view path) {
  // The part before the first special character decides most calls.
  const std::size_t plain = std::min(pattern.find_first_of("*?["), pattern.size());
  if (!path.starts_with(pattern.substr(0, plain))) return false;
  path.remove_prefix(plain);
  if (plain == pattern.size()) return path.empty();
  GlobStates states(pattern.substr(plain));
  return std::all_of(path.begin(), path.end(), [&](char c) { return states.Step(c); }) && states.AtEnd();
}

std::optional<std::string> NearestMatch(std::string_view word, std::span<const std::string> candidates) {
  constexpr std::size_t kLongestWord = 100;  // nobody mistypes more, and the table grows with the square
  std::optional<std::string> best;
  if (word.size() > kLongestWord) return best;
  // One slip in three letters: a more distant candidate would be a guess.
  std::size_t best_distance = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    // The distance is at least the difference of the lengths.
    if (candidate.size() >= word.size() + best_distance) continue;
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
  // 999.95 is the first number that would be shown as "1000.0".
  for (value /= 1000; value >= 999.95 && unit + 1 < kUnits.size(); value /= 1000) ++unit;
  return fmt::format("{:.1f} {}B", value, kUnits[unit]);
}

std::optional<std::uint64_t> ParseBytes(std::string_view text) {
  using Unit = std::pair<std::string_view, double>;
  constexpr std::array<Unit, 14> kUnits = {{{"", 1},
                                            {"B", 1},
                                            {"K", 1e3},
                                            {"KB", 1e3},
                                            {"KiB", 0x1p10},
                                            {"M", 1e6},
                                            {"MB", 1e6},
                                            {"MiB", 0x1p20},
                                            {"G", 1e9},
                                            {"GB", 1e9},
                                            {"GiB", 0x1p30},
                                            {"T", 1e12},
                                            {"TB", 1e12},
                                            {"TiB", 0x1p40}}};
  constexpr double kMost = 0x1p63;
  double number = 0;
  const auto [end, status] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (status != std::errc() || !(number >= 0)) return std::nullopt;
  std::string_view rest(end, static_cast<std::size_t>(text.data() + text.size() - end));
  if (rest.size() > 1 && rest.front() == ' ') rest.remove_prefix(1);
  for (const auto& [unit, bytes] : kUnits) {
    if (rest == unit && number * bytes < kMost) return static_cast<std::uint64_t>(number * bytes);
  }
  return std::nullopt;
}

bool GlobOrDirectoryMatch(std::string_view glob, std::string_view path) {
  if (GlobMatch(glob, path)) return true;
  while (glob.ends_with('/')) glob.remove_suffix(1);
  return path.starts_with(glob) && path.substr(glob.size()).starts_with('/');
}

}  // namespace ptpkg
