// Reporters speak when somebody calls them, and a compiler can be silent for minutes. This thread calls them
// meanwhile, so that clocks run and logs show that the run is alive. Layer: cli.

#include "cli/output/ticker.h"

#include <chrono>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <pthread.h>
#include <system_error>
#include <thread>

namespace ptpkg::cli {

namespace {
constexpr std::chrono::milliseconds kBetweenTicks{200};
}  // namespace

class Ticker::Impl {
 public:
  explicit Impl(ProgressReporter& reporter) {
    // Signals are for the main thread, whose waiting they interrupt; a new thread inherits the mask.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    // Progress is a comfort, and a limit on threads no reason to fail.
    try {
      thread_ = std::jthread([this, &reporter](const std::stop_token& stop) { Run(stop, reporter); });
    } catch (const std::system_error&) {
      // No thread, no ticks.
    }
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

 private:
  void Run(const std::stop_token& stop, ProgressReporter& reporter) {
    std::unique_lock lock(mutex_);
    while (!wake_.wait_for(lock, stop, kBetweenTicks, [&stop] { return stop.stop_requested(); }))
      reporter.Tick();
  }

  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::jthread thread_;  // last: it ends before what it uses
};

Ticker::Ticker(ProgressReporter& reporter) : impl_(std::make_unique<Impl>(reporter)) {}
Ticker::~Ticker() = default;

}  // namespace ptpkg::cli
