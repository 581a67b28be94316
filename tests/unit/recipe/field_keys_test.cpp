// Keys and forms of recipes in the field (docs/field-recipes.md).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recipe/expression/evaluate_recipe.h"
#include "support/matchers.h"
#include "unit/recipe/fake_variants.h"

namespace ptpkg::recipe {
namespace {

using test::FailsWith;
using test::FakeVariants;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class FieldKeysTest : public ::testing::Test {
 protected:
  Result<Evaluation> EvaluateBody(const std::string& body) {
    const std::string text = "package: {name: toy, version: \"1.2.3\"}\n" + body;
    PTPKG_TRY(const Document document, ParseDocument(text, AbsPath::Literal("/r/recipe.yaml")));
    return Evaluate(document, {.target_platform = "linux-64",
                               .variants = variants_,
                               .environment = environment_,
                               .hash = "1234567",
                               .string_prefix = "",
                               .run_pins = {}});
  }

  FakeVariants variants_{{{"python", Value("3.11.* *_cpython")}}};
  std::map<std::string, std::string> environment_;
};

TEST_F(FieldKeysTest, KeysOfLinkingAndOfPrefixes) {
  ASSERT_OK_AND_ASSIGN(
      const Evaluation evaluation,
      EvaluateBody("build:\n  dynamic_linking:\n    rpaths: [lib/R/lib/, lib]\n    rpath_allowlist: /opt/*\n"
                   "    binary_relocation: [\"lib/*.so\"]\n    overlinking_behavior: ignore\n"
                   "    overdepending_behavior: ignore\n"
                   "  prefix_detection:\n    ignore: [etc/x]\n    force_file_type: {text: a, binary: [b]}\n"
                   "  always_include_files: etc/*\n  always_copy_files: [share/x]\n"
                   "  python: {skip_pyc_compilation: [\"**/*.py\"]}\n"));
  const DynamicLinking& linking = evaluation.recipe.dynamic_linking;
  EXPECT_THAT(linking.rpaths, ElementsAre("lib/R/lib", "lib"));
  EXPECT_THAT(linking.rpath_allowlist, ElementsAre("/opt/*"));
  EXPECT_TRUE(linking.relocates);
  EXPECT_THAT(linking.relocated, ElementsAre("lib/*.so"));
  EXPECT_FALSE(linking.overlinking_is_error);
  const PrefixDetection& detection = evaluation.recipe.prefix_detection;
  EXPECT_THAT(detection.ignore, ElementsAre("etc/x"));
  EXPECT_FALSE(detection.ignore_all);
  EXPECT_THAT(detection.force_text, ElementsAre("a"));
  EXPECT_THAT(detection.force_binary, ElementsAre("b"));
  EXPECT_THAT(evaluation.recipe.always_include_files, ElementsAre("etc/*"));
  EXPECT_THAT(evaluation.recipe.always_copy_files, ElementsAre("share/x"));

  ASSERT_OK_AND_ASSIGN(const Evaluation off,
                       EvaluateBody("build: {dynamic_linking: {binary_relocation: false}, "
                                    "prefix_detection: {ignore: true}}\n"));
  EXPECT_FALSE(off.recipe.dynamic_linking.relocates);
  EXPECT_TRUE(off.recipe.dynamic_linking.overlinking_is_error);
  EXPECT_TRUE(off.recipe.prefix_detection.ignore_all);
  EXPECT_THAT(EvaluateBody("build: {dynamic_linking: {overdepending_behavior: error}}\n"),
              FailsWith(ErrorCode::kUnsupported, HasSubstr("'overdepending_behavior: error'")));
}

TEST_F(FieldKeysTest, ASourceIsFilteredAndNeedsOneDigest) {
  ASSERT_OK_AND_ASSIGN(
      const Evaluation evaluation,
      EvaluateBody("source:\n  - {url: https://h/a.zip, md5: 0123456789abcdef0123456789abcdef, filter: [a]}\n"
                   "  - {path: b, patches: [\"${{ SRC_DIR }}/x.patch\"], filter: {exclude: c}}\n"));
  const std::vector<Source>& sources = evaluation.recipe.sources;
  ASSERT_EQ(sources.size(), 2U);
  EXPECT_FALSE(sources[0].sha256.has_value());
  EXPECT_EQ(sources[0].md5->Hex(), "0123456789abcdef0123456789abcdef");
  EXPECT_THAT(sources[0].filter_include, ElementsAre("a"));
  EXPECT_THAT(sources[1].filter_exclude, ElementsAre("c"));
  EXPECT_THAT(sources[1].patches, ElementsAre("${SRC_DIR}/x.patch"));
  EXPECT_THAT(EvaluateBody("source: {path: b, patches: \"${{ PREFIX }}/x.patch\"}\n"),
              FailsWith(ErrorCode::kUnsupported, HasSubstr("is in no known directory")));
}

TEST_F(FieldKeysTest, LicenceFilesMayLieInThePrefix) {
  ASSERT_OK_AND_ASSIGN(const Evaluation evaluation,
                       EvaluateBody("about: {license_file: [COPYING, \"${{ PREFIX }}/share/GPL-3\"]}\n"));
  EXPECT_THAT(evaluation.recipe.about.license_files, ElementsAre("COPYING", "${PREFIX}/share/GPL-3"));
  EXPECT_THAT(EvaluateBody("about: {license_file: \"${{ BUILD_PREFIX }}/GPL-3\"}\n"),
              FailsWith(ErrorCode::kUnsupported, HasSubstr("is in no known directory")));
}

TEST_F(FieldKeysTest, ATestItemMayHoldSeveralTests) {
  ASSERT_OK_AND_ASSIGN(
      const Evaluation evaluation,
      EvaluateBody(
          "tests:\n  - python: {imports: a}\n    pip_check: false\n    script: [b]\n"
          "    requirements: {run: [c]}\n  - package_contents: {bin: d}\n    strict: true\n"
          "  - script:\n      - if: win\n        then: e\n  - script: [f]\n    files: {recipe: g}\n"));
  const std::vector<recipe::Test>& tests = evaluation.recipe.tests;
  ASSERT_EQ(tests.size(), 4U);
  EXPECT_FALSE(std::get<PythonTest>(tests[0]).pip_check);
  EXPECT_EQ(std::get<PythonTest>(tests[0]).requirements.front().name, "c");
  EXPECT_EQ(std::get<ScriptTest>(tests[1]).requirements.front().name, "c");
  EXPECT_TRUE(std::get<ContentsTest>(tests[2]).strict);
  // The test for Windows alone is none here.
  EXPECT_EQ(std::get<ScriptTest>(tests[3]).position, 3U);
}

TEST_F(FieldKeysTest, ListsAndBranchesMayBeEmpty) {
  ASSERT_OK_AND_ASSIGN(
      const Evaluation evaluation,
      EvaluateBody("build:\n  script:\n    - make\n    - if: linux\n      then:\nrequirements:\n  run:\n"));
  EXPECT_THAT(evaluation.recipe.script.lines, ElementsAre("make"));
  EXPECT_THAT(evaluation.recipe.requirements.run, ::testing::IsEmpty());
}

TEST_F(FieldKeysTest, NamesInCapitalsAreVariablesOfAShell) {
  ASSERT_OK_AND_ASSIGN(const Evaluation evaluation,
                       EvaluateBody("build: {script: \"pip install . ${{ PIP_ARGS }}\"}\n"));
  EXPECT_THAT(evaluation.recipe.script.lines, ElementsAre("pip install . ${PIP_ARGS}"));
  EXPECT_THAT(EvaluateBody("build: {script: \"${{ pip_args }}\"}\n"),
              FailsWith(ErrorCode::kInvalidInput, "undefined name 'pip_args'"));
}

TEST_F(FieldKeysTest, TheOperatorOfACompilerCanBeReplaced) {
  variants_ = FakeVariants({{"c_compiler_version", Value("14")}});
  ASSERT_OK_AND_ASSIGN(const Evaluation evaluation,
                       EvaluateBody("requirements:\n  build: [\"${{ compiler('c') }}\"]\n"
                                    "  run: [\"${{ compiler('c') | replace(' =', '>=') }}\"]\n"));
  EXPECT_EQ(evaluation.recipe.requirements.build[0].str(), "gcc_linux-64 14.*");
  EXPECT_EQ(evaluation.recipe.requirements.run[0].str(), "gcc_linux-64 >=14");
}

TEST_F(FieldKeysTest, WhatFitsEveryPythonIsBuiltWithAny) {
  const std::string lists = "requirements: {host: [python, numpy, zlib]}\n";
  variants_ = FakeVariants({{"python", Value("3.11")}, {"numpy", Value("2")}, {"zlib", Value("1.3")}});
  ASSERT_OK_AND_ASSIGN(const Evaluation noarch,
                       EvaluateBody("build: {noarch: python, variant: {ignore_keys: [zlib]}}\n" + lists));
  std::vector<std::string> host;
  for (const MatchSpec& spec : noarch.recipe.requirements.host) host.push_back(spec.str());
  EXPECT_THAT(host, ElementsAre("python", "numpy 2.*", "zlib"));
}

}  // namespace
}  // namespace ptpkg::recipe
