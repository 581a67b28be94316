// The text of 'ptpkg matrix status', from the value that --json prints as a document. Layer: cli.

#include "cli/output/job_table.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>

#include "support/text/display_text.h"
#include "support/text/plural.h"

namespace ptpkg::cli {

namespace {

using matrix::JobState;
using matrix::JobStatus;

/// Workers note the start by clocks of their own, which can be ahead of this one: no time is negative.
std::string TimeOf(const JobStatus& job, std::int64_t now_s) {
  if (job.state == JobState::kRunning && job.started_s > 0)
    return ShortTime(static_cast<double>(std::max<std::int64_t>(0, now_s - job.started_s)));
  return job.seconds > 0 ? ShortTime(job.seconds) : "";
}

/// Estimated by the job's time in the last run. Without one, the column stays empty.
std::string LeftOf(const JobStatus& job, std::int64_t now_s) {
  if (job.expected_seconds <= 0) return "";
  if (job.state == JobState::kWaiting) return ShortTime(job.expected_seconds);
  if (job.state != JobState::kRunning || job.started_s <= 0) return "";
  return ShortTime(std::max(0.0, job.expected_seconds - static_cast<double>(now_s - job.started_s)));
}

/// The next question of a reader, by state: why a job failed, which machine works on it, why the scheduler
/// lets it wait.
std::string RemarkOf(const JobStatus& job) {
  if (!job.error.empty() && job.state != JobState::kPassed) return job.error;
  if (job.state == JobState::kPassed) return job.cached ? "cached" : "";
  if (job.state == JobState::kRunning || job.state == JobState::kLost) return job.worker;
  return job.engine.reason;
}

}  // namespace

std::string ShortTime(double seconds) {
  constexpr double kMinute = 60;
  constexpr double kHour = 3600;
  if (seconds < 10) return fmt::format("{:.1f} s", seconds);
  if (seconds < 2 * kMinute) return fmt::format("{:.0f} s", seconds);
  if (seconds < 2 * kHour) return fmt::format("{:.0f} min", seconds / kMinute);
  return fmt::format("{:.1f} h", seconds / kHour);
}

std::vector<std::string> JobTable(const matrix::RunStatus& status) {
  std::size_t width = 3;
  for (const JobStatus& job : status.jobs) width = std::max(width, job.id.size());
  const auto line = [&](std::string_view id, std::string_view state, std::string_view attempts,
                        std::string_view time, std::string_view left, std::string_view remark) {
    std::string text = fmt::format("{:<{}}  {:<11}  {:>8}  {:>7}  {:>7}  {}", id, width, state, attempts,
                                   time, left, remark);
    text.erase(text.find_last_not_of(' ') + 1);
    return text;
  };
  std::vector<std::string> lines = {line("job", "state", "attempts", "time", "left", "")};
  for (const JobStatus& job : status.jobs) {
    const std::string attempts = job.attempts == 0 ? "" : std::to_string(job.attempts);
    // Errors and reasons are text of other machines and of the scheduler, which no terminal should act on.
    lines.push_back(line(job.id, matrix::JobStateName(job.state), attempts, TimeOf(job, status.read_s),
                         LeftOf(job, status.read_s), DisplayLine(RemarkOf(job))));
  }
  return lines;
}

std::string JobSummary(const matrix::RunStatus& status) {
  // Named apart: such jobs took no time, and say nothing about those to come.
  const auto cached = static_cast<std::size_t>(
      std::count_if(status.jobs.begin(), status.jobs.end(), [](const JobStatus& job) { return job.cached; }));
  std::string text =
      fmt::format("{} of {} passed", status.Count(JobState::kPassed), Plural(status.jobs.size(), "job"));
  if (cached > 0) text += fmt::format(" ({} cached)", cached);
  for (const JobState state : {JobState::kRunning, JobState::kWaiting, JobState::kFailed, JobState::kStopped,
                               JobState::kLost, JobState::kNotStarted}) {
    if (const std::size_t count = status.Count(state); count > 0)
      text += fmt::format(", {} {}", count, matrix::JobStateName(state));
  }
  if (status.seconds_left && *status.seconds_left > 0)
    text += fmt::format("; about {} left", ShortTime(*status.seconds_left));
  return text;
}

}  // namespace ptpkg::cli
