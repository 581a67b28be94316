// The matrix: which variants, in which order, with which hash.

#include <gtest/gtest.h>

#include "recipe/native_build.h"
#include "support/matchers.h"
#include "support/mem_fs.h"
#include "support/text/json.h"
#include "support/text/text.h"
#include "variant/render_json.h"
#include "variant/render_variants.h"

namespace ptpkg::variant {
namespace {

using ::ptpkg::test::FailsWith;
using ::ptpkg::test::HasHint;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class RenderTest : public ::testing::Test {
 protected:
  Result<std::vector<recipe::Recipe>> RenderBody(const std::string& body, const std::string& variants = "") {
    fs_.AddFile("/r/recipe.yaml", "package:\n  name: toy\n  version: \"1.0\"\n" + body);
    if (!variants.empty()) fs_.AddFile("/r/variants.yaml", variants);
    return Render(fs_, kPath, options_);
  }
  /// The value of `key` in each recipe, in order; "-" where it is not used.
  static std::vector<std::string> Values(const Result<std::vector<recipe::Recipe>>& recipes,
                                         const std::string& key) {
    std::vector<std::string> values;
    if (!recipes) return {"error: " + recipes.error().message()};
    for (const recipe::Recipe& recipe : *recipes) {
      const auto found = recipe.variant.find(key);
      values.push_back(found == recipe.variant.end() ? "-" : found->second);
    }
    return values;
  }

  const AbsPath kPath = AbsPath::Literal("/r/recipe.yaml");
  test::MemFs fs_;
  RenderOptions options_;
};

TEST_F(RenderTest, OneRecipeWithoutVariants) {
  ASSERT_OK_AND_ASSIGN(const auto recipes, RenderBody(""));
  ASSERT_EQ(recipes.size(), 1U);
  EXPECT_EQ(recipes[0].hash, "b0f4dca");
  EXPECT_EQ(*recipes[0].hash_input, Json({{"target_platform", "linux-64"}}));
  EXPECT_EQ(recipes[0].FileStem(), "toy-1.0-hb0f4dca_0");
}

TEST_F(RenderTest, AFileOfCondaBuildBesideTheRecipeIsRead) {
  fs_.AddFile("/r/conda_build_config.yaml", "flavour:\n  - sweet  # [linux]\n  - sour   # [win]\n");
  const std::string body = "build: {variant: {use_keys: [flavour]}}\n";
  ASSERT_OK_AND_ASSIGN(const auto recipes, RenderBody(body));
  ASSERT_EQ(recipes.size(), 1U);
  EXPECT_EQ(recipes[0].variant.at("flavour"), "sweet");
  ASSERT_OK_AND_ASSIGN(const auto newer, RenderBody(body, "flavour: [salty]\n"));
  EXPECT_EQ(newer[0].variant.at("flavour"), "salty");
}

TEST_F(RenderTest, DetectedVersionsComeWhenTheToolsAreKnown) {
  const std::string body =
      "build: {string: \"cuda${{ detected('cuda_toolkit') | replace('.', '') }}_0\"}\n"
      "requirements: {build: [\"${{ compiler('cuda') }}\"]}\n";
  const std::string variants = "cuda_compiler_version: [\"13.0\", \"13.5\"]\n";
  ASSERT_OK_AND_ASSIGN(const auto first, RenderBody(body, variants));
  ASSERT_EQ(first.size(), 2U) << "both are named 0.0.0 for now";
  EXPECT_EQ(first[0].build_string, "cuda000_0");
  EXPECT_THAT(first[0].detects, ElementsAre("cuda_toolkit"));
  options_.detected = std::map<std::string, std::string>{{"cuda_toolkit", "13.0.88"}};
  ASSERT_OK_AND_ASSIGN(const auto second, RenderBody(body, variants));
  EXPECT_EQ(second[0].build_string, "cuda13088_0");
  EXPECT_EQ(second[0].hash, first[0].hash);
}

TEST_F(RenderTest, DetectedIsRefusedWhereNothingIsKnown) {
  const auto in_script = RenderBody("build: {script: \"${{ detected('cudnn') }}\"}\n");
  EXPECT_THAT(in_script, FailsWith(ErrorCode::kInvalidInput, HasSubstr("only allowed in 'build.string'")));
  EXPECT_THAT(RenderBody("build: {string: \"${{ detected('gcc') }}\"}\n"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("'gcc' is not a version that ptpkg detects")));
  EXPECT_THAT(RenderBody("build: {string: \"${{ detected() }}\"}\n"),
              FailsWith(ErrorCode::kInvalidInput, ::testing::_));
  options_.detected.emplace();
  EXPECT_THAT(
      RenderBody("build: {string: \"${{ detected('nccl') }}\"}\n"),
      FailsWith(ErrorCode::kInvalidInput, HasSubstr("no tool of this build provides the version of 'nccl'")));
}

TEST_F(RenderTest, OnlyUsedKeysUnfold) {
  const std::string variants = "python: [\"3.11\", \"3.12\"]\nunused: [1, 2, 3]\n";
  EXPECT_THAT(Values(RenderBody("", variants), "python"), ElementsAre("-"));
  EXPECT_THAT(Values(RenderBody("requirements: {run: [python]}\n", variants), "python"), ElementsAre("-"));
  EXPECT_THAT(Values(RenderBody("requirements: {host: [python]}\n", variants), "python"),
              ElementsAre("3.11", "3.12"));
  EXPECT_THAT(Values(RenderBody("requirements: {host: [python >=3.8]}\n", variants), "python"),
              ElementsAre("-"));
  EXPECT_THAT(
      Values(RenderBody("build: {number: \"${{ 1 if python == '3.11' else 0 }}\"}\n", variants), "python"),
      ElementsAre("3.11", "3.12"));
}

TEST_F(RenderTest, MatrixOrderIsThatOfTheFiles) {
  const auto recipes = RenderBody("requirements: {host: [b, a]}\n", "a: [2, 1]\nb: [\"9\", \"8\"]\n");
  EXPECT_THAT(Values(recipes, "a"), ElementsAre("2", "2", "1", "1"));
  EXPECT_THAT(Values(recipes, "b"), ElementsAre("9", "8", "9", "8"));
}

TEST_F(RenderTest, ZipKeysMoveTogetherEvenIfFoundLate) {
  // `b` is read only where a is 1, and must keep to a's row.
  const auto recipes = RenderBody("requirements:\n  host:\n    - a\n    - ${{ 'b' if a == '1' }}\n",
                                  "a: [\"1\", \"2\", \"1\"]\nb: [\"7\", \"8\", \"9\"]\nzip_keys: [a, b]\n");
  EXPECT_THAT(Values(recipes, "a"), ElementsAre("1", "2", "1"));
  EXPECT_THAT(Values(recipes, "b"), ElementsAre("7", "-", "9"));
}

TEST_F(RenderTest, EqualVariantsAreOne) {
  const auto recipes =
      RenderBody("requirements: {host: [a]}\n", "a: [1, 1, 2]\nb: [1, 2, 3]\nzip_keys: [a, b]\n");
  EXPECT_THAT(Values(recipes, "a"), ElementsAre("1", "2"));
}

TEST_F(RenderTest, KeysThatOnlySomeVariantsRead) {
  const auto recipes =
      RenderBody("requirements:\n  host:\n    - if: gpu\n      then: cuda\n      else: blas\n",
                 "gpu: [true, false]\ncuda: [\"12\", \"13\"]\nblas: [\"2\", \"3\"]\n");
  EXPECT_THAT(Values(recipes, "gpu"), ElementsAre("true", "true", "false", "false"));
  EXPECT_THAT(Values(recipes, "cuda"), ElementsAre("12", "13", "-", "-"));
  EXPECT_THAT(Values(recipes, "blas"), ElementsAre("-", "-", "2", "3"));
}

TEST_F(RenderTest, AlwaysHashesTheChannels) {
  ASSERT_OK_AND_ASSIGN(const auto recipes, RenderBody("", "channel_targets: [conda-forge main]\n"));
  ASSERT_EQ(recipes.size(), 1U);
  EXPECT_EQ(recipes[0].hash, "a770c72");
}

TEST_F(RenderTest, NoarchPythonLeavesPythonOut) {
  ASSERT_OK_AND_ASSIGN(const auto recipes,
                       RenderBody("build: {noarch: python}\nrequirements: {host: [python]}\n",
                                  "python: [\"3.11\", \"3.12\"]\n"));
  ASSERT_EQ(recipes.size(), 1U);
  EXPECT_EQ(recipes[0].build_string, "pyh4616a5c_0");
  EXPECT_EQ(recipes[0].subdir, "noarch");
}

TEST_F(RenderTest, SkippedVariantsComeBackMarked) {
  const auto recipes =
      RenderBody("build:\n  skip: match(python, \"<3.10\")\nrequirements: {host: [python, numpy]}\n",
                 "python: [\"3.9\", \"3.11\"]\nnumpy: [\"1\", \"2\"]\n");
  EXPECT_THAT(Values(recipes, "python"), ElementsAre("3.9", "3.11", "3.11"));
  ASSERT_OK(recipes);
  EXPECT_TRUE((*recipes)[0].skip);
  EXPECT_FALSE((*recipes)[1].skip);
  EXPECT_EQ(RenderedToJson((*recipes)[0])["file_stem"], Json(nullptr));
}

TEST_F(RenderTest, UseAndIgnoreKeys) {
  const auto recipes =
      RenderBody("build: {variant: {use_keys: [abi], ignore_keys: [zlib]}}\nrequirements: {host: [zlib]}\n",
                 "abi: [0, 1]\nzlib: [\"1\", \"2\"]\n");
  EXPECT_THAT(Values(recipes, "abi"), ElementsAre("0", "1"));
  EXPECT_THAT(Values(recipes, "zlib"), ElementsAre("-", "-"));
}

TEST_F(RenderTest, TheBuildScriptGetsTheKeysOfWhatMakesTheFiles) {
  // No text that the native build can search mentions the key, as when a script of the sources reads it.
  const auto kept = [&](const std::string& body) {
    const auto recipes = RenderBody(body, "fla-vour: [sweet]\nother: [1]\n");
    if (!recipes) return recipes.error().message();
    const recipe::Recipe native = recipe::NativeBuildOf(recipes->front(), {}).recipe;
    std::vector<std::string> keys;
    for (const auto& [key, value] : native.variant) keys.push_back(key);
    return Join(keys, " ");
  };
  const std::string both = "fla_vour target_platform";
  EXPECT_EQ(kept("build: {variant: {use_keys: [fla-vour]}}\n"), both);
  EXPECT_EQ(kept("build: {script: {content: a, env: {A: \"${{ fla_vour }}\"}}}\n"), both);
  EXPECT_EQ(kept("build: {string: \"${{ fla_vour }}\"}\n"), both);
  EXPECT_EQ(kept("build: {files: [\"${{ fla_vour }}\"]}\n"), both);
  EXPECT_EQ(kept("context: {x: \"${{ fla_vour }}\"}\n"), both);
  EXPECT_EQ(kept("source: {path: \"${{ fla_vour }}\"}\n"), both);
  EXPECT_EQ(kept("source: [{if: fla_vour == 'sweet', then: {path: a}}]\n"), both);
  EXPECT_EQ(kept("requirements: {build: [\"x-${{ fla_vour }}\"]}\n"), both);
  EXPECT_EQ(kept("requirements: {host: [fla-vour]}\n"), both);
  EXPECT_EQ(kept("requirements: {host: [other]}\n"), "other target_platform");
  // One native build for all values of these.
  const std::string none = "target_platform";
  EXPECT_EQ(kept("requirements: {run: [\"x-${{ fla_vour }}\"]}\n"), none);
  EXPECT_EQ(kept("tests: [{script: \"${{ fla_vour }}\"}]\n"), none);
  EXPECT_EQ(kept("about: {summary: \"${{ fla_vour }}\"}\n"), none);
  EXPECT_EQ(kept("extra: {ptpkg: {wheel: {name: \"${{ fla_vour }}\"}}}\n"), none);
  EXPECT_EQ(kept("build: {skip: fla_vour == 'sour'}\n"), none);
  EXPECT_EQ(kept("build: {variant: {use_keys: [fla_vour], ignore_keys: [fla_vour]}}\n"), none);
}

TEST_F(RenderTest, SelectKeepsValuesOfAKey) {
  const std::string body = "requirements: {host: [a, b-b]}\n";
  const std::string variants = "a: [1, 2, 3]\nb-b: [\"8\", \"9\"]\n";
  options_.select = {{"a", {"1", "3"}}, {"b-b", {"9"}}};
  const auto recipes = RenderBody(body, variants);
  EXPECT_THAT(Values(recipes, "a"), ElementsAre("1", "3"));
  EXPECT_THAT(Values(recipes, "b_b"), ElementsAre("9", "9"));
  options_.select = {{"pyton", {"1"}}};
  EXPECT_THAT(RenderBody(body, variants), FailsWith(ErrorCode::kUsage, "no variant has the key 'pyton'"));
  EXPECT_THAT(RenderBody(body, variants), HasHint("the keys are a, b_b, target_platform"));
  options_.select = {{"target_platfrm", {"1"}}};
  EXPECT_THAT(RenderBody(body, variants), HasHint("did you mean 'target_platform'?"));
  options_.select = {{"a", {"4"}}};
  EXPECT_THAT(RenderBody(body, variants),
              FailsWith(ErrorCode::kUsage, "no variant has the value '4' of 'a'"));
  EXPECT_THAT(RenderBody(body, variants), HasHint("the values are 1, 2, 3"));
}

TEST_F(RenderTest, OnlySelectedVariantsAreJudged) {
  const std::string body = "build: {script: \"${{ 'ok' if a != 2 else fail('no switch in 2') }}\"}\n";
  const std::string variants = "a: [1, 2, 3]\n";
  options_.select = {{"a", {"1", "3"}}};
  EXPECT_THAT(Values(RenderBody(body, variants), "a"), ElementsAre("1", "3"));
  // A value whose variant is refused is a known value all the same.
  options_.select = {{"a", {"4"}}};
  EXPECT_THAT(RenderBody(body, variants), HasHint("the values are 1, 2, 3"));
  options_.select = {{"a", {"2"}}};
  EXPECT_THAT(RenderBody(body, variants), FailsWith(ErrorCode::kInvalidInput, HasSubstr("no switch in 2")));
  options_.select = {};
  EXPECT_THAT(RenderBody(body, variants), FailsWith(ErrorCode::kInvalidInput, HasSubstr("no switch in 2")));
  // Refused for every value: the selected one too.
  options_.select = {{"a", {"1"}}};
  EXPECT_THAT(RenderBody("build: {script: \"${{ fail('never') }}\"}\nrequirements: {host: [a]}\n", variants),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("never")));
}

TEST_F(RenderTest, OnlySelectedVariantsNeedNamesOfTheirOwn) {
  const std::string body =
      "requirements: {host: [a]}\nbuild: {string: \"${{ 'one' if a == 1 else 'other' }}\"}\n";
  const std::string variants = "a: [1, 2, 3]\n";
  EXPECT_THAT(RenderBody(body, variants),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("both be named 'toy-1.0-other'")));
  options_.select = {{"a", {"2", "3"}}};
  EXPECT_THAT(RenderBody(body, variants),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("both be named 'toy-1.0-other'")));
  options_.select = {{"a", {"1", "3"}}};
  EXPECT_THAT(Values(RenderBody(body, variants), "a"), ElementsAre("1", "3"));
}

