// The recipe as written: templates, conditions, places. Refused recipes: fixtures/recipes/errors.

#include "recipe/document/document.h"

#include <gtest/gtest.h>

#include "support/matchers.h"
#include "support/mem_fs.h"

namespace ptpkg::recipe {
namespace {

using ::ptpkg::test::FailsWith;
using ::ptpkg::test::HasHint;
using ::testing::HasSubstr;

const AbsPath kPath = AbsPath::Literal("/r/recipe.yaml");

Result<Document> ParseBody(const std::string& body) {
  return ParseDocument("package:\n  name: toy\n  version: \"1\"\n" + body, kPath);
}

const Expression& ExpressionAt(const Node& node, std::size_t piece) {
  return std::get<Expression>(node.text.pieces.at(piece));
}

TEST(ParseDocument, CutsTemplates) {
  ASSERT_OK_AND_ASSIGN(const Document document, ParseBody("about:\n  summary: a ${{ 1 }}-${{ 'b }}' }} c\n"));
  const Node& summary = *document.root.Find("about")->Find("summary");
  ASSERT_EQ(summary.text.pieces.size(), 5U);
  EXPECT_EQ(std::get<std::string>(summary.text.pieces[0]), "a ");
  EXPECT_EQ(std::get<std::string>(summary.text.pieces[2]), "-");
  EXPECT_EQ(std::get<std::string>(summary.text.pieces[4]), " c");
  EXPECT_EQ(summary.text.SoleExpression(), nullptr);
  EXPECT_FALSE(summary.text.IsLiteral());
  const SourceSpan& second = ExpressionAt(summary, 3).place().span;
  EXPECT_EQ(second.line, 5);
  EXPECT_EQ(second.column, 27);
  EXPECT_EQ(second.length, 6);
}

TEST(ParseDocument, FindsExpressionsInBlocksAndQuotes) {
  ASSERT_OK_AND_ASSIGN(
      const Document document,
      ParseBody(
          "build:\n  script: |\n    echo ${{ 1 }}\n\n    echo ${{ 2 }} ${{ 1 }}\nabout:\n  summary: \"x "
          "${{ 3 }}\"\n"
          "  license: \"\\\"${{ 4 }}\\\"\"\n  description: >-\n    folded\n    ${{ 5 }}\n"));
  const Node& script = *document.root.Find("build")->Find("script");
  EXPECT_EQ(ExpressionAt(script, 1).place().span.line, 6);
  EXPECT_EQ(ExpressionAt(script, 3).place().span.line, 8);
  EXPECT_EQ(ExpressionAt(script, 3).place().span.column, 14);
  EXPECT_EQ(ExpressionAt(script, 5).place().span.line, 8);
  EXPECT_EQ(ExpressionAt(script, 5).place().span.column, 23);
  const Node& about = *document.root.Find("about");
  EXPECT_EQ(ExpressionAt(*about.Find("summary"), 1).place().span.column, 19);
  EXPECT_TRUE(ExpressionAt(*about.Find("license"), 1).place().exact);
  EXPECT_EQ(ExpressionAt(*about.Find("description"), 1).place().span.line, 14);
}

TEST(ParseDocument, FindsAnExpressionInItsOwnScalar) {
  // The first text hides its expression behind an escape; the second one holds the same expression.
  ASSERT_OK_AND_ASSIGN(const Document document,
                       ParseBody("requirements:\n  run: [\"$\\x7b{ 1 }}\", \"${{ 1 }}\"]\n"));
  const Node& run = *document.root.Find("requirements")->Find("run");
  EXPECT_FALSE(ExpressionAt(std::get<Node>(run.items[0].value), 0).place().exact);
  const ExpressionPlace& second = ExpressionAt(std::get<Node>(run.items[1].value), 0).place();
  EXPECT_TRUE(second.exact);
  EXPECT_EQ(second.span.column, 29);
}

TEST(ParseDocument, ManyExpressionsOfOneBlockAreFoundInOnePass) {
  std::string body = "build:\n  script: |\n";
  for (int i = 0; i < 5'000; ++i) body += "    ${{ 1 }} ${{ 2 }}\n";
  ASSERT_OK_AND_ASSIGN(const Document document, ParseBody(body));
  const Node& script = *document.root.Find("build")->Find("script");
  const ExpressionPlace& last = ExpressionAt(script, script.text.pieces.size() - 2).place();
  EXPECT_EQ(last.span.line, 5'005);
  EXPECT_EQ(last.span.column, 18);
}

TEST(ParseDocument, PointsAtTheScalarWhenTheTemplateIsFolded) {
  ASSERT_OK_AND_ASSIGN(const Document document, ParseBody("about:\n  summary: a ${{ 1\n    + 2 }}\n"));
  const ExpressionPlace& place = ExpressionAt(*document.root.Find("about")->Find("summary"), 1).place();
  EXPECT_FALSE(place.exact);
  EXPECT_EQ(place.span.line, 5);
  EXPECT_EQ(place.span.column, 12);
}

TEST(ParseDocument, KeepsConditions) {
  ASSERT_OK_AND_ASSIGN(
      const Document document,
      ParseBody("requirements:\n  run:\n    - if: win\n      then:\n        - a\n        - if: osx\n"
                "          then: b\n      else: c\n    - d\n"));
  const Node& run = *document.root.Find("requirements")->Find("run");
  ASSERT_EQ(run.items.size(), 2U);
  const Conditional& first = std::get<Conditional>(run.items[0].value);
  ASSERT_EQ(first.then_items.size(), 2U);
  EXPECT_EQ(std::get<Node>(first.then_items[0].value).raw, "a");
  EXPECT_EQ(std::get<Conditional>(first.then_items[1].value).then_items.size(), 1U);
  ASSERT_EQ(first.else_items.size(), 1U);
  EXPECT_EQ(std::get<Node>(first.else_items[0].value).raw, "c");
  EXPECT_EQ(std::get<Node>(run.items[1].value).raw, "d");
}

TEST(ParseDocument, ChecksKeysOfBranchesThatNoVariantTakes) {
  EXPECT_THAT(ParseBody("tests:\n  - if: win\n    then:\n      - script: x\n      - pyton: {}\n"),
              FailsWith(ErrorCode::kInvalidInput, "unknown key 'pyton' in 'tests'"));
  EXPECT_THAT(
      ParseBody("requirements:\n  run:\n    - if: win\n      then: [[a]]\n"),
      FailsWith(ErrorCode::kInvalidInput, "expected text as an item of 'requirements.run', found a list"));
}

TEST(ParseDocument, RefusesConditionsOfTheWrongKind) {
  EXPECT_THAT(ParseBody("requirements:\n  run:\n    - if: [linux]\n      then: a\n"),
              FailsWith(ErrorCode::kInvalidInput, "expected a condition after 'if', found a list"));
  EXPECT_THAT(ParseBody("build:\n  script:\n    env: {A: [1]}\n"),
              FailsWith(ErrorCode::kInvalidInput, "expected text for 'build.script.env.A', found a list"));
  EXPECT_THAT(
      ParseBody("context:\n  a: {b: 1}\n"),
      FailsWith(ErrorCode::kInvalidInput, "expected text or a list for 'context.a', found a mapping"));
  EXPECT_THAT(ParseBody("context:\n  a: [[1]]\n"),
              FailsWith(ErrorCode::kInvalidInput, "expected a list of text for 'context.a', found a list"));
  EXPECT_THAT(ParseBody("extra: [1]\n"),
              FailsWith(ErrorCode::kInvalidInput, "expected a mapping for 'extra', found a list"));
  EXPECT_THAT(ParseBody("extra: {ptpkg: 1}\n"),
              FailsWith(ErrorCode::kInvalidInput, "expected a mapping for 'extra.ptpkg', found text"));
}

TEST(ParseDocument, LeavesOtherExtrasAlone) {
  EXPECT_OK(ParseBody("extra:\n  recipe-maintainers: [a, b]\n  anything: {deep: [{er: 1}]}\n"));
}

TEST(LoadDocument, SaysWhatToDoWithMetaYaml) {
  test::MemFs fs;
  fs.AddFile("/r/meta.yaml", "{% set version = '1' %}\n");
  const Result<Document> document = LoadDocument(fs, AbsPath::Literal("/r/meta.yaml"));
  EXPECT_THAT(document,
              FailsWith(ErrorCode::kUnsupported, HasSubstr("is a recipe in the old conda-build format")));
  EXPECT_THAT(document, HasHint(HasSubstr("migrate-recipe")));
}

TEST(LoadDocument, FailsOnFilesThatCannotBeRead) {
  test::MemFs fs;
  EXPECT_THAT(LoadDocument(fs, kPath), FailsWith(ErrorCode::kNotFound, HasSubstr("/r/recipe.yaml")));
  fs.AddFile("/r/recipe.yaml", std::string((1U << 20U) + 1, '#'));
  EXPECT_THAT(LoadDocument(fs, kPath), FailsWith(ErrorCode::kInvalidInput, HasSubstr("/r/recipe.yaml")));
  fs.AddFile("/r/recipe.yaml", "package: {}\n", 0);
  EXPECT_THAT(LoadDocument(fs, kPath), FailsWith(ErrorCode::kIo, HasSubstr("/r/recipe.yaml")));
}

}  // namespace
}  // namespace ptpkg::recipe
