// The bounds of pins, and Python's.

#include "versions/pin.h"

#include "support/matchers.h"
#include "versions/python_version.h"

namespace ptpkg::versions {
namespace {

using test::FailsWith;
using test::IsOkAndHolds;
using ::testing::HasSubstr;

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
      {"1!2.3", {"x.x", "x"}, ">=1!2.3,<1!3.0a0"},
      {"3.11", {"x.x", "x.x"}, ">=3.11,<3.12.0a0"},
      {"1.2_3", {"x.x.x", "x.x.x"}, ">=1.2_3,<1.2_4.0a0"},
      {"1.2_3", {"x.x", "x.x"}, ">=1.2,<1.3.0a0"},
      {"1.2_3.4", {"x.x.x.x", "x.x.x.x"}, ">=1.2_3.4,<1.2_3.5.0a0"},
      {"1_2", {"x.x.x", "x.x.x"}, ">=1_2,<1_2.1.0a0"},
      {"1.2.3_4a", {"x.x.x.x", "x.x.x.x"}, ">=1.2.3_4a,<1.2.3_5a"},
      {"2!1.2_3", {"x.x.x", "x.x.x"}, ">=2!1.2_3,<2!1.2_4.0a0"},
      {"1.2a_3", {"x.x", "x.x.x"}, ">=1.2a,<1.2a_4.0a0"},
      {"1.0", {"", ""}, ""},
  };
  for (const auto& c : cases) {
    EXPECT_THAT(PinConstraint(c.version, c.bounds), IsOkAndHolds(std::string(c.expected))) << c.version;
  }
}

TEST(PinConstraint, DiffersWhereRattlerBuildExcludesWhatIsMeant) {
  // There ">=1.2+cu130": not the plain 1.2.
  EXPECT_THAT(PinConstraint("1.2.3+cu130", {"x.x", "x.x"}), IsOkAndHolds(std::string(">=1.2,<1.3.0a0")));
  // There "<1.2a2": below the version itself.
  EXPECT_THAT(PinConstraint("1.2rc1", {"x.x", "x.x"}), IsOkAndHolds(std::string(">=1.2rc1,<1.3a")));
  // There an error: a '_' at the end is part of the segment before it.
  EXPECT_THAT(PinConstraint("1.0.1_", {"x.x.x", "x.x.x"}), IsOkAndHolds(std::string(">=1.0.1_,<1.0.2a")));
}

TEST(PinConstraint, RefusesBadBoundsAndVersions) {
  EXPECT_THAT(PinConstraint("1.0", {"x.y", "x"}),
              FailsWith(ErrorCode::kInvalidInput, "'x.y' is not a bound of a pin"));
  EXPECT_THAT(PinConstraint("1.0", {"x", "xx"}),
              FailsWith(ErrorCode::kInvalidInput, "'xx' is not a bound of a pin"));
  EXPECT_THAT(PinConstraint("", {}), FailsWith(ErrorCode::kInvalidInput, HasSubstr("is not a version")));
  EXPECT_THAT(PinConstraint("1.rc", {"", "x.x"}),
              FailsWith(ErrorCode::kInvalidInput, "segment 'rc' of version '1.rc' cannot be incremented"));
}

TEST(PinConstraint, CountsUpWhatIsANumberOfAVersion) {
  EXPECT_THAT(PinConstraint("2147483646", {"", "x"}), IsOkAndHolds(std::string("<2147483647.0a0")));
  EXPECT_THAT(PinConstraint("2147483647", {"", "x"}),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("cannot be incremented")));
  EXPECT_THAT(PinConstraint("99999999999999999999", {"", "x"}),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("cannot be incremented")));
}

TEST(PythonMinor, DropsThePatchRelease) {
  EXPECT_THAT(PythonMinor("3.11"), IsOkAndHolds(std::string("3.11")));
  EXPECT_THAT(PythonMinor("3.11.7"), IsOkAndHolds(std::string("3.11")));
  for (const char* text : {"", "3", "3.", ".11", "3.x", "3.13t", "3.12.0rc1", "3.11.7.1", "3.11.*", " 3.11",
                           "3.99999", "03.11", "3.011"}) {
    EXPECT_THAT(PythonMinor(text), FailsWith(ErrorCode::kInvalidInput, HasSubstr("is not a Python version")))
        << text;
  }
}

TEST(PythonPin, EndsBeforeTheNextMinorVersion) {
  EXPECT_THAT(PythonPin("3.11"), IsOkAndHolds(std::string(">=3.11,<3.12.0a0")));
  EXPECT_THAT(PythonPin("3.11.7"), IsOkAndHolds(std::string(">=3.11,<3.12.0a0")));
  EXPECT_THAT(PythonPin("3.9"), IsOkAndHolds(std::string(">=3.9,<3.10.0a0")));
  EXPECT_THAT(PythonPin("3"), FailsWith(ErrorCode::kInvalidInput, HasSubstr("is not a Python version")));
}

}  // namespace
}  // namespace ptpkg::versions
