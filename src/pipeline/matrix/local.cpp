// One thread waits for each running process; the calling thread starts jobs and waits. The state of all jobs
// is guarded by `mutex_`. Whether a job passed is read from its record, not from the exit code of its
// process: a process that was killed after its last write has passed, and one that was killed before has not.

#include "pipeline/matrix/local.h"

#include <algorithm>
#include <condition_variable>
#include <fmt/core.h>
#include <mutex>
#include <thread>
#include <vector>

#include "builder/resume/work_state.h"
#include "matrix/attempt.h"
#include "pipeline/matrix/run_job.h"
#include "support/digest/hash.h"
#include "support/process/machine.h"

namespace ptpkg::pipeline {

namespace {

enum class State : std::uint8_t { kWaiting, kRunning, kPassed, kFailed };

struct Share {
  std::uint64_t cores = 0;
  std::uint64_t memory_bytes = 0;
  std::uint64_t gpus = 0;
};

class LocalEngine {
 public:
  LocalEngine(Env& env, const matrix::Run& run, const LocalOptions& options)
      : env_(env), run_(run), options_(options), states_(run.graph.jobs.size(), State::kPassed) {
    for (const std::size_t job : options.jobs) states_[job] = State::kWaiting;
    all_.cores = static_cast<std::uint64_t>(std::max(1, env.jobs));
    all_.memory_bytes = ReadMachineLimits(env.fs).free_bytes.value_or(UINT64_MAX);
    all_.gpus = 1;
    free_ = all_;
  }

  Result<void> Run() {
    std::vector<std::jthread> threads;
    std::unique_lock lock(mutex_);
    while (true) {
      Result<bool> cancelled = Exists(env_.fs, run_.CancelFile());
      const bool stops = env_.cancel.cancelled() || !cancelled || *cancelled;
      for (std::size_t i = 0; i < states_.size() && !stops; ++i) {
        if (states_[i] != State::kWaiting || !IsReady(i)) continue;
        const Share share = ShareOf(i);
        if (!Fits(share)) continue;
        Take(i, share);
        threads.emplace_back([this, i, share] { Work(i, share); });
      }
      if (running_ == 0) break;
      changed_.wait(lock);
    }
    return env_.cancel.Check();
  }

 private:
  [[nodiscard]] bool IsReady(std::size_t i) const {
    const matrix::Job& job = run_.graph.jobs[i];
    return std::all_of(job.needs.begin(), job.needs.end(), [&](std::size_t need) {
      if (states_[need] == State::kPassed) return true;
      return job.after_failures && !CanStillRun(need);
    });
  }

  /// False for a job that failed, or waits for one.
  [[nodiscard]] bool CanStillRun(std::size_t i) const {
    if (states_[i] != State::kWaiting) return states_[i] == State::kRunning;
    const std::set<std::size_t>& needs = run_.graph.jobs[i].needs;
    return std::all_of(needs.begin(), needs.end(), [&](std::size_t need) {
      return states_[need] == State::kPassed || CanStillRun(need);
    });
  }

  [[nodiscard]] Share ShareOf(std::size_t i) const {
    const matrix::Resources& asked = run_.graph.jobs[i].resources;
    return {.cores = std::min(asked.cores, all_.cores),
            .memory_bytes = std::min(asked.memory_bytes, all_.memory_bytes),
            .gpus = std::min(asked.gpus, all_.gpus)};
  }

  [[nodiscard]] bool Fits(const Share& share) const {
    return share.cores <= free_.cores && share.memory_bytes <= free_.memory_bytes && share.gpus <= free_.gpus;
  }

  void Take(std::size_t i, const Share& share) {
    states_[i] = State::kRunning;
    ++running_;
    free_.cores -= share.cores;
    free_.memory_bytes -= share.memory_bytes;
    free_.gpus -= share.gpus;
  }

  void Work(std::size_t i, const Share& share) {
    const matrix::Job& job = run_.graph.jobs[i];
    Task task(env_.reporter, {.stage = "job", .subject = job.id, .log_file = run_.LogFile(job).str()});
    const bool passed = RunProcess(job, share, task);
    const std::lock_guard lock(mutex_);
    states_[i] = passed ? State::kPassed : State::kFailed;
    --running_;
    free_.cores += share.cores;
    free_.memory_bytes += share.memory_bytes;
    free_.gpus += share.gpus;
    changed_.notify_all();
  }

