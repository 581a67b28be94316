#include "wheel/record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>
#include <set>

#include "support/matchers.h"

namespace ptpkg::wheel {
namespace {

using test::FailsWith;
using test::IsOk;
using test::IsOkAndHolds;

using testing::ElementsAre;
using testing::HasSubstr;

const std::string kDigest = "47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU";  // of nothing

TEST(Record, ReadsBothLineEnds) {
  EXPECT_THAT(ParseRecord("a.py,sha256=" + kDigest + ",0\r\nd/RECORD,,\r\n", "RECORD"),
              IsOkAndHolds(ElementsAre(RecordRow{"a.py", kDigest, 0}, RecordRow{"d/RECORD", "", 0})));
  EXPECT_THAT(ParseRecord("a.py,sha256=" + kDigest + ",7\n\nd/RECORD,,", "RECORD"),
              IsOkAndHolds(ElementsAre(RecordRow{"a.py", kDigest, 7}, RecordRow{"d/RECORD", "", 0})));
}

// read(write(x)) = x for names made of the characters that CSV, paths and shells trip over.
TEST(Record, AnyNameSurvivesTheRoundTrip) {
  constexpr std::uint32_t kSeed = 20260820;
  std::mt19937 random(kSeed);
  const std::vector<std::string> pieces = {",",      "\"", "\n", "\r", "\r\n", "'", " ", "a",
                                           "RECORD", "é",  "/x", ";",  "\t",   "=", "\\"};
  for (int round = 0; round < 500; ++round) {
    std::vector<RecordRow> rows;
    std::set<std::string> names;
    for (int i = 0; i < 5; ++i) {
      std::string name = "n";
      for (int j = 0; j < 6; ++j) name += pieces[random() % pieces.size()];
      if (names.insert(name).second) rows.push_back({name, kDigest, random()});
    }
    rows.push_back({"d.dist-info/RECORD", "", 0});
    EXPECT_THAT(ParseRecord(FormatRecord(rows), "RECORD"), IsOkAndHolds(rows))
        << "seed " << kSeed << ", round " << round;
  }
}

TEST(Record, NamesTheRowThatIsWrong) {
  const std::string good = "a,sha256=" + kDigest + ",0\n";
  for (const auto& [row, why] : std::initializer_list<std::pair<std::string, const char*>>{
           {"a,b\n", "2 fields"},
           {"a,,,\n", "4 fields"},
           {"../a,,\n", "row 2"},
           {"/etc/passwd,,\n", "row 2"},
           {"b,md5=xyz,0\n", "is not a sha256 digest"},
           {"b,sha256=" + kDigest + "=,0\n", "is not a sha256 digest"},
           {"b,,5\n", "is not a sha256 digest"},
           {"b,sha256=" + kDigest + ",\n", "is not a size"},
           {"b,sha256=" + kDigest + ",-1\n", "is not a size"},
           {"b,sha256=" + kDigest + ",99999999999999999999999\n", "is not a size"},
           {good, "'a' is listed twice"}}) {
    const Result<std::vector<RecordRow>> rows = ParseRecord(good + row, "x.dist-info/RECORD");
    ASSERT_FALSE(rows.has_value()) << row;
    EXPECT_EQ(rows.error().code(), ErrorCode::kInvalidInput);
    EXPECT_THAT(FormatError(rows.error()), HasSubstr(why)) << row;
  }
}

TEST(Record, AnOpenQuoteIsCorrupt) {
  EXPECT_THAT(ParseRecord("\"a,,\n", "RECORD"), FailsWith(ErrorCode::kCorrupt, HasSubstr("quote")));
}

TEST(Record, OnlyItselfAndItsSignaturesMayLackADigest) {
  EXPECT_TRUE(MayLackDigest("a-1.dist-info/RECORD", "a-1.dist-info"));
  EXPECT_TRUE(MayLackDigest("a-1.dist-info/RECORD.p7s", "a-1.dist-info"));
  EXPECT_FALSE(MayLackDigest("a-1.dist-info/RECORDS", "a-1.dist-info"));
  EXPECT_FALSE(MayLackDigest("a/RECORD", "a-1.dist-info"));
}

}  // namespace
}  // namespace ptpkg::wheel
