#include "support/text/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/digest/stream.h"
#include "support/limits.h"
#include "support/matchers.h"
#include "support/text/csv.h"
#include "support/text/json.h"

namespace ptpkg::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Text, SplitAndJoin) {
  EXPECT_THAT(Split("", ','), ElementsAre(""));
  EXPECT_THAT(Split("a,,b,", ','), ElementsAre("a", "", "b", ""));
  EXPECT_THAT(SplitLines("a\r\nb\n\nc"), ElementsAre("a", "b", "", "c"));
  EXPECT_THAT(SplitLines("a\n"), ElementsAre("a"));
  EXPECT_THAT(SplitLines(""), IsEmpty());
  EXPECT_EQ(Join(std::vector<std::string>{"a", "", "b"}, ", "), "a, , b");
  EXPECT_EQ(Join(std::vector<std::string>{}, ", "), "");
}

TEST(Text, TrimLowerReplace) {
  EXPECT_EQ(Trim(" \t\r\n a b \f\v"), "a b");
  EXPECT_EQ(Trim(" \n"), "");
  EXPECT_EQ(ToLower("AbC-\xC3\x89"), "abc-\xC3\x89");  // ASCII only
  EXPECT_EQ(ReplaceAll("aaa", "aa", "b"), "ba");
  EXPECT_EQ(ReplaceAll("a.b", ".", ".."), "a..b");  // what was put in is not looked at again
  EXPECT_EQ(ReplaceAll("abc", "", "x"), "abc");
}

TEST(GlobMatch, ComponentsAndTrees) {
  const std::vector<std::pair<std::string, std::string>> matches = {{"*.so", "a.so"},
                                                                    {"*.so*", "a.so.1"},
                                                                    {"lib/*.so", "lib/a.so"},
                                                                    {"**/*.so", "a.so"},
                                                                    {"**/*.so", "x/y/a.so"},
                                                                    {"lib/**", "lib/a/b"},
                                                                    {"a?c", "abc"},
                                                                    {"[abc].h", "b.h"},
                                                                    {"[a-c].h", "c.h"},
                                                                    {"[!a-c].h", "d.h"},
                                                                    {"*", ".hidden"},
                                                                    {"", ""},
                                                                    {"a**b", "axx/yyb"},
                                                                    {"[", "["},
                                                                    {"[]]", "]"}};
  for (const auto& [pattern, path] : matches) EXPECT_TRUE(GlobMatch(pattern, path)) << pattern << " " << path;
  const std::vector<std::pair<std::string, std::string>> misses = {
      {"*.so", "lib/a.so"}, {"lib/*", "lib/a/b"}, {"a?c", "a/c"}, {"[!a].h", "a.h"}, {"[!a]b", "/b"},
      {"*.so", "a.so.1"},   {"a", "ab"},          {"ab", "a"},    {"", "a"},         {"**/b", "ab"}};
  for (const auto& [pattern, path] : misses) EXPECT_FALSE(GlobMatch(pattern, path)) << pattern << " " << path;
}

TEST(GlobMatch, TheNameOfADirectoryMeansAllBelowIt) {
  for (const char* glob : {"tests", "tests/", "tests//", "tests/a/*.txt"})
    EXPECT_TRUE(GlobOrDirectoryMatch(glob, "tests/a/b.txt")) << glob;
  for (const char* glob : {"test", "a", "tests/b", ""})
    EXPECT_FALSE(GlobOrDirectoryMatch(glob, "tests/a/b.txt")) << glob;
}

TEST(GlobMatch, StarsAreFollowedAllAtOnce) {
  // Trying one way after the other would take longer than the age of the universe.
  std::string pattern;
  for (int i = 0; i < 40; ++i) pattern += "*a";
  EXPECT_FALSE(GlobMatch(pattern + "b", std::string(400, 'a')));
  EXPECT_TRUE(GlobMatch(pattern, std::string(400, 'a')));
  pattern.clear();
  for (int i = 0; i < 200; ++i) pattern += "**/";
  std::string path;
  for (int i = 0; i < 200; ++i) path += "d/";
  EXPECT_TRUE(GlobMatch(pattern + "x", path + "x"));
  EXPECT_TRUE(GlobMatch(pattern + "x", "x"));
  EXPECT_FALSE(GlobMatch(pattern + "x", path + "y"));
}