TEST_F(RenderTest, NamedVariantFilesReplaceTheOneBesideTheRecipe) {
  fs_.AddFile("/v/one.yaml", "a: [1]\nb: [1]\n");
  fs_.AddFile("/v/two.yaml", "a: [2]\n");
  options_.variant_files = {AbsPath::Literal("/v/one.yaml"), AbsPath::Literal("/v/two.yaml")};
  const auto recipes = RenderBody("requirements: {host: [a, b, c]}\n", "a: [9]\nc: [9]\n");
  EXPECT_THAT(Values(recipes, "a"), ElementsAre("2"));
  EXPECT_THAT(Values(recipes, "b"), ElementsAre("1"));
  EXPECT_THAT(Values(recipes, "c"), ElementsAre("-"));
}

TEST_F(RenderTest, EnvironmentAndPlatformComeFromTheOptions) {
  options_.variables = {{"TOY", "7"}};
  options_.target_platform = "linux-aarch64";
  ASSERT_OK_AND_ASSIGN(const auto recipes,
                       RenderBody("build: {number: \"${{ env.get('TOY') | int if aarch64 else 0 }}\"}\n"));
  EXPECT_EQ(recipes[0].build_number, 7U);
  EXPECT_EQ(recipes[0].subdir, "linux-aarch64");
}

