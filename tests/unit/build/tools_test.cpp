#include "build/tools.h"

#include <gtest/gtest.h>

#include "build/tool_table.h"
#include "support/fake_process.h"
#include "support/matchers.h"
#include "support/test_env.h"

namespace ptpkg::build {
namespace {

using test::FailsWith;
using test::TestEnv;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

recipe::MatchSpec Spec(std::string name, std::string version = "") {
  return {.name = std::move(name), .version = std::move(version), .build = ""};
}

/// A machine whose PATH is one folder of empty programs.
class FindToolsTest : public ::testing::Test {
 protected:
  FindToolsTest() : env_({.process = &process_}) {
    env_->variables["PATH"] = env_.dir().MakeDir("bin").str();
    recipe_.name = "toy";
  }

  void Install(const std::string& program) { env_.dir().WriteFile("bin/" + program, "", 0755); }
  void InstallPython(const std::string& version, const std::string& site, const std::string& packages) {
    Install("python3");
    process_.Answer("python3", 0,
                    R"({"executable": "/v/bin/python", "version": ")" + version + R"(", "site_packages": ")" +
                        site + R"(", "packages": )" + packages + "}");
  }
  Result<ToolSet> Find(const std::set<std::string>& provided = {}) {
    return FindTools(env_, recipe_, provided);
  }

  test::FakeProcess process_;
  TestEnv env_;
  recipe::Recipe recipe_;
};

TEST_F(FindToolsTest, FindsProgramsAndNamesTheirVariables) {
  Install("g++");
  Install("ninja");
  recipe_.requirements.build = {Spec("gxx_linux-64"), Spec("ninja"), Spec("sysroot_linux-64"),
                                Spec("__glibc")};
  ASSERT_OK_AND_ASSIGN(const ToolSet tools, Find());
  EXPECT_THAT(tools.missing, IsEmpty());
  ASSERT_THAT(tools.tools, SizeIs(2));
  EXPECT_EQ(tools.tools[0].variable, "CXX");
  EXPECT_EQ(tools.tools[0].path, env_.dir() / "bin/g++");
  EXPECT_EQ(tools.tools[1].requirement, "ninja");
}

TEST_F(FindToolsTest, ReportsAllThatIsMissingWithTheCommands) {
  recipe_.requirements.build = {Spec("ninja"), Spec("no-such-thing")};
  recipe_.requirements.host = {Spec("pip"), Spec("toymagma-cpu", "2.9.*")};
  InstallPython("3.11.2", "lib/python3.11/site-packages", "{}");

  ASSERT_OK_AND_ASSIGN(const ToolSet tools, Find({"toymagma-cpu"}));
  ASSERT_THAT(tools.missing, SizeIs(3));
  const Result<void> error = MissingToolsError(recipe_, tools.missing);

  EXPECT_THAT(error, FailsWith(ErrorCode::kNotFound, HasSubstr("'ninja' (program 'ninja' is not on PATH)")));
  EXPECT_THAT(error,
              FailsWith(ErrorCode::kNotFound, HasSubstr("'no-such-thing' (it is no package of the output")));
  EXPECT_THAT(error, FailsWith(ErrorCode::kNotFound, HasSubstr("'/v/bin/python' has no package 'pip'")));
  EXPECT_THAT(error,
              test::HasHint("install: apt-get install ninja-build && /v/bin/python -m pip install pip"));
}

TEST_F(FindToolsTest, PointsToTheChannelWhenNoCommandHelps) {
  recipe_.requirements.host = {Spec("toymagma-cpu")};
  ASSERT_OK_AND_ASSIGN(const ToolSet tools, Find());
  EXPECT_THAT(Result<void>(MissingToolsError(recipe_, tools.missing)),
              test::HasHint(HasSubstr("build the package first")));
}

TEST_F(FindToolsTest, ChecksVersionsOfPrograms) {
  Install("cmake");
  process_.Answer("cmake", 0,
                  "cmake version 3.25.1\n\nCMake suite maintained by Kitware (kitware.com/cmake).\n");
  recipe_.requirements.build = {Spec("cmake", ">=3.18,<4")};
  ASSERT_OK_AND_ASSIGN(const ToolSet fits, Find());
  EXPECT_THAT(fits.missing, IsEmpty());
  recipe_.requirements.build = {Spec("cmake", ">=3.27")};
  ASSERT_OK_AND_ASSIGN(const ToolSet old, Find());
  EXPECT_THAT(old.missing, ElementsAre(Field(&MissingTool::reason, HasSubstr("is version 3.25.1"))));
}

