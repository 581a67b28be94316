#include "wheel/metadata/record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>
#include <set>

#include "support/matchers.h"
#include "support/test_env.h"
#include "wheel/metadata/record_lines.h"

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

TEST(Record, LinesThatReadersCutDifferentlyAreFaults) {
  for (const char* const text : {"", "a,,\n", "a,,\r\nb,,\r\n", "a,,", "\"a b\",,\n"})
    EXPECT_TRUE(FindLineFaults(text, "RECORD").empty()) << text;
  for (const char* const text :
       {"\n", "a,,\n\n", "\na,,\n", "a,,\r\n\r\n", "a,,\rb,,\n", "a\f,,\n", "a\xc2\x85,,\n", "a\u2028,,\n"})
    EXPECT_EQ(FindLineFaults(text, "RECORD").size(), 1U) << text;
}

TEST(Record, NamesTheRowThatIsWrong) {
  const std::string good = "a,sha256=" + kDigest + ",0\n";
  for (const auto& [row, why] : std::initializer_list<std::pair<std::string, const char*>>{
           {"a,b\n", "2 fields"},
           {"a,,,\n", "4 fields"},
           {"../a,,\n", "row 2"},
           {"/etc/passwd,,\n", "row 2"},
           {"b,md5=xyz,0\n", "is not a sha256, sha384 or sha512 digest"},
           {"b,sha256=" + kDigest + "=,0\n", "is not a sha256, sha384 or sha512 digest"},
           {"b,sha512=" + kDigest + ",0\n", "is not a sha256, sha384 or sha512 digest"},
           {"b,,5\n", "is not a sha256, sha384 or sha512 digest"},
           {"b,sha256=" + kDigest + ",\n", "has no size beside it"},
           {"b/,,\n", "row 2"},
           {"b,sha256=" + kDigest + ",-1\n", "is not a size"},
           {"b,sha256=" + kDigest + ",99999999999999999999999\n", "is not a size"},
           {good, "'a' is listed twice"}}) {
    const Result<std::vector<RecordRow>> rows = ParseRecord(good + row, "x.dist-info/RECORD");
    ASSERT_FALSE(rows.has_value()) << row;
    EXPECT_EQ(rows.error().code(), ErrorCode::kInvalidInput);
    EXPECT_THAT(FormatError(rows.error()), HasSubstr(why)) << row;
  }
}

TEST(Record, StrongerDigestsAreReadAndHeldAgainstFiles) {
  // Of "abc": FIPS 180-2, appendices C.1 and D.1.
  const std::string sha512 =
      "sha512=3a81oZNherrMQXNJriBBMRLm-k6JqX6iCp7u5ktV05ohkpkqJ0_BqDa6PCOj_uu9RU1EI2Q86A4qmslPpUyknw";
  const std::string sha384 = "sha384=ywB1P0WjXou1oD1pmsZQBycsMqsO3tFjGotgWkP_W-2AhgcroefMI1i67KE0yCWn";
  const std::string text = "a," + sha512 + ",3\nb," + sha384 + ",3\nd/RECORD,,\n";
  ASSERT_OK_AND_ASSIGN(const std::vector<RecordRow> rows, ParseRecord(text, "RECORD"));
  EXPECT_EQ(FormatRecord(rows), text);
  test::TestEnv env;
  for (const auto& [name, content] : std::initializer_list<std::pair<const char*, const char*>>{
           {"right/a", "abc"}, {"right/b", "abc"}, {"wrong/a", "abd"}, {"wrong/b", "abd"}}) {
    env.dir().WriteFile(name, content);
  }
  for (const bool right : {true, false}) {
    const AbsPath root = env.dir() / (right ? "right" : "wrong");
    ASSERT_OK_AND_ASSIGN(const StagedTree tree, ScanTree(env, root));
    ASSERT_EQ(tree.entries.size(), 2U);
    for (std::size_t i = 0; i < 2; ++i) {
      EXPECT_TRUE(rows[i].HasDigest());
      EXPECT_THAT(FitsRow(env->fs, root, tree.entries[i], rows[i]), IsOkAndHolds(right));
    }
  }
}

TEST(Record, FaultsAreOfKinds) {
  using Kind = RecordFault::Kind;
  const std::string right = "sha256=" + kDigest + ",0\n";
  ASSERT_OK_AND_ASSIGN(
      const RecordReading reading,
      ReadRecord("a," + right + "b,c\nd,sha256=AAAA,0\ne,md5=1B2M2Y8AsgTpgAmY7PhCfg,0\n../f,,\na," + right +
                     "g," + right + "h,sha256=" + kDigest + ",x\n",
                 "RECORD"));
  std::vector<std::pair<Kind, std::string>> faults;
  for (const RecordFault& fault : reading.faults) faults.emplace_back(fault.kind, fault.path);
  EXPECT_THAT(faults, ElementsAre(testing::Pair(Kind::kForm, ""), testing::Pair(Kind::kDigest, "d"),
                                  testing::Pair(Kind::kAlgorithm, "e"), testing::Pair(Kind::kPath, "../f"),
                                  testing::Pair(Kind::kRepeated, "a"), testing::Pair(Kind::kForm, "h")));
  EXPECT_THAT(reading.rows, ElementsAre(RecordRow{"a", kDigest, 0}, RecordRow{"a", kDigest, 0},
                                        RecordRow{"g", kDigest, 0}));
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
