#include "archive/zip/zip_time.h"

#include <algorithm>
#include <chrono>

namespace ptpkg::archive {

ZipTime ZipTimeOf(std::int64_t unix_seconds) {
  constexpr std::int64_t kFirst = 315532800;  // 1980-01-01T00:00:00Z
  constexpr std::int64_t kLast = 4354819199;  // 2107-12-31T23:59:59Z
  using std::chrono::days;
  using std::chrono::seconds;
  const std::chrono::sys_seconds moment{seconds(std::clamp(unix_seconds, kFirst, kLast))};
  const auto day = std::chrono::floor<days>(moment);
  const std::chrono::year_month_day date{day};
  const std::chrono::hh_mm_ss clock{moment - day};
  const auto years = static_cast<unsigned>(static_cast<int>(date.year()) - 1980);
  const auto month = static_cast<unsigned>(date.month());
  const auto day_of_month = static_cast<unsigned>(date.day());
  const auto hours = static_cast<unsigned>(clock.hours().count());
  const auto minutes = static_cast<unsigned>(clock.minutes().count());
  const auto two_seconds = static_cast<unsigned>(clock.seconds().count() / 2);
  return {.time = static_cast<std::uint16_t>(hours << 11U | minutes << 5U | two_seconds),
          .date = static_cast<std::uint16_t>(years << 9U | month << 5U | day_of_month)};
}

}  // namespace ptpkg::archive
