// The real clocks. Layer: support.

#include "support/clock.h"

#include <algorithm>
#include <thread>

namespace ptpkg {
namespace {

class OsClock final : public Clock {
 public:
  std::chrono::steady_clock::time_point Now() override { return std::chrono::steady_clock::now(); }
  std::chrono::system_clock::time_point WallNow() override { return std::chrono::system_clock::now(); }
  void SleepFor(std::chrono::milliseconds duration) override { std::this_thread::sleep_for(duration); }
};

}  // namespace

std::unique_ptr<Clock> MakeOsClock() { return std::make_unique<OsClock>(); }

Result<void> SleepUnlessCancelled(Clock& clock, std::chrono::milliseconds duration,
                                  const CancelToken& cancel) {
  // An interrupt must look immediate to a person; 20 wake-ups a second cost nothing.
  constexpr std::chrono::milliseconds kPiece{50};
  while (duration.count() > 0) {
    PTPKG_CHECK(cancel.Check());
    const auto piece = std::min(duration, kPiece);
    clock.SleepFor(piece);
    duration -= piece;
  }
  return cancel.Check();
}

}  // namespace ptpkg
