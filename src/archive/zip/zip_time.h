#pragma once
// Times of zip members. Layer: archive. Source: APPNOTE 4.4.6.

#include <cstdint>

namespace ptpkg::archive {

/// Time in both directories: local time of no particular zone, in steps of two seconds.
struct ZipTime {
  std::uint16_t time = 0;
  std::uint16_t date = 0;
};

/// `unix_seconds`: UTC, clamped to 1980-01-01…2107-12-31.
ZipTime ZipTimeOf(std::int64_t unix_seconds);

}  // namespace ptpkg::archive
