#pragma once
// A clock that stands still until told otherwise.

#include <functional>
#include <vector>

#include "support/clock.h"

namespace ptpkg::test {

class FakeClock final : public Clock {
 public:
  std::chrono::steady_clock::time_point Now() override {
    return std::chrono::steady_clock::time_point(elapsed_);
  }
  /// 2026-01-01 00:00 UTC at the start.
  std::chrono::system_clock::time_point WallNow() override {
    return std::chrono::system_clock::from_time_t(1767225600) + elapsed_;
  }
  /// Returns at once, having advanced the clock.
  void SleepFor(std::chrono::milliseconds duration) override {
    sleeps_.push_back(duration);
    Advance(duration);
    if (other_) other_();
  }
  /// Calls `other` in each sleep: what another process does meanwhile.
  void OnSleep(std::function<void()> other) { other_ = std::move(other); }

  void Advance(std::chrono::milliseconds duration) { elapsed_ += duration; }
  [[nodiscard]] const std::vector<std::chrono::milliseconds>& sleeps() const { return sleeps_; }

 private:
  std::chrono::milliseconds elapsed_{0};
  std::vector<std::chrono::milliseconds> sleeps_;
  std::function<void()> other_;
};

}  // namespace ptpkg::test
