#include "versions/build_string.h"

#include "support/matchers.h"

namespace ptpkg::versions {
namespace {

using test::FailsWith;
using test::IsOk;
using ::testing::HasSubstr;

TEST(CheckBuildString, AcceptsThePytorchChannelsForm) {
  EXPECT_THAT(CheckBuildString("py3.8_cuda11.0.221_cudnn8.0.5_0"), IsOk());
  EXPECT_THAT(CheckBuildString("a-b"), FailsWith(ErrorCode::kInvalidInput, HasSubstr("letters, digits")));
}

bool Matches(std::string_view pattern, std::string_view build) {
  const Result<BuildPattern> parsed = BuildPattern::Parse(pattern);
  EXPECT_OK(parsed) << pattern;
  return parsed && parsed->Matches(build);
}

TEST(BuildPattern, IsATextOrHasStars) {
  EXPECT_TRUE(Matches("", "py311_cuda_0"));
  EXPECT_TRUE(Matches("*", ""));
  EXPECT_TRUE(Matches("*cuda*", "py311_cuda_0"));
  EXPECT_TRUE(Matches("py*_0", "py311_cuda_0"));
  EXPECT_FALSE(Matches("py311", "py311_cuda_0"));
  EXPECT_FALSE(Matches("*cuda*", "py311_cpu_0"));
  EXPECT_FALSE(Matches("ab*b", "ab"));
  EXPECT_FALSE(Matches("h.0", "hx0"));
  EXPECT_FALSE(Matches("H*", "h0"));
}

TEST(BuildPattern, IsARegularExpressionBetweenItsMarks) {
  EXPECT_TRUE(Matches("^py3(8|11)_.*$", "py311_cuda_0"));
  EXPECT_FALSE(Matches("^py3(8|11)_.*$", "py39_cuda_0"));
  EXPECT_FALSE(Matches("^py$", "py311"));
  EXPECT_TRUE(Matches(R"(^h\d+_0$)", "h12_0"));
}

TEST(BuildPattern, TakesNoExponentialTime) {
  // An engine that goes back over its choices needs 2^60 steps here.
  EXPECT_FALSE(Matches("^(a+)+b$", std::string(60, 'a')));
  EXPECT_FALSE(Matches("*a*a*a*a*a*a*a*a*b", std::string(2000, 'a')));
  EXPECT_FALSE(Matches("^a+$", std::string(2000, 'a')));  // longer than any build string
}

TEST(BuildPattern, RefusesWhatItCannotJudge) {
  EXPECT_THAT(BuildPattern::Parse("^(a$"), FailsWith(ErrorCode::kInvalidInput, HasSubstr("is malformed")));
  EXPECT_THAT(BuildPattern::Parse(R"(^(a)\1$)"),
              FailsWith(ErrorCode::kUnsupported, HasSubstr("back-reference")));
  EXPECT_THAT(BuildPattern::Parse("^\\" + std::string(40, '1') + "$"),
              FailsWith(ErrorCode::kUnsupported, HasSubstr("back-reference")));
  EXPECT_THAT(BuildPattern::Parse(R"(^\c\\)" + std::string(40, '1') + "$"),
              FailsWith(ErrorCode::kUnsupported, HasSubstr("back-reference")))
      << "after a control character";
  EXPECT_THAT(BuildPattern::Parse(R"(^a\\1$)"), test::IsOk()) << "a backslash and a 1";
  EXPECT_THAT(BuildPattern::Parse("^a{9999}$"),
              FailsWith(ErrorCode::kUnsupported, HasSubstr("counted repeat")));
  EXPECT_THAT(BuildPattern::Parse("^" + std::string(300, 'a') + "$"),
              FailsWith(ErrorCode::kUnsupported, HasSubstr("longer than 256")));
  for (const char* text : {"^a", "a$", "a/b", "a?", "a b", "^"}) {
    EXPECT_THAT(BuildPattern::Parse(text), FailsWith(ErrorCode::kInvalidInput, HasSubstr("a character")))
        << text;
  }
}

TEST(VersionDigits, AreTheFirstSegments) {
  EXPECT_EQ(VersionDigits("3.11.2", 2), "311");
  EXPECT_EQ(VersionDigits("3.11.* *_cpython", 2), "311");
  EXPECT_EQ(VersionDigits("5.36.0", 3), "5360");
  EXPECT_EQ(VersionDigits("3", 2), "3");
  EXPECT_EQ(VersionDigits("", 2), "");
}

}  // namespace
}  // namespace ptpkg::versions
