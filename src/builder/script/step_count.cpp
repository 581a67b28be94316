// A script may run several tools, one after another or inside one another, and each prints counts of its own.
// This reader turns them into one count per part that never falls.
//
// A restart shows in the counts alone: another kind of count, a smaller number of done steps, or a new total
// at the first step. Some falls are not restarts. Parts of a recursive make overtake one another by some
// percent, and ninja prints a step that owns the terminal with the count of the step before.
//
// An unfinished count is remembered as the outer one, and resumes when its total comes back with more done
// steps. A tool with less than a tenth of the largest total stays hidden: `ninja install` after a build must
// not look like a new part.

#include "builder/script/step_count.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "support/text/text.h"

namespace ptpkg::builder {

namespace {

constexpr std::size_t kLongestCount = 32;  // "[123456/123456]"

std::string_view SkipBlanks(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of(' '), text.size()));
}

/// Takes a number from the front of `text`.
std::optional<std::uint64_t> TakeNumber(std::string_view& text) {
  std::uint64_t value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

bool Take(std::string_view& text, char byte) {
  if (text.empty() || text.front() != byte) return false;
  text.remove_prefix(1);
  return true;
}

std::optional<StepMark> ReadCount(std::string_view line) {
  const std::size_t close = line.substr(0, kLongestCount).find(']');
  if (close == std::string_view::npos) return std::nullopt;
  std::string_view text = SkipBlanks(line.substr(1, close - 1));
  const std::string_view what = SkipBlanks(line.substr(close + 1));
  const std::optional<std::uint64_t> done = TakeNumber(text);
  if (!done) return std::nullopt;
  if (text == "%") {
    if (*done > 100) return std::nullopt;
    return StepMark{.kind = StepKind::kPercent, .done = *done, .total = 100};
  }
  if (!Take(text, '/')) return std::nullopt;
  const std::optional<std::uint64_t> total = TakeNumber(text);
  // Other text in brackets, such as a date, is not a count.
  if (!total || !text.empty() || *total == 0 || *done > *total) return std::nullopt;
  return StepMark{
      .kind = StepKind::kSteps,
      .done = *done,
      .total = *total,
      .regenerates = what.starts_with("Re-running CMake") || what.starts_with("Regenerating build")};
}

/// "/usr/bin/x86_64-linux-gnu-g++-12" → "g++".
std::string_view ProgramWord(std::string_view word) {
  if (const std::size_t slash = word.rfind('/'); slash != std::string_view::npos)
    word.remove_prefix(slash + 1);
  while (!word.empty() &&
         (word.back() == '.' || word.back() == '-' || (word.back() >= '0' && word.back() <= '9')))
    word.remove_suffix(1);
  // "x86_64-linux-gnu-g++": of a cross compiler the last part.
  if (const std::size_t dash = word.rfind('-'); dash != std::string_view::npos) word.remove_prefix(dash + 1);
  return word;
}

bool IsCompilerCall(std::string_view line) {
  constexpr std::array<std::string_view, 10> kCompilers = {"gcc",     "g++",  "cc",    "c++",      "clang",
                                                           "clang++", "nvcc", "hipcc", "gfortran", "icpx"};
  const std::string_view first = ProgramWord(line.substr(0, line.find(' ')));
  const bool compiler = std::find(kCompilers.begin(), kCompilers.end(), first) != kCompilers.end();
  return compiler && line.find(" -c ") != std::string_view::npos;
}

/// "  CC       a.o", as Linux's and automake's silent rules print.
bool IsSilentRule(std::string_view line) {
  constexpr std::array<std::string_view, 6> kRules = {"CC", "CXX", "FC", "NVCC", "AS", "HIPCC"};
  const std::size_t end = line.find(' ');
  if (end == std::string_view::npos || line.substr(end, 2) != "  ") return false;
  const bool rule = std::find(kRules.begin(), kRules.end(), line.substr(0, end)) != kRules.end();
  return rule && SkipBlanks(line.substr(end)).find(' ') == std::string_view::npos;
}

}  // namespace

std::optional<StepMark> ReadStepMark(std::string_view line) {
  const std::string_view text = SkipBlanks(line);
  if (text.starts_with('[')) return ReadCount(text);
  const bool indented = text.size() < line.size();
  if (IsCompilerCall(text) || (indented && IsSilentRule(text))) return StepMark{.kind = StepKind::kCommand};
  return std::nullopt;
}

StepCount::Change StepCount::ReadOutputLine(std::string_view line) {
  const std::optional<StepMark> mark = ReadStepMark(line);
  if (!mark) return Change::kNone;
  if (mark->regenerates) {
    // The steps counted so far led to other totals.
    if (current_ && !hidden_ && state_.part > 0) state_ = State{.part = state_.part - 1};
    if (current_) largest_total_ = 0;
    current_.reset();
    hidden_ = false;
    return Change::kAdvanced;
  }
  if (mark->kind == StepKind::kCommand) {
    // A count that is not at its end: the command is one of its steps.
    const bool counted = current_ && current_->kind != StepKind::kCommand && current_->done < current_->total;
    if (counted) return Change::kNone;
    if (!current_ || current_->kind != StepKind::kCommand) return Restart(*mark);
    return Advance(*mark);
  }
  return !current_ || IsRestart(*mark) ? Restart(*mark) : Advance(*mark);
}

bool StepCount::IsRestart(const StepMark& mark) const {
  if (mark.kind != current_->kind) return true;
  // The parts of a recursive make overtake one another by some percent.
  constexpr std::uint64_t kOvertaken = 30;
  if (mark.kind == StepKind::kPercent) return mark.done + kOvertaken < current_->done;
  if (mark.done != current_->done) return mark.done < current_->done;
  // ninja prints a step that owns the terminal when it starts, with the count of the one before.
  return current_->done == current_->total || (mark.done <= 1 && mark.total != current_->total);
}

StepCount::Change StepCount::Restart(const StepMark& mark) {
  if (outer_ && mark.kind == outer_->kind && mark.total == outer_->total && mark.done > outer_->done) {
    current_ = outer_;  // the tool inside its step has ended
    outer_.reset();
    hidden_ = false;
    return Advance(mark);
  }
  const bool unfinished = current_ && current_->kind == StepKind::kSteps && current_->done < current_->total;
  if (unfinished && !hidden_) outer_ = current_;
  constexpr std::uint64_t kSmall = 10;
  hidden_ = mark.kind == StepKind::kSteps && mark.total * kSmall < largest_total_;
  current_ = State{.kind = mark.kind, .part = hidden_ ? state_.part : state_.part + 1};
  // Commands before a count, such as a probe of the compiler, were not part of the work.
  if (state_.kind == StepKind::kCommand && mark.kind != StepKind::kCommand && state_.part > 0 && !hidden_)
    current_->part = state_.part;
  Advance(mark);
  return Change::kRestarted;
}

StepCount::Change StepCount::Advance(const StepMark& mark) {
  if (mark.kind == StepKind::kCommand) {
    ++current_->done;
  } else {
    current_->total = mark.total;
    // Parallel jobs print their counts out of order.
    current_->done = std::min(std::max(current_->done, mark.done), mark.total);
  }
  if (hidden_) return Change::kNone;
  if (mark.kind == StepKind::kSteps) largest_total_ = std::max(largest_total_, mark.total);
  state_ = *current_;
  return Change::kAdvanced;
}

}  // namespace ptpkg::builder
