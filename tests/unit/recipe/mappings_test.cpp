// Mappings, files that a recipe loads, and tables of rows by version.

#include <gtest/gtest.h>

#include "recipe/document/data_files.h"
#include "recipe/expression/expression.h"
#include "recipe/expression/functions.h"
#include "support/matchers.h"
#include "support/mem_fs.h"
#include "support/text/json.h"
#include "unit/recipe/fake_variants.h"

namespace ptpkg::recipe {
namespace {

using ::ptpkg::test::FailsWith;
using ::ptpkg::test::FakeVariants;
using ::ptpkg::test::HasHint;
using ::testing::HasSubstr;

constexpr const char* kTable = R"(
rows:
  - versions: ">=1.1,<1.2"
    python: ">=3.5"
    switches: {numa: {"default": ""}, mkldnn: {"on": NO_MKLDNN=0, "off": NO_MKLDNN=1}}
    old: true
  - versions: ">=1.2,<2.0"
    switches: {numa: {"on": USE_NUMA=1}, mkldnn: {"on": USE_MKLDNN=1}}
    old: null
  - versions: ">=2.0,<2.1"
    python: [a, b]
count: 3
number: 1.10
nothing:
flag: true
)";

class MappingsTest : public ::testing::Test {
 protected:
  MappingsTest() {
    fs_.AddFile("/r/table.yaml", kTable);
    fs_.AddFile("/r/more/table.json", R"({"a": [1, 2.5, null, {"b": "c"}], "yes": true})");
    fs_.AddFile("/r/words.txt", "one\ntwo\n");
    fs_.AddFile("/beside.yml", "a: 1\n");
    scope_.SetDataFiles(&files_);
  }

  Result<Value> Evaluate(const std::string& text) {
    PTPKG_TRY(const Expression expression, Expression::Parse(text, {SourceSpan{"f", 1, 1, 1, text}, true}));
    return expression.Evaluate(scope_);
  }
  std::string Show(const std::string& text) {
    const Result<Value> value = Evaluate(text);
    return value ? value->ToJson().dump() : "error: " + value.error().message();
  }

