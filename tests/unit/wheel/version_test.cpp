#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/matchers.h"
#include "wheel/metadata/pep440_version.h"

namespace ptpkg::wheel {
namespace {

using test::FailsWith;
using test::IsOk;
using test::IsOkAndHolds;

using testing::HasSubstr;

struct Spelling {
  const char* written;
  const char* normal;
};

class NormalizeVersionTest : public testing::TestWithParam<Spelling> {};

TEST_P(NormalizeVersionTest, GivesTheNormalForm) {
  const Result<std::string> normal = NormalizeVersion(GetParam().written);
  ASSERT_THAT(normal, IsOk());
  EXPECT_EQ(*normal, GetParam().normal);
  EXPECT_THAT(NormalizeVersion(*normal), IsOkAndHolds(*normal)) << "a normal form is its own normal form";
}

// From PEP 440, "Normalization", and its pattern's odd corners.
INSTANTIATE_TEST_SUITE_P(
    Pep440, NormalizeVersionTest,
    testing::Values(
        Spelling{"1.0", "1.0"}, Spelling{" v1.0\n", "1.0"}, Spelling{"1.1RC1", "1.1rc1"}, Spelling{"00", "0"},
        Spelling{"09000", "9000"}, Spelling{"1.0+foo0100", "1.0+foo0100"},
        Spelling{"1.0+0100.foo", "1.0+100.foo"}, Spelling{"1.1.a1", "1.1a1"}, Spelling{"1.1-a1", "1.1a1"},
        Spelling{"1.1_alpha_1", "1.1a1"}, Spelling{"1.1beta2", "1.1b2"}, Spelling{"1.1c3", "1.1rc3"},
        Spelling{"1.1-preview-4", "1.1rc4"}, Spelling{"1.2a", "1.2a0"}, Spelling{"1.2.post-2", "1.2.post2"},
        Spelling{"1.2post", "1.2.post0"}, Spelling{"1.0-r4", "1.0.post4"}, Spelling{"1.0-1", "1.0.post1"},
        Spelling{"1.2.dev", "1.2.dev0"}, Spelling{"1.2-dev-02", "1.2.dev2"},
        Spelling{"1.0+ubuntu-1", "1.0+ubuntu.1"}, Spelling{"1.0+Ubuntu_1", "1.0+ubuntu.1"},
        Spelling{"2!1.0", "2!1.0"}, Spelling{"0!1.0", "1.0"},
        Spelling{"1.0a1.post2.dev3+l", "1.0a1.post2.dev3+l"}, Spelling{"1.0a.dev1", "1.0a0.dev1"},
        Spelling{"1.0a--1", "1.0a0.post1"}, Spelling{"2.15.0.dev20260820+cu130", "2.15.0.dev20260820+cu130"},
        Spelling{"99999999999999999999999999.0", "99999999999999999999999999.0"}));

TEST(NormalizeVersion, RefusesWhatIsNoVersion) {
  for (const char* const text : {"", "v", "a1", "1..0", "1.0.", "1.0+", "1.0+a..b", "1.0+a+b", "1.0foo",
                                 "1 0", "1.0-", "!1", "1.*", "french toast", "1.0+ü"}) {
    EXPECT_THAT(NormalizeVersion(text), FailsWith(ErrorCode::kInvalidInput, HasSubstr("is not a version")))
        << text;
  }
}

// The order of PEP 440, "Summary of permitted suffixes and relative ordering".
TEST(CompareVersions, OrdersAsPep440) {
  const std::vector<std::string> ascending = {"1.dev0",        "1.0.dev456",    "1.0a1",
                                              "1.0a2.dev456",  "1.0a12.dev456", "1.0a12",
                                              "1.0b1.dev456",  "1.0b2",         "1.0b2.post345.dev456",
                                              "1.0b2.post345", "1.0rc1.dev456", "1.0rc1",
                                              "1.0",           "1.0+abc.5",     "1.0+abc.7",
                                              "1.0+5",         "1.0+5.1",       "1.0.post456.dev34",
                                              "1.0.post456",   "1.0.15",        "1.1.dev1",
                                              "1.9",           "1.10",          "1!0.1"};
  for (std::size_t i = 0; i < ascending.size(); ++i) {
    for (std::size_t j = 0; j < ascending.size(); ++j) {
      const Result<Version> left = ParseVersion(ascending[i]);
      const Result<Version> right = ParseVersion(ascending[j]);
      ASSERT_THAT(left, IsOk());
      ASSERT_THAT(right, IsOk());
      EXPECT_EQ(CompareVersions(*left, *right) < 0, i < j) << ascending[i] << " and " << ascending[j];
      EXPECT_EQ(CompareVersions(*left, *right) == 0, i == j) << ascending[i] << " and " << ascending[j];
    }
  }
}

TEST(CompareVersions, TrailingZerosDoNotCount) {
  EXPECT_TRUE(CompareVersions(*ParseVersion("1"), *ParseVersion("1.0.0")) == 0);
}

TEST(Version, SameVersionInOtherSpellings) {
  EXPECT_TRUE(SameVersion("1.0", "v1.0.0"));
  EXPECT_FALSE(SameVersion("1.0", "1.0+cpu"));
  EXPECT_FALSE(SameVersion("x", "x"));
}

}  // namespace
}  // namespace ptpkg::wheel
