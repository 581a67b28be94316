#include "builder/pip/wheel_resolve.h"

#include <gtest/gtest.h>

#include "builder/tools/tool_key.h"
#include "builder/tools/tool_versions.h"
#include "builder/tools/tools.h"
#include "support/matchers.h"
#include "unit/builder/fixtures/fake_index.h"
#include "unit/builder/fixtures/specs.h"

namespace ptpkg::builder {
namespace {

using test::FailsWith;
using test::IsOkAndHolds;
using test::Spec;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Ne;
using ::testing::Not;
using ::testing::Pair;
using ::testing::SizeIs;

std::string Wheel(const std::string& name, const std::string& version) {
  return fmt::format("{}-{}-py3-none-manylinux2014_x86_64.whl", name, version);
}

/// A machine whose PATH is one directory, and an index with CUDA 13.0 and 13.5.
class WheelResolveTest : public ::testing::Test {
 protected:
  WheelResolveTest() : env_({.process = &process_}), index_(process_, env_) {
    env_->variables["PATH"] = env_.dir().MakeDir("bin").str();
    recipe_.name = "toy";
    AddCuda("13.0", "13.0.88", "13.0.96");
    AddCuda("13.5", "13.5.37", "13.5.37");
    index_.Has("cmake", {Wheel("cmake", "4.4.4")});
    index_.Has("ninja", {Wheel("ninja", "1.13.2")});
  }

  void AddCuda(const std::string& series, const std::string& compiler, const std::string& runtime) {
    const std::string list = Wheel("cuda_toolkit", series + ".2");
    index_.Has("cuda-toolkit==" + series + ".*", {list});
    index_.Has("cuda-toolkit[cccl,nvcc]==" + series + ".*",
               {list, Wheel("nvidia_cuda_nvcc", compiler), Wheel("nvidia_nvvm", compiler),
                Wheel("nvidia_cuda_crt", compiler), Wheel("nvidia_cuda_runtime", runtime),
                Wheel("nvidia_cuda_cccl", "13.3.5.0.6")});
  }
  void Install(const std::string& program, const std::string& says = "1.0") {
    env_.dir().WriteFile("bin/" + program, "", 0755);
    process_.Answer(program, 0, says);
  }
  Result<HostPlan> Check(HostEnv host_env = HostEnv::kWheels) {
    return CheckTools(env_, recipe_, {.host_env = host_env, .given = given_});
  }

