#include "matrix/lease_keeper.h"

#include <condition_variable>
#include <csignal>
#include <fmt/core.h>
#include <mutex>
#include <optional>
#include <pthread.h>
#include <thread>

namespace ptpkg::matrix {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr int kRenewalsInLease = 6;

/// The thread gets no signals: they interrupt the waiting of the main thread.
template <class Work>
std::jthread StartQuietly(Work work) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  std::jthread thread(work);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

}  // namespace

class LeaseKeeper::Impl {
 public:
  Impl(Env& env, const Run& run, const TimeLimit& limit, Attempt& attempt, CancelToken& stop)
      : env_(env),
        limit_(limit),
        attempt_(attempt),
        stop_(stop),
        lease_(std::chrono::seconds(run.settings.lease_seconds)),
        renewed_(Clock::now()) {
    renewing_ = StartQuietly([this](const std::stop_token& end) { KeepRenewing(end); });
    watching_ = StartQuietly([this](const std::stop_token& end) { Watch(end); });
  }

  [[nodiscard]] Result<void> Check() const {
    const std::lock_guard lock(mutex_);
    if (problem_) return Error(*problem_);
    return Ok();
  }

 private:
  /// False at the end.
  bool Wait(const std::stop_token& end, milliseconds time) {
    std::unique_lock lock(mutex_);
    return !wake_.wait_for(lock, end, time, [&end] { return end.stop_requested(); });
  }

  void Stop(const Error& problem) {
    const std::lock_guard lock(mutex_);
    if (!problem_) problem_ = problem;
    stop_.Cancel();
  }

  void KeepRenewing(const std::stop_token& end) {
    while (Wait(end, lease_ / kRenewalsInLease)) {
      const Result<void> renewed = attempt_.Renew();
      if (renewed) {
        const std::lock_guard lock(mutex_);
        renewed_ = Clock::now();
      } else if (renewed.error().code() != ErrorCode::kIo) {
        return Stop(renewed.error());
      }
    }
  }

  [[nodiscard]] bool IsOverLimit() const {
    return limit_.minutes > 0 && env_.clock.Now() - limit_.begin >= std::chrono::minutes(limit_.minutes);
  }

  void Watch(const std::stop_token& end) {
    const milliseconds between = std::min(milliseconds(200), lease_ / kRenewalsInLease);
    while (Wait(end, between)) {
      if (env_.cancel.cancelled()) return Stop({ErrorCode::kCancelled, "interrupted"});
      if (IsOverLimit()) {
        return Stop(
            Error(ErrorCode::kCommandFailed,
                  fmt::format("job '{}' took longer than its limit of {} min", limit_.job, limit_.minutes))
                .WithHint("raise 'minutes' in extra.ptpkg.resources of its recipe, and start a new "
                          "run, which reuses what has passed"));
      }
      std::unique_lock lock(mutex_);
      const bool late = Clock::now() - renewed_ > lease_ / 2;
      lock.unlock();
      if (late) {
        return Stop({ErrorCode::kIo, fmt::format("cannot renew the lease of attempt {} in '{}'",
                                                 attempt_.number(), attempt_.folder().str())});
      }
    }
  }

  Env& env_;
  TimeLimit limit_;
  Attempt& attempt_;
  CancelToken& stop_;
  milliseconds lease_;
  mutable std::mutex mutex_;  // of the next two
  Clock::time_point renewed_;
  std::optional<Error> problem_;
  std::condition_variable_any wake_;
  std::jthread renewing_;  // last: the threads end before the rest
  std::jthread watching_;
};

LeaseKeeper::LeaseKeeper(Env& env, const Run& run, const TimeLimit& limit, Attempt& attempt,
                         CancelToken& stop)
    : impl_(std::make_unique<Impl>(env, run, limit, attempt, stop)) {}
LeaseKeeper::~LeaseKeeper() = default;

Result<void> LeaseKeeper::Check() const { return impl_->Check(); }

}  // namespace ptpkg::matrix