TEST_F(FindToolsTest, ReadsTheReleaseThatNvccPrintsLast) {
  Install("nvcc");
  process_.Answer("nvcc", 0,
                  "nvcc: NVIDIA (R) Cuda compiler driver\nCopyright (c) 2005-2025 NVIDIA Corporation\n"
                  "Cuda compilation tools, release 13.0, V13.0.88\n");
  recipe_.requirements.build = {Spec("cuda-nvcc", "13.0.*")};
  ASSERT_OK_AND_ASSIGN(const ToolSet tools, Find());
  EXPECT_THAT(tools.missing, IsEmpty());
  EXPECT_EQ(tools.tools.at(0).variable, "CUDACXX");
}

TEST_F(FindToolsTest, RejectsAnInterpreterOfAnotherVersion) {
  InstallPython("3.12.1", "lib/python3.12/site-packages", "{}");
  recipe_.variant = {{"python", "3.11.* *_cpython"}};
  recipe_.requirements.host = {Spec("python")};
  ASSERT_OK_AND_ASSIGN(const ToolSet tools, Find());
  EXPECT_FALSE(tools.python.has_value());
  ASSERT_THAT(tools.missing, SizeIs(1));
  EXPECT_THAT(tools.missing[0].reason, HasSubstr("'/v/bin/python' is Python 3.12.1"));
  EXPECT_THAT(tools.missing[0].reason, HasSubstr("PTPKG_PYTHON"));
  EXPECT_EQ(tools.missing[0].debian_package, "python3.11");
}

TEST_F(FindToolsTest, RejectsDebiansLayoutWhereAProjectIsInstalled) {
  InstallPython("3.11.2", "local/lib/python3.11/dist-packages", R"({"pip": "23.0"})");
  recipe_.requirements.host = {Spec("python"), Spec("pip")};
  ASSERT_OK_AND_ASSIGN(const ToolSet tools, Find());
  EXPECT_THAT(tools.missing, ElementsAre(Field(&MissingTool::reason, HasSubstr("a virtual environment"))));
  // As a mere tool it serves.
  recipe_.requirements.host = {Spec("python")};
  EXPECT_THAT(Find()->missing, IsEmpty());
}

TEST_F(FindToolsTest, ChecksVersionsOfPythonPackages) {
  InstallPython("3.11.2", "lib/python3.11/site-packages", R"({"setuptools": "66.1.1"})");
  recipe_.requirements.host = {Spec("setuptools", ">=77")};
  ASSERT_OK_AND_ASSIGN(const ToolSet tools, Find());
  ASSERT_THAT(tools.missing, SizeIs(1));
  EXPECT_THAT(tools.missing[0].reason, HasSubstr("has version 66.1.1"));
  EXPECT_EQ(tools.missing[0].python_package, "setuptools");
}

TEST_F(FindToolsTest, SaysThatThereIsNoInterpreter) {
  recipe_.requirements.host = {Spec("python", "3.11")};
  ASSERT_OK_AND_ASSIGN(const ToolSet tools, Find());
  EXPECT_THAT(tools.missing, ElementsAre(Field(&MissingTool::reason, HasSubstr("no interpreter on PATH"))));
}

TEST_F(FindToolsTest, ChecksDebianPackagesOfTheRecipe) {
  if (!*Exists(env_->fs, AbsPath::Literal("/var/lib/dpkg/info"))) GTEST_SKIP() << "no dpkg on this machine";
  recipe_.ptpkg.system_packages = {"dpkg", "libc6", "no-such-package-at-all"};
  ASSERT_OK_AND_ASSIGN(const ToolSet tools, Find());
  EXPECT_THAT(tools.missing, ElementsAre(Field(&MissingTool::debian_package, "no-such-package-at-all")));
}

TEST_F(FindToolsTest, StopsWhenInterrupted) {
  Install("cmake");
  recipe_.requirements.build = {Spec("cmake", ">=3")};
  env_.cancel.Cancel();
  EXPECT_THAT(Find(), FailsWith(ErrorCode::kCancelled, "interrupted"));
}

TEST(FindProvider, KnowsCompilersOfEveryPlatform) {
  EXPECT_EQ(FindProvider("gcc_linux-64")->probes, "gcc");
  EXPECT_EQ(FindProvider("gxx_linux-aarch64")->probes, "g++");
  EXPECT_EQ(FindProvider("__cuda")->kind, ProviderKind::kAlways);
  EXPECT_FALSE(FindProvider("gcc_win-64").has_value());
}

}  // namespace
}  // namespace ptpkg::build
