// conda's order of versions.

#include <vector>

#include "support/matchers.h"
#include "versions/conda_version.h"

namespace ptpkg::versions {
namespace {

using test::FailsWith;
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

TEST(CompareVersions, IsTotalOverAnyText) {
  for (const char* text : {"", "..", "!", "+", "1!!2", "a b", "\n", "\xff", "1++2", "_"}) {
    EXPECT_EQ(CompareVersions(text, text), std::strong_ordering::equal) << text;
  }
  EXPECT_EQ(CompareVersions("..", "1"), std::strong_ordering::less);
}

Version Parse(std::string_view text) {
  Result<Version> version = Version::Parse(text);
  EXPECT_OK(version);
  return version ? *std::move(version) : *Version::Parse("0");
}

TEST(Version, EqualWhateverTheSpelling) {
  EXPECT_EQ(Parse("1.1"), Parse("1.1.0"));
  EXPECT_EQ(Parse("1.A"), Parse("1.a"));
  EXPECT_EQ(Parse("1_2"), Parse("1.2"));
  EXPECT_EQ(Parse("0!1"), Parse("1"));
  EXPECT_NE(Parse("1.1"), Parse("1.1.1"));
}

TEST(Version, RefusesWhatIsNone) {
  for (const char* text : {"", "1..2", ".1", "1.", "1 2", "a!1", "1!2!3", "1+a+b", "1+", "1:2", "1-2_3", "_",
                           "1+_1", "1+1_", "\xc3\xa9"}) {
    EXPECT_THAT(Version::Parse(text), FailsWith(ErrorCode::kInvalidInput, HasSubstr("is not a version")))
        << text;
  }
}

TEST(Version, IsWhatWasWritten) {
  EXPECT_EQ(Parse(" 1.0RC1 ").str(), "1.0RC1");
  EXPECT_EQ(Parse("1__").str(), "1__");
  EXPECT_EQ(Version(), Parse("0"));
}

TEST(Version, StartsWithAsCondaDoes) {
  const struct {
    const char* version;
    const char* prefix;
    bool starts;
  } cases[] = {
      {"3.11.4", "3.11", true}, {"3.11", "3.11.0", true},    {"3.11.4", "3.1", false},
      {"2.0b1", "2.0", true},   {"2.0.b1", "2.0", true},     {"2.1b1", "2.0", false},
      {"1.2bc", "1.2b", true},  {"1.2b", "1.2bc", false},    {"1.2dev1", "1.2d", false},
      {"1.2dev1", "1.2", true}, {"1.2post1", "1.2", true},   {"1!1.2", "1.2", false},
      {"1!1.2", "1!1", true},   {"1.2+a.1", "1.2", true},    {"1.2+a.1", "1.2+a", true},
      {"1.2", "1.2+a", false},  {"1.2.1+a", "1.2+a", false}, {"1.20", "1.2", false},
      {"1", "1.0.0", true},     {"1", "1.0.1", false},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(Parse(c.version).StartsWith(Parse(c.prefix)), c.starts) << c.version << " " << c.prefix;
  }
}

}  // namespace
}  // namespace ptpkg::versions
