// Line diff by Myers' algorithm ("An O(ND) Difference Algorithm and Its Variations", 1986), within limits.
//
// Equal lines get equal numbers, so that comparing lines is comparing integers. Common lines at both ends
// are cut off first. The frontier before each number of edits is stored, and walking back through them
// marks the changed lines. This takes memory for the square of the edits, hence kMostEdits. Steps come from
// a budget that all texts of a comparison share.
//
// Beyond these limits all lines in the middle count as changed: a coarse answer, but a correct one. Only a
// limited number of lines is shown, and the rest is counted.

#include "inspect/text_diff.h"

#include <algorithm>
#include <map>
#include <span>

#include "support/text/utf8.h"

namespace ptpkg::inspect {
namespace {

constexpr std::size_t kMostEdits = 1000;
constexpr std::size_t kMostShownBytes = 64U << 10U;
constexpr std::size_t kMostShownLines = 1000;
constexpr std::size_t kContext = 1;

bool IsText(std::string_view bytes) { return bytes.find('\0') == std::string_view::npos && IsUtf8(bytes); }

/// With their line feeds: a last line without one differs from the same line with one.
std::vector<std::string_view> LinesOf(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t size = std::min(text.find('\n'), text.size() - 1) + 1;
    lines.push_back(text.substr(0, size));
    text.remove_prefix(size);
  }
  return lines;
}

void AddLine(char mark, std::string_view line, TextHunk& hunk) {
  const bool ends = line.ends_with('\n');
  hunk.lines.push_back({.mark = mark, .text = std::string(line.substr(0, line.size() - (ends ? 1 : 0)))});
  if (!ends) hunk.lines.push_back({.mark = '\\', .text = " No newline at end of file"});
}

/// The lines of one text: equal lines of both texts have equal numbers.
struct NumberedText {
  std::vector<std::string_view> lines;
  std::vector<int> numbers = {};
  std::vector<bool> changed = {};  ///< Lines that the other text lacks.
};

void Number(NumberedText& text, std::map<std::string_view, int>& known) {
  for (const std::string_view line : text.lines) {
    text.numbers.push_back(known.emplace(line, static_cast<int>(known.size())).first->second);
  }
  text.changed.resize(text.lines.size(), false);
}

/// The furthest `x` on each diagonal k = x - y, from -reach to reach.
class Frontier {
 public:
  explicit Frontier(int reach) : reach_(reach), furthest_(2 * static_cast<std::size_t>(reach) + 1) {}
  int& At(int k) { return furthest_[Index(k)]; }
  [[nodiscard]] int At(int k) const { return furthest_[Index(k)]; }
  /// The diagonal from which a path of `edits` edits comes to diagonal k.
  [[nodiscard]] int Before(int k, int edits) const {
    return k == -edits || (k != edits && At(k - 1) < At(k + 1)) ? k + 1 : k - 1;
  }
  /// The diagonals from -reach to reach alone.
  [[nodiscard]] Frontier Part(int reach) const {
    Frontier part(reach);
    for (int k = -reach; k <= reach; ++k) part.At(k) = At(k);
    return part;
  }

 private:
  [[nodiscard]] std::size_t Index(int k) const {
    const int index = k + reach_;
    return static_cast<std::size_t>(index);
  }

