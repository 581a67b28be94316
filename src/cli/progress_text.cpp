#include "cli/progress_text.h"

#include <algorithm>
#include <fmt/core.h>
#include <limits>

#include "cli/text_layout.h"
#include "support/text.h"

namespace ptpkg::cli {

namespace {

constexpr std::size_t kStageColumns = 10;  // "   conda  "
constexpr std::size_t kLeastSubject = 8;
constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max() / 2;

std::size_t Columns(const Style& style) {
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

}  // namespace

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
  const std::string progress = used < room ? Progress(task, text.seconds, room - used) : "";
  if (!progress.empty()) tail += "  " + progress;
  if (!text.child_line.empty()) tail += fmt::format("  {}", text.child_line);
  // What the rest leaves free is the name's again.
  const std::size_t tail_columns = DisplayWidth(tail);
  const std::string subject =
      ShortenMiddle(task.info.subject, room > tail_columns + name ? room - tail_columns : name);
  return Stage(style, task.info.stage) + subject +
         std::string(CutEnd(tail, room - std::min(room, DisplayWidth(subject))));
}

}  // namespace ptpkg::cli
