// How long will a script still run? Steps differ too much for a plain rate: PyTorch's take from 1 to 60 s,
// and long ones are spread unevenly. So each successful run leaves a curve per counted tool, with the share
// of time that had passed at 0, 5, … 100 % of its steps. The next run reads the rest of its time from that
// curve.
//
// The curve is scaled by the pace of this run. At first only the ratio of jobs is known. The measured pace
// gains weight as time passes, and counts half after 30 s of the earlier run.
//
// Without a usable record a plain rate serves, and only after some seconds and steps. A record is not usable
// if this run has over 10 % more steps. A run that counted under half of the steps, such as a resumed one,
// leaves no record.
//
// Invariant: records only change numbers that people read, so a missing or damaged one is never an error.

#include "builder/script/step_estimate.h"

#include <algorithm>
#include <cmath>
#include <fmt/core.h>

#include "support/text/json.h"

namespace ptpkg::builder {

namespace {

constexpr std::size_t kCurvePoints = 21;
constexpr std::size_t kMostParts = 100;
constexpr double kMostSeconds = 1e9;

constexpr std::string_view kRecordFile = "build-steps.json";

AbsPath RecordRoot(const Env& env) { return env.cache_dir / "stages/records"; }

AbsPath RecordPlace(const Env& env, const std::string& subject) {
  return RecordRoot(env) / subject / kRecordFile;
}

/// "libc10" of "libc10-2.6.0-cpu_0": neither version nor build string has a hyphen.
std::string_view NameOf(std::string_view subject) {
  for (int part = 0; part < 2; ++part) {
    subject = subject.substr(0, std::min(subject.rfind('-'), subject.size()));
  }
  return subject;
}

/// Path of the newest record of `name`, whatever its version.
std::optional<AbsPath> NewestRecordOf(Env& env, std::string_view name) {
  std::optional<AbsPath> newest;
  std::int64_t newest_ns = 0;
  const auto subjects = env.fs.ListDir(RecordRoot(env));
  if (!subjects) return newest;
  for (const std::string& subject : *subjects) {
    if (NameOf(subject) != name) continue;
    const AbsPath path = RecordPlace(env, subject);
    const auto stat = env.fs.Lstat(path);
    if (!stat || (newest && stat->mtime_ns <= newest_ns)) continue;
    newest = path;
    newest_ns = stat->mtime_ns;
  }
  return newest;
}

/// Between the points of `curve`, whose shares of steps are even.
double TimeShare(const std::vector<double>& curve, double steps_share) {
  const double place = std::clamp(steps_share, 0.0, 1.0) * static_cast<double>(curve.size() - 1);
  const auto index = std::min(static_cast<std::size_t>(place), curve.size() - 2);
  const double rest = place - static_cast<double>(index);
  return curve[index] + rest * (curve[index + 1] - curve[index]);
}

/// nullopt for anything but a number of seconds.
std::optional<double> Seconds(const Json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_number()) return std::nullopt;
  const auto value = found->get<double>();
  if (!std::isfinite(value) || value < 0 || value > kMostSeconds) return std::nullopt;
  return value;
}

std::optional<StepRecord::Part> PartOf(const Json& json) {
  if (!json.is_object() || !json.contains("curve") || !json["curve"].is_array()) return std::nullopt;
  if (!json.contains("steps") || !json["steps"].is_number_unsigned()) return std::nullopt;
  const auto start = Seconds(json, "start");
  const auto seconds = Seconds(json, "seconds");
  if (!start || !seconds || json["curve"].size() != kCurvePoints) return std::nullopt;
  StepRecord::Part part{.steps = json["steps"].get<std::uint64_t>(), .start = *start, .seconds = *seconds};
  for (const Json& point : json["curve"]) {
    if (!point.is_number()) return std::nullopt;
    const auto share = point.get<double>();
    const double before = part.curve.empty() ? 0 : part.curve.back();
    if (!(share >= before && share <= 1)) return std::nullopt;
    part.curve.push_back(share);
  }
  if (part.steps == 0) return std::nullopt;
  return part;
}

std::optional<StepRecord> RecordOf(const Json& json) {
  if (!json.is_object() || json.value("version", Json()) != Json(1)) return std::nullopt;
  const auto seconds = Seconds(json, "seconds");
  const auto jobs = Seconds(json, "jobs");
  if (!seconds || !jobs || *jobs < 1 || *jobs > 1e6) return std::nullopt;
  if (!json.contains("parts") || !json["parts"].is_array()) return std::nullopt;
  if (json["parts"].size() > kMostParts) return std::nullopt;
  StepRecord record{.seconds = *seconds, .jobs = static_cast<int>(*jobs)};
  for (const Json& item : json["parts"]) {
    auto part = PartOf(item);
    if (!part) return std::nullopt;
    record.parts.push_back(*std::move(part));
  }
  return record;
}

double Rounded(double value) { return std::round(value * 1000) / 1000; }

std::uint64_t StepsOf(const StepRecord& record) {
  std::uint64_t steps = 0;
  for (const StepRecord::Part& part : record.parts) steps += part.steps;
  return steps;
}

}  // namespace