  int reach_;
  std::vector<int> furthest_;
};

/// The frontiers before each number of edits, up to the number that turns `before` into `after`; nullopt
/// beyond kMostEdits and `steps_left`. Source: Myers, "An O(ND) Difference Algorithm and Its Variations",
/// 1986.
std::optional<std::vector<Frontier>> ShortestScript(std::span<const int> before, std::span<const int> after,
                                                    std::uint64_t& steps_left) {
  const int old_size = static_cast<int>(before.size());
  const int new_size = static_cast<int>(after.size());
  const int most = static_cast<int>(std::min(before.size() + after.size(), kMostEdits));
  Frontier frontier(most + 1);
  std::vector<Frontier> trace;
  for (int edits = 0; edits <= most; ++edits) {
    trace.push_back(frontier.Part(edits + 1));
    for (int k = -edits; k <= edits; k += 2) {
      const int from = frontier.Before(k, edits);
      int x = from > k ? frontier.At(from) : frontier.At(from) + 1;
      while (x < old_size && x - k < new_size &&
             before[static_cast<std::size_t>(x)] == after[static_cast<std::size_t>(x - k)]) {
        ++x;
      }
      // At least one step for each diagonal, so that texts without common lines end too.
      const auto steps = static_cast<std::uint64_t>(x - std::min(x, frontier.At(from))) + 1;
      if (steps > steps_left) return std::nullopt;
      steps_left -= steps;
      frontier.At(k) = x;
      if (x >= old_size && x - k >= new_size) return trace;
    }
  }
  return std::nullopt;
}

/// Marks the changed lines of both texts, whose first `first` and last `last` lines are equal.
void MarkChanges(NumberedText& before, NumberedText& after, std::size_t first, std::size_t last,
                 std::uint64_t& steps_left) {
  const std::size_t old_size = before.lines.size() - first - last;
  const std::size_t new_size = after.lines.size() - first - last;
  const auto trace = ShortestScript(std::span(before.numbers).subspan(first, old_size),
                                    std::span(after.numbers).subspan(first, new_size), steps_left);
  if (!trace) {
    std::fill_n(before.changed.begin() + static_cast<std::ptrdiff_t>(first), old_size, true);
    std::fill_n(after.changed.begin() + static_cast<std::ptrdiff_t>(first), new_size, true);
    return;
  }
  int k = static_cast<int>(old_size) - static_cast<int>(new_size);
  for (int edits = static_cast<int>(trace->size()) - 1; edits > 0; --edits) {
    const Frontier& frontier = (*trace)[static_cast<std::size_t>(edits)];
    const int from = frontier.Before(k, edits);
    const int x = frontier.At(from);
    if (from > k) {
      after.changed[first + static_cast<std::size_t>(x - from)] = true;
    } else {
      before.changed[first + static_cast<std::size_t>(x)] = true;
    }
    k = from;
  }
}

struct ScriptLine {
  char mark = ' ';
  std::size_t old_line = 0;
  std::size_t new_line = 0;
};

/// All lines of both texts in the order of the diff.
std::vector<ScriptLine> ScriptOf(const NumberedText& before, const NumberedText& after) {
  std::vector<ScriptLine> script;
  std::size_t x = 0;
  std::size_t y = 0;
  while (x < before.lines.size() || y < after.lines.size()) {
    if (x < before.lines.size() && before.changed[x]) {
      script.push_back({.mark = '-', .old_line = x++, .new_line = y});
    } else if (y < after.lines.size() && after.changed[y]) {
      script.push_back({.mark = '+', .old_line = x, .new_line = y++});
    } else {
      script.push_back({.mark = ' ', .old_line = x++, .new_line = y++});
    }
  }
  return script;
}

/// The lines of `script` that are shown: changes and their context.
std::vector<bool> NearChanges(const std::vector<ScriptLine>& script) {
  std::vector<bool> near(script.size(), false);
  for (std::size_t i = 0; i < script.size(); ++i) {
    if (script[i].mark == ' ') continue;
    const std::size_t end = std::min(i + kContext + 1, script.size());
    for (std::size_t k = i - std::min(i, kContext); k < end; ++k) near[k] = true;
  }
  return near;
}

}  // namespace

std::optional<TextDiff> CompareTexts(std::string_view before_text, std::string_view after_text,
                                     std::uint64_t& steps_left) {
  if (!IsText(before_text) || !IsText(after_text)) return std::nullopt;
  NumberedText before{.lines = LinesOf(before_text)};
  NumberedText after{.lines = LinesOf(after_text)};
  std::map<std::string_view, int> known;
  Number(before, known);
  Number(after, known);
  const std::size_t shorter = std::min(before.lines.size(), after.lines.size());
  std::size_t first = 0;
  while (first < shorter && before.numbers[first] == after.numbers[first]) ++first;
  std::size_t last = 0;
  // The common end must not overlap the common beginning.
  while (last < shorter - first && before.numbers.end()[-1 - static_cast<std::ptrdiff_t>(last)] ==
                                       after.numbers.end()[-1 - static_cast<std::ptrdiff_t>(last)]) {
    ++last;
  }
  MarkChanges(before, after, first, last, steps_left);
  const std::vector<ScriptLine> script = ScriptOf(before, after);
  const std::vector<bool> near = NearChanges(script);
  TextDiff diff{.removed = static_cast<std::size_t>(std::ranges::count(before.changed, true)),
                .added = static_cast<std::size_t>(std::ranges::count(after.changed, true))};
  std::size_t bytes = 0;
  std::size_t shown = 0;
  bool full = false;
  for (std::size_t i = 0; i < script.size(); ++i) {
    if (!near[i]) continue;
    const ScriptLine& line = script[i];
    const std::string_view text = line.mark == '+' ? after.lines[line.new_line] : before.lines[line.old_line];
    bytes += text.size();
    full = full || bytes > kMostShownBytes || shown == kMostShownLines;
    if (full) {
      ++diff.more_lines;
      continue;
    }
    ++shown;
    if (i == 0 || !near[i - 1]) {
      diff.hunks.push_back({.old_line = line.old_line + 1, .new_line = line.new_line + 1});
    }
    AddLine(line.mark, text, diff.hunks.back());
  }
  return diff;
}

}  // namespace ptpkg::inspect
