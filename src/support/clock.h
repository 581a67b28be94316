#pragma once
// Clock interface. Layer: support. No artifact depends on it: artifact times come from
// Env::source_date_epoch.

#include <chrono>
#include <memory>

#include "support/cancel.h"

namespace ptpkg {

class Clock {
 public:
  virtual ~Clock() = default;
  virtual std::chrono::steady_clock::time_point Now() = 0;
  virtual std::chrono::system_clock::time_point WallNow() = 0;
  virtual void SleepFor(std::chrono::milliseconds duration) = 0;
};

std::unique_ptr<Clock> MakeOsClock();

/// Sleeps in pieces of 50 ms at most, so that an interrupt ends it. Errors: kCancelled.
Result<void> SleepUnlessCancelled(Clock& clock, std::chrono::milliseconds duration,
                                  const CancelToken& cancel);

}  // namespace ptpkg
