// conda's version order, constraints, and the bounds of pins.

#include "recipe/version.h"

#include <gtest/gtest.h>

#include "recipe/pin.h"
#include "support/matchers.h"

namespace ptpkg::recipe {
namespace {

using ::ptpkg::test::FailsWith;
using ::ptpkg::test::IsOkAndHolds;
using ::testing::HasSubstr;

Version Parse(std::string_view text) {
  Result<Version> version = Version::Parse(text);
  EXPECT_OK(version);
  return version ? *std::move(version) : *Version::Parse("0");
}

TEST(Version, OrdersAsCondaDoes) {
  // The chain of conda's own documentation of VersionOrder.
  const char* const ordered[] = {"0.4",        "0.4.1.rc",   "0.4.1",    "0.5a1",     "0.5b3",
                                 "0.5",        "0.9.6",      "0.960923", "1.0",       "1.1dev1",
                                 "1.1a1",      "1.1.0dev1",  "1.1.a1",   "1.1.0rc1",  "1.1.0",
                                 "1.1.0post1", "1996.07.12", "1!0.4.1",  "1!3.1.1.6", "2!0.4.1"};
  for (std::size_t i = 0; i < std::size(ordered); ++i) {
    for (std::size_t j = i + 1; j < std::size(ordered); ++j) {
      EXPECT_LT(Parse(ordered[i]), Parse(ordered[j])) << ordered[i] << " " << ordered[j];
    }
  }
  EXPECT_LT(Parse("1.9"), Parse("1.10"));
  EXPECT_LT(Parse("2.0rc1"), Parse("2.0"));
  // A local version begins with a word, which sorts before the 0 of a version without one.
  EXPECT_LT(Parse("2.0+cu121"), Parse("2.0"));
  EXPECT_LT(Parse("2.0+cu121"), Parse("2.0+cu130"));
}

TEST(Version, EqualWhateverTheSpelling) {
  EXPECT_EQ(Parse("1.1"), Parse("1.1.0"));
  EXPECT_EQ(Parse("1.A"), Parse("1.a"));
  EXPECT_EQ(Parse("1_2"), Parse("1.2"));
  EXPECT_EQ(Parse("0!1"), Parse("1"));
  EXPECT_NE(Parse("1.1"), Parse("1.1.1"));
}

TEST(Version, RefusesWhatIsNone) {
  for (const char* text :
       {"", "1..2", ".1", "1.", "1 2", "a!1", "1!2!3", "1+a+b", "1+", "1:2", "1234567890123456789"}) {
    EXPECT_THAT(Version::Parse(text), FailsWith(ErrorCode::kInvalidInput, HasSubstr("is not a version")))
        << text;
  }
}

struct ConstraintCase {
  const char* version;
  const char* constraint;
  bool matches;
};

TEST(MatchesConstraint, KnowsEveryClause) {
  const ConstraintCase cases[] = {
      {"3.11.4", "*", true},
      {"3.11.4", "3.11.*", true},
      {"3.11.4", "3.1.*", false},
      {"3.11.4", "=3.11", true},
      {"3.11.4", "==3.11", false},
      {"3.11", "==3.11.0", true},
      {"3.11.4", "3.11", false},
      {"3.11.4", "3.11.4", true},
      {"3.11.4", ">=3.8,<3.12", true},
      {"3.12", ">=3.8,<3.12", false},
      {"3.7", "<3.8|>=3.12", true},
      {"3.9", "<3.8|>=3.12", false},
      {"3.11.4", "!=3.11.*", false},
      {"3.12", "!=3.11.*", true},
      {"3.11", "!=3.11", false},
      {"1.4.5", "~=1.4.2", true},
      {"1.5", "~=1.4.2", false},
      {"1.4.1", "~=1.4.2", false},
      {"2.0", ">1.9", true},
      {"2.0", "<=2", true},
      {"3.11.4", "3.11*", true},
      {"1.10", ">=1.9, <2", true},
      {"2.1.0rc1", "<2.1.0.0a0", true},
      {"2.0.1rc1", "<2.1.0a0", true},
  };
  for (const ConstraintCase& c : cases) {
    EXPECT_THAT(MatchesConstraint(Parse(c.version), c.constraint), IsOkAndHolds(c.matches))
        << c.version << " " << c.constraint;
  }
}

TEST(MatchesConstraint, RefusesOthers) {
  for (const char* constraint : {"", ">=", ">=3.8,", "3.8 3.9", "=>3", "3.*.1"}) {
    EXPECT_THAT(MatchesConstraint(Parse("1"), constraint),
                FailsWith(ErrorCode::kInvalidInput, HasSubstr("is not a version constraint")))
        << constraint;
  }
}

TEST(PinConstraint, AgreesWithRattlerBuild) {
  const struct {
    const char* version;
    PinBounds bounds;
    const char* expected;
  } cases[] = {
      {"1.26.4", {}, ">=1.26.4,<2.0a0"},
      {"1.2.3", {"x.x.x.x.x.x", "x.x.x"}, ">=1.2.3,<1.2.4.0a0"},
      {"1", {"x.x.x.x.x.x", "x.x.x"}, ">=1,<1.0.1.0a0"},
      {"1.2.3", {"", "x.x"}, "<1.3.0a0"},
      {"1.2.3", {"x.x.x.x.x.x", ""}, ">=1.2.3"},
      {"1.2.3", {"x.x", "2.4"}, ">=1.2,<2.4"},
      {"1.2.3", {"1.0", "x"}, ">=1.0,<2.0a0"},
      {"9d", {"", "x"}, "<10a"},
      {"9d", {"", "x.x"}, "<9d.1.0a0"},
      {"1.2.3+cu130", {}, ">=1.2.3+cu130,<2.0a0"},
      {"1.2.3+cu130", {"x.x", "x.x"}, ">=1.2,<1.3.0a0"},
      {"1!2.3", {"x.x", "x"}, ">=1!2.3,<1!3.0a0"},
      {"3.11", {"x.x", "x.x"}, ">=3.11,<3.12.0a0"},
      {"1.0", {"", ""}, ""},
  };
  for (const auto& c : cases) {
    EXPECT_THAT(PinConstraint(c.version, c.bounds), IsOkAndHolds(std::string(c.expected))) << c.version;
  }
}

TEST(PinConstraint, RefusesBadBoundsAndVersions) {
  EXPECT_THAT(PinConstraint("1.0", {"x.y", "x"}),
              FailsWith(ErrorCode::kInvalidInput, "'x.y' is not a bound of a pin"));
  EXPECT_THAT(PinConstraint("1.0", {"x", "xx"}),
              FailsWith(ErrorCode::kInvalidInput, "'xx' is not a bound of a pin"));
  EXPECT_THAT(PinConstraint("", {}), FailsWith(ErrorCode::kInvalidInput, HasSubstr("is not a version")));
  EXPECT_THAT(PinConstraint("1.rc", {"", "x.x"}),
              FailsWith(ErrorCode::kInvalidInput, "segment 'rc' of version '1.rc' cannot be counted up"));
}

}  // namespace
}  // namespace ptpkg::recipe
