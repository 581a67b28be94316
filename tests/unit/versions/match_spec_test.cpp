// Requirements as text.

#include "versions/match_spec.h"

#include "support/matchers.h"

namespace ptpkg::versions {
namespace {

using ::ptpkg::test::FailsWith;
using ::ptpkg::test::IsOkAndHolds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(MatchSpec, ReadsUpToThreeFields) {
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
      {"x 1.2=py_0", {"x", "1.2", "py_0"}},
      {"x=1.2=py_0", {"x", "=1.2", "py_0"}},
      {"x==1.2=py_0", {"x", "==1.2", "py_0"}},
      {"x 1.2 =py_0", {"x", "1.2", "py_0"}},
      {"x >=1.0 , < 2.0 py34_0", {"x", ">=1.0,<2.0", "py34_0"}},
      {"x (>=1, <2) | 3 h_0", {"x", "(>=1,<2)|3", "h_0"}},
      {"x * ^py3(8|11)_0$", {"x", "*", "^py3(8|11)_0$"}},
      {"x ~=1.2\th_0", {"x", "~=1.2", "h_0"}},
  };
  for (const auto& c : cases) EXPECT_THAT(MatchSpec::Parse(c.text), IsOkAndHolds(c.expected)) << c.text;
}

TEST(MatchSpec, RefusesOthers) {
  for (const char* text : {"", "NumPy", "numpy 1 2 3", "numpy >=", "numpy 1..2", "-x", ">=1", "num/py",
                           "a--b", "x ~=.5", "x 1 b/c", "x =", "x 1 ^(a$", "x ==<1"}) {
    EXPECT_THAT(MatchSpec::Parse(text),
                FailsWith(ErrorCode::kInvalidInput, HasSubstr("is not a requirement")))
        << text;
  }
  EXPECT_THAT(MatchSpec::Parse("conda-forge::numpy"),
              FailsWith(ErrorCode::kUnsupported, HasSubstr("has a channel")));
  EXPECT_THAT(MatchSpec::Parse("numpy[build_number='>=1']"),
              FailsWith(ErrorCode::kUnsupported, HasSubstr("asks for 'build_number'")));
  EXPECT_THAT(MatchSpec::Parse("numpy[version"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("not closed")));
  std::string nested = "1";
  for (int depth = 0; depth < 10'000; ++depth) nested = "x[build=" + nested + "]";
  for (const std::string& text : {std::string("x[build=y[build=z]]"), nested}) {
    EXPECT_THAT(MatchSpec::Parse(text),
                FailsWith(ErrorCode::kInvalidInput, HasSubstr("a bracket is inside another one")));
  }
  EXPECT_THAT(MatchSpec::Parse("numpy[cuda]"), FailsWith(ErrorCode::kInvalidInput, HasSubstr("has no '='")));
}

TEST(MatchSpec, BracketsReplaceTheFields) {
  const std::pair<const char*, const char*> cases[] = {
      {"pytorch * [build=cuda*]", "pytorch * cuda*"},
      {"pytorch *[build='cuda*']", "pytorch * cuda*"},
      {"numpy[version='>=1,<2']", "numpy >=1,<2"},
      {"numpy 1.0[version=\">=2,<3\", build=py311*]", "numpy >=2,<3 py311*"},
  };
  for (const auto& [text, normal] : cases) {
    EXPECT_THAT(NormalizeMatchSpec(text), IsOkAndHolds(std::string(normal))) << text;
  }
}

TEST(MatchSpec, RefusesWhatItDoesNotSupport) {
  for (const char* text : {"x ^1.*$", "x 1 ^a{3}$"}) {
    EXPECT_THAT(MatchSpec::Parse(text), FailsWith(ErrorCode::kUnsupported, HasSubstr("'"))) << text;
  }
}

TEST(MatchSpec, PrintsWhatItRead) {
  EXPECT_EQ((MatchSpec{"numpy", "", ""}).str(), "numpy");
  EXPECT_EQ((MatchSpec{"numpy", ">=1", ""}).str(), "numpy >=1");
  EXPECT_EQ((MatchSpec{"blas", "", "mkl"}).str(), "blas * mkl");
  EXPECT_EQ((MatchSpec{"toy", "==1.0", "h1_0"}).str(), "toy ==1.0 h1_0");
}

TEST(MatchSpecName, NeedsNoValidSpec) {
  EXPECT_EQ(MatchSpecName("numpy >=1"), "numpy");
  EXPECT_EQ(MatchSpecName(" numpy>=1"), "numpy");
  EXPECT_EQ(MatchSpecName("numpy"), "numpy");
  EXPECT_EQ(MatchSpecName("numpy[version='>=1']"), "numpy");
  EXPECT_EQ(MatchSpecName(""), "");
}

TEST(NormalizeMatchSpecs, SortsAndDropsRepeats) {
  EXPECT_THAT(NormalizeMatchSpecs(
                  {"python  >=3.11,<3.12.0a0", " blas * mkl", "python >=3.11,<3.12.0a0", "__cuda >=13"}),
              IsOkAndHolds(ElementsAre("__cuda >=13", "blas * mkl", "python >=3.11,<3.12.0a0")));
  EXPECT_THAT(NormalizeMatchSpecs({"a", "Numpy"}),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("'Numpy' is not a requirement")));
}

}  // namespace
}  // namespace ptpkg::versions