TEST_F(RenderTest, DefaultScriptIsBuildSh) {
  ASSERT_OK_AND_ASSIGN(const auto without, RenderBody(""));
  EXPECT_EQ(without[0].script.file, "");
  fs_.AddFile("/r/build.sh", "make\n");
  ASSERT_OK_AND_ASSIGN(const auto with, RenderBody(""));
  EXPECT_EQ(with[0].script.file, "build.sh");
  ASSERT_OK_AND_ASSIGN(const auto named, RenderBody("build: {script: other.sh}\n"));
  EXPECT_EQ(named[0].script.file, "other.sh");
}

TEST_F(RenderTest, ErrorsNameTheVariant) {
  const auto recipes = RenderBody("build: {number: \"${{ 1 // a }}\"}\n", "a: [1, 0]\n");
  ASSERT_THAT(recipes, FailsWith(ErrorCode::kInvalidInput, "division by zero"));
  EXPECT_THAT(recipes.error().context(), ElementsAre("while rendering the variant a=0"));
}

TEST_F(RenderTest, RefusesTwoVariantsOfOneName) {
  EXPECT_THAT(
      RenderBody("build: {string: x}\nrequirements: {host: [a]}\n", "a: [1, 2]\n"),
      FailsWith(ErrorCode::kInvalidInput, "the variants 'a=1' and 'a=2' would both be named 'toy-1.0-x'"));
}

TEST_F(RenderTest, RefusesAMatrixWithoutEnd) {
  std::string variants;
  std::string host;
  for (const char* key : {"a", "b", "c", "d", "e"}) {
    variants += std::string(key) + ": [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]\n";
    host += std::string(key) + ", ";
  }
  EXPECT_THAT(RenderBody("requirements: {host: [" + host + "]}\n", variants),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("has more than 10000 variants")));
}

TEST_F(RenderTest, ReportsFilesThatCannotBeRead) {
  EXPECT_THAT(Render(fs_, kPath, options_), FailsWith(ErrorCode::kNotFound, HasSubstr("/r/recipe.yaml")));
  options_.variant_files = {AbsPath::Literal("/none.yaml")};
  EXPECT_THAT(RenderBody(""), FailsWith(ErrorCode::kNotFound, HasSubstr("/none.yaml")));
}

}  // namespace
}  // namespace ptpkg::variant
