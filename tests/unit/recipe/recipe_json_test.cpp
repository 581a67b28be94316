#include "recipe/recipe_json.h"

#include <gtest/gtest.h>

#include "recipe/document/yaml_text.h"
#include "recipe/expression/evaluate_recipe.h"
#include "support/matchers.h"
#include "support/text/json.h"
#include "support/text/yaml.h"
#include "unit/recipe/fake_variants.h"

namespace ptpkg::recipe {
namespace {

constexpr const char* kRecipe = R"(package: {name: toy, version: "1.0"}
source:
  - {path: src, target_directory: a, patches: [p.patch]}
build:
  number: 3
  noarch: python
  script: {content: [a, "b: c"], env: {X: "1"}}
  files: {include: [x/**], exclude: [y]}
  python: {entry_points: ["t = a:b"], version_independent: true}
  prefix_detection: {ignore_binary_files: true}
  variant: {down_prioritize_variant: 1}
requirements:
  host: [python]
  run: [python >=3.9, "other 1.* *_0"]
  run_exports: {strong: [s]}
  ignore_run_exports: {by_name: [i]}
tests:
  - python: {imports: [toy], pip_check: false, python_version: ["3.10.*", "*"]}
  - script: toy --version
    requirements: {run: [pytest], build: [cmake]}
    files: {source: [a], recipe: [b]}
  - perl: {uses: [Toy]}
  - r: {libraries: [toy]}
  - ruby: {requires: [toy]}
  - package_contents: {lib: [toy]}
about: {license: MIT, summary: "yes"}
extra: {ptpkg: {formats: [wheel, zip], zip: {name: toy, root: a, top: b, files: c, exclude: d, texts: {e: f}}, allow_empty: true, memory_per_job: 2 GB, wheel: {name: Toy}, layouts: {conda: [{files: "*", rpath: []}]}}}
)";

class RecipeJsonTest : public ::testing::Test {
 protected:
  Result<Recipe> Read(const std::string& text) {
    PTPKG_TRY(const Document document, ParseDocument(text, AbsPath::Literal("/r/recipe.yaml")));
    PTPKG_TRY(Evaluation evaluation,
              Evaluate(document, {"linux-64", variants_, environment_, "1234567", "", {}}));
    return std::move(evaluation.recipe);
  }

  test::FakeVariants variants_;
  std::map<std::string, std::string> environment_;
};

TEST_F(RecipeJsonTest, SlicesAreThoseOfTheVariant) {
  const std::string slices =
      "{gpus: [9.0, 8.6+8.0], ptx: keep, compact: true, allow: n, variant: true, cuda: 13.0}";
  const std::string package = "package: {name: toy, version: \"1\"}\nextra: {ptpkg: {slices: ";
  ASSERT_OK_AND_ASSIGN(const Recipe recipe, Read(package + slices + "}}\n"));
  const Json written = RecipeToJson(recipe);
  EXPECT_EQ(written["extra"]["ptpkg"]["slices"],
            Json::parse(R"({"gpus": ["9.0", "8.0+8.6"], "ptx": "keep", "compact": true, "allow": ["n"],
                            "variant": true, "cuda": "13.0"})"));
  ASSERT_OK_AND_ASSIGN(const Recipe again, Read(YamlText(written)));
  EXPECT_EQ(RecipeToJson(again), written);
  ASSERT_OK_AND_ASSIGN(const Recipe none, Read(package + "[]}}\n"));
  EXPECT_FALSE(RecipeToJson(none).contains("extra"));
}

TEST_F(RecipeJsonTest, IsARecipeThatSaysTheSame) {
  ASSERT_OK_AND_ASSIGN(const Recipe recipe, Read(kRecipe));
  const std::string rendered = YamlText(RecipeToJson(recipe));
  SCOPED_TRACE(rendered);
  ASSERT_OK_AND_ASSIGN(const Recipe again, Read(rendered));
  EXPECT_EQ(RecipeToJson(again), RecipeToJson(recipe));
  EXPECT_EQ(again.script.lines, recipe.script.lines);
  EXPECT_EQ(again.requirements.run, recipe.requirements.run);
  EXPECT_EQ(again.about.summary, "yes");
  EXPECT_TRUE(again.python_version_independent);
}

/// A reader's view of YAML as JSON; every scalar is text.
Json Texts(const YamlNode& node) {
  if (node.kind == YamlNode::Kind::kScalar) return node.scalar;
  Json json = node.kind == YamlNode::Kind::kSequence ? Json::array() : Json::object();
  for (const YamlNode& item : node.items) json.push_back(Texts(item));
  for (const YamlEntry& entry : node.entries) json[entry.key] = Texts(entry.value);
  return json;
}

TEST(SourcesToJson, WritesDownTheCommitOfWhatMoves) {
  const auto shown = [](GitSource git) {
    git.url = "u";
    return SourcesToJson({{.git = std::move(git)}})[0].dump();
  };
  EXPECT_EQ(shown({.branch = "main"}), R"({"branch":"main","git":"u"})");
  EXPECT_EQ(shown({.branch = "main", .commit = "c"}), R"({"expected_commit":"c","git":"u","rev":"c"})");
  EXPECT_EQ(shown({.commit = "c"}), R"({"expected_commit":"c","git":"u","rev":"c"})");
  EXPECT_EQ(shown({.tag = "v1", .commit = "c"}), R"({"expected_commit":"c","git":"u","tag":"v1"})");
  EXPECT_EQ(shown({.rev = "r", .depth = 2, .lfs = true, .submodules = false}),
            R"({"depth":2,"git":"u","lfs":true,"rev":"r","submodules":false})");
}

TEST(SourcesToJson, NamesNobodyWhoMayFetchThem) {
  const auto shown = [](Source source) { return SourcesToJson({std::move(source)})[0].dump(); };
  EXPECT_EQ(shown({.urls = {"https://token@host/a.tgz?x=1@2", "https://host/b@c.tgz"}}),
            R"({"url":["https://host/a.tgz?x=1@2","https://host/b@c.tgz"]})");
  EXPECT_EQ(shown({.git = {.url = "https://token@host/a.git"}}), R"({"git":"https://host/a.git"})");
}

TEST(YamlText, IsReadBackAsItWas) {
  const Json value = {
      {"a",
       {{"b",
         {"x", "y: z", "- q", "#", "", "  lead", "trail ", "line\nbreak", "\xc3\xbc", "\"", "'", "{", "~"}},
        {"empty", "no"}}},
      {"list", {{{"k", "1"}, {"l", {"m", "n"}}}, {"nested", "list"}, {{"only", {{"deep", "er"}}}}}},
      {"key with: colon", "C:\\path"}};
  const std::string text = YamlText(value);
  SCOPED_TRACE(text);
  ASSERT_OK_AND_ASSIGN(const YamlNode node, ParseYaml(text, "test"));
  EXPECT_EQ(Texts(node), value);
}

TEST(YamlText, QuotesWhatOtherReadersTakeForNumbersAndBooleans) {
  EXPECT_EQ(YamlText(Json{
                {"a", "1.0"}, {"b", "yes"}, {"c", "No"}, {"d", true}, {"e", 2}, {"f", "python >=3.9,<4"}}),
            "a: \"1.0\"\nb: \"yes\"\nc: \"No\"\nd: true\ne: 2\nf: python >=3.9,<4\n");
  EXPECT_EQ(YamlText(Json::array()), "[]\n");
}

}  // namespace
}  // namespace ptpkg::recipe