std::optional<StepRecord> ReadStepRecord(Env& env, const std::string& subject) {
  constexpr std::uint64_t kMostBytes = 1U << 20U;
  std::optional<AbsPath> path = RecordPlace(env, subject);
  if (!env.fs.Lstat(*path)) path = NewestRecordOf(env, NameOf(subject));
  if (!path) return std::nullopt;
  const Result<std::string> text = ReadFile(env.fs, *path, kMostBytes);
  if (!text) return std::nullopt;
  const Result<Json> json = ParseJson(*text, path->str());
  return json ? RecordOf(*json) : std::nullopt;
}

void WriteStepRecord(Env& env, const std::string& subject, const StepRecord& record) {
  Json parts = Json::array();
  for (const StepRecord::Part& part : record.parts) {
    Json curve = Json::array();
    for (const double share : part.curve) curve.push_back(Rounded(share));
    parts.push_back({{"steps", part.steps},
                     {"start", Rounded(part.start)},
                     {"seconds", Rounded(part.seconds)},
                     {"curve", std::move(curve)}});
  }
  const Json json = {
      {"version", 1}, {"seconds", Rounded(record.seconds)}, {"jobs", record.jobs}, {"parts", parts}};
  const AbsPath path = RecordPlace(env, subject);
  Result<void> written = env.fs.MakeDirs(path.Parent());
  if (written) written = WriteFile(env.fs, path, DumpJson(json));
  if (written) return;
  env.reporter.Warn(
      fmt::format("later runs cannot estimate the time of '{}': {}", subject, written.error().message()));
}

StepProgress StepEstimate::At(const StepCount::State& state, double seconds) {
  Remember(state, seconds);
  StepProgress progress{.done = state.done,
                        .total = state.total,
                        .percent = state.kind == StepKind::kPercent,
                        .part = state.part,
                        .steps_per_minute = PerMinute()};
  progress.seconds_left = SecondsLeft(state, seconds);
  if (last_ && progress.seconds_left) {
    const double whole = seconds + *progress.seconds_left;
    // The share never falls, even if the estimate of the rest grows.
    share_ = std::max(share_, whole > 0 ? seconds / whole : 0);
    progress.share = share_;
  }
  return progress;
}

void StepEstimate::Remember(const StepCount::State& state, double seconds) {
  const auto number = static_cast<std::size_t>(state.part);
  // A part that turned out not to be one, such as a regeneration of build files, is counted anew.
  if (parts_.size() > number) parts_.resize(number);
  if (number == 0) return;
  constexpr std::size_t kMostSamples = 400;
  constexpr double kWindow = 60;
  if (parts_.size() < number) {
    parts_.resize(number);
    minute_.clear();
  }
  RunningPart& part = parts_.back();
  part.total = state.total > 0 ? state.total : state.done;
  const bool grew = part.samples.empty() || part.samples.back().done < state.done;
  if (!grew) return;
  part.samples.push_back({.seconds = seconds, .done = state.done});
  if (part.samples.size() > kMostSamples) {
    // Memory stays bounded, and the curve keeps its shape: every second sample goes.
    std::size_t kept = 1;  // the first stays: the part's start
    for (std::size_t i = 2; i < part.samples.size(); i += 2) part.samples[kept++] = part.samples[i];
    part.samples.resize(kept);
  }
  if (minute_.empty() || seconds - minute_.back().seconds >= 1) {
    minute_.push_back({.seconds = seconds, .done = state.done});
  }
  while (minute_.size() > 2 && seconds - minute_[1].seconds > kWindow) minute_.pop_front();
}

