// Version order and version constraints.
#include <vector>

#include "conda/match_spec.h"
#include "conda/version_order.h"
#include "conda/version_spec.h"
#include "support/matchers.h"

namespace ptpkg::conda {
namespace {

using test::FailsWith;
using test::IsOkAndHolds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(CompareVersions, OrdersTheExamplesOfCep33) {
  // Each group holds equal versions; groups ascend.
  const std::vector<std::vector<std::string>> groups{{"0.4", "0.4.0"},
                                                     {"0.4.1.rc", "0.4.1.RC"},
                                                     {"0.4.1+local"},
                                                     {"0.4.1+0.local"},
                                                     {"0.4.1", "0.4.1+0"},
                                                     {"0.4.1+1.local"},
                                                     {"0.5a1"},
                                                     {"0.5b3"},
                                                     {"0.5C1"},
                                                     {"0.5"},
                                                     {"0.9.6"},
                                                     {"0.960923"},
                                                     {"1.0"},
                                                     {"1.1dev1"},
                                                     {"1.1a1"},
                                                     {"1.1.0dev1", "1.1.dev1"},
                                                     {"1.1.a1"},
                                                     {"1.1.0rc1"},
                                                     {"1.1.0.0", "1.1.0", "1.1"},
                                                     {"1.1.post1", "1.1.0post1"},
                                                     {"1.1post1"},
                                                     {"1996.07.12"},
                                                     {"1!0.4.1"},
                                                     {"1!3.1.1.6"},
                                                     {"2!0.4.1"}};
  for (std::size_t i = 0; i < groups.size(); ++i) {
    for (std::size_t k = 0; k < groups.size(); ++k) {
      for (const std::string& left : groups[i]) {
        for (const std::string& right : groups[k]) {
          EXPECT_EQ(CompareVersions(left, right), i <=> k) << left << " and " << right;
        }
      }
    }
  }
}

TEST(CompareVersions, SortsATrailingUnderscoreBeforeALetter) {
  EXPECT_EQ(CompareVersions("1.0.1_", "1.0.1a"), std::strong_ordering::less);
}

TEST(CompareVersions, ComparesNumbersOfAnyLength) {
  EXPECT_EQ(CompareVersions("1.99999999999999999999999", "1.100000000000000000000000"),
            std::strong_ordering::less);
}

TEST(VersionMatches, FollowsTheOperators) {
  struct Case {
    const char* version;
    const char* spec;
    bool matches;
  };
  for (const Case& c : {Case{"2.6.0", "", true},
                        Case{"2.6.0", "*", true},
                        Case{"2.6.0", "2.6", true},
                        Case{"2.6.1", "2.6", false},
                        Case{"2.6.1", "2.6.*", true},
                        Case{"2.60", "2.6.*", false},
                        Case{"2.6.1", "=2.6", true},
                        Case{"2.6.1", "2.6*", true},
                        Case{"2.6rc1", "2.6*", true},
                        Case{"3.11.9", ">=3.11,<3.12.0a0", true},
                        Case{"3.12.0", ">=3.11,<3.12.0a0", false},
                        Case{"3.12.0rc1", ">=3.11,<3.12.0a0", false},
                        Case{"1.5", "<1|>=1.5", true},
                        Case{"1.2", "<1|>=1.5", false},
                        Case{"1.4.9", "~=1.4.5", true},
                        Case{"1.5.0", "~=1.4.5", false},
                        Case{"1.4", "!=1.4", false},
                        Case{"1.4.2", "!=1.4.*", false},
                        Case{"1.5", "!=1.4.*", true},
                        Case{"1.0", "==1", true},
                        Case{"1.0", "<=1", true},
                        Case{"1.0", ">1", false}}) {
    EXPECT_THAT(VersionMatches(c.version, c.spec), IsOkAndHolds(c.matches))
        << c.version << " with " << c.spec;
  }
}

TEST(VersionMatches, RefusesWhatItCannotJudge) {
  EXPECT_THAT(VersionMatches("1", "^1.*$"),
              FailsWith(ErrorCode::kUnsupported, HasSubstr("regular expression")));
  EXPECT_THAT(VersionMatches("1", ">=1,"), FailsWith(ErrorCode::kInvalidInput, HasSubstr("is incomplete")));
  EXPECT_THAT(VersionMatches("1", ">="), FailsWith(ErrorCode::kInvalidInput, HasSubstr("is incomplete")));
}

TEST(BuildMatches, LetsAStarStandForAnyText) {
  EXPECT_TRUE(BuildMatches("py311_cuda_0", ""));
  EXPECT_TRUE(BuildMatches("py311_cuda_0", "*cuda*"));
  EXPECT_TRUE(BuildMatches("py311_cuda_0", "py*_0"));
  EXPECT_FALSE(BuildMatches("py311_cuda_0", "py311"));
  EXPECT_FALSE(BuildMatches("py311_cpu_0", "*cuda*"));
  EXPECT_FALSE(BuildMatches("ab", "ab*b"));
}

TEST(NormalizeMatchSpecs, SortsAndDropsRepeats) {
  EXPECT_THAT(NormalizeMatchSpecs(
                  {"python  >=3.11,<3.12.0a0", " blas * mkl", "python >=3.11,<3.12.0a0", "__cuda >=13"}),
              IsOkAndHolds(ElementsAre("__cuda >=13", "blas * mkl", "python >=3.11,<3.12.0a0")));
}

TEST(NormalizeMatchSpec, RefusesWhatIsNotPositional) {
  for (const char* text : {"", "Numpy", "numpy 1 2 3", "numpy[version='1']", "numpy >=1;x", "a 1 b/c"}) {
    EXPECT_THAT(NormalizeMatchSpec(text), FailsWith(ErrorCode::kInvalidInput, HasSubstr("dependency")))
        << text;
  }
}

}  // namespace
}  // namespace ptpkg::conda
