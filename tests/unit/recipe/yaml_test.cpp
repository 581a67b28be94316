// ParseYaml: places, quoting, and everything that it refuses.

#include "support/text/yaml.h"

#include <gtest/gtest.h>

#include "support/limits.h"
#include "support/matchers.h"

namespace ptpkg {
namespace {

using ::ptpkg::test::FailsWith;
using ::ptpkg::test::HasHint;
using ::testing::HasSubstr;

YamlNode Parse(std::string_view text) {
  Result<YamlNode> node = ParseYaml(text, "f.yaml");
  EXPECT_OK(node);
  return node ? *std::move(node) : YamlNode{};
}

TEST(ParseYaml, KeepsTextAndQuoting) {
  const YamlNode root = Parse("a: 1.10\nb: \"1.10\"\nc: '1.10'\nd: |\n  1.10\n");
  ASSERT_EQ(root.kind, YamlNode::Kind::kMapping);
  ASSERT_EQ(root.entries.size(), 4U);
  EXPECT_EQ(root.Find("a")->scalar, "1.10");
  EXPECT_TRUE(root.Find("a")->plain);
  EXPECT_EQ(root.Find("b")->scalar, "1.10");
  EXPECT_FALSE(root.Find("b")->plain);
  EXPECT_FALSE(root.Find("c")->plain);
  EXPECT_EQ(root.Find("d")->scalar, "1.10\n");
  EXPECT_FALSE(root.Find("d")->plain);
  EXPECT_EQ(root.Find("e"), nullptr);
}

TEST(ParseYaml, NamesTheKinds) {
  const YamlNode root = Parse("a: ~\nb: x\nc: []\nd: {}\ne: null\nf:\n");
  EXPECT_STREQ(root.Find("a")->KindName(), "nothing");
  EXPECT_STREQ(root.Find("b")->KindName(), "text");
  EXPECT_STREQ(root.Find("c")->KindName(), "a list");
  EXPECT_STREQ(root.Find("d")->KindName(), "a mapping");
  EXPECT_EQ(root.Find("e")->kind, YamlNode::Kind::kNull);
  EXPECT_EQ(root.Find("f")->kind, YamlNode::Kind::kNull);
}

TEST(ParseYaml, PlacesEveryNode) {
  const YamlNode root = Parse("package:\n  name: toy\n  list: [one, \"two \\\" x\", 'it''s']\n");
  const YamlNode* package = root.Find("package");
  EXPECT_EQ(root.entries[0].key_span, (SourceSpan{"f.yaml", 1, 1, 7, "package:"}));
  EXPECT_EQ(package->Find("name")->span, (SourceSpan{"f.yaml", 2, 9, 3, "  name: toy"}));
  const YamlNode* list = package->Find("list");
  const std::string line = "  list: [one, \"two \\\" x\", 'it''s']";
  EXPECT_EQ(list->span, (SourceSpan{"f.yaml", 3, 9, 1, line}));
  EXPECT_EQ(list->items[0].span, (SourceSpan{"f.yaml", 3, 10, 3, line}));
  EXPECT_EQ(list->items[1].span, (SourceSpan{"f.yaml", 3, 15, 10, line}));
  EXPECT_EQ(list->items[1].scalar, "two \" x");
  EXPECT_EQ(list->items[2].span, (SourceSpan{"f.yaml", 3, 27, 7, line}));
  EXPECT_EQ(list->items[2].scalar, "it's");
}

TEST(ParseYaml, PointsAtTheKeyOfAMissingValue) {
  const YamlNode root = Parse("about:\n\n\nbuild: {}\n");
  EXPECT_EQ(root.Find("about")->span, (SourceSpan{"f.yaml", 1, 1, 5, "about:"}));
}

TEST(ParseYaml, CountsColumnsInBytesAfterOtherAlphabets) {
  const YamlNode root = Parse("a: [é, x]\n");
  EXPECT_EQ(root.Find("a")->items[1].span.column, 9);
}

TEST(ParseYaml, ReadsWindowsLinesAndAByteOrderMark) {
  const YamlNode root = Parse(
      "\xEF\xBB\xBF"
      "a: 1\r\nb: 2\r\n");
  EXPECT_EQ(root.Find("a")->span, (SourceSpan{"f.yaml", 1, 4, 1, "a: 1"}));
  EXPECT_EQ(root.Find("b")->scalar, "2");
}

TEST(ParseYaml, AnEmptyTextIsNothing) {
  EXPECT_EQ(Parse("").kind, YamlNode::Kind::kNull);
  EXPECT_EQ(Parse("# only a comment\n").kind, YamlNode::Kind::kNull);
  EXPECT_EQ(Parse("---\n").kind, YamlNode::Kind::kNull);
}

struct BadCase {
  const char* text;
  ErrorCode code;
  const char* message;
  int line;
  int column;
};

TEST(ParseYaml, RefusesWithAPlace) {
  const BadCase cases[] = {
      {"a: 1\na: 2\n", ErrorCode::kInvalidInput, "key 'a' is given twice", 2, 1},
      {"a: {b: 1, b: 2}\n", ErrorCode::kInvalidInput, "key 'b' is given twice", 1, 11},
      {"[a]: 1\n", ErrorCode::kInvalidInput, "a mapping key must be text", 1, 1},
      {"? {a: 1}\n: 2\n", ErrorCode::kInvalidInput, "a mapping key must be text", 1, 3},
      {"~: 1\n", ErrorCode::kInvalidInput, "a mapping key must be text", 1, 1},
      {"a: &x 1\nb: *x\n", ErrorCode::kUnsupported, "YAML anchors and aliases are not supported", 1, 4},
      {"a: !!str 1\n", ErrorCode::kUnsupported, "YAML tags are not supported", 1, 4},
      {"a: !mine {}\n", ErrorCode::kUnsupported, "YAML tags are not supported", 1, 4},
      {"a: 1\n---\nb: 2\n", ErrorCode::kInvalidInput, "text after the end of the YAML document", 2, 1},
      {"a: \"x\nb: 2\n", ErrorCode::kInvalidInput, "text without its closing quote", 1, 4},
      {"a: 'x\nb: 2\n", ErrorCode::kInvalidInput, "text without its closing quote", 1, 4},
      {"a: \x01\n", ErrorCode::kInvalidInput, "control character 0x01 in YAML text", 1, 4},
      {"a: 1\n  \x04 b\n", ErrorCode::kInvalidInput, "control character 0x04 in YAML text", 2, 3},
      {"a: \xff\n", ErrorCode::kInvalidInput, "byte 0xff is not part of UTF-8 text", 1, 4},
      {"a: \xc0\xaf\n", ErrorCode::kInvalidInput, "byte 0xc0 is not part of UTF-8 text", 1, 4},
      {"a: \xed\xa0\x80\n", ErrorCode::kInvalidInput, "byte 0xed is not part of UTF-8 text", 1, 4},
      {"a: \xf4\x90\x80\x80\n", ErrorCode::kInvalidInput, "byte 0xf4 is not part of UTF-8 text", 1, 4},
      {"a: \xe2\x82", ErrorCode::kInvalidInput, "byte 0xe2 is not part of UTF-8 text", 1, 4},
  };
  for (const BadCase& bad : cases) {
    SCOPED_TRACE(bad.text);
    const Result<YamlNode> node = ParseYaml(bad.text, "f.yaml");
    ASSERT_THAT(node, FailsWith(bad.code, bad.message));
    ASSERT_TRUE(node.error().span().has_value());
    EXPECT_EQ(node.error().span()->line, bad.line);
    EXPECT_EQ(node.error().span()->column, bad.column);
  }
}

TEST(ParseYaml, ReportsSyntaxErrorsOfTheParser) {
  const Result<YamlNode> open = ParseYaml("a: [1, 2\n", "f.yaml");
  EXPECT_THAT(open, FailsWith(ErrorCode::kInvalidInput, HasSubstr("invalid YAML: ")));
  EXPECT_EQ(open.error().span()->line, 1);
  EXPECT_THAT(ParseYaml("a:\n\tb: 1\n", "f.yaml"), HasHint("indent with spaces, not tabs"));
}

TEST(ParseYaml, LimitsDepth) {
  const std::string deep = std::string(64, '[') + std::string(64, ']');
  EXPECT_OK(ParseYaml(deep, "f.yaml"));
  EXPECT_THAT(ParseYaml("[" + deep + "]", "f.yaml"),
              FailsWith(ErrorCode::kInvalidInput, "YAML nested deeper than 64 levels"));
  EXPECT_THAT(ParseYaml(std::string(10000, '[') + std::string(10000, ']'), "f.yaml"),
              FailsWith(ErrorCode::kInvalidInput, "YAML nested deeper than 64 levels"));
}

TEST(ParseYaml, NodesShareTheLineTheyStandOn) {
  // Each node had a copy: 40 KB of recipe took 1.6 GB.
  std::string text = "a: [";
  for (int i = 0; i < 20'000; ++i) text += "x,";
  text += "]\n";
  const YamlNode root = Parse(text);
  const std::vector<YamlNode>& items = root.Find("a")->items;
  ASSERT_EQ(items.size(), 20'000U);
  EXPECT_EQ(items.back().span.excerpt.view().data(), items.front().span.excerpt.view().data());
  EXPECT_EQ(items.back().span.file.view().data(), items.front().span.file.view().data());
}

TEST(ParseYaml, LimitsTheNumberOfNodes) {
  std::string text;
  for (std::size_t i = 0; i < limits::kYamlNodes; ++i) text += "- x\n";
  const Result<YamlNode> list = ParseYaml(text, "f.yaml");
  ASSERT_THAT(list, FailsWith(ErrorCode::kInvalidInput, "YAML with more than 100000 values"));
  EXPECT_TRUE(list.error().span().has_value());
  std::string keys;  // each compared with each before: 200,000 keys took minutes
  for (std::size_t i = 0; i < limits::kYamlNodes / 2 - 1; ++i) keys += std::to_string(i) + ": x\n";
  EXPECT_OK(ParseYaml(keys, "f.yaml"));
  EXPECT_THAT(ParseYaml(keys + "7: x\n", "f.yaml"), HasHint("the first one is on line 8"));
}

TEST(ParseYaml, SurvivesEveryPrefixOfARecipe) {
  const std::string text =
      "package:\n  name: \"to\\\"y\"\n  list: [a, 'b', {c: d}]\nscript: |\n  make\n# end\nabout: >-\n  x\n";
  for (std::size_t length = 0; length <= text.size(); ++length) {
    const Result<YamlNode> node = ParseYaml(text.substr(0, length), "f.yaml");
    if (node) continue;
    ASSERT_TRUE(node.error().span().has_value()) << length;
    const SourceSpan& span = *node.error().span();
    EXPECT_GE(span.length, 1);
    EXPECT_LE(span.column, static_cast<int>(span.excerpt.size()) + 1) << length;
  }
}

}  // namespace
}  // namespace ptpkg