TEST(GlobMatch, StarsNextToEachOther) {
  EXPECT_TRUE(GlobMatch("a/**/b", "a/b"));
  EXPECT_TRUE(GlobMatch("a/**/b", "a/x/y/b"));
  EXPECT_FALSE(GlobMatch("a/**/b", "a/xb"));
  EXPECT_FALSE(GlobMatch("**/a", "xa"));
  EXPECT_TRUE(GlobMatch("***", "a/b"));
  EXPECT_TRUE(GlobMatch("a*/**/*.so", "ab/c.so"));
  EXPECT_TRUE(GlobMatch("**", ""));
  EXPECT_TRUE(GlobMatch("[!/]", "a"));
  EXPECT_FALSE(GlobMatch("[!a]", "/"));
  EXPECT_FALSE(GlobMatch("*", "a/b"));
}

TEST(NearestMatch, LooksAtWordsOnly) {
  // A name of a hostile recipe may be as long as its file.
  const std::string word(1'000'000, 'a');
  const std::vector<std::string> candidates(100, word + "b");
  EXPECT_EQ(NearestMatch(word, candidates), std::nullopt);
}

TEST(NearestMatch, FindsSlipsOnly) {
  const std::vector<std::string> keys = {"version", "build", "source", "about"};
  EXPECT_EQ(NearestMatch("versoin", keys), "version");
  EXPECT_EQ(NearestMatch("sorce", keys), "source");
  EXPECT_EQ(NearestMatch("biuld", keys), "build") << "two neighbours in each other's place";
  EXPECT_EQ(NearestMatch("bu", keys), std::nullopt);
  EXPECT_EQ(NearestMatch("requirements", keys), std::nullopt);
  EXPECT_EQ(NearestMatch("x", keys), std::nullopt);
  EXPECT_EQ(NearestMatch("version", {}), std::nullopt);
}

