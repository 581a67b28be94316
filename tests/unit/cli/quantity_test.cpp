#include "cli/quantity.h"

#include <gtest/gtest.h>

#include "support/matchers.h"

namespace ptpkg::cli {
namespace {

using test::FailsWith;
using test::IsOkAndHolds;
using ::testing::HasSubstr;

TEST(ParseDuration, TakesAWholeNumberAndAUnit) {
  EXPECT_THAT(ParseDuration("--x", "0s"), IsOkAndHolds(std::chrono::seconds(0)));
  EXPECT_THAT(ParseDuration("--x", "90m"), IsOkAndHolds(std::chrono::seconds(5400)));
  EXPECT_THAT(ParseDuration("--x", "12h"), IsOkAndHolds(std::chrono::hours(12)));
  EXPECT_THAT(ParseDuration("--x", "30d"), IsOkAndHolds(std::chrono::hours(720)));
  EXPECT_THAT(ParseDuration("--x", "2w"), IsOkAndHolds(std::chrono::hours(336)));
  for (const char* text : {"", "30", "d", "-1d", "1.5d", "30 d", "30D", "30days", "99999999999999999999d",
                           "9999999999w", "182500d"}) {
    EXPECT_THAT(ParseDuration("--older-than", text), FailsWith(ErrorCode::kUsage, HasSubstr("--older-than")))
        << text;
  }
}

TEST(ParseSize, TakesPowersOf1000And1024) {
  EXPECT_THAT(ParseSize("--x", "0"), IsOkAndHolds(0U));
  EXPECT_THAT(ParseSize("--x", "20G"), IsOkAndHolds(20'000'000'000U));
  EXPECT_THAT(ParseSize("--x", "1.5MB"), IsOkAndHolds(1'500'000U));
  EXPECT_THAT(ParseSize("--x", "1.5 GB"), IsOkAndHolds(1'500'000'000U));
  EXPECT_THAT(ParseSize("--x", "3KiB"), IsOkAndHolds(3072U));
  EXPECT_THAT(ParseSize("--x", "2TiB"), IsOkAndHolds(std::uint64_t{2} << 40U));
  for (const char* text : {"", "G", "-1G", "1X", "1  G", "inf", "nan", "1e3", "0x10", "99999999999T"}) {
    EXPECT_THAT(ParseSize("--max-size", text), FailsWith(ErrorCode::kUsage, HasSubstr("--max-size"))) << text;
  }
}

TEST(Age, IsRoundedDownToWhatMatters) {
  const auto now = std::chrono::system_clock::from_time_t(1'000'000'000);
  const auto age = [&](std::int64_t seconds) { return Age((1'000'000'000 - seconds) * 1'000'000'000, now); };
  EXPECT_EQ(age(-5), "just now");
  EXPECT_EQ(age(59), "just now");
  EXPECT_EQ(age(3599), "59 min ago");
  EXPECT_EQ(age(47 * 3600), "47 h ago");
  EXPECT_EQ(age(49 * 3600), "2 d ago");
}

TEST(UtcTime, IsRfc3339) {
  EXPECT_EQ(UtcTime(0), "1970-01-01T00:00:00Z");
  EXPECT_EQ(UtcTime(1'709'164'799'999'999'999), "2024-02-28T23:59:59Z");
  EXPECT_EQ(UtcTime(1'709'164'800'000'000'000), "2024-02-29T00:00:00Z");
  EXPECT_EQ(UtcTime(-1), "1969-12-31T23:59:59Z");
}

}  // namespace
}  // namespace ptpkg::cli
