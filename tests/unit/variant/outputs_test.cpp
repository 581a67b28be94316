// Recipes with outputs: which variants each has, and what it takes from the others. Names and hashes are
// compared with rattler-build's by tests/peers/conda/render_vs_rattler_build.py.

#include <gmock/gmock.h>

#include "support/matchers.h"
#include "support/mem_fs.h"
#include "support/text/text.h"
#include "variant/render_variants.h"

namespace ptpkg::variant {
namespace {

using ::ptpkg::test::FailsWith;
using recipe::Recipe;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

class Outputs : public ::testing::Test {
 protected:
  Result<std::vector<Recipe>> RenderText(const std::string& text, const RenderOptions& options = {}) {
    test::MemFs fs;
    fs.AddFile("/toy/recipe.yaml", "recipe: {name: toy, version: \"1.0\"}\n" + text);
    fs.AddFile("/toy/variants.yaml", "python: [\"3.10\", \"3.11\"]\nblas: [mkl, openblas]\n");
    fs.AddFile("/toy/build.sh", "make");
    return Render(fs, AbsPath::Literal("/toy/recipe.yaml"), options);
  }
  static std::vector<std::string> Names(const std::vector<Recipe>& recipes) {
    std::vector<std::string> names;
    for (const Recipe& recipe : recipes) {
      std::string name = recipe.name;
      for (const auto& [key, value] : recipe.variant) {
        if (key != "target_platform") name += " " + key + "=" + value.substr(0, value.find(' '));
      }
      names.push_back(name);
    }
    return names;
  }
};

constexpr const char* kNative =
    "outputs:\n"
    "- staging: {name: native}\n"
    "  requirements: {host: [blas]}\n"
    "  build: {script: make}\n"
    "- package: {name: libtoy}\n"
    "  inherit: native\n"
    "- package: {name: toy}\n"
    "  inherit: native\n"
    "  build: {script: pip}\n"
    "  requirements: {host: [python], run: [\"${{ pin_subpackage('libtoy', exact=true) }}\"]}\n";

TEST_F(Outputs, AStagingOutputHasTheKeysThatItReadsAndItsHeirsHaveThemToo) {
  ASSERT_OK_AND_ASSIGN(const std::vector<Recipe> all, RenderText(kNative));
  EXPECT_THAT(Names(all),
              ElementsAre("libtoy blas=mkl", "libtoy blas=openblas", "toy blas=mkl libtoy=1.0 python=3.10",
                          "toy blas=openblas libtoy=1.0 python=3.10", "toy blas=mkl libtoy=1.0 python=3.11",
                          "toy blas=openblas libtoy=1.0 python=3.11"));
  std::set<std::string> natives;
  for (const Recipe& recipe : all) {
    ASSERT_NE(recipe.inherited, nullptr);
    EXPECT_THAT(recipe.inherited->variant, UnorderedElementsAre(Pair("blas", recipe.variant.at("blas")),
                                                                Pair("target_platform", "linux-64")));
    natives.insert(recipe.inherited->FileStem());
    // The pin names the library of the same BLAS.
    if (recipe.name == "toy") {
      const Recipe& library = all[recipe.variant.at("blas") == "mkl" ? 0 : 1];
      EXPECT_EQ(recipe.requirements.run[0].str(), "libtoy ==1.0 " + library.build_string);
    }
  }
  EXPECT_EQ(natives.size(), 2U);
}

TEST_F(Outputs, AnOutputThatDoesNotReadASelectedKeyStays) {
  RenderOptions options;
  options.select = {{"python", {"3.11"}}, {"blas", {"mkl"}}};
  ASSERT_OK_AND_ASSIGN(const std::vector<Recipe> all, RenderText(kNative, options));
  EXPECT_THAT(Names(all), ElementsAre("libtoy blas=mkl", "toy blas=mkl libtoy=1.0 python=3.11"));
}

// The refusal reaches "toy" and "libtoy" through the staging output, and "toy" through its pin as well.
TEST_F(Outputs, ARefusedVariantThatIsNotSelectedRefusesNoOther) {
  const std::string refusing = ReplaceAll(
      kNative, "script: make", "script: \"${{ 'make' if blas == 'mkl' else fail('mkl alone') }}\"");
  EXPECT_THAT(RenderText(refusing), FailsWith(ErrorCode::kInvalidInput, HasSubstr("mkl alone")));
  RenderOptions options;
  options.select = {{"blas", {"mkl"}}};
  ASSERT_OK_AND_ASSIGN(const std::vector<Recipe> all, RenderText(refusing, options));
  EXPECT_THAT(Names(all), ElementsAre("libtoy blas=mkl", "toy blas=mkl libtoy=1.0 python=3.10",
                                      "toy blas=mkl libtoy=1.0 python=3.11"));
  const std::string pinned =
      "outputs:\n"
      "- package: {name: libtoy}\n"
      "  requirements: {host: [\"${{ 'x' if blas == 'mkl' else fail('mkl alone') }}\"]}\n"
      "- package: {name: toy}\n"
      "  requirements: {run: [\"${{ pin_subpackage('libtoy', exact=true) }}\"]}\n";
  ASSERT_OK_AND_ASSIGN(const std::vector<Recipe> two, RenderText(pinned, options));
  EXPECT_THAT(Names(two), ElementsAre("libtoy blas=mkl", "toy libtoy=1.0"));
}

TEST_F(Outputs, StagingOutputsInheritFromEachOther) {
  ASSERT_OK_AND_ASSIGN(const std::vector<Recipe> all,
                       RenderText("outputs:\n"
                                  "- staging: {name: core}\n"
                                  "- staging: {name: swig}\n"
                                  "  inherit: core\n"
                                  "  requirements: {host: [blas]}\n"
                                  "- package: {name: toy}\n"
                                  "  inherit: {from: swig, run_exports: false}\n"));
  ASSERT_EQ(all.size(), 2U);
  EXPECT_FALSE(all[0].inherit_run_exports);
  ASSERT_NE(all[0].inherited, nullptr);
  EXPECT_EQ(all[0].inherited->name, "swig");
  ASSERT_NE(all[0].inherited->inherited, nullptr);
  EXPECT_EQ(all[0].inherited->inherited->name, "core");
}

TEST_F(Outputs, TakeTheTopLevelAsTheyInheritFromIt) {
  ASSERT_OK_AND_ASSIGN(
      const std::vector<Recipe> all,
      RenderText("source: {path: src}\n"
                 "build: {number: 3, script: top, files: [a], python: {entry_points: [\"a = b:c\"]}}\n"
                 "about: {license: MIT, summary: top}\n"
                 "tests: [{script: one}]\n"
                 "outputs:\n"
                 "- staging: {name: native}\n"
                 "- package: {name: one}\n"
                 "  source: {path: more}\n"
                 "  build: {files: {exclude: [b]}}\n"
                 "  about: {summary: own}\n"
                 "  tests: [{script: two}]\n"
                 "- package: {name: two, version: \"7\"}\n"
                 "  inherit: native\n"
                 "  tests: [{script: two}]\n"));
  ASSERT_EQ(all.size(), 2U);
  const Recipe& one = all[0];
  EXPECT_EQ(one.version, "1.0");
  EXPECT_EQ(one.build_number, 3U);
  EXPECT_EQ(one.sources.size(), 2U);
  EXPECT_EQ(one.sources[0].path, "src");
  EXPECT_THAT(one.script.lines, ElementsAre("top"));
  EXPECT_TRUE(one.files_include.empty());  // 'files' is one value
  EXPECT_THAT(one.files_exclude, ElementsAre("b"));
  EXPECT_EQ(one.about.license, "MIT");
  EXPECT_EQ(one.about.summary, "own");
  EXPECT_EQ(one.tests.size(), 2U);
  const Recipe& two = all[1];
  EXPECT_EQ(two.version, "7");
  EXPECT_EQ(two.build_number, 3U);
  EXPECT_TRUE(two.sources.empty());
  EXPECT_TRUE(two.script.lines.empty());
  EXPECT_EQ(two.script.interpreter, "");  // nor is build.sh looked for
  EXPECT_THAT(two.files_include, ElementsAre("a"));
  EXPECT_EQ(two.tests.size(), 1U);
  EXPECT_EQ(two.inherited->sources.size(), 1U);
}

TEST_F(Outputs, WhatStandsUnderTheirNameInExtraIsTheirs) {
  ASSERT_OK_AND_ASSIGN(const std::vector<Recipe> all,
                       RenderText("outputs:\n"
                                  "- package: {name: one}\n"
                                  "- package: {name: two}\n"
                                  "extra: {ptpkg: {formats: [conda], wheel: {name: x, requires: [a]},\n"
                                  "  outputs: {two: {formats: [wheel], wheel: {name: y}}}}}\n"));
  EXPECT_THAT(all[0].ptpkg.formats, ElementsAre("conda"));
  EXPECT_EQ(all[0].ptpkg.wheel_name, "x");
  EXPECT_THAT(all[1].ptpkg.formats, ElementsAre("wheel"));
  EXPECT_EQ(all[1].ptpkg.wheel_name, "y");
  EXPECT_THAT(all[1].ptpkg.wheel_requires, ElementsAre("a"));
}

TEST_F(Outputs, AVersionThatAnotherOutputTakesFromTheVariantIsNoSecretKey) {
  const auto rendered = RenderText(
      "outputs:\n"
      "- package: {name: one, version: \"${{ python }}\"}\n"
      "- package: {name: two}\n"
      "  requirements: {run: [\"${{ pin_subpackage('one') }}\"]}\n");
  EXPECT_THAT(rendered, test::FailsWith(ErrorCode::kInvalidInput, ::testing::HasSubstr("'two'")));
}

}  // namespace
}  // namespace ptpkg::variant