double StepEstimate::PerMinute() const {
  constexpr double kShortest = 3;  // seconds: a rate over less jumps about
  if (minute_.empty() || parts_.empty() || parts_.back().samples.empty()) return 0;
  const Sample& first = minute_.front();
  const Sample& last = parts_.back().samples.back();
  const double seconds = last.seconds - first.seconds;
  if (seconds < kShortest || last.done <= first.done) return 0;
  return static_cast<double>(last.done - first.done) / seconds * 60;
}

std::optional<double> StepEstimate::SecondsLeft(const StepCount::State& state, double seconds) const {
  if (const auto left = SecondsLeftByRecord(state, seconds)) return left;
  return SecondsLeftByRate(state, seconds);
}

std::optional<double> StepEstimate::SecondsLeftByRecord(const StepCount::State& state, double seconds) const {
  if (!last_) return std::nullopt;
  // More or fewer jobs than then; what was measured so far counts more and more.
  const double pace_by_jobs = static_cast<double>(last_->jobs) / std::max(1, jobs_);
  if (state.part < 1) return std::max(0.0, pace_by_jobs * last_->seconds - seconds);
  const auto number = static_cast<std::size_t>(state.part);
  if (number > last_->parts.size()) return std::nullopt;
  const StepRecord::Part& then = last_->parts[number - 1];
  // A source that has changed a little still fits; one with many more steps does not.
  const std::uint64_t now = state.total > 0 ? state.total : std::max(then.steps, state.done);
  const auto total = static_cast<double>(now);
  if (total > 1.1 * static_cast<double>(then.steps)) return std::nullopt;
  // If a build was resumed, an earlier run did the first steps.
  const double first = 1 - std::min(1.0, total / static_cast<double>(then.steps));
  const double share = first + (1 - first) * static_cast<double>(state.done) / total;
  const double passed_then = (TimeShare(then.curve, share) - TimeShare(then.curve, first)) * then.seconds;
  const double passed_now = seconds - parts_.back().samples.front().seconds;
  constexpr double kTrusted =
      30;  // seconds of then, after which the pace of now counts as much as the earlier pace
  const double weight = passed_then / (passed_then + kTrusted);
  const double pace_now = passed_then > 0 ? passed_now / passed_then : pace_by_jobs;
  const double pace = weight * pace_now + (1 - weight) * pace_by_jobs;
  const double left_then = then.seconds * (1 - TimeShare(then.curve, share));
  const double after_then = std::max(0.0, last_->seconds - then.start - then.seconds);
  return pace * (left_then + after_then);
}

std::optional<double> StepEstimate::SecondsLeftByRate(const StepCount::State& state, double seconds) const {
  constexpr double kShortest = 5;       // seconds
  constexpr std::uint64_t kFewest = 3;  // steps
  if (state.part < 1 || state.total == 0 || parts_.empty() || parts_.back().samples.empty())
    return std::nullopt;
  const Sample& first = parts_.back().samples.front();
  const double passed = seconds - first.seconds;
  if (passed < kShortest || state.done < first.done + kFewest) return std::nullopt;
  return passed / static_cast<double>(state.done - first.done) *
         static_cast<double>(state.total - state.done);
}

std::optional<StepRecord> StepEstimate::Finish(double seconds) const {
  StepRecord record{.seconds = seconds, .jobs = jobs_};
  for (const RunningPart& part : parts_) {
    if (part.samples.empty() || part.total == 0) return std::nullopt;
    const Sample& first = part.samples.front();
    const Sample& last = part.samples.back();
    StepRecord::Part made{
        .steps = part.total, .start = first.seconds, .seconds = last.seconds - first.seconds};
    std::size_t next = 0;
    for (std::size_t point = 0; point < kCurvePoints; ++point) {
      const double steps = static_cast<double>(part.total * point) / (kCurvePoints - 1);
      while (next + 1 < part.samples.size() && static_cast<double>(part.samples[next].done) < steps) ++next;
      const double passed = part.samples[next].seconds - first.seconds;
      made.curve.push_back(made.seconds > 0 ? passed / made.seconds : 0);
    }
    made.curve.back() = 1;
    record.parts.push_back(std::move(made));
  }
  if (record.parts.empty()) return std::nullopt;
  // The times of a resumed build would mislead the next whole build.
  if (last_ && StepsOf(record) * 2 < StepsOf(*last_)) return std::nullopt;
  return record;
}

}  // namespace ptpkg::builder
