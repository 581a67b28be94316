// Requirements as text.

#include "recipe/match_spec.h"

#include <gtest/gtest.h>

#include "support/matchers.h"

namespace ptpkg::recipe {
namespace {

using ::ptpkg::test::FailsWith;
using ::ptpkg::test::IsOkAndHolds;
using ::testing::HasSubstr;

TEST(ParseMatchSpec, ReadsUpToThreeFields) {
  const struct {
    const char* text;
    MatchSpec expected;
  } cases[] = {
      {"numpy", {"numpy", "", ""}},
      {"  numpy  ", {"numpy", "", ""}},
      {"numpy >=1.21,<2", {"numpy", ">=1.21,<2", ""}},
      {"numpy >=1.21, <2", {"numpy", ">=1.21,<2", ""}},
      {"numpy >= 1.21", {"numpy", ">=1.21", ""}},
      {"numpy >=1.21 ,<2", {"numpy", ">=1.21,<2", ""}},
      {"numpy>=1.21", {"numpy", ">=1.21", ""}},
      {"numpy=1.21", {"numpy", "=1.21", ""}},
      {"python 3.11.* *_cpython", {"python", "3.11.*", "*_cpython"}},
      {"blas * mkl", {"blas", "*", "mkl"}},
      {"toy ==1.0 h1234567_0", {"toy", "==1.0", "h1234567_0"}},
      {"__cuda", {"__cuda", "", ""}},
      {"x 1.0|2.0", {"x", "1.0|2.0", ""}},
  };
  for (const auto& c : cases) EXPECT_THAT(ParseMatchSpec(c.text), IsOkAndHolds(c.expected)) << c.text;
}

TEST(ParseMatchSpec, RefusesOthers) {
  for (const char* text : {"", "NumPy", "numpy 1 2 3", "numpy >=", "numpy 1..2", "-x", ">=1", "num/py"}) {
    EXPECT_THAT(ParseMatchSpec(text), FailsWith(ErrorCode::kInvalidInput, HasSubstr("is not a requirement")))
        << text;
  }
  EXPECT_THAT(ParseMatchSpec("conda-forge::numpy"),
              FailsWith(ErrorCode::kUnsupported, HasSubstr("names a channel")));
  EXPECT_THAT(ParseMatchSpec("numpy[version='1']"),
              FailsWith(ErrorCode::kUnsupported, HasSubstr("brackets")));
}

TEST(MatchSpec, PrintsWhatItRead) {
  EXPECT_EQ((MatchSpec{"numpy", "", ""}).str(), "numpy");
  EXPECT_EQ((MatchSpec{"numpy", ">=1", ""}).str(), "numpy >=1");
  EXPECT_EQ((MatchSpec{"blas", "", "mkl"}).str(), "blas * mkl");
  EXPECT_EQ((MatchSpec{"toy", "==1.0", "h1_0"}).str(), "toy ==1.0 h1_0");
}

TEST(SingleVersion, IsEmptyForRanges) {
  EXPECT_EQ(SingleVersion("==1.26"), "1.26");
  EXPECT_EQ(SingleVersion("=1.26"), "1.26");
  EXPECT_EQ(SingleVersion("1.26.*"), "1.26");
  EXPECT_EQ(SingleVersion("1.26"), "1.26");
  EXPECT_EQ(SingleVersion(">=1.26"), "");
  EXPECT_EQ(SingleVersion("1.26,<2"), "");
  EXPECT_EQ(SingleVersion("*"), "");
  EXPECT_EQ(SingleVersion(""), "");
}

}  // namespace
}  // namespace ptpkg::recipe
