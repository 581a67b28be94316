#pragma once
// Cooperative cancellation. Layer: support. cli/ sets it from the signal handler; long loops and
// child processes watch it.

#include <atomic>

#include "support/result.h"

namespace ptpkg {

class CancelToken {
 public:
  /// Async-signal-safe.
  void Cancel() { cancelled_.store(true, std::memory_order_relaxed); }
  [[nodiscard]] bool cancelled() const { return cancelled_.load(std::memory_order_relaxed); }
  /// kCancelled "interrupted" once Cancel() was called.
  [[nodiscard]] Result<void> Check() const {
    if (cancelled()) return Error(ErrorCode::kCancelled, "interrupted");
    return Ok();
  }

 private:
  std::atomic<bool> cancelled_{false};
};

}  // namespace ptpkg
