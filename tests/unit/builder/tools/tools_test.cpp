#include "builder/tools/tools.h"

#include <fstream>
#include <gtest/gtest.h>
#include <set>

#include "builder/tools/tool_table.h"
#include "support/fake_process.h"
#include "support/matchers.h"
#include "support/mem_fs.h"
#include "support/paths.h"
#include "support/test_env.h"
#include "support/text/json.h"
#include "unit/builder/fixtures/specs.h"

namespace ptpkg::builder {
namespace {

using test::FailsWith;
using test::HasHint;
using test::Spec;
using test::TestEnv;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// A machine whose PATH is one directory of empty programs.
class FindToolsTest : public ::testing::Test {
 protected:
  FindToolsTest() : env_({.process = &process_}) {
    env_->variables["PATH"] = env_.dir().MakeDir("bin").str();
    recipe_.name = "toy";
  }

  void Install(const std::string& program) { env_.dir().WriteFile("bin/" + program, "", 0755); }
  void InstallPython(const std::string& version, const std::string& packages, bool managed = false) {
    Install("python3");
    const Json answer = {{"executable", "/v/bin/python"},
                         {"version", version},
                         {"prefix", "/v"},
                         {"base_executable", "/usr/bin/python3"},
                         {"virtual", !managed},
                         {"externally_managed", managed},
                         {"folders", Json::array()},
                         {"packages", Json::parse(packages)}};
    process_.Answer("python3", 0, answer.dump());
  }
  /// What FindTools asked the interpreter for.
  std::vector<std::string> Asked() {
    for (const Command& command : process_.commands()) {
      if (command.argv[0].ends_with("/python3")) return {command.argv.begin() + 4, command.argv.end()};
    }
    return {};
  }
  Result<ToolSet> Find(const std::set<std::string>& provided = {}) {
    return FindTools(env_, recipe_, {.host_env = HostEnv::kSystem, .provided = provided});
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
  InstallPython("3.11.2", "{}");

  ASSERT_OK_AND_ASSIGN(const ToolSet tools, Find({"toymagma-cpu"}));
  ASSERT_THAT(tools.missing, SizeIs(3));
  const Result<void> error = MissingToolsError(recipe_, tools, {});

  EXPECT_THAT(error, FailsWith(ErrorCode::kNotFound, HasSubstr("'ninja' (program 'ninja' is not on PATH)")));
  EXPECT_THAT(error,
              FailsWith(ErrorCode::kNotFound, HasSubstr("'no-such-thing' (it is not in the output channel, "
                                                        "and '/v/bin/python' has not installed it)")));
  EXPECT_THAT(error, FailsWith(ErrorCode::kNotFound, HasSubstr("'/v/bin/python' has no package 'pip'")));
  EXPECT_THAT(error, HasHint("install: apt-get install ninja-build && /v/bin/python -m pip install pip"));
}

TEST_F(FindToolsTest, PointsToTheChannelWhenNoCommandHelps) {
  recipe_.requirements.host = {Spec("toymagma-cpu")};
  ASSERT_OK_AND_ASSIGN(const ToolSet tools, Find());
  EXPECT_THAT(Result<void>(MissingToolsError(recipe_, tools, {})),
              HasHint(HasSubstr("build that package first")));
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
  EXPECT_THAT(Result<void>(MissingToolsError(recipe_, old, {})),
              HasHint("put a suitable version first on PATH: cmake"))
      << "apt-get would say that it is installed";
  recipe_.requirements.build.push_back(Spec("ninja"));
  ASSERT_OK_AND_ASSIGN(const ToolSet both, Find());
  EXPECT_THAT(Result<void>(MissingToolsError(recipe_, both, {})),
              HasHint("install: apt-get install ninja-build; put a suitable version first on PATH: cmake"));
}

TEST_F(FindToolsTest, SaysWhichKeyNamesACompiler) {
  recipe_.requirements.build = {Spec("fpga_linux-64")};
  ASSERT_OK_AND_ASSIGN(const ToolSet tools, Find());
  EXPECT_THAT(tools.missing,
              ElementsAre(Field(&MissingTool::reason, HasSubstr("set 'fpga_compiler' in variants.yaml"))));
}

TEST_F(FindToolsTest, ReadsTheWholeVersionOfNvcc) {
  Install("nvcc");
  process_.Answer("nvcc", 0,
                  "nvcc: NVIDIA (R) Cuda compiler driver\nCopyright (c) 2005-2025 NVIDIA Corporation\n"
                  "Cuda compilation tools, release 13.0, V13.0.88\n");
  recipe_.requirements.build = {Spec("cuda-nvcc", "13.0.*")};
  ASSERT_OK_AND_ASSIGN(const ToolSet tools, Find());
  EXPECT_THAT(tools.missing, IsEmpty());
  EXPECT_EQ(tools.tools.at(0).variable, "CUDACXX");
  recipe_.requirements.build = {Spec("cuda-nvcc", ">=13.0.100")};
  EXPECT_THAT(Find()->missing, ElementsAre(Field(&MissingTool::reason, HasSubstr("is version 13.0.88"))));
}

TEST_F(FindToolsTest, KnowsWhatCompilerCudaMeansWithoutAVariantThatNamesIt) {
  Install("nvcc");
  process_.Answer("nvcc", 0, "Cuda compilation tools, release 13.0, V13.0.88\n");
  recipe_.requirements.build = {Spec("cuda-version", "13.0.*"), Spec("cuda_linux-64", "13.0.*")};
  ASSERT_OK_AND_ASSIGN(const ToolSet tools, Find());
  EXPECT_THAT(tools.missing, IsEmpty());
  EXPECT_THAT(tools.tools, ElementsAre(Field(&Tool::variable, "CUDACXX")));
}

TEST_F(FindToolsTest, FindsALibraryThatWasPutBesideTheToolkit) {
  recipe_.requirements.host = {Spec("cudnn")};
  for (const char* file : {"bin/nvcc", "bin/nvcc.profile"}) env_.dir().WriteFile(file, "", 0755);
  for (const char* header : {"include/cudnn.h", "include/cudnn_version.h"}) env_.dir().WriteFile(header, "");
  ASSERT_OK_AND_ASSIGN(const ToolSet tools, Find());
  EXPECT_THAT(tools.missing, IsEmpty());
  EXPECT_THAT(tools.headers,
              ElementsAre(env_.dir() / "include/cudnn.h", env_.dir() / "include/cudnn_version.h"));
}

TEST_F(FindToolsTest, FindsPartsOfTheToolkitBesideNvcc) {
  recipe_.requirements.host = {Spec("libcublas-dev"), Spec("cuda-cudart-dev")};
  env_.dir().WriteFile("cuda-13.0/bin/nvcc", "", 0755);
  env_.dir().WriteFile("cuda-13.0/bin/nvcc.profile", "");
  for (const char* header : {"cuda_runtime.h", "cuda_runtime_api.h"}) {
    env_.dir().WriteFile(std::string("cuda-13.0/include/") + header, "");
  }
  ASSERT_OK(env_->fs.CreateSymlink("cuda-13.0", env_.dir() / "cuda"));
  ASSERT_OK(env_->fs.CreateSymlink("../cuda/bin/nvcc", env_.dir() / "bin/nvcc"));
  ASSERT_OK_AND_ASSIGN(const ToolSet partly, Find());
  EXPECT_THAT(partly.missing,
              ElementsAre(Field(&MissingTool::reason,
                                HasSubstr("header 'cublas_v2.h' is not installed; --env wheels"))))
      << "a toolkit that was installed in parts";
  env_.dir().WriteFile("cuda-13.0/include/cublas_v2.h", "");
  env_.dir().WriteFile("cuda-13.0/targets/x86_64-linux/include/cublas_api.h", "");
  ASSERT_OK_AND_ASSIGN(const ToolSet tools, Find());
  EXPECT_THAT(tools.missing, IsEmpty());
  const AbsPath toolkit = env_.dir() / "cuda-13.0";
  EXPECT_THAT(
      tools.headers,
      ElementsAre(toolkit / "include/cublas_v2.h", toolkit / "targets/x86_64-linux/include/cublas_api.h",
                  toolkit / "include/cuda_runtime.h", toolkit / "include/cuda_runtime_api.h"));

  process_.Answer("nvcc", 0, "Cuda compilation tools, release 13.0, V13.0.88\n");
  recipe_.requirements.host = {Spec("cuda-cudart-dev", "13.0.*")};
  EXPECT_THAT(Find()->missing, IsEmpty());
  recipe_.requirements.host = {Spec("cuda-cudart-dev", "12.6.*"), Spec("libcublas-dev", ">=12")};
  EXPECT_THAT(Find()->missing,
              ElementsAre(Field(&MissingTool::reason, ::testing::AllOf(HasSubstr("is version 13.0.88"),
                                                                       HasSubstr("; --env wheels"))),
                          Field(&MissingTool::reason, HasSubstr("installed version of 'libcublas-dev'"))));
}

/// Three toolkits with the headers of the runtime, of which one is named; their nvcc say their versions.
class ToolkitsTest : public FindToolsTest {
 protected:
  ToolkitsTest() {
    for (const char* version : {"11.8", "12.4", "13.0"}) {
      const std::string root = std::string("cuda-") + version;
      for (const char* file : {"/bin/nvcc", "/bin/nvcc.profile"}) env_.dir().WriteFile(root + file, "", 0755);
      for (const char* header : {"/include/cuda_runtime.h", "/include/cuda_runtime_api.h"})
        env_.dir().WriteFile(root + header, "");
    }
    env_->variables["PATH"] += ":" + (env_.dir() / "cuda-13.0/bin").str();
    process_.On("nvcc", [](const Command& command) {
      const std::size_t at = command.argv[0].rfind("cuda-");
      ExitStatus status;
      status.output = "Cuda compilation tools, release " + command.argv[0].substr(at + 5, 4) + ", V" +
                      command.argv[0].substr(at + 5, 4) + ".88\n";
      return status;
    });
  }
  /// Where nvcc and the headers come from.
  Result<std::vector<AbsPath>> Taken(const std::string& wanted, const std::string& cuda_home) {
    recipe_.requirements.build = {Spec("cuda_linux-64", wanted)};
    recipe_.requirements.host = {Spec("cuda-cudart-dev")};
    PTPKG_TRY(const ToolSet tools,
              FindTools(env_, recipe_, {.host_env = HostEnv::kSystem, .options = {.cuda_home = cuda_home}}));
    if (!tools.missing.empty()) return MissingToolsError(recipe_, tools, {});
    return std::vector<AbsPath>{tools.tools.at(0).path, tools.tools.at(0).toolkit->root,
                                tools.headers.at(0).Parent().Parent()};
  }
  std::vector<AbsPath> Of(const std::string& version) {
    const AbsPath root = env_.dir() / ("cuda-" + version);
    return {root / "bin/nvcc", root, root};
  }
};

TEST_F(ToolkitsTest, EachVariantTakesTheToolkitOfItsVersion) {
  const std::string named = (env_.dir() / "cuda-11.8").str() + ":" + (env_.dir() / "cuda-12.4").str();
  EXPECT_THAT(Taken("11.8.*", named), test::IsOkAndHolds(Of("11.8")));
  EXPECT_THAT(Taken("12.4.*", named), test::IsOkAndHolds(Of("12.4")));
  EXPECT_THAT(Taken("13.0.*", named), test::IsOkAndHolds(Of("13.0"))) << "of PATH";
  EXPECT_THAT(Taken("", named), test::IsOkAndHolds(Of("11.8"))) << "the first one named";
  EXPECT_THAT(Taken("", ""), test::IsOkAndHolds(Of("13.0")));
  env_->variables["PTPKG_CUDA_HOME"] = named;
  EXPECT_THAT(Taken("12.4.*", ""), test::IsOkAndHolds(Of("12.4")));
}

TEST_F(ToolkitsTest, NamesThoseThatDoNotFit) {
  const auto none = Taken("12.6.*", (env_.dir() / "cuda-11.8").str());
  EXPECT_THAT(none, FailsWith(ErrorCode::kNotFound,
                              HasSubstr("cuda-11.8/bin/nvcc' is version 11.8.88, '" +
                                        (env_.dir() / "cuda-13.0/bin/nvcc").str() + "' 13.0.88")));
  EXPECT_THAT(none, HasHint("install that CUDA, and give its directory with --cuda-home DIR"));
}

TEST_F(ToolkitsTest, RefusesADirectoryThatIsNoToolkit) {
  EXPECT_THAT(Taken("13.0.*", (env_.dir() / "bin").str()),
              FailsWith(ErrorCode::kNotFound, HasSubstr("is not a CUDA toolkit: it has no 'bin/nvcc'")));
}

TEST_F(FindToolsTest, RejectsAnInterpreterOfAnotherVersion) {
  InstallPython("3.12.1", "{}");
  recipe_.variant = {{"python", "3.11.* *_cpython"}};
  recipe_.requirements.host = {Spec("python")};
  ASSERT_OK_AND_ASSIGN(const ToolSet tools, Find());
  EXPECT_FALSE(tools.python.has_value());
  ASSERT_THAT(tools.missing, SizeIs(1));
  EXPECT_THAT(tools.missing[0].reason, HasSubstr("'/v/bin/python' is Python 3.12.1"));
  EXPECT_THAT(tools.missing[0].reason, HasSubstr("PTPKG_PYTHON"));
  EXPECT_EQ(tools.missing[0].debian_package, "");
  EXPECT_THAT(Result<void>(MissingToolsError(recipe_, tools, {})),
              HasHint(HasSubstr("install that Python and set PTPKG_PYTHON")));
}

TEST_F(FindToolsTest, OffersAPythonThatDebianHas) {
  InstallPython("3.12.1", "{}");
  Install("apt-cache");
  process_.Answer("apt-cache", 0, "Package: python3.11\n");
  recipe_.requirements.host = {Spec("python", "3.11.*")};
  ASSERT_OK_AND_ASSIGN(const ToolSet offered, Find());
  EXPECT_THAT(Result<void>(MissingToolsError(recipe_, offered, {})),
              HasHint("install: apt-get install python3.11"));
  process_.Answer("apt-cache", 0, "N: Unable to locate package\nPackage: python3.11\n");
  ASSERT_OK_AND_ASSIGN(const ToolSet noted, Find());
  EXPECT_THAT(Result<void>(MissingToolsError(recipe_, noted, {})), HasHint(HasSubstr("apt-get")));
}

TEST_F(FindToolsTest, OffersNoPythonThatDebianLacks) {
  InstallPython("3.12.1", "{}");
  Install("apt-cache");
  recipe_.requirements.host = {Spec("python", "3.8.*")};
  // For a name that other packages only refer to, apt-cache exits with 0.
  const std::pair<int, std::string> answers[] = {
      {100, "E: No packages found\n"},
      {0, ""},
      {0, "N: Can't select versions: Package: is purely virtual\n"}};
  for (const auto& [code, output] : answers) {
    SCOPED_TRACE(output);
    process_.Answer("apt-cache", code, output);
    ASSERT_OK_AND_ASSIGN(const ToolSet unknown, Find());
    EXPECT_THAT(Result<void>(MissingToolsError(recipe_, unknown, {})),
                HasHint(::testing::Not(HasSubstr("apt-get"))));
  }
}

TEST_F(FindToolsTest, TakesAnInterpreterThatFitsEveryConstraint) {
  InstallPython("3.12.1", "{}");
  recipe_.requirements.host = {Spec("python", ">=3.9,<3.13")};
  EXPECT_THAT(Find()->missing, IsEmpty());
  recipe_.requirements.host = {Spec("python", ">=3.9,<3.12")};
  EXPECT_THAT(Find()->missing, SizeIs(1));
}

TEST_F(FindToolsTest, AsksTheInterpreterAboutNamesThatNoTableHas) {
  InstallPython("3.11.2", R"({"hatch-fancy": "1.2", "some_backend": "0.9"})");
  recipe_.requirements.host = {Spec("hatch-fancy", ">=1"), Spec("python-some_backend")};
  ASSERT_OK_AND_ASSIGN(const ToolSet tools, Find());
  EXPECT_THAT(tools.missing, IsEmpty());
  EXPECT_THAT(Asked(), ElementsAre("hatch-fancy", "python-some_backend", "some_backend", "pip"));
  ASSERT_TRUE(tools.python.has_value());
  recipe_.requirements.host = {Spec("hatch-fancy", ">=2")};
  EXPECT_THAT(Find()->missing, ElementsAre(Field(&MissingTool::pip_requirement, "hatch-fancy>=2")));
}

TEST_F(FindToolsTest, KnowsBuildBackendsUnderBothSpellings) {
  InstallPython("3.11.2", R"({"setuptools-scm": "8.1"})");
  recipe_.requirements.host = {Spec("setuptools_scm", ">=8"), Spec("poetry-core"),
                               Spec("flit-core", ">=3.9,<4")};
  ASSERT_OK_AND_ASSIGN(const ToolSet tools, Find());
  EXPECT_THAT(Result<void>(MissingToolsError(recipe_, tools, {})),
              HasHint("install: /v/bin/python -m pip install 'flit-core>=3.9,<4' poetry-core"));
}

TEST_F(FindToolsTest, ARecipeWithoutPythonGetsNone) {
  InstallPython("3.11.2", "{}");
  recipe_.requirements.host = {Spec("libmystery")};
  ASSERT_OK_AND_ASSIGN(const ToolSet tools, Find());
  EXPECT_FALSE(tools.python.has_value());
  EXPECT_THAT(tools.missing, SizeIs(1));
}

TEST_F(FindToolsTest, AProgramOfThatNameServesTheBuildAlone) {
  Install("frobnicate");
  recipe_.requirements.build = {Spec("frobnicate")};
  ASSERT_OK_AND_ASSIGN(const ToolSet tools, Find());
  EXPECT_THAT(tools.missing, IsEmpty());
  EXPECT_THAT(tools.tools, ElementsAre(Field(&Tool::path, env_.dir() / "bin/frobnicate")));
  recipe_.requirements.host.swap(recipe_.requirements.build);
  EXPECT_THAT(Find()->missing, SizeIs(1));
}

TEST_F(FindToolsTest, NamesAVirtualEnvironmentWherePipMayNotInstall) {
  InstallPython("3.11.2", "{}", true);
  recipe_.requirements.host = {Spec("setuptools", ">=77")};
  ASSERT_OK_AND_ASSIGN(const ToolSet tools, Find());
  EXPECT_THAT(Result<void>(MissingToolsError(recipe_, tools, {})),
              HasHint("install: /v/bin/python -m venv ptpkg-python && ptpkg-python/bin/python -m pip install "
                      "'setuptools>=77' && export PTPKG_PYTHON=$PWD/ptpkg-python/bin/python"));
}

TEST(PipRequirement, SpeaksOfCondasConstraints) {
  EXPECT_EQ(PipRequirement("a", ""), "a");
  EXPECT_EQ(PipRequirement("a", "*"), "a");
  EXPECT_EQ(PipRequirement("a", ">=77,<80"), "a>=77,<80");
  EXPECT_EQ(PipRequirement("a", "1.2.*"), "a==1.2.*");
  EXPECT_EQ(PipRequirement("a", "=1.2"), "a==1.2.*");
  EXPECT_EQ(PipRequirement("a", "1.2"), "a==1.2");
  EXPECT_EQ(PipRequirement("a", ">=1.2.*"), "a>=1.2");
  EXPECT_EQ(PipRequirement("a", "!=1.2.*,~=1.1"), "a!=1.2.*,~=1.1");
  EXPECT_EQ(PipRequirement("a", "1|2"), "a");
}

TEST_F(FindToolsTest, ChecksVersionsOfPythonPackages) {
  InstallPython("3.11.2", R"({"setuptools": "66.1.1"})");
  recipe_.requirements.host = {Spec("setuptools", ">=77")};
  ASSERT_OK_AND_ASSIGN(const ToolSet tools, Find());
  ASSERT_THAT(tools.missing, SizeIs(1));
  EXPECT_THAT(tools.missing[0].reason, HasSubstr("has version 66.1.1"));
  EXPECT_EQ(tools.missing[0].pip_requirement, "setuptools>=77");
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
  ASSERT_TRUE(tools.debian_packages.contains("libc6"));
  EXPECT_THAT(tools.debian_packages.at("libc6"), ::testing::MatchesRegex("[0-9].*"));
}

TEST_F(FindToolsTest, StopsWhenInterrupted) {
  Install("cmake");
  recipe_.requirements.build = {Spec("cmake", ">=3")};
  env_.cancel.Cancel();
  EXPECT_THAT(Find(), FailsWith(ErrorCode::kCancelled, "interrupted"));
}

class CheckToolsTest : public FindToolsTest {
 protected:
  Result<HostPlan> Check(HostEnv host_env) { return CheckTools(env_, recipe_, {.host_env = host_env}); }
};

TEST_F(CheckToolsTest, TakesTheMachineWhereItHasEverything) {
  Install("ninja");
  Install("micromamba");
  recipe_.requirements.build = {Spec("ninja")};
  ASSERT_OK_AND_ASSIGN(const HostPlan plan, Check(HostEnv::kAuto));
  EXPECT_EQ(plan.host_env, HostEnv::kSystem);
  EXPECT_THAT(plan.tools.tools, SizeIs(1));
}

TEST_F(CheckToolsTest, TakesTheClientWhereSomethingIsMissing) {
  Install("micromamba");
  recipe_.requirements.build = {Spec("ninja")};
  ASSERT_OK_AND_ASSIGN(const HostPlan plan, Check(HostEnv::kAuto));
  EXPECT_EQ(plan.host_env, HostEnv::kConda);
  EXPECT_EQ(plan.client, env_.dir() / "bin/micromamba");
  EXPECT_THAT(Check(HostEnv::kSystem), FailsWith(ErrorCode::kNotFound, HasSubstr("'ninja'")));
}

TEST_F(CheckToolsTest, NamesAllThatIsMissingWithoutAClient) {
  recipe_.requirements.build = {Spec("ninja"), Spec("cmake")};
  EXPECT_THAT(Check(HostEnv::kAuto), HasHint("install: apt-get install cmake ninja-build"));
  EXPECT_THAT(Check(HostEnv::kConda), FailsWith(ErrorCode::kNotFound, HasSubstr("no conda client")));
}

TEST(FindProvider, KnowsCompilersOfEveryPlatform) {
  EXPECT_EQ(FindProvider("gcc_linux-64")->probes, "gcc");
  EXPECT_EQ(FindProvider("gxx_linux-aarch64")->probes, "g++");
  EXPECT_EQ(FindProvider("__cuda")->kind, ProviderKind::kAlways);
  EXPECT_FALSE(FindProvider("gcc_win-64").has_value());
}

/// A requirement that nobody knows is taken for a Python package, and not found on any machine.
TEST(FindProvider, KnowsWhatTheDomainLibrariesRequire) {
  std::set<std::string> names = {"sox", "ffmpeg"};  // of old versions, and of switches that are off
  for (const char* file : {"torchvision/1.1.0_cpu", "torchvision/2.6.0_cuda", "torchaudio/2.6.0_cuda",
                           "torchtext/1.13.1_cpu", "torch_scatter/cuda", "torch_scatter/rocm"}) {
    std::ifstream in(test::Fixtures().str() + "/golden/" + file + ".json");
    const Json golden = Json::parse(in);
    for (const char* kind : {"build", "host"}) {
      for (const std::string requirement : golden.at(0).at("requirements").at(kind)) {
        names.insert(requirement.substr(0, requirement.find(' ')));
      }
    }
  }
  EXPECT_EQ(names.erase("pytorch"), 1U);  // ours
  for (const std::string& name : names) EXPECT_TRUE(FindProvider(name).has_value()) << name;
}

TEST(FindTools, RemembersTheHeaderOfALibraryAndThePackageThatOwnsIt) {
  test::MemFs fs;
  test::FakeProcess process;
  TestEnv env({.fs = &fs, .process = &process});
  ASSERT_OK(fs.MakeDirs(AbsPath::Literal("/usr/local/include")));
  ASSERT_OK(fs.MakeDirs(AbsPath::Literal("/var/lib/dpkg")));
  ASSERT_OK(WriteFile(fs, AbsPath::Literal("/usr/local/include/zlib.h"), "x"));
  ASSERT_OK(WriteFile(fs, AbsPath::Literal("/var/lib/dpkg/status"),
                      "Package: zlib1g-dev\nStatus: install ok installed\nVersion: 1:1.2\n\n"));
  recipe::Recipe recipe;
  recipe.requirements.host = {{.name = "zlib", .version = "", .build = ""}};
  ASSERT_OK_AND_ASSIGN(const ToolSet tools, FindTools(env, recipe, {.host_env = HostEnv::kSystem}));
  EXPECT_THAT(tools.missing, IsEmpty());
  EXPECT_THAT(tools.headers, ::testing::ElementsAre(AbsPath::Literal("/usr/local/include/zlib.h")));
  EXPECT_EQ(tools.debian_packages.at("zlib1g-dev"), "1:1.2");
}

}  // namespace
}  // namespace ptpkg::builder
