#include "support/net/retry_after.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ptpkg::test {
namespace {

using std::chrono::seconds;
using ::testing::Eq;
using ::testing::Optional;

std::optional<seconds> Asked(const std::string& text, const std::string& date = "") {
  std::map<std::string, std::string> headers = {{"retry-after", text}};
  if (!date.empty()) headers["date"] = date;
  // Sun, 06 Nov 1994 08:49:37 GMT
  return RetryAfter(headers, std::chrono::system_clock::time_point(seconds(784111777)));
}

TEST(RetryAfter, TakesSecondsAndEachFormOfADate) {
  EXPECT_THAT(Asked("7"), Optional(seconds(7)));
  for (const char* date :
       {"Sun, 06 Nov 1994 08:50:37 GMT", "Sunday, 06-Nov-94 08:50:37 GMT", "Sun Nov  6 08:50:37 1994"})
    EXPECT_THAT(Asked(date), Optional(seconds(60))) << date;
}

TEST(RetryAfter, ADateCountsByTheServersClock) {
  EXPECT_THAT(Asked("Sun, 06 Nov 2050 08:50:37 GMT", "Sun, 06 Nov 2050 08:50:30 GMT"), Optional(seconds(7)));
  EXPECT_THAT(Asked("Sun, 06 Nov 1994 08:00:00 GMT"), Optional(seconds(0)));
}

TEST(RetryAfter, NumbersWithoutABoundAreLong) {
  for (const char* text : {"4294967296", "99999999999999999999999"}) {
    const auto asked = Asked(text);
    ASSERT_TRUE(asked.has_value());
    EXPECT_GT(*asked, kLongestRetryAfter);
  }
}

TEST(RetryAfter, NonsenseAsksForNothing) {
  EXPECT_THAT(RetryAfter({}, {}), Eq(std::nullopt));
  for (const char* text : {"", "soon", "-1"}) EXPECT_THAT(Asked(text), Eq(std::nullopt)) << text;
}

}  // namespace
}  // namespace ptpkg::test
