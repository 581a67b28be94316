#pragma once
// Renews an attempt while it works, and stops it when that fails. Layer: matrix.

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "matrix/attempt.h"

namespace ptpkg::matrix {

/// Limit of the time that a job takes.
struct TimeLimit {
  std::string job = {};                              ///< Its id, for the message.
  std::uint64_t minutes = 0;                         ///< 0: none.
  std::chrono::steady_clock::time_point begin = {};  ///< By env.clock.
};

/// From construction to destruction, a thread renews the attempt six times in the time of a lease. `stop` is
/// cancelled when the run or the attempt is ended, when env.cancel is, when the job exceeds its limit, or
/// when no renewal succeeded for half a lease: half of it is left to end the processes before another attempt
/// takes over. A second thread compares the time, because a renewal itself can hang on a network file system.
class LeaseKeeper {
 public:
  /// Borrows all of them.
  LeaseKeeper(Env& env, const Run& run, const TimeLimit& limit, Attempt& attempt, CancelToken& stop);
  LeaseKeeper(const LeaseKeeper&) = delete;
  LeaseKeeper& operator=(const LeaseKeeper&) = delete;
  ~LeaseKeeper();

  /// Why `stop` was cancelled. Errors: kRefused, kCancelled, kIo; kCommandFailed for the limit.
  [[nodiscard]] Result<void> Check() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ptpkg::matrix
