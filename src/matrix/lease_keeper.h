#pragma once
// Renews an attempt while it works, and stops it when that fails. Layer: matrix.

#include <memory>

#include "matrix/attempt.h"

namespace ptpkg::matrix {

/// From construction to destruction, a thread renews the attempt six times in the time of a lease. `stop` is
/// cancelled when the run or the attempt is ended, when env.cancel is, or when no renewal succeeded for half
/// a lease: half of it is left to end the processes before another attempt takes over. A second thread
/// compares the time, because a renewal itself can hang on a network file system.
class LeaseKeeper {
 public:
  /// Borrows all of them.
  LeaseKeeper(Env& env, const Run& run, Attempt& attempt, CancelToken& stop);
  LeaseKeeper(const LeaseKeeper&) = delete;
  LeaseKeeper& operator=(const LeaseKeeper&) = delete;
  ~LeaseKeeper();

  /// Why `stop` was cancelled. Errors: kRefused, kCancelled, kIo.
  [[nodiscard]] Result<void> Check() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ptpkg::matrix