  test::FakeProcess process_;
  test::TestEnv env_;
  test::FakeIndex index_;
  recipe::Recipe recipe_;
  std::optional<LockedWheels> given_;
};

TEST(WheelTable, IsWholeAndNamesWhatItDoesNotKnow) {
  const WheelTable& table = BuiltInWheelTable();
  EXPECT_EQ(FindWheelRow(table, "cuda_linux-64")->variable, "CUDACXX");
  EXPECT_EQ(FindWheelRow(table, "cuda-nvcc_linux-64")->program, "cuda/bin/nvcc");
  EXPECT_EQ(FindWheelRow(table, "cudnn")->kind, WheelRow::Kind::kFolder);
  EXPECT_EQ(FindWheelRow(table, "setuptools_scm")->package, "setuptools-scm") << "from the table of tools";
  EXPECT_EQ(FindWheelRow(table, "gxx_linux-64"), std::nullopt);
  EXPECT_EQ(FindWheelRow(table, "python"), std::nullopt);
  for (const auto& [name, row] : table.rows) {
    EXPECT_FALSE(row.package.empty()) << name;
    EXPECT_EQ(row.variable.empty() || !row.program.empty(), true) << name;
  }
}

TEST(WheelTable, SaysWhereItIsWrong) {
  const auto error = [](const std::string& text) { return ParseWheelTable(text, "w.yaml"); };
  const std::string toolkit = "toolkit: {package: t, first: '1'}\n";
  ASSERT_OK(error(toolkit + "requirements:\n  a: {package: b}\n"));
  EXPECT_THAT(error("requirements: {}\n"), FailsWith(ErrorCode::kInvalidInput, HasSubstr("'toolkit' needs")));
  EXPECT_THAT(error("x: 1\n"), FailsWith(ErrorCode::kInvalidInput, HasSubstr("'x' is not a section")));
  EXPECT_THAT(error("toolkit: {x: 1}\n"), FailsWith(ErrorCode::kInvalidInput, HasSubstr("'x' is not a key")));
  for (const char* row : {"{extras: [a]}", "{package: a, folder: b}", "{program: a}", "{package: a, x: b}",
                          "a", "{extras: a, part: b}"}) {
    EXPECT_THAT(error(toolkit + "requirements:\n  a: " + row + "\n"),
                FailsWith(ErrorCode::kInvalidInput, ::testing::_))
        << row;
  }
}

TEST_F(WheelResolveTest, TakesAReleaseOfTheToolkitAsAWhole) {
  recipe_.requirements.build = {Spec("cuda_linux-64", "13.0.*")};
  ASSERT_OK_AND_ASSIGN(const HostPlan plan, Check());
  EXPECT_EQ(plan.host_env, HostEnv::kWheels);
  ASSERT_TRUE(plan.wheels.has_value());
  EXPECT_EQ(plan.wheels->toolkit, "13.0");
  EXPECT_THAT(plan.wheels->wheels.pins, SizeIs(6));
  EXPECT_THAT(plan.wheels->wheels.pins,
              Contains(::testing::AllOf(Field(&WheelPin::name, "nvidia-cuda-runtime"),
                                        Field(&WheelPin::version, "13.0.96"))));
  EXPECT_THAT(plan.wheels->programs, ElementsAre(Field(&WheelProgram::version, "13.0.88")));
  EXPECT_THAT(index_.asked, ElementsAre("cuda-toolkit==13.0.*", "cuda-toolkit[cccl,nvcc]==13.0.*"))
      << "the small list of the release first";
  EXPECT_THAT(index_.constraints, Contains("nvidia-nvjitlink==13.0.*"));
}

TEST_F(WheelResolveTest, AVersionThatDoesNotExistIsKnownBeforeAnythingLargeIsFetched) {
  index_.Fails("cuda-toolkit==13.9.*",
               "ERROR: Could not find a version that satisfies the requirement cuda-toolkit==13.9.* (from "
               "versions: 13.0.2, 13.5.0)\n");
  recipe_.requirements.build = {Spec("cuda-nvcc", "13.9.*")};
  EXPECT_THAT(Check(), FailsWith(ErrorCode::kNotFound, HasSubstr("available versions: 13.0.2, 13.5.0")));
  EXPECT_THAT(index_.asked, SizeIs(1));
  recipe_.requirements.build = {Spec("cuda-nvcc", "12.6.*")};
  EXPECT_THAT(Check(), FailsWith(ErrorCode::kNotFound, HasSubstr("from version 13.0 on")));
  EXPECT_THAT(index_.asked, SizeIs(1));
}

TEST_F(WheelResolveTest, ARangeAsksTheIndexForTheRelease) {
  index_.Has("cuda-toolkit>=13.0,<13.3,>=13.0", {Wheel("cuda_toolkit", "13.0.2")});
  recipe_.requirements.build = {Spec("cuda-nvcc", ">=13.0,<13.3")};
  ASSERT_OK_AND_ASSIGN(const HostPlan plan, Check());
  EXPECT_EQ(plan.wheels->toolkit, "13.0");
  index_.Has("cuda-toolkit==13.*,>=13.0", {Wheel("cuda_toolkit", "13.5.0")});
  recipe_.requirements.build = {Spec("cuda-nvcc", "13.*")};
  ASSERT_OK_AND_ASSIGN(const HostPlan newest, Check());
  EXPECT_EQ(newest.wheels->toolkit, "13.5");
}

TEST_F(WheelResolveTest, RefusesRequirementsOfTwoToolkits) {
  recipe_.requirements.build = {Spec("cuda-nvcc", "13.0.*")};
  recipe_.requirements.host = {Spec("cuda-cudart-dev", "13.5.*")};
  EXPECT_THAT(Check(), FailsWith(ErrorCode::kInvalidInput,
                                 "'cuda-nvcc 13.0.*' and 'cuda-cudart-dev 13.5.*' belong to different CUDA "
                                 "toolkits, but a build uses one"));
  EXPECT_THAT(index_.asked, IsEmpty());
}

TEST_F(WheelResolveTest, RefusesPartsThatDisagree) {
  index_.Has("cuda-toolkit==13.1.*", {Wheel("cuda_toolkit", "13.1.0")});
  index_.Has("cuda-toolkit[cccl,nvcc]==13.1.*",
             {Wheel("cuda_toolkit", "13.1.0"), Wheel("nvidia_cuda_nvcc", "13.1.80"),
              Wheel("nvidia_nvvm", "13.2.86"), Wheel("nvidia_cuda_cccl", "13.1.78")});
  recipe_.requirements.build = {Spec("cuda-nvcc", "13.1.*")};
  EXPECT_THAT(Check(), FailsWith(ErrorCode::kInvalidInput,
                                 "the parts of the CUDA toolkit have different versions: 'nvidia-cuda-nvcc' "
                                 "is 13.1.80 and 'nvidia-nvvm' is 13.2.86"));
}

TEST_F(WheelResolveTest, APartThatAReleaseDoesNotHaveIsNamed) {
  // pip only warns of an extra that a release does not have.
  index_.Has("cuda-toolkit[cuobjdump]==13.0.*", {Wheel("cuda_toolkit", "13.0.2")});
  recipe_.requirements.build = {Spec("cuda-cuobjdump", "13.0.*")};
  EXPECT_THAT(Check(), FailsWith(ErrorCode::kNotFound,
                                 "'cuda-cuobjdump 13.0.*': CUDA 13.0 of the Python index has no part "
                                 "'nvidia-cuda-cuobjdump'"));
}

TEST_F(WheelResolveTest, LibrariesWithReleasesOfTheirOwnComeWithoutWhatTheyRequire) {
  index_.Has("nvidia-cudnn-cu13==9.28.*", {Wheel("nvidia_cudnn_cu13", "9.28.0.42")});
  recipe_.requirements.build = {Spec("cuda-nvcc", "13.0.*")};
  recipe_.requirements.host = {Spec("cudnn", "9.28.*")};
  ASSERT_OK_AND_ASSIGN(const HostPlan plan, Check());
  EXPECT_THAT(index_.options, ElementsAre("--no-deps")) << "else a second, newer toolkit comes along";
  EXPECT_THAT(DetectVersions(env_, plan),
              IsOkAndHolds(::testing::AllOf(Contains(Pair("cuda_toolkit", "13.0.88")),
                                            Contains(Pair("cudnn", "9.28.0")))));
}

TEST_F(WheelResolveTest, RefusesWhatNoWheelHas) {
  recipe_.requirements.build = {Spec("cmake", "*", "h1_0")};
  EXPECT_THAT(Check(), FailsWith(ErrorCode::kInvalidInput, HasSubstr("names a build string")));
  recipe_.requirements.build = {Spec("cmake", "3.1|3.2")};
  EXPECT_THAT(Check(), FailsWith(ErrorCode::kInvalidInput, HasSubstr("alternatives with '|'")));
  EXPECT_THAT(index_.asked, IsEmpty());
}

TEST_F(WheelResolveTest, TheMachineStillGivesWhatTheIndexHasNot) {
  Install("g++", "g++ (Debian) 12.2.0");
  Install("cmake", "cmake version 3.25.1");
  recipe_.requirements.build = {Spec("gxx_linux-64"), Spec("cmake")};
  ASSERT_OK_AND_ASSIGN(const HostPlan plan, Check());
  EXPECT_THAT(plan.tools.tools, ElementsAre(Field(&Tool::requirement, "gxx_linux-64")));
  EXPECT_THAT(ToolOrigins(env_, plan),
              IsOkAndHolds(std::string("gxx_linux-64 12.2.0 from system, cmake 4.4.4 from wheels")));
  recipe_.requirements.build.push_back(Spec("gfortran_linux-64"));
  EXPECT_THAT(Check(), FailsWith(ErrorCode::kNotFound, HasSubstr("'gfortran'")));
}

TEST_F(WheelResolveTest, ADebianPackageThatTheIndexStandsForIsNotDemanded) {
  if (!*Exists(env_->fs, AbsPath::Literal("/var/lib/dpkg/info"))) GTEST_SKIP() << "no dpkg on this machine";
  recipe_.requirements.build = {Spec("ninja")};
  recipe_.ptpkg.system_packages = {"ninja-build"};
  ASSERT_OK(Check());
  recipe_.ptpkg.system_packages = {"no-such-package-at-all"};
  EXPECT_THAT(Check(), FailsWith(ErrorCode::kNotFound, HasSubstr("'no-such-package-at-all'")));
}

TEST_F(WheelResolveTest, AutoTakesEachFromTheFirstThatHasIt) {
  Install("ninja", "1.11.1");
  recipe_.requirements.build = {Spec("ninja"), Spec("cmake")};
  ASSERT_OK_AND_ASSIGN(const HostPlan plan, Check(HostEnv::kAuto));
  EXPECT_EQ(plan.host_env, HostEnv::kWheels);
  EXPECT_THAT(ToolOrigins(env_, plan),
              IsOkAndHolds(std::string("ninja 1.11.1 from system, cmake 4.4.4 from wheels")));
  Install("cmake", "cmake version 3.25.1");
  ASSERT_OK_AND_ASSIGN(const HostPlan system, Check(HostEnv::kAuto));
  EXPECT_EQ(system.host_env, HostEnv::kSystem);
}

TEST_F(WheelResolveTest, AutoTakesAWholeToolkitFromOneProvider) {
  Install("nvcc", "Cuda compilation tools, release 13.0, V13.0.88");
  env_.dir().WriteFile("bin/nvcc.profile", "");  // a toolkit of its own: headers elsewhere are not its
  index_.Has("cuda-toolkit[cccl,cublas,nvcc]==13.0.*",
             {Wheel("cuda_toolkit", "13.0.2"), Wheel("nvidia_cuda_nvcc", "13.0.88"),
              Wheel("nvidia_cublas", "13.1.1.3")});
  recipe_.requirements.build = {Spec("cuda-nvcc", "13.0.*")};
  recipe_.requirements.host = {Spec("libcublas-dev")};
  ASSERT_OK_AND_ASSIGN(const HostPlan plan, Check(HostEnv::kAuto));
  EXPECT_THAT(plan.tools.tools, IsEmpty()) << "the machine's nvcc has no cublas";
  EXPECT_THAT(plan.wheels->wheels.names, ElementsAre("cuda-nvcc", "libcublas-dev"));
}

TEST_F(WheelResolveTest, AutoTellsWhyTheIndexDidNotHelpAndTakesAClient) {
  index_.Fails("cmake==99",
               "ERROR: Could not find a version that satisfies the requirement cmake==99 (from versions: "
               "4.4.4)\n");
  recipe_.requirements.build = {Spec("cmake", "99")};
  EXPECT_THAT(
      Check(HostEnv::kAuto),
      FailsWith(
          ErrorCode::kNotFound,
          HasSubstr("--env wheels: 'cmake==99' is not on the Python index: available versions: 4.4.4")));
  Install("micromamba");
  ASSERT_OK_AND_ASSIGN(const HostPlan plan, Check(HostEnv::kAuto));
  EXPECT_EQ(plan.host_env, HostEnv::kConda);
}

TEST_F(WheelResolveTest, AutoAsksTheIndexForNothingThatWouldNotHelp) {
  recipe_.requirements.build = {Spec("cmake"), Spec("gfortran_linux-64")};
  EXPECT_THAT(Check(HostEnv::kAuto), FailsWith(ErrorCode::kNotFound, HasSubstr("'gfortran'")));
  EXPECT_THAT(index_.asked, IsEmpty());
}

TEST_F(WheelResolveTest, NeedsAPythonWithPip) {
  env_->variables["PATH"] = env_.dir().MakeDir("empty").str();
  recipe_.requirements.build = {Spec("cmake")};
  EXPECT_THAT(Check(), FailsWith(ErrorCode::kNotFound, HasSubstr("a Python with pip")));
}

// The machine lacks a compiler, the toolkit's release does not exist, and neither do two of three packages.
TEST_F(WheelResolveTest, ReportsAllThatIsMissingAtOnce) {
  const auto lacks = [&](const std::string& requirement) {
    index_.Fails(requirement, "ERROR: Could not find a version that satisfies the requirement " +
                                  requirement + " (from versions: 1.0, 2.0)\n");
  };
  lacks("cuda-toolkit==13.9.*");
  lacks("cmake==99");
  lacks("meson==98");
  lacks("nvidia-cudnn-cu13==7");
  recipe_.requirements.build = {Spec("gfortran_linux-64"), Spec("cuda-nvcc", "13.9.*"), Spec("cmake", "99"),
                                Spec("ninja"), Spec("meson", "98")};
  recipe_.requirements.host = {Spec("cudnn", "7")};
  const auto plan = Check();
  ASSERT_FALSE(plan.has_value());
  EXPECT_EQ(plan.error().code(), ErrorCode::kNotFound);
  for (const char* missing :
       {"'gfortran", "'cuda-toolkit==13.9.*' is not on the Python index: available versions: 1.0, 2.0",
        "'cmake==99'", "'meson==98'", "'nvidia-cudnn-cu13==7'"}) {
    EXPECT_THAT(plan.error().message(), HasSubstr(missing));
  }
  EXPECT_THAT(plan.error().message(), Not(HasSubstr("ninja")));
  EXPECT_THAT(plan.error().hint(), HasSubstr("apt-get install gfortran"));
}

TEST_F(WheelResolveTest, ReportsAMissingPipBesideWhatTheMachineLacks) {
  env_->variables["PATH"] = env_.dir().MakeDir("empty").str();
  recipe_.requirements.build = {Spec("gfortran_linux-64"), Spec("cmake")};
  const auto plan = Check();
  EXPECT_THAT(plan, FailsWith(ErrorCode::kNotFound, HasSubstr("'gfortran")));
  EXPECT_THAT(plan, FailsWith(ErrorCode::kNotFound, HasSubstr("a Python with pip")));
}

TEST_F(WheelResolveTest, OfflineNamesEveryQuestionOnce) {
  env_->offline = true;
  recipe_.requirements.build = {Spec("cmake"), Spec("meson")};
  EXPECT_THAT(Check(),
              FailsWith(ErrorCode::kNotFound, "cannot query the Python index for cmake, meson offline"));
}

// Packages that exist, but not together: pip's own words say more than any of ours.
TEST_F(WheelResolveTest, PackagesThatContradictEachOtherAreNoLack) {
  index_.Has("meson", {Wheel("meson", "1.8.0")});
  index_.Fails("cmake meson", "ERROR: Cannot install cmake and meson because of conflicting dependencies.\n");
  recipe_.requirements.build = {Spec("cmake"), Spec("meson")};
  EXPECT_THAT(Check(), FailsWith(ErrorCode::kCommandFailed, HasSubstr("conflicting dependencies")));
  EXPECT_THAT(index_.asked, ElementsAre("cmake meson"));
}

TEST_F(WheelResolveTest, ANodeTakesWhatItsPlanChose) {
  recipe_.requirements.build = {Spec("ninja")};
  ASSERT_OK_AND_ASSIGN(const HostPlan planned, Check());
  ASSERT_OK_AND_ASSIGN(const std::string key, ToolKey(env_, planned));
  given_ = planned.wheels->wheels;
  env_->offline = true;  // and the machine has no memory of it
  ASSERT_OK(RemoveTree(env_->fs, env_->cache_dir / "wheels"));
  ASSERT_OK_AND_ASSIGN(const HostPlan run, Check());
  EXPECT_THAT(ToolKey(env_, run), IsOkAndHolds(key));
  given_->pins[0].sha256 = HashText("other bytes");
  ASSERT_OK_AND_ASSIGN(const HostPlan other, Check());
  EXPECT_THAT(ToolKey(env_, other), IsOkAndHolds(Ne(key)));
  given_->pins.clear();
  EXPECT_THAT(Check(), FailsWith(ErrorCode::kNotFound, HasSubstr("'ninja'")));
}

TEST_F(WheelResolveTest, BuildAndHostPackagesAreTwoEnvironments) {
  index_.Has("numpy>=2", {Wheel("numpy", "2.3.0")});
  index_.Has("cython", {Wheel("cython", "3.1.0")});
  recipe_.requirements.build = {Spec("cython")};
  recipe_.requirements.host = {Spec("python"), Spec("numpy", ">=2")};
  ASSERT_OK_AND_ASSIGN(const HostPlan plan, Check());
  ASSERT_THAT(plan.wheels->wheels.pins, SizeIs(2));
  EXPECT_EQ(plan.wheels->wheels.pins[0].use, WheelRole::kBuild);
  EXPECT_EQ(plan.wheels->wheels.pins[1].use, WheelRole::kHost);
  EXPECT_TRUE(plan.tools.python.has_value());
  EXPECT_THAT(ToolOrigins(env_, plan),
              IsOkAndHolds(HasSubstr("cython 3.1.0 from wheels, numpy 2.3.0 from wheels")));
  EXPECT_THAT(plan.tools.python->packages, Not(Contains(::testing::Key("numpy"))));
}

TEST_F(WheelResolveTest, DetectsVersionsOfTheMachine) {
  const AbsPath nvcc = env_.dir().WriteFile("cuda/bin/nvcc", "", 0755);
  process_.Answer("nvcc", 0, "Cuda compilation tools, release 13.0, V13.0.88");
  const AbsPath cudnn =
      env_.dir().WriteFile("cuda/include/cudnn_version.h",
                           "#define CUDNN_MAJOR 9\n#define CUDNN_MINOR 10\n#define CUDNN_PATCHLEVEL 2\n"
                           "#define CUDNN_VERSION (CUDNN_MAJOR * 10000)\n");
  const AbsPath nccl = env_.dir().WriteFile(
      "cuda/include/nccl.h", "#define NCCL_MAJOR 2\n#define NCCL_MINOR x\n#define NCCL_PATCH 3\n");
  HostPlan plan;
  plan.tools.tools = {{.requirement = "cuda-nvcc", .path = nvcc, .variable = "CUDACXX"}};
  EXPECT_THAT(DetectVersions(env_, plan), IsOkAndHolds(ElementsAre(Pair("cuda_toolkit", "13.0.88"))))
      << "of what no requirement took nothing is said";
  plan.tools.headers = {cudnn, nccl};
  ASSERT_OK_AND_ASSIGN(const auto versions, DetectVersions(env_, plan));
  EXPECT_THAT(versions, Contains(Pair("cuda_toolkit", "13.0.88")));
  EXPECT_THAT(versions, Contains(Pair("cudnn", "9.10.2")));
}

}  // namespace
}  // namespace ptpkg::builder
