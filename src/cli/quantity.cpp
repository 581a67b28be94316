#include "cli/quantity.h"

#include <array>
#include <charconv>
#include <fmt/format.h>
#include <utility>

#include "support/text/text.h"

namespace ptpkg::cli {

namespace {

constexpr std::array<std::pair<std::string_view, std::int64_t>, 5> kTimeUnits = {
    {{"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86400}, {"w", 604800}}};

Error NotA(std::string_view flag, std::string_view what, std::string_view text, std::string_view example) {
  return Error(ErrorCode::kUsage, fmt::format("{} '{}' is not a {}", flag, text, what))
      .WithHint(fmt::format("write for example '{}'", example));
}

}  // namespace

Result<std::chrono::seconds> ParseDuration(std::string_view flag, std::string_view text) {
  // Two hundred years: callers subtract it from a time in nanoseconds, which 64 bits hold for 292 years.
  constexpr std::int64_t kMostSeconds = std::int64_t{200} * 366 * 86400;
  // A number without a unit is refused: '30' could be seconds or days, and 'cache clean' removes by it.
  std::int64_t number = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view rest(end, static_cast<std::size_t>(text.data() + text.size() - end));
  for (const auto& [unit, seconds] : kTimeUnits) {
    const bool fits = status == std::errc() && number >= 0 && number <= kMostSeconds / seconds;
    if (fits && rest == unit) return std::chrono::seconds(number * seconds);
  }
  return NotA(flag, "time with a unit (s, m, h, d or w)", text, "30d");
}

Result<std::uint64_t> ParseSize(std::string_view flag, std::string_view text) {
  if (const auto bytes = ParseBytes(text)) return *bytes;
  return NotA(flag, "size in bytes", text, "20G");
}

std::string Age(std::int64_t unix_ns, std::chrono::system_clock::time_point now) {
  const auto then = std::chrono::nanoseconds(unix_ns);
  const auto seconds =
      std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch() - then).count();
  // A clock that was set back gives negative ages.
  if (seconds < 60) return "just now";
  if (seconds < 3600) return fmt::format("{} min ago", seconds / 60);
  if (seconds < 48L * 3600) return fmt::format("{} h ago", seconds / 3600);
  return fmt::format("{} d ago", seconds / 86400);
}

std::string UtcTime(std::int64_t unix_ns) {
  const std::chrono::sys_time<std::chrono::nanoseconds> time{std::chrono::nanoseconds(unix_ns)};
  // floor and not a cast, which rounds to 1970 and would give earlier files the wrong day.
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(std::chrono::floor<std::chrono::seconds>(time - day));
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count());
}

}  // namespace ptpkg::cli