  /// A number that no other process has had, on any machine: the kernel reuses process ids.
  [[nodiscard]] std::string NumberOf(const matrix::Job& job) const {
    constexpr std::size_t kDigits = 16;
    KeyHasher hasher;
    const Result<std::string> process = ReadFile(env_.fs, AbsPath::Literal("/proc/self/stat"));
    hasher.Add("boot", builder::BootId(env_.fs));
    hasher.Add("process", process ? *process : "");
    hasher.Add("job", job.id);
    hasher.Add("time", std::to_string(env_.clock.WallNow().time_since_epoch().count()));
    return hasher.Finish().Hex().substr(0, kDigits);
  }

  bool RunProcess(const matrix::Job& job, const Share& share, Task& task) {
    const std::string number = NumberOf(job);
    Command command{.argv = {options_.program.str(), "run-node", run_.folder.str(), job.id, "--jobs",
                             std::to_string(share.cores), "--no-config", "--log-format", "plain"},
                    .env = env_.variables,
                    .cwd = run_.folder,
                    .log_file = run_.LogFile(job),
                    .cancel = &env_.cancel};
    command.env.insert_or_assign(kLocalJobVariable, number);
    const Result<ExitStatus> ended = env_.process.Run(command);
    if (!ended && ended.error().code() != ErrorCode::kCancelled) env_.reporter.Warn(ended.error().message());
    const Result<std::vector<matrix::AttemptState>> attempts = matrix::ReadAttempts(env_, run_, job);
    const matrix::JobRecord* record = attempts ? RecordOf(number, *attempts) : nullptr;
    if (record == nullptr) {
      const std::string how = ended ? HowItDied(job, *ended) : ended.error().message();
      if (ended) env_.reporter.Warn(how);
      if (attempts) EndAttemptOf(number, job, *attempts, how);
      return false;
    }
    if (record->end != matrix::JobEnd::kPassed) return false;
    if (record->IsCached()) {
      task.Skipped("cached");
    } else {
      task.Done();
    }
    return true;
  }

  /// How the attempt of this process ended; nullptr if it made none, or died in it. Other processes can have
  /// made attempts too, which say nothing about this one.
  static const matrix::JobRecord* RecordOf(const std::string& number,
                                           const std::vector<matrix::AttemptState>& attempts) {
    const auto own = std::find_if(attempts.begin(), attempts.end(), [&](const auto& attempt) {
      return attempt.worker.ends_with(LocalJobMark(number));
    });
    return own == attempts.end() || !own->end ? nullptr : &*own->end;
  }

  /// The process of this number and all that it started are dead: the next attempt need not wait for the
  /// lease. Attempts of other processes are left alone, because these may be alive.
  void EndAttemptOf(const std::string& number, const matrix::Job& job,
                    const std::vector<matrix::AttemptState>& attempts, const std::string& how) {
    for (const matrix::AttemptState& attempt : attempts) {
      if (attempt.end || !attempt.worker.ends_with(LocalJobMark(number))) continue;
      const Result<void> written = matrix::EndDeadAttempt(env_, run_, job, attempt.number,
                                                          {.end = matrix::JobEnd::kStopped, .error = how});
      if (!written) env_.reporter.Warn(written.error().message());
    }
  }

  static std::string HowItDied(const matrix::Job& job, const ExitStatus& ended) {
    if (ended.signal != 0)
      return fmt::format("'ptpkg run-node' was killed by signal {} in job '{}'", ended.signal, job.id);
    return fmt::format("'ptpkg run-node' ended with code {} in job '{}', without a record", ended.code,
                       job.id);
  }

  Env& env_;
  const matrix::Run& run_;
  const LocalOptions& options_;
  std::mutex mutex_;  // of all below
  std::condition_variable changed_;
  std::vector<State> states_;
  Share all_;
  Share free_;
  std::size_t running_ = 0;
};

}  // namespace

Result<void> RunLocal(Env& env, const matrix::Run& run, const LocalOptions& options) {
  return LocalEngine(env, run, options).Run();
}

}  // namespace ptpkg::pipeline
