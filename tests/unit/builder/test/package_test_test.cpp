#include "builder/test/package_test.h"

#include <gtest/gtest.h>

#include "builder/test/test_files.h"
#include "support/matchers.h"
#include "support/test_env.h"
#include "support/text/text.h"

namespace ptpkg::builder {
namespace {

using test::FailsWith;
using ::testing::_;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

recipe::Test Script(std::vector<std::string> lines) {
  return recipe::ScriptTest{.script = {.lines = std::move(lines), .file = "", .env = {}}, .requirements = {}};
}

recipe::ContentsTest Contents(const std::string& file) {
  recipe::ContentsTest test;
  test.files = {file};
  return test;
}

/// A "package" is a file that lists what it holds: "path content" on each line.
class PackageTestTest : public ::testing::Test {
 protected:
  PackageTestTest() {
    recipe_.name = "toy";
    recipe_.version = "1.0";
    recipe_.build_string = "0";
    recipe_.recipe_file = env_.dir().WriteFile("r/recipe.yaml", "");
    recipe_.recipe_dir = recipe_.recipe_file.Parent();
    env_.dir().WriteFile("toy.conda", "share/toy/data 42\n");
  }

  static Result<void> Unpack(Env& env, const AbsPath& package, const UnpackInto& into) {
    PTPKG_TRY(const std::string text, ReadFile(env.fs, package));
    for (const std::string& line : SplitLines(text)) {
      const std::size_t blank = line.find(' ');
      if (blank == std::string::npos) continue;
      std::string name = line.substr(0, blank);
      if (!into.python_version.empty())
        name = ReplaceAll(name, "SITE", "lib/python" + into.python_version + "/site-packages");
      PTPKG_CHECK(env.fs.MakeDirs((into.prefix / name).Parent()));
      PTPKG_CHECK(WriteFile(env.fs, into.prefix / name, line.substr(blank + 1) + "\n"));
    }
    return Ok();
  }

  Result<Report> Run() {
    return TestPackage(env_, {.recipe = recipe_,
                              .package = {.name = "toy", .path = env_.dir() / "toy.conda", .sha256 = {}},
                              .packages = packages_,
                              .unpack = Unpack,
                              .host_env = HostEnv::kSystem,
                              .work = env_.dir().MakeDir("work" + std::to_string(++runs_)),
                              .log_file = env_.dir() / "log"});
  }
  bool HasPython() { return FindProgram("python3", env_->variables["PATH"]).has_value(); }

