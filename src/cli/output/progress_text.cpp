// Lines of progress, fitted to a width. Room is given in the order of use: stage and time always, then a part
// of the name, the numbers, and what the child printed. A part that doesn't fit is left out or cut at its
// end. Only names are shortened in the middle, because their ends tell variants apart.

#include "cli/output/progress_text.h"

#include <algorithm>
#include <cmath>
#include <fmt/core.h>
#include <limits>

#include "cli/output/text_layout.h"
#include "support/text/text.h"

namespace ptpkg::cli {

namespace {

constexpr std::size_t kStageColumns = 10;  // "   conda  "
constexpr std::size_t kLeastSubject = 8;
// Half of the range, so that sums of columns can't overflow.
constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max() / 2;

std::size_t Columns(const Style& style) {
  // In a narrower window all names would look alike. Lines are wider than such a window.
  return std::max(style.width.value_or(kNoLimit), kStageColumns + kLeastSubject + 2);
}

std::string Stage(const Style& style, std::string_view stage) {
  const std::string fitted = ShortenMiddle(StageWord(stage), kStageColumns - 2);
  return style.Paint(
             "1", fmt::format("{}{}", std::string(kStageColumns - 2 - DisplayWidth(fitted), ' '), fitted)) +
         "  ";
}

/// "412.3 MB of 1.1 GB, 35.0 MB/s, 20 s left", or less of it.
std::string Progress(const RunningTask& task, double seconds, std::size_t columns) {
  const std::uint64_t total = task.info.total_bytes;
  std::string bytes = task.done_bytes == 0 ? "" : HumanBytes(task.done_bytes);
  std::string text =
      total > 0 && task.done_bytes > 0 ? fmt::format("{} of {}", bytes, HumanBytes(total)) : bytes;
  if (DisplayWidth(text) > columns) return bytes;
  if (task.done_bytes == 0 || seconds < 0.5) return text;  // A rate over less than that jumps about.
  const double rate = static_cast<double>(task.done_bytes) / seconds;
  const std::string left =
      total > task.done_bytes
          ? fmt::format(", {} left", FormatSeconds(static_cast<double>(total - task.done_bytes) / rate))
          : "";
  const std::string rate_text = fmt::format(", {}/s", HumanBytes(static_cast<std::uint64_t>(rate)));
  if (DisplayWidth(text) + DisplayWidth(rate_text) + DisplayWidth(left) <= columns)
    return text + rate_text + left;
  if (DisplayWidth(text) + DisplayWidth(left) <= columns) return text + left;
  return text;
}

/// "[#####-----] ", or "" where the share is not known or there is no room for one beside `text`.
std::string Bar(const StepProgress& steps, const std::string& text, std::size_t columns) {
  constexpr std::size_t kMost = 20;
  constexpr std::size_t kLeast = 8;
  constexpr std::size_t kBrackets = 3;  // and a blank
  if (!steps.share && steps.total == 0) return "";
  const std::size_t used = DisplayWidth(text) + kBrackets;
  if (columns < used + kLeast) return "";
  const std::size_t width = std::min(kMost, columns - used);
  const double share =
      steps.share ? *steps.share : static_cast<double>(steps.done) / static_cast<double>(steps.total);
  const auto filled = static_cast<std::size_t>(std::clamp(share, 0.0, 1.0) * static_cast<double>(width));
  return fmt::format("[{}{}] ", std::string(filled, '#'), std::string(width - filled, '-'));
}

/// "Building CXX object a.o" of "[12/80] Building CXX object a.o": the count is shown already.
std::string_view WithoutCount(std::string_view line) {
  const std::size_t begin = line.find_first_not_of(' ');
  const std::size_t end = line.find("] ");
  const bool counts =
      begin != std::string_view::npos && line[begin] == '[' && end != std::string_view::npos &&
      line.substr(begin + 1, end - begin - 1).find_first_not_of("0123456789/% ") == std::string_view::npos;
  return counts ? line.substr(end + 2) : line;
}

/// Bytes or steps; `line` is what the child printed, and loses what they say already.
std::string ProgressOf(const RunningText& text, std::size_t columns, std::string_view& line) {
  const RunningTask& task = *text.task;
  if (!task.steps) return Progress(task, text.seconds, columns);
  line = WithoutCount(line);
  const std::string steps = StepsText(*task.steps, text.steps_age, columns);
  return (text.bar ? Bar(*task.steps, steps, columns) : "") + steps;
}

}  // namespace

std::vector<std::string> StartedLines(const Style& style, const TaskInfo& info, std::string_view log) {
  if (info.how.empty() && log.empty()) return {};
  const std::size_t room = Columns(style) - kStageColumns;
  std::string told = info.how;
  if (!log.empty()) told += told.empty() ? "log:" : "; log:";
  // A path that is shortened can't be copied, so one that doesn't fit gets a line of its own.
  const bool fits = DisplayWidth(info.subject) + DisplayWidth(told) + DisplayWidth(log) + 3 <= room;
  if (fits && !log.empty()) told += fmt::format(" {}", log);
  const std::size_t wanted = DisplayWidth(told) + 2;
  const std::string subject =
      ShortenMiddle(info.subject, room > wanted + kLeastSubject ? room - wanted : kLeastSubject);
  const std::string cut(CutEnd(told, room - std::min(room, DisplayWidth(subject) + 2)));
  std::vector<std::string> lines = {Stage(style, info.stage) + subject + ": " + cut};
  if (!fits && !log.empty()) lines.push_back(std::string(kStageColumns, ' ') + std::string(log));
  return lines;
}

std::string TimeLeftText(double seconds) {
  constexpr double kStepSeconds = 5;
  if (seconds < 90)
    // The steps grow with the time, because the estimate is less exact: 5 s, a minute, ten minutes.
    return fmt::format("about {} s left", std::max(1L, std::lround(seconds / kStepSeconds)) * 5);
  const long minutes = std::lround(seconds / 60);
  if (minutes < 90) return fmt::format("about {} min left", minutes);
  const long tens = std::lround(seconds / 600);
  return fmt::format("about {} h {:02} min left", tens / 6, tens % 6 * 10);
}

std::string StepsText(const StepProgress& steps, double age, std::size_t columns) {
  std::string text;
  if (steps.percent)
    text = fmt::format("{}%", steps.done);
  else if (steps.total > 0)
    text = fmt::format("{}/{} steps", steps.done, steps.total);
  else if (steps.done > 0)
    text = fmt::format("{} steps", steps.done);
  if (DisplayWidth(text) > columns) return "";
  const auto add = [&text](const std::string& part) { return text.empty() ? part : text + ", " + part; };
  const std::optional<double> left_seconds = SecondsLeft(steps, age);
  const std::string left = left_seconds ? TimeLeftText(*left_seconds) : "";
  if (steps.steps_per_minute > 0 && !steps.percent) {
    const std::string rate =
        fmt::format("{:.{}f}/min", steps.steps_per_minute, steps.steps_per_minute < 9.5 ? 1 : 0);
    // The time left is wanted more than the rate, so the rate leaves room for it.
    const std::size_t needs = left.empty() ? 0 : DisplayWidth(left) + 2;
    if (DisplayWidth(add(rate)) + needs <= columns) text = add(rate);
  }
  if (!left.empty() && DisplayWidth(add(left)) <= columns) text = add(left);
  return text;
}

std::string_view StageWord(std::string_view stage) { return stage.substr(0, stage.find('-')); }

std::string Style::Paint(std::string_view code, std::string_view text) const {
  return color ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
}

std::string FinishedLine(const Style& style, const FinishedTask& task) {
  std::string result;
  std::string_view code = "0";
  switch (task.outcome) {
    case TaskOutcome::kSkipped:
      result = task.detail.empty() ? "skipped" : task.detail;
      code = "2";
      break;
    case TaskOutcome::kFailed:
      result = "failed";
      code = "31";
      break;
    case TaskOutcome::kDone:
      result = fmt::format("done in {}", FormatSeconds(task.seconds));
      if (task.done_bytes > 0) result += ", " + HumanBytes(task.done_bytes);
      if (!task.detail.empty()) result += fmt::format(", {}", task.detail);
      break;
  }
  const std::size_t room = Columns(style) - kStageColumns;
  const std::size_t wanted = DisplayWidth(result) + 2;
  // The name gives room first: without its middle it is still known, but a time without its unit is not.
  const std::string subject =
      ShortenMiddle(task.subject, room > wanted + kLeastSubject ? room - wanted : kLeastSubject);
  const std::string cut(CutEnd(result, room - std::min(room, DisplayWidth(subject) + 2)));
  return Stage(style, task.stage) + subject + ": " + (code == "0" ? cut : style.Paint(code, cut));
}

std::string FoldedLine(const Style& style, std::size_t count, std::string_view detail) {
  const std::string text = fmt::format("{} stages: {}", count, detail);
  return std::string(kStageColumns, ' ') + style.Paint("2", CutEnd(text, Columns(style) - kStageColumns));
}

std::string RunningLine(const Style& style, const RunningText& text) {
  const std::size_t room = Columns(style) - kStageColumns;
  if (text.task == nullptr) {
    return Stage(style, "ptpkg") + std::string(CutEnd("working, " + FormatSeconds(text.seconds), room));
  }
  const RunningTask& task = *text.task;
  std::string tail = "  " + FormatSeconds(text.seconds);
  if (text.others > 0) tail += fmt::format("  +{} more", text.others);
  // The name keeps a third of the room where it needs that much.
  const std::size_t name = std::min(DisplayWidth(task.info.subject), std::max(kLeastSubject, room / 3));
  const std::size_t used = name + DisplayWidth(tail) + 2;
  std::string_view child_line = text.child_line;
  const std::string progress = used < room ? ProgressOf(text, room - used, child_line) : "";
  if (!progress.empty()) tail += "  " + progress;
  if (!child_line.empty()) tail += fmt::format("  {}", child_line);
  // The name gets the columns that the rest leaves free.
  const std::size_t tail_columns = DisplayWidth(tail);
  const std::string subject =
      ShortenMiddle(task.info.subject, room > tail_columns + name ? room - tail_columns : name);
  return Stage(style, task.info.stage) + subject +
         std::string(CutEnd(tail, room - std::min(room, DisplayWidth(subject))));
}

}  // namespace ptpkg::cli
