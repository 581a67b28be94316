#include "matrix/attempt.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>
#include <optional>
#include <span>

#include "support/files/atomic_file.h"

namespace ptpkg::matrix {

namespace {

using std::chrono::milliseconds;

/// Gives `file` its content under a name that must not exist yet. Errors: kAlreadyExists, kIo.
Result<void> WriteOnce(Env& env, const AbsPath& file, const Json& json) {
  PTPKG_TRY(AtomicFile atomic, AtomicFile::Create(env.fs, file));
  const std::string text = DumpJson(json);
  PTPKG_CHECK(atomic.file().WriteAt(0, std::as_bytes(std::span(text))));
  return std::move(atomic).Commit(ExistingFilePolicy::kRefuse);
}

/// Watches `attempt` until it ends, or shows no progress for the time of the lease. Post: it has ended.
Result<void> EndOf(Env& env, const Run& run, const Job& job, const AttemptState& attempt) {
  const milliseconds lease = std::chrono::seconds(run.settings.lease_seconds);
  const milliseconds between = std::clamp(lease / 20, milliseconds(50), milliseconds(2000));
  std::string seen = attempt.beat;
  auto since = env.clock.Now();
  bool told = false;
  while (true) {
    PTPKG_TRY(const std::vector<AttemptState> now, ReadAttempts(env, run, job));
    const auto same = std::find_if(now.begin(), now.end(),
                                   [&](const AttemptState& one) { return one.number == attempt.number; });
    if (same == now.end() || same->end) return Ok();
    if (same->beat != seen) {
      seen = same->beat;
      since = env.clock.Now();
    }
    if (env.clock.Now() - since >= lease) break;
    if (!told)
      env.reporter.Note(
          fmt::format("waiting for attempt {} of '{}' ({})", attempt.number, job.id, same->worker));
    told = true;
    PTPKG_CHECK(SleepUnlessCancelled(env.clock, between, env.cancel));
  }
  env.reporter.Warn(fmt::format("attempt {} of '{}' ({}) showed no progress for {} s; taking over",
                                attempt.number, job.id, attempt.worker, run.settings.lease_seconds));
  JobRecord record{.end = JobEnd::kFenced};
  record.error = fmt::format("no progress for {} s", run.settings.lease_seconds);
  return EndDeadAttempt(env, run, job, attempt.number, record);
}

Result<void> CheckNotCancelled(Env& env, const AbsPath& cancel_file) {
  PTPKG_TRY(const bool cancelled, Exists(env.fs, cancel_file));
  if (cancelled) return Error(ErrorCode::kCancelled, "the run was cancelled");
  return Ok();
}

Error Fenced(std::uint64_t number) {
  return {
      ErrorCode::kRefused,
      fmt::format("another attempt took over from attempt {}, because this one showed no progress", number)};
}

}  // namespace

Result<void> EndDeadAttempt(Env& env, const Run& run, const Job& job, std::uint64_t number,
                            const JobRecord& record) {
  const AbsPath end = run.AttemptsFolder(job) / std::to_string(number) / "end.json";
  Result<void> written = WriteOnce(env, end, JobRecordToJson(record));
  if (!written && written.error().code() == ErrorCode::kAlreadyExists) return Ok();
  return written;
}

Result<Attempt> Attempt::Begin(Env& env, const Run& run, const Job& job, const std::string& worker) {
  while (true) {
    PTPKG_TRY(const std::vector<AttemptState> before, ReadAttempts(env, run, job));
    for (const AttemptState& attempt : before) {
      if (!attempt.end) PTPKG_CHECK(EndOf(env, run, job, attempt));
    }
    PTPKG_CHECK(CheckNotCancelled(env, run.CancelFile()));
    const std::uint64_t number = before.empty() ? 1 : before.back().number + 1;
    const AbsPath folder = run.AttemptsFolder(job) / std::to_string(number);
    Result<void> made = env.fs.MakeDir(folder);
    if (!made && made.error().code() == ErrorCode::kAlreadyExists) continue;  // another attempt was faster
    if (!made) return std::move(made).error();
    const auto now = env.clock.WallNow().time_since_epoch();
    const Json json = {{"worker", worker},
                       {"started", std::chrono::duration_cast<std::chrono::seconds>(now).count()}};
    Attempt attempt(env, folder, run.CancelFile(), number);
    Result<void> begun = WriteFile(env.fs, folder / "worker.json", DumpJson(json));
    if (begun) begun = WriteFile(env.fs, folder / "beat", "");
    if (begun) begun = attempt.Renew();
    if (begun) return attempt;
    // Else the next attempt would wait for this one. On a full disk it has to.
    static_cast<void>(attempt.End({.end = JobEnd::kStopped, .error = begun.error().message()}));
    return std::move(begun).error();
  }
}

Result<void> Attempt::CheckOpen() const {
  PTPKG_TRY(const bool ended, Exists(env_->fs, folder_ / "end.json"));
  if (ended) return Fenced(number_);
  return Ok();
}

Result<void> Attempt::Renew() {
  PTPKG_CHECK(CheckOpen());
  PTPKG_CHECK(CheckNotCancelled(*env_, cancel_file_));
  // In place: a client of NFS sees a changed file at its next open, but a new name only when its cache of
  // names ends.
  PTPKG_TRY(const std::unique_ptr<File> file, env_->fs.Open(folder_ / "beat", OpenMode::kReadWrite));
  const std::string text = fmt::format("{:020}\n", ++beats_);
  PTPKG_CHECK(file->WriteAt(0, std::as_bytes(std::span(text))));
  PTPKG_CHECK(file->Sync());
  return file->Close();
}

Result<void> Attempt::End(const JobRecord& record) {
  Result<void> written = WriteOnce(*env_, folder_ / "end.json", JobRecordToJson(record));
  if (!written && written.error().code() == ErrorCode::kAlreadyExists) return Fenced(number_);
  return written;
}

}  // namespace ptpkg::matrix