  test::TestEnv env_;
  recipe::Recipe recipe_;
  std::vector<LocalPackage> packages_;
  int runs_ = 0;
};

TEST_F(PackageTestTest, WithoutTestsThereIsNothingToDo) {
  EXPECT_FALSE(HasTests(recipe_));
  ASSERT_OK_AND_ASSIGN(const Report report, Run());
  EXPECT_THAT(report.findings, IsEmpty());
  EXPECT_EQ(report.subject, "toy-1.0-0");
}

TEST_F(PackageTestTest, EachConstraintOnPythonIsAnEnvironment) {
  const recipe::PythonTest plain{.imports = {"a"}};
  const recipe::PythonTest two{.imports = {"b"}, .python_versions = {"3.10.*", "*"}};
  recipe_.tests = {two, Script({"true"}), plain,
                   recipe::PythonTest{.imports = {"c"}, .python_versions = {"*"}}};
  const std::vector<recipe::Recipe> parts = TestEnvironments(recipe_);
  ASSERT_THAT(parts, SizeIs(3));
  EXPECT_THAT(parts[0].tests, SizeIs(2));
  ASSERT_THAT(parts[1].tests, SizeIs(1));
  EXPECT_THAT(std::get<recipe::PythonTest>(parts[1].tests[0]).python_versions,
              ::testing::ElementsAre("3.10.*"));
  ASSERT_THAT(parts[2].tests, SizeIs(2));
  EXPECT_THAT(std::get<recipe::PythonTest>(parts[2].tests[1]).imports, ::testing::ElementsAre("c"));
  EXPECT_THAT(TestEnvironments(recipe::Recipe()), IsEmpty());
}

TEST_F(PackageTestTest, AConstraintThatNoPythonMeetsIsAMissingTool) {
  recipe_.tests = {recipe::PythonTest{.imports = {"sys"}, .python_versions = {"3.99.*"}}};
  const auto missing = Run();
  EXPECT_THAT(missing, FailsWith(ErrorCode::kNotFound, HasSubstr("python")));
  if (!HasPython()) GTEST_SKIP() << "python3 is not on PATH";
  recipe_.tests = {
      recipe::PythonTest{.imports = {"no_such_module"}, .pip_check = false, .python_versions = {">=3"}}};
  ASSERT_OK_AND_ASSIGN(const Report report, Run());
  ASSERT_THAT(report.findings, SizeIs(1));
  EXPECT_THAT(report.findings[0].message, HasSubstr("with Python >=3: 'import no_such_module'"));
}

TEST_F(PackageTestTest, FilesOfATestLieWhereItsScriptRuns) {
  env_.dir().WriteFile(
      "toy.conda", "etc/conda/test-files/toy/1/tests/data.txt 42\netc/conda/test-files/toy/0/other.txt 1\n");
  recipe::ScriptTest test{.script = {.lines = {"grep 42 tests/data.txt", "test ! -e other.txt"}}};
  test.source_files = {"tests"};
  test.position = 1;
  recipe_.tests = {Script({"true"}), test};
  ASSERT_OK_AND_ASSIGN(const Report report, Run());
  EXPECT_THAT(report.findings, IsEmpty()) << env_.dir().ReadFile("log");
}

TEST_F(PackageTestTest, ThePackageCarriesTheFilesOfItsTests) {
  env_.dir().WriteFile("src/tests/a/b.txt", "1");
  env_.dir().WriteFile("src/other.txt", "2");
  env_.dir().WriteFile("r/check.py", "3");
  const AbsPath prefix = env_.dir().MakeDir("p");
  recipe::ScriptTest test{.script = {.lines = {"true"}}};
  test.source_files = {"tests/"};
  test.recipe_files = {"*.py"};
  recipe_.tests = {test};
  const AbsPath source = env_.dir() / "src";
  const TestFilePlaces places{.source_root = source, .recipe_folder = recipe_.recipe_dir, .prefix = prefix};
  ASSERT_THAT(CopyTestFiles(env_, recipe_, places), test::IsOk());
  EXPECT_EQ(env_.dir().ReadFile("p/etc/conda/test-files/toy/0/tests/a/b.txt"), "1");
  EXPECT_EQ(env_.dir().ReadFile("p/etc/conda/test-files/toy/0/check.py"), "3");
  EXPECT_THAT(env_->fs.Stat(prefix / "etc/conda/test-files/toy/0/other.txt"),
              FailsWith(ErrorCode::kNotFound, _));
  test.source_files = {"none/**"};
  recipe_.tests = {test};
  EXPECT_THAT(CopyTestFiles(env_, recipe_, places),
              FailsWith(ErrorCode::kNotFound, HasSubstr("'tests.files.source' names 'none/**'")));
}

TEST_F(PackageTestTest, RunsScriptsInAFreshPrefixAndAnEmptyFolder) {
  env_.dir().WriteFile("dep.conda", "share/dep/data dependency\n");
  packages_ = {{.name = "dep", .path = env_.dir() / "dep.conda", .sha256 = {}}};
  recipe_.build_number = 3;
  recipe_.tests = {
      Script({"test \"$(cat \"$PREFIX/share/toy/data\")\" = 42", "test \"$PREFIX\" = \"$CONDA_PREFIX\"",
              "grep dependency \"$PREFIX/share/dep/data\"", "test -z \"$(ls -A)\"",
              "test \"$CONDA_BUILD_STATE $PKG_NAME $PKG_BUILDNUM\" = 'TEST toy 3'"}),
      Script({"test -z \"$(ls -A)\""})};
  ASSERT_OK_AND_ASSIGN(const Report report, Run());
  EXPECT_THAT(report.findings, IsEmpty()) << env_.dir().ReadFile("log");
}

TEST_F(PackageTestTest, AFailureShowsTheCommandAndTheLast40Lines) {
  recipe_.tests = {Script({"true"}),
                   Script({"for i in $(seq 1 60); do echo line $i; done", "exit 7", "echo no"}),
                   Script({"exit 8"})};
  ASSERT_OK_AND_ASSIGN(const Report report, Run());
  ASSERT_THAT(report.findings, SizeIs(2));
  EXPECT_TRUE(report.HasErrors());
  const Finding& finding = report.findings[0];
  EXPECT_EQ(finding.id, "package-test");
  EXPECT_THAT(finding.message,
              HasSubstr("test 2: 'for i in $(seq 1 60); do echo line $i; done …' exited with status 7"));
  EXPECT_THAT(finding.message, HasSubstr("\n  line 21\n"));
  EXPECT_THAT(finding.message, ::testing::EndsWith("\n  line 60"));
  EXPECT_THAT(finding.message, Not(HasSubstr("line 20\n")));
  EXPECT_THAT(finding.message, HasSubstr((env_.dir() / "log").str()));
  EXPECT_THAT(finding.fix, HasSubstr("--test skip"));
  EXPECT_THAT(report.findings[1].message, HasSubstr("test 3: 'exit 8' exited with status 8"));
}

TEST_F(PackageTestTest, TakesAScriptFromTheRecipesFolderWithItsOwnEnvironment) {
  env_.dir().WriteFile("r/check.sh", "test \"$GREETING\" = hello; test -e \"$RECIPE_DIR/expected\"\n");
  env_.dir().WriteFile("r/expected", "");
  recipe_.tests = {recipe::ScriptTest{
      .script = {.lines = {}, .file = "check", .env = {{"GREETING", "hello"}}}, .requirements = {}}};
  ASSERT_OK_AND_ASSIGN(const Report report, Run());
  EXPECT_THAT(report.findings, IsEmpty()) << env_.dir().ReadFile("log");
  recipe_.tests = {
      recipe::ScriptTest{.script = {.lines = {}, .file = "gone.sh", .env = {}}, .requirements = {}}};
  EXPECT_THAT(Run(), FailsWith(ErrorCode::kNotFound, HasSubstr("'gone.sh'")));
}

TEST_F(PackageTestTest, ContentsAreThoseOfThePackageAlone) {
  env_.dir().WriteFile("dep.conda", "share/dep/data x\n");
  packages_ = {{.name = "dep", .path = env_.dir() / "dep.conda", .sha256 = {}}};
  recipe::ContentsTest all = Contents("share/toy/data");
  all.strict = true;
  recipe_.tests = {all, Contents("share/dep/data")};
  ASSERT_OK_AND_ASSIGN(const Report report, Run());
  EXPECT_THAT(report.findings,
              ElementsAre(Field(&Finding::message, HasSubstr("test 2: package_contents.files"))));
}

TEST_F(PackageTestTest, ImportsFromThePrefixAndNotFromTheFolder) {
  if (!HasPython()) GTEST_SKIP() << "no python3 on PATH";
  env_.dir().WriteFile("noarch.conda", "SITE/toy_module.py value=1\n");
  recipe_.tests = {recipe::PythonTest{.imports = {"toy_module"}, .pip_check = false},
                   recipe::PythonTest{.imports = {"json", "toy_missing"}, .pip_check = false}};
  packages_ = {{.name = "noarch", .path = env_.dir() / "noarch.conda", .sha256 = {}}};
  ASSERT_OK_AND_ASSIGN(const Report report, Run());
  ASSERT_THAT(report.findings, SizeIs(1));
  EXPECT_THAT(report.findings[0].message,
              HasSubstr("test 2: 'import json, toy_missing' exited with status 1"));
  EXPECT_THAT(report.findings[0].message, HasSubstr("import: 'json'\n"));
  EXPECT_THAT(report.findings[0].message, HasSubstr("No module named 'toy_missing'"));
}

TEST_F(PackageTestTest, PipCheckSpeaksOfThePackageOnly) {
  if (!HasPython()) GTEST_SKIP() << "no python3 on PATH";
  const auto python = ProbePython(env_, *FindProgram("python3", env_->variables["PATH"]), {"pip"});
  if (!python || !python->packages.contains("pip")) GTEST_SKIP() << "no pip";
  env_.dir().MakeDir("dist");
  packages_ = {{.name = "toy-dist", .path = env_.dir() / "dist.conda", .sha256 = {}}};
  recipe_.tests = {recipe::PythonTest{}};
  // Content is one line here: the unpacked METADATA needs several.
  const auto unpack = [](Env& env, const AbsPath& package, const UnpackInto& into) -> Result<void> {
    if (package.Name() != "dist.conda") return Unpack(env, package, into);
    const AbsPath info =
        into.prefix / ("lib/python" + into.python_version + "/site-packages/toy_dist-1.0.dist-info");
    PTPKG_CHECK(env.fs.MakeDirs(info));
    return WriteFile(env.fs, info / "METADATA",
                     "Metadata-Version: 2.1\nName: toy_dist\nVersion: 1.0\nRequires-Dist: no-such-thing\n");
  };
  const auto run = [&] {
    return TestPackage(env_, {.recipe = recipe_,
                              .package = {.name = "toy", .path = env_.dir() / "toy.conda", .sha256 = {}},
                              .packages = packages_,
                              .unpack = unpack,
                              .host_env = HostEnv::kSystem,
                              .work = env_.dir().MakeDir("pip" + std::to_string(++runs_)),
                              .log_file = env_.dir() / "log"});
  };
  ASSERT_OK_AND_ASSIGN(const Report missing, run());
  ASSERT_THAT(missing.findings, SizeIs(1));
  EXPECT_THAT(missing.findings[0].message, HasSubstr("'pip check' exited with status 1"));
  EXPECT_THAT(missing.findings[0].message, HasSubstr("requires no-such-thing"));
  // What the package asks for need not be on this machine.
  recipe_.requirements.run = {{.name = "no_such_thing", .version = "", .build = ""}};
  ASSERT_OK_AND_ASSIGN(const Report declared, run());
  EXPECT_THAT(declared.findings, IsEmpty());
}

TEST_F(PackageTestTest, NamesWhatATestNeedsAndTheMachineLacks) {
  recipe_.tests = {
      recipe::ScriptTest{.script = {.lines = {"true"}, .file = "", .env = {}},
                         .requirements = {{.name = "no-such-tool", .version = "", .build = ""}}}};
  recipe_.requirements.run = {{.name = "libsomething", .version = "", .build = ""}};
  EXPECT_THAT(TestRequirements(recipe_), SizeIs(2));
  EXPECT_THAT(Run(), FailsWith(ErrorCode::kNotFound,
                               ::testing::AllOf(HasSubstr("no-such-tool"), Not(HasSubstr("libsomething")))));
}

TEST_F(PackageTestTest, AClientMakesThePrefixOfCondaTests) {
  env_.dir().WriteFile("bin/micromamba", "#!/bin/sh\n/bin/mkdir -p \"$4\"\necho \"$@\"\n", 0755);
  env_->variables["PATH"] = (env_.dir() / "bin").str();
  recipe_.requirements.run = {{.name = "zlib", .version = "1.*", .build = ""}};
  recipe_.tests = {Script({"test -e \"$PREFIX/share/toy/data\""})};
  ASSERT_OK_AND_ASSIGN(
      const Report report,
      TestPackage(env_, {.recipe = recipe_,
                         .package = {.name = "toy", .path = env_.dir() / "toy.conda", .sha256 = {}},
                         .packages = {},
                         .unpack = Unpack,
                         .host_env = HostEnv::kConda,
                         .work = env_.dir().MakeDir("conda"),
                         .log_file = env_.dir() / "log"}));
  EXPECT_THAT(report.findings, IsEmpty());
  EXPECT_THAT(env_.dir().ReadFile("log"), HasSubstr("zlib 1.*"));
}

TEST_F(PackageTestTest, StopsWhenInterrupted) {
  recipe_.tests = {Script({"true"})};
  env_.cancel.Cancel();
  EXPECT_THAT(Run(), FailsWith(ErrorCode::kCancelled, "interrupted"));
}

}  // namespace
}  // namespace ptpkg::builder