TEST(ParseBytes, ReadsWhatPeopleWrite) {
  EXPECT_EQ(ParseBytes("100000"), 100'000U);
  EXPECT_EQ(ParseBytes("500M"), 500'000'000U);
  EXPECT_EQ(ParseBytes("1.5 GiB"), 1'610'612'736U);
  EXPECT_EQ(ParseBytes("3 GB"), 3'000'000'000U);
  for (const char* bad : {"", "G", "-1G", "1 ", "1  GB", "1 gb", "1e3", "1GBs", "9999999T", "nan", "inf"})
    EXPECT_EQ(ParseBytes(bad), std::nullopt) << bad;
}

TEST(HumanBytes, PowersOfThousand) {
  EXPECT_EQ(HumanBytes(0), "0 B");
  EXPECT_EQ(HumanBytes(999), "999 B");
  EXPECT_EQ(HumanBytes(1000), "1.0 kB");
  EXPECT_EQ(HumanBytes(1'234'567), "1.2 MB");
  EXPECT_EQ(HumanBytes(999'999), "1.0 MB");
  EXPECT_EQ(HumanBytes(UINT64_MAX), "18.4 EB");
}

TEST(Csv, WritesAsPythonDoes) {
  EXPECT_EQ(FormatCsvRow({"a", "sha256=x", "1"}), "a,sha256=x,1\n");
  EXPECT_EQ(FormatCsvRow({"a,b", "say \"hi\"", "two\nlines", ""}),
            "\"a,b\",\"say \"\"hi\"\"\",\"two\nlines\",\n");
}

TEST(Csv, ReadsBackWhatItWrote) {
  const std::vector<CsvRow> rows = {
      {"plain", "", "x"}, {"c,omma", "q\"uote", "line\nbreak"}, {"\r", "\"", ",,"}};
  std::string text;
  for (const CsvRow& row : rows) text += FormatCsvRow(row);
  EXPECT_THAT(ParseCsv(text, "RECORD"), IsOkAndHolds(rows));
}

TEST(Csv, AcceptsForeignLineBreaksAndNoLastOne) {
  EXPECT_THAT(ParseCsv("a,b\r\nc,d", "RECORD"),
              IsOkAndHolds(ElementsAre(CsvRow{"a", "b"}, CsvRow{"c", "d"})));
  EXPECT_THAT(ParseCsv("", "RECORD"), IsOkAndHolds(IsEmpty()));
  EXPECT_THAT(ParseCsv("a,\n\nb,\n", "RECORD"), IsOkAndHolds(ElementsAre(CsvRow{"a", ""}, CsvRow{"b", ""})));
}

TEST(Csv, DamageNamesTheLine) {
  const Result<std::vector<CsvRow>> open = ParseCsv("a,b\nc,\"d\ne", "RECORD");
  ASSERT_THAT(open, FailsWith(ErrorCode::kCorrupt, HasSubstr("never closed")));
  ASSERT_TRUE(open.error().span().has_value());
  EXPECT_EQ(open.error().span()->line, 2);
  EXPECT_EQ(open.error().span()->file, "RECORD");
  const Result<std::vector<CsvRow>> after = ParseCsv("\"a\nb\"\n\"c\"d\n", "RECORD");
  ASSERT_THAT(after, FailsWith(ErrorCode::kCorrupt, HasSubstr("closing quote")));
  EXPECT_EQ(after.error().span()->line, 3);
}

TEST(Csv, RowsComeOneAtATime) {
  int rows = 0;
  const auto stop = [&](const CsvRow& row) -> Result<void> {
    ++rows;
    return row[0] == "b" ? Result<void>(Error(ErrorCode::kInvalidInput, "enough")) : Ok();
  };
  EXPECT_THAT(ReadCsv("a,\nb,\nc,\n", "RECORD", stop), FailsWith(ErrorCode::kInvalidInput, "enough"));
  EXPECT_EQ(rows, 2);
  EXPECT_THAT(ParseCsv(std::string(100, ','), "RECORD"),
              FailsWith(ErrorCode::kCorrupt, HasSubstr("more than 64 fields")));
}

TEST(Json, DumpsSortedWithFinalLineBreak) {
  const Result<Json> json = ParseJson(R"({"b": [1, "\u00e9"], "a": null})", "x.json");
  ASSERT_OK(json);
  EXPECT_EQ(DumpJson(*json), "{\n  \"a\": null,\n  \"b\": [\n    1,\n    \"\xC3\xA9\"\n  ]\n}\n");
}

TEST(Json, DumpsAsPythonForHashes) {
  const Result<Json> json = ParseJson(
      "{\"b\": [1, true, {}], \"a\": \"\xC3\xA9\xF0\x9F\x90\x8D\\\"\\n\\u007f\", \"c\": []}", "x.json");
  ASSERT_OK(json);
  // python3 -c 'import json; print(json.dumps(…, sort_keys=True))'
  EXPECT_EQ(DumpJsonPython(*json),
            "{\"a\": \"\\u00e9\\ud83d\\udc0d\\\"\\n\\u007f\", \"b\": [1, true, {}], \"c\": []}");
}

TEST(Json, ErrorsNameThePlace) {
  const Result<Json> broken = ParseJson("{\n  \"a\": ,\n}", "x.json");
  ASSERT_THAT(broken, FailsWith(ErrorCode::kInvalidInput, HasSubstr("x.json")));
  ASSERT_TRUE(broken.error().span().has_value());
  EXPECT_EQ(broken.error().span()->line, 2);
  EXPECT_EQ(broken.error().span()->column, 8);
  EXPECT_EQ(broken.error().span()->excerpt, "  \"a\": ,");
  EXPECT_THAT(ParseJson("{\"a\": 1, \"a\": 2}", "x.json"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("'a' occurs twice")));
  EXPECT_THAT(ParseJson("[{\"k\": 1}, {\"k\": {\"k\": 2}}]", "x.json"), IsOk());
  for (const char* text : {"", "{", "nul", "[1,]", "{} {}", "\"\xFF\"", "\"\\ud800\"", "-", "\xEF\xBB"}) {
    EXPECT_THAT(ParseJson(text, "x.json"), FailsWith(ErrorCode::kInvalidInput, HasSubstr("x.json"))) << text;
  }
}

TEST(Json, LimitsDepth) {
  const auto nested = [](std::size_t depth, char open, char close) {
    return std::string(depth, open) + std::string(depth, close);
  };
  EXPECT_THAT(ParseJson(nested(limits::kJsonDepth, '[', ']'), "x.json"), IsOk());
  EXPECT_THAT(ParseJson(nested(limits::kJsonDepth + 1, '[', ']'), "x.json"),
              FailsWith(ErrorCode::kInvalidInput, "x.json is nested deeper than 64 levels"));
  // As deep as ended the process before there was a limit.
  EXPECT_THAT(ParseJson(nested(10'000'000, '[', ']'), "x.json"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("deeper")));
  std::string objects;
  for (std::size_t i = 0; i <= limits::kJsonDepth; ++i) objects += "{\"a\":";
  EXPECT_THAT(ParseJson(objects, "x.json"), FailsWith(ErrorCode::kInvalidInput, HasSubstr("deeper")));
}

TEST(Json, LimitsValues) {
  const JsonLimits limits{.depth = 9, .values = 5};  // keys count
  EXPECT_THAT(ParseJson("[1, 2, 3, 4]", "x.json", limits), IsOk());
  EXPECT_THAT(ParseJson(R"({"a": 1, "b": 2})", "x.json", limits), IsOk());
  for (const char* text : {"[1, 2, 3, 4, 5]", "[[], [], {}, [], []]", R"({"a": 1, "b": 2, "c": 3})"}) {
    EXPECT_THAT(ParseJson(text, "x.json", limits),
                FailsWith(ErrorCode::kInvalidInput, "x.json holds more than 5 values"));
  }
}

TEST(Json, BuildsWhatTheLibraryBuilds) {
  const std::string text =
      R"({"a": [1, -2, 18446744073709551615, 1.5e3, true, false, null, "x", [], {}], "b": {"c": [{"d": "é"}]}})";
  const Result<Json> json = ParseJson(text, "x.json");
  ASSERT_OK(json);
  EXPECT_EQ(*json, Json::parse(text));
  EXPECT_TRUE(json->at("a").at(2).is_number_unsigned());
  EXPECT_THAT(ParseJson("1e999", "x.json"), FailsWith(ErrorCode::kInvalidInput, HasSubstr("x.json")));
  EXPECT_THAT(ParseJson(" 7 ", "x.json"), IsOkAndHolds(Json(7)));
}

TEST(Json, TypedAccess) {
  const Result<Json> parsed =
      ParseJson(R"({"s": "x", "n": 3, "l": ["a"], "z": null, "m": ["a", 1], "f": 1.5})", "x.json");
  ASSERT_OK(parsed);
  const Json& json = *parsed;
  EXPECT_THAT(JsonString(json, "s", "x.json"), IsOkAndHolds(std::string("x")));
  EXPECT_THAT(JsonString(json, "n", "x.json"),
              FailsWith(ErrorCode::kInvalidInput, "'n' in x.json must be text"));
  EXPECT_THAT(JsonString(json, "none", "x.json"),
              FailsWith(ErrorCode::kInvalidInput, "'none' is missing in x.json"));
  EXPECT_THAT(JsonString(json["l"], "s", "x.json"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("missing")));
  EXPECT_THAT(JsonInteger(json, "n", "x.json"), IsOkAndHolds(3));
  EXPECT_THAT(JsonInteger(json, "f", "x.json"), FailsWith(ErrorCode::kInvalidInput, HasSubstr("integer")));
  EXPECT_THAT(JsonInteger(json, "none", "x.json"), FailsWith(ErrorCode::kInvalidInput, HasSubstr("missing")));
  EXPECT_THAT(JsonStringOr(json, "z", "d", "x.json"), IsOkAndHolds(std::string("d")));
  EXPECT_THAT(JsonStringOr(json, "none", "d", "x.json"), IsOkAndHolds(std::string("d")));
  EXPECT_THAT(JsonStringOr(json, "l", "d", "x.json"), FailsWith(ErrorCode::kInvalidInput, HasSubstr("'l'")));
  EXPECT_THAT(JsonStringsOr(json, "l", {}, "x.json"), IsOkAndHolds(ElementsAre("a")));
  EXPECT_THAT(JsonStringsOr(json, "none", {"d"}, "x.json"), IsOkAndHolds(ElementsAre("d")));
  EXPECT_THAT(JsonStringsOr(json, "m", {}, "x.json"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("list of texts")));
  EXPECT_THAT(JsonStringsOr(json, "s", {}, "x.json"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("list of texts")));
}

TEST(Stream, PumpMovesAllAndStopsAtErrors) {
  const std::string text(3'000'000, 'x');
  StringSource source(text);
  StringSink sink;
  EXPECT_THAT(Pump(source, sink), IsOkAndHolds(text.size()));
  EXPECT_EQ(sink.str().size(), text.size());
  class Broken final : public ByteSource, public ByteSink {
   public:
    Result<std::size_t> Read(MutableBytes) override { return Error(ErrorCode::kIo, "cannot read"); }
    Result<void> Write(Bytes) override { return Error(ErrorCode::kIo, "cannot write"); }
  } broken;
  EXPECT_THAT(Pump(broken, sink), FailsWith(ErrorCode::kIo, "cannot read"));
  StringSource again("x");
  EXPECT_THAT(Pump(again, broken), FailsWith(ErrorCode::kIo, "cannot write"));
}

}  // namespace
}  // namespace ptpkg::test