  test::MemFs fs_;
  DataFiles files_{fs_, AbsPath::Literal("/r")};
  FakeVariants variants_;
  std::map<std::string, std::string> environment_;
  Scope scope_{"linux-64", variants_, environment_};
};

TEST_F(MappingsTest, FilesAreValues) {
  const std::pair<const char*, const char*> cases[] = {
      {"load_from_file('table.yaml').count", "3"},
      {"load_from_file('table.yaml').number", R"("1.10")"},
      {"load_from_file('table.yaml').nothing", "null"},
      {"load_from_file('table.yaml').flag", "true"},
      {"load_from_file('./table.yaml')['rows'] | length", "3"},
      {"load_from_file('more/table.json')", R"({"a":[1,2.5,null,{"b":"c"}],"yes":true})"},
      {"load_from_file('more/table.json').a[-1].b", R"("c")"},
      {"load_from_file('words.txt') | split", R"(["one","two"])"},
      {"load_from_file('../beside.yml').a", "1"},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(Show(text), expected) << text;
  EXPECT_EQ(scope_.loads(), (std::set<std::string>{"../beside.yml", "./table.yaml", "more/table.json",
                                                   "table.yaml", "words.txt"}));
}

TEST_F(MappingsTest, KeysMethodsAndFilters) {
  scope_.Define("m", Value(Value::Map{{"b", Value(std::int64_t{2})}, {"a", Value("x")}}));
  scope_.Define("none_of_it", Value(Value::Map()));
  const std::pair<const char*, const char*> cases[] = {
      {"m.a", R"("x")"},
      {"m['b'] + 1", "3"},
      {"m.get('a')", R"("x")"},
      {"m.get('c')", "null"},
      {"m.get('c', 7)", "7"},
      {"m.keys()", R"(["a","b"])"},
      {"m.values()", R"(["x",2])"},
      {"m.items()", R"([["a","x"],["b",2]])"},
      {"'a' in m and 'c' not in m", "true"},
      {"12 not in m", "true"},
      {"m | length", "2"},
      {"m | list", R"(["a","b"])"},
      {"m | join(',')", R"("a,b")"},
      {"m == m and m != none_of_it", "true"},
      {"'full' if m else 'empty'", R"("full")"},
      {"'full' if none_of_it else 'empty'", R"("empty")"},
      {"m.c | default('d')", R"("d")"},
      {"m['c'] | default('d')", R"("d")"},
      {"m.a | default('d')", R"("x")"},
      {"[m, m] | length", "2"},
      {"m.a.split('x')", R"(["",""])"},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(Show(text), expected) << text;
}

TEST_F(MappingsTest, WordsOfAList) {
  scope_.Define(
      "m", Value(Value::Map{{"Hopper", Value("9.0")}, {"Ampere", Value("8.0;8.6")}, {"x", Value(true)}}));
  scope_.Define("long", Value(Value::Map{{"a", Value(std::string(600'000, 'x'))}}));
  const std::pair<const char*, const char*> cases[] = {
      {"'Hopper' | replace_words(m)", R"("9.0")"},
      {"'7.5; Ampere Hopper,Hopper+PTX' | replace_words(m)", R"("7.5; 8.0;8.6 9.0,Hopper+PTX")"},
      {"'HopperAmpere;' | replace_words(m)", R"("HopperAmpere;")"},
      {"'' | replace_words(m)", R"("")"},
      {"9.0 | replace_words(m)", R"("9.0")"},
      {"'a' | replace_words('b')", "error: 'replace_words' takes a mapping, not text"},
      {"'a;a' | replace_words(long)", "error: the value grows above 1 MiB"},
      {"m | replace_words(m)", "error: a mapping cannot be put into text"},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(Show(text), expected) << text;
}

TEST_F(MappingsTest, RefusesWhatIsNotThere) {
  fs_.AddFile("/r/broken.yaml", "a: [1\n");
  fs_.AddFile("/r/broken.json", "{");
  fs_.AddFile("/r/data.toml", "a = 1\n");
  fs_.AddFile("/r/large.yaml", std::string((1U << 20U) + 1, ' '));
  scope_.Define("m", Value(Value::Map{{"mkldnn", Value("x")}}));
  const std::pair<const char*, const char*> cases[] = {
      {"m.mkldn", "the mapping has no key 'mkldn'"},
      {"m['other']", "the mapping has no key 'other'"},
      {"'x'.upper", "text has no '.upper'"},
      {"m ~ 'x'", "a mapping cannot be put into text"},
      {"m + m", "'+' does not work on a mapping and a mapping"},
      {"'x'.get('a')", "'.get()' works on a mapping, not on text"},
      {"m.get()", "'.get()' takes 1 or 2 arguments without names"},
      {"m.keys(1)", "'.keys()' takes no arguments without names"},
      {"load_from_file('/r/table.yaml')", "'/r/table.yaml' is not relative to the recipe"},
      {"load_from_file('large.yaml')", "'large.yaml' is larger than 1 MiB"},
      {"load_from_file(3)", "load_from_file() takes text, not a number"},
  };
  for (const auto& [text, message] : cases) {
    EXPECT_THAT(Evaluate(text), FailsWith(ErrorCode::kInvalidInput, message)) << text;
  }
  EXPECT_THAT(Evaluate("m.mkldn"), HasHint("did you mean 'mkldnn'?"));
  EXPECT_THAT(Evaluate("m.x"),
              HasHint("its keys are mkldnn; .get(key, default) takes one that may be missing"));
  EXPECT_THAT(Evaluate("load_from_file('data.toml')"),
              FailsWith(ErrorCode::kUnsupported, "'data.toml': TOML files are not supported"));
  EXPECT_EQ(Evaluate("load_from_file('missing.yaml')").error().code(), ErrorCode::kNotFound);
  EXPECT_THAT(FormatError(Evaluate("load_from_file('broken.yaml')").error()), HasSubstr("/r/broken.yaml:"));
  EXPECT_THAT(FormatError(Evaluate("load_from_file('broken.json')").error()), HasSubstr("/r/broken.json:"));
  Scope bare{"linux-64", variants_, environment_};
  EXPECT_THAT(bare.Load("table.yaml"),
              FailsWith(ErrorCode::kInvalidInput, "load_from_file() is not available here"));
}

TEST_F(MappingsTest, ARowHasWhatTheRowsAboveItSay) {
  const std::string row = "row_for(load_from_file('table.yaml').rows, '";
  const std::pair<const char*, const char*> cases[] = {
      {"1.1.0').switches.mkldnn.off", R"("NO_MKLDNN=1")"},
      {"1.1.0').get('old')", "true"},
      {"1.2.0').switches.mkldnn", R"({"off":"NO_MKLDNN=1","on":"USE_MKLDNN=1"})"},
      {"1.2.0').switches.numa", R"({"default":"","on":"USE_NUMA=1"})"},
      {"1.2.0').get('old')", "null"},
      {"1.2.0').python", R"(">=3.5")"},
      {"1.13.* *_x').versions", R"(">=1.2,<2.0")"},
      {"2.0.1').python", R"(["a","b"])"},
      {"2.0.1').switches.numa.on", R"("USE_NUMA=1")"},
      {"2.0.0rc1').versions", R"(">=2.0,<2.1")"},
      {"1.2.0a0').versions", R"(">=1.2,<2.0")"},
      {"2.0.0.dev20221201+cu117').versions", R"(">=2.0,<2.1")"},
      {"1.2.0.post1').versions", R"(">=1.2,<2.0")"},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(Show(row + text), expected) << text;
}

TEST_F(MappingsTest, RowsAndFilesCountAsMuchAsTheyHold) {
  std::string table = "- versions: '*'\n";
  for (int i = 0; i < 10'000; ++i) table += "  key" + std::to_string(i) + ": value\n";
  fs_.AddFile("/r/wide.yaml", table);
  Result<Value> last = Evaluate("load_from_file('wide.yaml')");
  ASSERT_OK(last);
  int rows = 0;
  while (last && rows < 200) {
    last = Evaluate("row_for(load_from_file('wide.yaml'), '1')");
    ++rows;
  }
  EXPECT_THAT(last, FailsWith(ErrorCode::kInvalidInput, HasSubstr("grow above 64 MiB")));
  EXPECT_GT(rows, 5);
}

TEST_F(MappingsTest, ANumberTooLargeKeepsItsDigits) {
  fs_.AddFile("/r/number.json", R"({"a": 18446744073709551615, "b": 9223372036854775807})");
  EXPECT_EQ(Show("load_from_file('number.json').a"), R"("18446744073709551615")");
  EXPECT_EQ(Show("load_from_file('number.json').b"), "9223372036854775807");
}

TEST_F(MappingsTest, AVersionOutsideTheTableIsRefused) {
  for (const char* version : {"1.0.1", "2.1.0", "2.1.0a0", "2.16"}) {
    const auto row = Evaluate(std::string("row_for(load_from_file('table.yaml').rows, '") + version + "')");
    ASSERT_FALSE(row.has_value());
    EXPECT_EQ(row.error().message(),
              "version '" + std::string(version) +
                  "' is outside the table, which has rows for >=1.1,<1.2 to >=2.0,<2.1");
    EXPECT_THAT(row, HasHint("add a row with its 'versions' to the table, or choose a version that it has"));
  }
  EXPECT_EQ(Show("row_for([], '1')"), "error: row_for() takes a list of rows, not an empty one");
  EXPECT_EQ(Show("row_for('x', '1')"), "error: row_for() takes a list of rows, not text");
  EXPECT_EQ(Show("row_for([1], '1')"), "error: a row of the table is a number, not a mapping");
  scope_.Define("m", Value(Value::Map{{"a", Value("x")}}));
  EXPECT_EQ(Show("row_for([m], '1')"), "error: a row of the table has no 'versions'");
}

}  // namespace
}  // namespace ptpkg::recipe
