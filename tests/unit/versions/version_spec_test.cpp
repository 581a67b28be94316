// Version constraints, by conda's rules.

#include "versions/version_spec.h"

#include "support/matchers.h"

namespace ptpkg::versions {
namespace {

using test::FailsWith;
using test::IsOkAndHolds;
using ::testing::HasSubstr;

struct ConstraintCase {
  const char* version;
  const char* constraint;
  bool matches;
};

TEST(VersionSpec, KnowsEveryClause) {
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
      {"2.0b1", "2.0.*", true},
      {"2.0b1", "2.0*", true},
      {"2.0b1", "=2.0", true},
      {"2.60", "2.6.*", false},
      {"3.12.0rc1", ">=3.11,<3.12.0a0", false},
      {"1.5", "!=1.4.*", true},
      {"1.4.2", "!=1.4*", false},
      {"1.2", "==1.2.*", true},     // conda drops the star after "=="
      {"1.2.1", "==1.2.*", false},  // and so this is no prefix
      {"1.2", ">=1.2.*", true},
      {"1.2", "<1.2.*", false},
      {"1.2", "=*", true},
      {"1.2.3", "1.*.3", true},
      {"1.2.4", "1.*.3", false},
      {"1.2", "(>=1,<2)|3", true},
      {"3", "(>=1,<2)|3", true},
      {"2", "(>=1,<2)|3", false},
      {"1.5", "((1.5|(1.6|1.7)),<1.6)", true},
      {"1.7", "((1.5|(1.6|1.7)),<1.6)", false},
      {"1.5", ">= 1 , < 2 | 3", true},
      {"1.4.5a1", "~=1.4.5", false},
      {"1!2.3", "~=1!2.2", true},
      {"1.99999999999999999999999", "<1.100000000000000000000000", true},
  };
  for (const ConstraintCase& c : cases) {
    EXPECT_THAT(VersionMatches(c.version, c.constraint), IsOkAndHolds(c.matches))
        << c.version << " " << c.constraint;
  }
}

TEST(VersionSpec, RefusesOthers) {
  const struct {
    const char* text;
    const char* why;
  } cases[] = {
      {"", "a version is missing"},
      {">=", "a version is missing"},
      {">=3.8,", "a version is missing"},
      {"|1", "a version is missing"},
      {"1||2", "a version is missing"},
      {"()", "a version is missing"},
      {"3.8 3.9", "'3.8 3.9' is not a version constraint: only letters"},
      {"=>3", "'>3' is not a version"},
      {"===3", "'=3' is not a version"},
      {"<>3", "'>3' is not a version"},
      {"~=.5", "'.5' is not a version: a segment between dots is empty"},
      {"~=1", "'~=' needs a version with a dot"},
      {"~=1.4.*", "'~=' and '*' exclude each other"},
      {"~=*", "'~=' needs a version, not '*'"},
      {"!=*", "'!=' needs a version, not '*'"},
      {"<*", "'<' needs a version, not '*'"},
      {">=1.*.3", "after '>=', '*' is only allowed at the end"},
      {"1..*", "a segment between dots is empty"},
      {".*", "it is empty"},
      {"1.*/3", "only letters"},
      {"(1", "a '(' has no ')'"},
      {"1)", "a ')' has no '('"},
      {"(1)2", "a ')' has no '('"},
  };
  for (const auto& c : cases) {
    EXPECT_THAT(VersionSpec::Parse(c.text), FailsWith(ErrorCode::kInvalidInput, HasSubstr(c.why))) << c.text;
  }
  EXPECT_THAT(VersionSpec::Parse("^1.*$"),
              FailsWith(ErrorCode::kUnsupported, HasSubstr("regular expression")));
}

TEST(VersionSpec, NestsParenthesesUpToALimit) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '(') + "1" + std::string(depth, ')');
  };
  EXPECT_OK(VersionSpec::Parse(nested(16)));
  EXPECT_THAT(VersionSpec::Parse(nested(17)),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("more than 16 deep")));
  EXPECT_THAT(VersionSpec::Parse(std::string(1000000, '(')),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("deep")));
}

TEST(VersionMatches, TakesTextOnBothSides) {
  EXPECT_THAT(VersionMatches("2.6.0", ""), IsOkAndHolds(true));
  EXPECT_THAT(VersionMatches("1..2", "1"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("'1..2' is not a version")));
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
}  // namespace ptpkg::versions
