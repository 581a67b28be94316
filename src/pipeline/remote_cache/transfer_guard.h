#pragma once
// Ends transfers that stand still or crawl, or that keep a run waiting. Layer: pipeline. libcurl's limits are
// for uploads to indexes, which may think for minutes; a cache that is slower than a build is of no use.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <mutex>
#include <string>
#include <thread>

#include "support/env.h"

namespace ptpkg::pipeline {

/// Slowest transfer that goes on: a gigabyte an hour.
inline constexpr std::uint64_t kLeastBytesPerSecond = 256U << 10U;

/// Time that each transfer has for its request, its answer and small objects.
inline constexpr std::chrono::seconds kUsualAnswer{1};

/// Watches all transfers of a run, on any thread. Cancels token() for good when the run is interrupted, once
/// a transfer is too slow, and once all of them together have kept the run waiting for twice `patience`.
/// - Too slow: it moves no byte for the time of `patience`, or, in a longer time, fewer than
///   kLeastBytesPerSecond on average.
/// - Waiting: the time of a transfer beyond kUsualAnswer, and beyond what its bytes take at that rate.
///   Uploads do not count: builds continue meanwhile.
class TransferGuard {
 public:
  TransferGuard(const Env& env, std::chrono::milliseconds patience);
  TransferGuard(const TransferGuard&) = delete;
  TransferGuard& operator=(const TransferGuard&) = delete;
  ~TransferGuard() = default;

  [[nodiscard]] const CancelToken& token() const { return token_; }
  /// Why the token was cancelled, but for an interrupt.
  [[nodiscard]] std::string Reason() const;

 private:
  struct State {
    std::chrono::steady_clock::time_point started;
    std::chrono::steady_clock::time_point begin;  ///< Start of the latest try.
    std::chrono::steady_clock::time_point moved;
    std::uint64_t bytes = 0;         ///< Bytes of this try.
    std::uint64_t bytes_before = 0;  ///< Bytes of tries that were cut.
    bool is_upload = false;
  };

 public:
  /// A request, from before it is sent until its answer was read.
  class Transfer {
   public:
    explicit Transfer(TransferGuard& guard, bool is_upload = false);
    Transfer(const Transfer&) = delete;
    Transfer& operator=(const Transfer&) = delete;
    ~Transfer();
    /// The number of bytes that have moved so far; fewer than before: another try has begun.
    void Moved(std::uint64_t bytes);

   private:
    TransferGuard& guard_;
    std::list<State>::iterator state_;
  };

 private:
  using Seconds = std::chrono::duration<double>;

  [[nodiscard]] bool IsTooSlow(const State& state) const;
  [[nodiscard]] Seconds WaitedFor(const State& state) const;
  [[nodiscard]] bool HasWaitedTooLong() const;
  void Watch(const std::stop_token& stop);

  Clock& clock_;
  const CancelToken& run_;
  std::chrono::milliseconds patience_;
  CancelToken token_;
  std::atomic<bool> too_long_{false};
  std::mutex mutex_;            // of the next two
  Seconds waited_{0};           // for transfers that have ended
  std::list<State> transfers_;  // that run now
  std::condition_variable_any changed_;
  std::jthread thread_;  // ends before what it uses
};

}  // namespace ptpkg::pipeline
