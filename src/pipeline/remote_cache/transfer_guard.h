#pragma once
// Ends transfers that stand still or crawl. Layer: pipeline. libcurl's limits are for uploads to indexes,
// which may think for minutes; a cache that is slower than a build is of no use.

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <mutex>
#include <thread>

#include "support/env.h"

namespace ptpkg::pipeline {

/// Slowest transfer that goes on: a gigabyte an hour.
inline constexpr std::uint64_t kLeastBytesPerSecond = 256U << 10U;

/// Watches all transfers of a run, on any thread. Cancels token() for good when the run is interrupted, and
/// once a transfer is too slow: it moves no byte for the time of `patience`, or, in a longer time, fewer than
/// kLeastBytesPerSecond on average.
class TransferGuard {
 public:
  TransferGuard(const Env& env, std::chrono::milliseconds patience);
  TransferGuard(const TransferGuard&) = delete;
  TransferGuard& operator=(const TransferGuard&) = delete;
  ~TransferGuard() = default;

  [[nodiscard]] const CancelToken& token() const { return token_; }

 private:
  struct State {
    std::chrono::steady_clock::time_point begin;
    std::chrono::steady_clock::time_point moved;
    std::uint64_t bytes = 0;
  };

 public:
  /// A request, from before it is sent until its answer was read.
  class Transfer {
   public:
    explicit Transfer(TransferGuard& guard);
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
  [[nodiscard]] bool IsTooSlow(const State& state) const;
  void Watch(const std::stop_token& stop);

  Clock& clock_;
  const CancelToken& run_;
  std::chrono::milliseconds patience_;
  CancelToken token_;
  std::mutex mutex_;            // of transfers_
  std::list<State> transfers_;  // that run now
  std::condition_variable_any changed_;
  std::jthread thread_;  // ends before what it uses
};

}  // namespace ptpkg::pipeline
