// From the recipe as written to values: every field, and the order of evaluation.

#include <gtest/gtest.h>

#include "recipe/expression/evaluate_recipe.h"
#include "support/matchers.h"
#include "unit/recipe/fake_variants.h"

namespace ptpkg::recipe {
namespace {

using ::ptpkg::test::FailsWith;
using ::ptpkg::test::FakeVariants;
using ::ptpkg::test::HasHint;
using ::ptpkg::test::IsOkAndHolds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class EvaluateTest : public ::testing::Test {
 protected:
  Result<Evaluation> EvaluateText(const std::string& text) {
    PTPKG_TRY(const Document document, ParseDocument(text, AbsPath::Literal("/r/recipe.yaml")));
    return Evaluate(document, {"linux-64",
                               variants_,
                               environment_,
                               "1234567",
                               "py311",
                               {{"python", {"x.x", "x.x"}}},
                               check_wheel_requirement_});
  }
  Result<Evaluation> EvaluateBody(const std::string& body) {
    return EvaluateText("package:\n  name: toy\n  version: \"1.2.3\"\n" + body);
  }
  static std::vector<std::string> Texts(const std::vector<MatchSpec>& specs) {
    std::vector<std::string> texts;
    for (const MatchSpec& spec : specs) texts.push_back(spec.str());
    return texts;
  }

  FakeVariants variants_{{{"python", Value("3.11.* *_cpython")},
                          {"numpy", Value("1.26")},
                          {"zlib", Value(std::int64_t{1})},
                          {"target", Value("c10")}}};
  std::map<std::string, std::string> environment_;
  TextCheck check_wheel_requirement_;
};

TEST_F(EvaluateTest, DefaultsOfAMinimalRecipe) {
  ASSERT_OK_AND_ASSIGN(const Evaluation evaluation, EvaluateBody(""));
  const Recipe& recipe = evaluation.recipe;
  EXPECT_EQ(recipe.name, "toy");
  EXPECT_EQ(recipe.version, "1.2.3");
  EXPECT_EQ(recipe.build_number, 0U);
  EXPECT_EQ(recipe.build_string, "py311h1234567_0");
  EXPECT_EQ(recipe.FileStem(), "toy-1.2.3-py311h1234567_0");
  EXPECT_EQ(recipe.subdir, "linux-64");
  EXPECT_FALSE(recipe.skip);
  EXPECT_FALSE(recipe.noarch_python);
  EXPECT_TRUE(evaluation.default_script);
  EXPECT_EQ(recipe.script.interpreter, "bash");
  EXPECT_THAT(recipe.ptpkg.formats, ElementsAre("conda", "tar.bz2", "wheel"));
  EXPECT_EQ(recipe.recipe_dir.str(), "/r");
  EXPECT_THAT(variants_.read, IsEmpty());
}

TEST_F(EvaluateTest, ContextInOrder) {
  ASSERT_OK_AND_ASSIGN(
      const Evaluation evaluation,
      EvaluateText(
          "context:\n  a: 2\n  b: ${{ a * 3 }}\n  c: [x, \"${{ b }}\"]\n  d: v${{ b }}\n  e: \"2\"\n"
          "package:\n  name: toy-${{ c | join('-') }}\n  version: ${{ d | replace('v', '') }}.${{ e }}\n"
          "build:\n  number: ${{ b }}\n"));
  EXPECT_EQ(evaluation.recipe.name, "toy-x-6");
  EXPECT_EQ(evaluation.recipe.version, "6.2");
  EXPECT_EQ(evaluation.recipe.build_number, 6U);
}

TEST_F(EvaluateTest, ContextMayShadowTheVariantThatItReads) {
  ASSERT_OK_AND_ASSIGN(
      const Evaluation evaluation,
      EvaluateText("context:\n  target: lib${{ target }}\npackage:\n  name: ${{ target }}\n  version: 1\n"));
  EXPECT_EQ(evaluation.recipe.name, "libc10");
  EXPECT_THAT(variants_.read, ElementsAre("target"));
}

TEST_F(EvaluateTest, Sources) {
  const std::string digest(64, 'a');
  ASSERT_OK_AND_ASSIGN(
      const Evaluation evaluation,
      EvaluateBody("source:\n  - url: [https://a.example/x.tar.gz, file:///y.tar.gz]\n    sha256: " + digest +
                   "\n    file_name: z.bin\n    target_directory: sub/dir\n    patches: p.patch\n"
                   "  - if: unix\n    then: {path: ../src}\n  - if: win\n    then: {path: never}\n"));
  ASSERT_EQ(evaluation.recipe.sources.size(), 2U);
  const Source& first = evaluation.recipe.sources[0];
  EXPECT_THAT(first.urls, ElementsAre("https://a.example/x.tar.gz", "file:///y.tar.gz"));
  ASSERT_TRUE(first.sha256.has_value());
  EXPECT_EQ(first.sha256->Hex(), digest);
  EXPECT_EQ(first.file_name, "z.bin");
  EXPECT_EQ(first.target_directory, "sub/dir");
  EXPECT_THAT(first.patches, ElementsAre("p.patch"));
  EXPECT_EQ(first.span.line, 5);
  EXPECT_EQ(evaluation.recipe.sources[1].path, "../src");
  EXPECT_FALSE(evaluation.recipe.sources[1].sha256.has_value());
}

TEST_F(EvaluateTest, GitSources) {
  const std::string commit(40, 'a');
  ASSERT_OK_AND_ASSIGN(
      const Evaluation evaluation,
      EvaluateBody(
          "source:\n  - {git: https://h/x.git, tag: \"v${{ 1 + 1 }}\", depth: 3, lfs: true, submodules: "
          "false, expected_commit: " +
          std::string(40, 'A') + "}\n  - {git: ../x, rev: " + commit + "}\n"));
  ASSERT_EQ(evaluation.recipe.sources.size(), 2U);
  EXPECT_EQ(evaluation.recipe.sources[0].git, (GitSource{.url = "https://h/x.git",
                                                         .tag = "v2",
                                                         .depth = 3,
                                                         .lfs = true,
                                                         .submodules = false,
                                                         .expected_commit = commit}));
  EXPECT_EQ(evaluation.recipe.sources[1].git, (GitSource{.url = "../x", .rev = commit}));
}

TEST_F(EvaluateTest, ASingleSourceNeedsNoList) {
  ASSERT_OK_AND_ASSIGN(const Evaluation evaluation,
                       EvaluateBody("source:\n  path: src\n  sha256: " + std::string(64, 'B')));
  ASSERT_EQ(evaluation.recipe.sources.size(), 1U);
  EXPECT_EQ(evaluation.recipe.sources[0].sha256->Hex(), std::string(64, 'b'));
}

TEST_F(EvaluateTest, ScriptsOfEveryForm) {
  const struct {
    const char* body;
    std::vector<std::string> lines;
    const char* file;
    const char* interpreter;
  } cases[] = {
      {"build: {script: make.sh}", {}, "make.sh", "bash"},
      {"build: {script: make.py}", {}, "make.py", "python"},
      {"build: {script: ./make.sh --all}", {"./make.sh --all"}, "", "bash"},
      {"build: {script: make}", {"make"}, "", "bash"},
      {"build: {script: [make, make install]}", {"make", "make install"}, "", "bash"},
      {"build: {script: {file: sub/make.py}}", {}, "sub/make.py", "python"},
      {"build: {script: {file: make.sh, interpreter: zsh}}", {}, "make.sh", "zsh"},
      {"build: {script: {content: [a, b]}}", {"a", "b"}, "", "bash"},
      {"build: {script: {content: import os, interpreter: python}}", {"import os"}, "", "python"},
      {"build:\n  script:\n    - ${{ 'x' if win }}\n    - y\n", {"y"}, "", "bash"},
      {"build:\n  script: ${{ PYTHON }} -m pip install . --prefix=${{ PREFIX }}\n",
       {"${PYTHON} -m pip install . --prefix=${PREFIX}"},
       "",
       "bash"},
      {"build: {script: {content: [\"${{ CXX }} -o ${{ PKG_NAME }}_x $CFLAGS ${{ HOME }}\"]}}",
       {"${CXX} -o ${PKG_NAME}_x $CFLAGS ${HOME}"},
       "",
       "bash"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.body);
    ASSERT_OK_AND_ASSIGN(const Evaluation evaluation, EvaluateBody(c.body));
    EXPECT_EQ(evaluation.recipe.script.lines, c.lines);
    EXPECT_EQ(evaluation.recipe.script.file, c.file);
    EXPECT_EQ(evaluation.recipe.script.interpreter, c.interpreter);
    EXPECT_FALSE(evaluation.default_script);
  }
}

TEST_F(EvaluateTest, ScriptEnvironment) {
  ASSERT_OK_AND_ASSIGN(
      const Evaluation evaluation,
      EvaluateBody("build:\n  script:\n    file: b.sh\n    env: {A: 1, B: \"x ${{ target }}\"}\n"));
  EXPECT_EQ(evaluation.recipe.script.env, (std::map<std::string, std::string>{{"A", "1"}, {"B", "x c10"}}));
}

TEST_F(EvaluateTest, OnlyCommandsOfAShellKnowTheBuildEnvironment) {
  // Nothing expands "${PREFIX}" in a variable of env, in a file's name or for Python: it would be put into
  // the package as it is. rattler-build refuses these as well.
  for (const char* body : {"build: {script: {content: a, env: {A: \"${{ PREFIX }}/x\"}}}\n",
                           "build: {script: {file: \"${{ PREFIX }}.sh\"}}\n",
                           "build: {script: {content: \"${{ PREFIX }}\", interpreter: python}}\n",
                           "tests: [{script: {content: a, env: {A: \"${{ PREFIX }}/x\"}}}]\n",
                           "source: {path: \"${{ PREFIX }}\"}\n"}) {
    const auto evaluation = EvaluateBody(body);
    EXPECT_THAT(evaluation, FailsWith(ErrorCode::kInvalidInput, "undefined name 'PREFIX'")) << body;
    EXPECT_THAT(evaluation, HasHint(HasSubstr("write 'export X=$PREFIX' there"))) << body;
  }
}

TEST_F(EvaluateTest, AVariantKeyGoesBeforeAVariableOfThatName) {
  variants_ = FakeVariants({{"CC", Value("clang")}, {"CXX", Value("clangxx")}});
  ASSERT_OK_AND_ASSIGN(const Evaluation evaluation,
                       EvaluateBody("build: {script: \"${{ CC }} ${{ FC }}\"}\n"));
  EXPECT_THAT(evaluation.recipe.script.lines, ElementsAre("clang ${FC}"));
  EXPECT_THAT(variants_.read, ElementsAre("CC")) << "a name that no template holds is not used";
}

TEST_F(EvaluateTest, BuildStringsVerbatimWithHash) {
  ASSERT_OK_AND_ASSIGN(
      const Evaluation evaluation,
      EvaluateBody("build:\n  number: 4\n  string: cuda_h${{ hash }}_${{ build_number }}\n"));
  EXPECT_EQ(evaluation.recipe.build_string, "cuda_h1234567_4");
}

TEST_F(EvaluateTest, AContextKeepsItsNamesBesideThoseOfTheBuildString) {
  ASSERT_OK_AND_ASSIGN(const Evaluation evaluation,
                       EvaluateBody("context: {build_number: \"7\", hash: mine}\n"
                                    "build: {number: 4, string: \"h${{ hash }}_${{ build_number }}\"}\n"
                                    "about: {summary: \"${{ build_number }} ${{ hash }}\"}\n"));
  EXPECT_EQ(evaluation.recipe.build_string, "h1234567_4");
  EXPECT_EQ(evaluation.recipe.about.summary, "7 mine");
}

TEST_F(EvaluateTest, RequirementsTakeTheVariant) {
  ASSERT_OK_AND_ASSIGN(
      const Evaluation evaluation,
      EvaluateBody("requirements:\n  build: [\"${{ compiler('cxx') }}\", cmake]\n"
                   "  host: [python, numpy, zlib, libpng >=1.6]\n  run: [python, numpy, scipy]\n"
                   "  run_constraints: [other <2]\n"
                   "  run_exports: [\"${{ pin_subpackage('toy', upper_bound='x.x') }}\"]\n"));
  const Requirements& requirements = evaluation.recipe.requirements;
  EXPECT_THAT(Texts(requirements.build), ElementsAre("gxx_linux-64", "cmake"));
  EXPECT_THAT(Texts(requirements.host),
              ElementsAre("python 3.11.* *_cpython", "numpy 1.26.*", "zlib 1.*", "libpng >=1.6"));
  // A compiled package runs with the Python that it was built for.
  EXPECT_THAT(Texts(requirements.run), ElementsAre("python >=3.11,<3.12.0a0", "numpy", "scipy"));
  EXPECT_THAT(Texts(requirements.run_constraints), ElementsAre("other <2"));
  EXPECT_THAT(Texts(requirements.run_exports.weak), ElementsAre("toy >=1.2.3,<1.3.0a0"));
  EXPECT_THAT(variants_.read, ElementsAre("numpy", "python", "zlib"));
}

TEST_F(EvaluateTest, PinsToTheHostOfTheVariant) {
  ASSERT_OK_AND_ASSIGN(
      const Evaluation evaluation,
      EvaluateBody(
          "requirements:\n  host: [numpy, blas ==2.1]\n  run:\n"
          "    - ${{ pin_compatible('numpy', upper_bound='x.x') }}\n    - ${{ pin_compatible('blas') }}\n"
          "    - ${{ pin_subpackage('toy', exact=True) }}\n"
          "  run_exports: {weak: [weak-one], strong: strong-one, noarch: [any], weak_constraints: [w <1],\n"
          "    strong_constraints: [s <2]}\n"
          "  ignore_run_exports: {by_name: [a], from_package: [b, c]}\n"));
  const RunExports& exports = evaluation.recipe.requirements.run_exports;
  EXPECT_THAT(Texts(exports.strong), ElementsAre("strong-one"));
  EXPECT_THAT(Texts(exports.noarch), ElementsAre("any"));
  EXPECT_THAT(Texts(exports.weak_constraints), ElementsAre("w <1"));
  EXPECT_THAT(Texts(exports.strong_constraints), ElementsAre("s <2"));
  EXPECT_THAT(evaluation.recipe.requirements.ignore_run_exports.by_name, ElementsAre("a"));
  EXPECT_THAT(evaluation.recipe.requirements.ignore_run_exports.from_package, ElementsAre("b", "c"));
  EXPECT_THAT(Texts(evaluation.recipe.requirements.run),
              ElementsAre("numpy >=1.26,<1.27.0a0", "blas >=2.1,<3.0a0", "toy ==1.2.3 py311h1234567_0"));
  EXPECT_THAT(Texts(evaluation.recipe.requirements.run_exports.weak), ElementsAre("weak-one"));
}

TEST_F(EvaluateTest, NoarchRunsWithAnyPython) {
  ASSERT_OK_AND_ASSIGN(
      const Evaluation evaluation,
      EvaluateBody("build: {noarch: python}\nrequirements: {host: [python], run: [python]}\n"));
  EXPECT_TRUE(evaluation.recipe.noarch_python);
  EXPECT_EQ(evaluation.recipe.subdir, "noarch");
  EXPECT_THAT(Texts(evaluation.recipe.requirements.run), ElementsAre("python"));
  ASSERT_OK_AND_ASSIGN(const Evaluation generic, EvaluateBody("build: {noarch: generic}\n"));
  EXPECT_FALSE(generic.recipe.noarch_python);
  EXPECT_EQ(generic.recipe.subdir, "noarch");
  ASSERT_OK_AND_ASSIGN(const Evaluation never, EvaluateBody("build:\n  noarch: ${{ 'python' if win }}\n"));
  EXPECT_EQ(never.recipe.subdir, "linux-64");
}

TEST_F(EvaluateTest, SkipsWithoutEvaluatingTheRest) {
  for (const char* skip : {"true", "linux", "[win, linux]", "[\"match(python, '<3.12')\"]",
                           "[\"${{ unix }}\"]", "[{if: linux, then: x86_64}]"}) {
    SCOPED_TRACE(skip);
    ASSERT_OK_AND_ASSIGN(const Evaluation evaluation,
                         EvaluateBody(std::string("build:\n  skip: ") + skip +
                                      "\nrequirements:\n  build:\n    - ${{ stdlib('c') }}\n"));
    EXPECT_TRUE(evaluation.recipe.skip);
    EXPECT_EQ(evaluation.recipe.build_string, "");
  }
  for (const char* skip : {"false", "win", "[win, osx]", "[{if: win, then: x86_64}]"}) {
    ASSERT_OK_AND_ASSIGN(const Evaluation evaluation,
                         EvaluateBody(std::string("build:\n  skip: ") + skip + "\n"));
    EXPECT_FALSE(evaluation.recipe.skip) << skip;
  }
}

TEST_F(EvaluateTest, OtherBuildFields) {
  ASSERT_OK_AND_ASSIGN(
      const Evaluation evaluation,
      EvaluateBody("build:\n  python:\n    entry_points: [\"a=b.c:d\", \"e = f:g\"]\n  files: [lib/**]\n"
                   "  prefix_detection: {ignore_binary_files: true}\n  variant:\n    use_keys: [target]\n"
                   "    ignore_keys: [numpy]\n    down_prioritize_variant: -2\n"
                   "  dynamic_linking: {missing_dso_allowlist: [libcuda.so.*]}\n"
                   "extra:\n  ptpkg:\n    allow_unresolved: [libx.so]\n"));
  const Recipe& recipe = evaluation.recipe;
  EXPECT_THAT(recipe.python_entry_points, ElementsAre("a = b.c:d", "e = f:g"));
  EXPECT_THAT(recipe.files_include, ElementsAre("lib/**"));
  EXPECT_TRUE(recipe.prefix_detection.ignore_binary);
  EXPECT_THAT(recipe.track_features, ElementsAre("toy-p-0", "toy-p-1"));
  EXPECT_THAT(evaluation.ignore_keys, ElementsAre("numpy"));
  EXPECT_THAT(variants_.read, ElementsAre("target"));
  EXPECT_THAT(recipe.ptpkg.allow_unresolved, ElementsAre("libx.so", "libcuda.so.*"));
}

TEST_F(EvaluateTest, DeviceCode) {
  const auto device_code = [&](const std::string& value) -> Result<std::vector<std::string>> {
    PTPKG_TRY(const Evaluation evaluation,
              EvaluateBody("extra:\n  ptpkg:\n    device_code: " + value + "\n"));
    return evaluation.recipe.ptpkg.device_code;
  };
  EXPECT_THAT(device_code("9.0"), IsOkAndHolds(ElementsAre("9.0")));
  EXPECT_THAT(device_code("8.0;${{ 9 }}.0a+PTX"), IsOkAndHolds(ElementsAre("8.0;9.0a+PTX")));
  EXPECT_THAT(device_code("[8.0, libb.so=9.0, \"libc.so=any\"]"),
              IsOkAndHolds(ElementsAre("8.0", "libb.so=9.0", "libc.so=any")));
  EXPECT_THAT(device_code("[{if: \"false\", then: 8.0}]"), IsOkAndHolds(ElementsAre()));
  struct Row {
    const char* value;
    const char* says;
    int column;
  };
  const std::vector<Row> rows = {{"Hopper", "unknown GPU architecture 'Hopper'", 18},
                                 {"[8.0, libb.so=all]", "unknown GPU architecture 'all'", 24},
                                 {"[8.0, any]", "'any' is combined with", 18},
                                 {"\"\"", "'' lists no GPU architecture", 18},
                                 {"${{ '' }}", "'device_code' has no value", 18},
                                 {"[\"${{ '' }}\"]", "'device_code' has no value", 19}};
  for (const Row& row : rows) {
    const auto refused = device_code(row.value);
    ASSERT_THAT(refused, FailsWith(ErrorCode::kInvalidInput, HasSubstr(row.says))) << row.value;
    ASSERT_TRUE(refused.error().span().has_value()) << row.value;
    EXPECT_EQ(refused.error().span()->column, row.column) << row.value;
  }
}

TEST_F(EvaluateTest, DevScript) {
  const auto dev = [&](const std::string& value) -> Result<BuildScript> {
    PTPKG_TRY(const Evaluation evaluation, EvaluateBody("extra:\n  ptpkg:\n    dev: " + value + "\n"));
    return evaluation.recipe.ptpkg.dev_script;
  };
  ASSERT_OK_AND_ASSIGN(const BuildScript lines, dev("{script: [ninja, \"echo ${PREFIX}\"]}"));
  EXPECT_THAT(lines.lines, ElementsAre("ninja", "echo ${PREFIX}"));
  ASSERT_OK_AND_ASSIGN(const BuildScript file, dev("{script: {file: again.py, env: {A: b}}}"));
  EXPECT_EQ(file.file, "again.py");
  EXPECT_EQ(file.interpreter, "python");
  EXPECT_EQ(file.env.at("A"), "b");
  for (const char* nothing : {"{script: []}", "{}"}) {
    EXPECT_THAT(dev(nothing),
                FailsWith(ErrorCode::kInvalidInput, HasSubstr("'extra.ptpkg.dev' has no 'script'")))
        << nothing;
  }
  EXPECT_THAT(dev("{script: {}}"), FailsWith(ErrorCode::kInvalidInput,
                                             HasSubstr("'extra.ptpkg.dev.script' has either 'file' or")));
  EXPECT_THAT(dev("{script: {file: ../x.sh}}"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("relative path without '..'")));
}

TEST_F(EvaluateTest, AboutAndTests) {
  ASSERT_OK_AND_ASSIGN(
      const Evaluation evaluation,
      EvaluateBody(
          "about:\n  homepage: https://h\n  repository: https://r\n  documentation: https://d\n  license: "
          "MIT\n"
          "  license_family: MIT\n  license_file: [L1, L2]\n  summary: s ${{ 1 + 1 }}\n  description: |\n    "
          "d\n"));
  const About& about = evaluation.recipe.about;
  EXPECT_EQ(about.homepage, "https://h");
  EXPECT_EQ(about.repository, "https://r");
  EXPECT_EQ(about.documentation, "https://d");
  EXPECT_EQ(about.license, "MIT");
  EXPECT_EQ(about.license_family, "MIT");
  EXPECT_THAT(about.license_files, ElementsAre("L1", "L2"));
  EXPECT_EQ(about.summary, "s 2");
  EXPECT_EQ(about.description, "d\n");
}

TEST_F(EvaluateTest, Tests) {
  ASSERT_OK_AND_ASSIGN(
      const Evaluation evaluation,
      EvaluateBody(
          "tests:\n  - python: {imports: [toy, toy.x]}\n  - python: {imports: toy, pip_check: false}\n"
          "  - script: [a, \"b ${{ PREFIX }}\"]\n    requirements: {run: [pytest >=7]}\n"
          "  - script: {file: run_test, interpreter: sh, env: {X: 1}}\n  - script: t.py\n"
          "  - package_contents: {files: [a/*], lib: toy, bin: [toy], include: [t.h], site_packages: "
          "[toy.x],\n"
          "      strict: true}\n"
          "  - package_contents: {files: {exists: [b], not_exists: [c]}}\n"));
  const std::vector<recipe::Test>& tests = evaluation.recipe.tests;
  ASSERT_EQ(tests.size(), 7U);
  EXPECT_THAT(std::get<PythonTest>(tests[0]).imports, ElementsAre("toy", "toy.x"));
  EXPECT_TRUE(std::get<PythonTest>(tests[0]).pip_check);
  EXPECT_FALSE(std::get<PythonTest>(tests[1]).pip_check);
  EXPECT_THAT(std::get<ScriptTest>(tests[2]).script.lines, ElementsAre("a", "b ${PREFIX}"));
  EXPECT_THAT(Texts(std::get<ScriptTest>(tests[2]).requirements), ElementsAre("pytest >=7"));
  EXPECT_EQ(std::get<ScriptTest>(tests[3]).script.file, "run_test");
  EXPECT_EQ(std::get<ScriptTest>(tests[3]).script.interpreter, "sh");
  EXPECT_EQ(std::get<ScriptTest>(tests[3]).script.env.at("X"), "1");
  EXPECT_EQ(std::get<ScriptTest>(tests[4]).script.interpreter, "python");
  const ContentsTest& contents = std::get<ContentsTest>(tests[5]);
  EXPECT_THAT(contents.files, ElementsAre("a/*"));
  EXPECT_THAT(contents.lib, ElementsAre("toy"));
  EXPECT_THAT(contents.bin, ElementsAre("toy"));
  EXPECT_THAT(contents.include, ElementsAre("t.h"));
  EXPECT_THAT(contents.site_packages, ElementsAre("toy.x"));
  EXPECT_TRUE(contents.strict);
  EXPECT_THAT(std::get<ContentsTest>(tests[6]).files, ElementsAre("b"));
  EXPECT_THAT(std::get<ContentsTest>(tests[6]).missing_files, ElementsAre("c"));
}

TEST_F(EvaluateTest, RefusesTestsOfNoKind) {
  for (const char* test : {"{requirements: {run: [a]}}", "{script: []}",
                           "{package_contents: {bin: b}, requirements: {run: [a]}}"}) {
    EXPECT_THAT(EvaluateBody(std::string("tests:\n  - ") + test + "\n"),
                FailsWith(ErrorCode::kInvalidInput, ::testing::_))
        << test;
  }
}

TEST_F(EvaluateTest, PtpkgExtra) {
  ASSERT_OK_AND_ASSIGN(
      const Evaluation evaluation,
      EvaluateBody("extra:\n  ptpkg:\n    formats: wheel\n    layouts:\n      conda:\n"
                   "        - {files: \"a/*.so\", rpath: [$ORIGIN, $ORIGIN/..], tag: rpath}\n"
                   "        - {files: \"b/*.so\", rpath: []}\n    wheel: {name: Toy, requires: [\"a>=1\"], "
                   "exclude: [inc/**]}\n"
                   "    system_packages: [g++]\n"));
  const PtpkgExtra& extra = evaluation.recipe.ptpkg;
  EXPECT_THAT(extra.formats, ElementsAre("wheel"));
  ASSERT_EQ(extra.layouts.size(), 1U);
  EXPECT_THAT(extra.layouts.at("conda"),
              ElementsAre(LayoutRule{"a/*.so", {"$ORIGIN", "$ORIGIN/.."}, RpathTag::kRpath},
                          LayoutRule{"b/*.so", {}, RpathTag::kRunpath}));
  EXPECT_EQ(extra.wheel_name, "Toy");
  EXPECT_THAT(extra.wheel_requires, ElementsAre("a>=1"));
  EXPECT_THAT(extra.wheel_exclude, ElementsAre("inc/**"));
  EXPECT_THAT(extra.system_packages, ElementsAre("g++"));
}

// Errors that a whole recipe file shows better are under fixtures/recipes/errors; these are the others.
TEST_F(EvaluateTest, RefusesWithAPlace) {
  const std::pair<const char*, const char*> cases[] = {
      {"source: {url: []}", "'source.url' is empty"},
      {"source: {path: \"\"}", "'source.path' is empty"},
      {"source: {path: a, file_name: a/b}", "'file_name' is a name without '/'"},
      {"source: {path: a, file_name: ..}", "'file_name' takes a relative path without '..', found '..'"},
      {"source: {path: a, target_directory: /b}",
       "'target_directory' takes a relative path without '..', found '/b'"},
      {"build: {script: ../b.sh}", "'build.script' takes a relative path without '..', found '../b.sh'"},
      {"build: {script: {file: a, interpreter: \"\"}}", "'build.script.interpreter' is empty"},
      {"build: {script: {file: a, env: {\"A B\": 1}}}", "'A B' is not a variable name"},
      {"build: {script: {content: \"x ${{ PREFIX }}\", interpreter: python}}", "undefined name 'PREFIX'"},
      {"build: {number: -1}", "'build.number' is a whole number from 0 on, found '-1'"},
      {"build: {number: true}", "'build.number' is a whole number from 0 on, found 'true'"},
      {"build: {string: \"\"}", "build string is empty"},
      {"build: {script: {content: a, file: b}}", "'build.script' has either 'file' or 'content'"},
      {"tests: [{script: {content: a, file: b}}]", "'tests.script' has either 'file' or 'content'"},
      {"tests: [{script: {file: a, interpreter: \"\"}}]", "'tests.script.interpreter' is empty"},
      {"tests: [{script: ../a.sh}]", "'tests.script' takes a relative path without '..', found '../a.sh'"},
      {"build: {prefix_detection: {ignore_binary_files: 1}}",
       "'ignore_binary_files' is true or false, found a number"},
      {"build: {variant: {down_prioritize_variant: many}}",
       "'down_prioritize_variant' is a whole number up to 100"},
      {"build: {variant: {down_prioritize_variant: 1000}}",
       "'down_prioritize_variant' is a whole number up to 100"},
      {"about: {summary: \"a ${{ [1] }}\"}", "a list cannot be put into text"},
      {"about: {summary: \"${{ [1] }}\"}", "a list cannot be put into text"},
      {"requirements: {run: [\"${{ [[1]] }}\"]}", "a list cannot be put into text"},
      {"tests: [{requirements: {run: [a]}}]",
       "a test needs one of 'python', 'script', 'package_contents', 'perl', 'r' and 'ruby'"},
      {"tests: [{python: {imports: a}, requirements: {build: [a]}}]",
       "'requirements.build' is only allowed beside 'script'"},
      {"tests: [{package_contents: {bin: a}, requirements: {run: [a]}}]",
       "'requirements' is only allowed beside 'script' and 'python'"},
      {"tests: [{script: a, pip_check: true}]", "'pip_check' is only allowed beside 'python'"},
      {"tests: [{python: {imports: a, pip_check: true}, pip_check: true}]",
       "'pip_check' stands both in 'python' and beside it"},
      {"source: {path: a, md5: 12}", "'12' is not an MD5 digest"},
      {"build: {dynamic_linking: {rpaths: [/lib]}}",
       "'rpaths' takes a relative path without '..', found '/lib'"},
      {"build: {dynamic_linking: {overlinking_behavior: warn}}",
       "'overlinking_behavior' is 'error' or 'ignore', found 'warn'"},
      {"tests: [{script: x, requirements: {run: [\" \"]}}]", "' ' is not a requirement: it is empty"},
      {"tests: [{script: x, requirements: {run: [a$]}}]",
       "'a$' is not a requirement: package name 'a$' may hold only a-z, 0-9, '-', '.' and '_'"},
      {"requirements: {ignore_run_exports: {by_name: [A]}}",
       "package name 'A' may hold only a-z, 0-9, '-', '.' and '_'"},
      {"extra: {ptpkg: {formats: []}}", "'formats' is empty, so there is nothing to build"},
      {"extra: {ptpkg: {formats: [conda, conda]}}", "format 'conda' is listed twice"},
      {"extra: {ptpkg: {layouts: {conda: [{rpath: []}]}}}", "a layout rule has no 'files'"},
      {"extra: {ptpkg: {layouts: {conda: [{files: a}]}}}", "a layout rule has no 'rpath'"},
      {"extra: {ptpkg: {layouts: {conda: [{files: a, rpath: [\"$ORIGIN:$ORIGIN/x\"]}]}}}",
       "search path '$ORIGIN:$ORIGIN/x' does not begin with $ORIGIN"},
      {"extra: {ptpkg: {layouts: {conda: [{files: a, rpath: [\"$ORIGIN/x:/y\"]}]}}}",
       "search path '$ORIGIN/x:/y' contains a ':'"},
  };
  for (const auto& [body, message] : cases) {
    SCOPED_TRACE(body);
    const Result<Evaluation> evaluation = EvaluateBody(body);
    ASSERT_THAT(evaluation, FailsWith(ErrorCode::kInvalidInput, message));
    EXPECT_TRUE(evaluation.error().span().has_value());
  }
}

TEST_F(EvaluateTest, AsksWhatAWheelRequires) {
  // Else the wheel would fail after the build.
  const char* body = "extra: {ptpkg: {wheel: {requires: [\"numpy >=1\", \"numpy >>1\"]}}}\n";
  ASSERT_OK(EvaluateBody(body));
  check_wheel_requirement_ = [](const std::string& text) -> Result<void> {
    if (text == "numpy >=1") return Ok();
    return Error(ErrorCode::kInvalidInput, "no requirement");
  };
  const auto evaluation = EvaluateBody(body);
  ASSERT_THAT(evaluation, FailsWith(ErrorCode::kInvalidInput, "no requirement"));
  EXPECT_EQ(evaluation.error().span()->line, 4U);
  EXPECT_EQ(evaluation.error().span()->column, 49U);
}

TEST_F(EvaluateTest, RefusesAVersionThatCannotBeInAFileName) {
  EXPECT_THAT(EvaluateText("package: {name: toy, version: 1-2}\n"),
              FailsWith(ErrorCode::kInvalidInput, "version '1-2' holds a '-'"));
}

TEST_F(EvaluateTest, RefusesAVariantValueThatIsNoVersion) {
  variants_ = FakeVariants({{"python", Value("not a version")}});
  EXPECT_THAT(EvaluateBody("requirements: {host: [python]}\n"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("'python not a version' is not a requirement")));
}

}  // namespace
}  // namespace ptpkg::recipe
