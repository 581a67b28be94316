#include "builder/env/environment.h"

#include <gtest/gtest.h>

#include "builder/tools/tool_table.h"
#include "recipe/script_variables.h"
#include "support/matchers.h"
#include "support/paths.h"
#include "support/test_env.h"

namespace ptpkg::builder {
namespace {

using test::TestEnv;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class EnvironmentTest : public ::testing::Test {
 protected:
  EnvironmentTest() {
    recipe_.name = "toy";
    recipe_.version = "1.0";
    recipe_.build_string = "py311_0";
    layout_.root = AbsPath::Literal("/w/r");
    layout_.source = layout_.root / "work";
    layout_.recipe_copy = layout_.root / "recipe";
    layout_.prefix = layout_.root / "h";
    layout_.build_prefix = layout_.root / "b";
    layout_.home = AbsPath::Literal("/w/home");
    layout_.temp = AbsPath::Literal("/w/tmp");
  }

  std::map<std::string, std::string> Make() {
    return ScriptEnvironment(env_, {.recipe = recipe_,
                                    .layout = layout_,
                                    .source_root = layout_.source,
                                    .tools = tools_,
                                    .mentioned = mentioned_,
                                    .source_commit = source_commit_});
  }

  TestEnv env_;
  recipe::Recipe recipe_;
  WorkLayout layout_;
  ToolSet tools_;
  std::set<std::string> mentioned_;
  std::string source_commit_;
};

TEST_F(EnvironmentTest, TakesNothingFromTheCaller) {
  env_->variables["LD_LIBRARY_PATH"] = "/evil";
  env_->variables["CFLAGS"] = "-march=native";
  env_->variables["MY_TOKEN"] = "secret";
  const auto variables = Make();
  EXPECT_FALSE(variables.contains("LD_LIBRARY_PATH"));
  EXPECT_FALSE(variables.contains("MY_TOKEN"));
  EXPECT_THAT(variables.at("CFLAGS"), Not(HasSubstr("native")));
  EXPECT_EQ(variables.at("HOME"), "/w/home");
  EXPECT_EQ(variables.at("PATH"), "/w/r/b/bin:/w/r/h/bin:/usr/bin:/bin");
}

TEST_F(EnvironmentTest, SaysWhereThingsAre) {
  env_->source_date_epoch = 1700000000;
  env_->jobs = 7;
  const auto variables = Make();
  EXPECT_EQ(variables.at("PREFIX"), "/w/r/h");
  EXPECT_EQ(variables.at("SRC_DIR"), "/w/r/work");
  EXPECT_EQ(variables.at("PKG_NAME"), "toy");
  EXPECT_EQ(variables.at("RECIPE_DIR"), "/w/r/recipe");
  EXPECT_EQ(variables.at("CPU_COUNT"), "7");
  EXPECT_EQ(variables.at("SOURCE_DATE_EPOCH"), "1700000000");
  EXPECT_EQ(variables.at("TZ"), "UTC");
  EXPECT_EQ(variables.at("LC_ALL"), "C.UTF-8");
  EXPECT_FALSE(variables.contains("PYTHON"));
}

TEST_F(EnvironmentTest, ShowsABuildNumberWhereItIsMentioned) {
  recipe_.build_number = 7;
  recipe_.hash = "abc1234";
  for (const char* name : {"PKG_BUILDNUM", "PKG_BUILD_STRING", "PKG_HASH"})
    EXPECT_FALSE(Make().contains(name));
  mentioned_ = {"PKG_BUILDNUM"};
  EXPECT_EQ(Make().at("PKG_BUILDNUM"), "7");
  EXPECT_FALSE(Make().contains("PKG_HASH"));
  mentioned_ = {"PKG_BUILD_STRING", "PKG_HASH"};
  EXPECT_EQ(Make().at("PKG_BUILD_STRING"), "py311_0");
  EXPECT_EQ(Make().at("PKG_HASH"), "abc1234");
}

TEST_F(EnvironmentTest, NamesTheCommitOfAGitSource) {
  EXPECT_FALSE(Make().contains("GIT_FULL_HASH"));
  source_commit_ = std::string(40, 'c');
  EXPECT_EQ(Make().at("GIT_FULL_HASH"), source_commit_);
}

TEST_F(EnvironmentTest, SeesTheHeadersOfThePrefix) {
  const auto variables = Make();
  EXPECT_EQ(variables.at("CPPFLAGS"), "-I/w/r/h/include");
  for (const char* name : {"CFLAGS", "CXXFLAGS"})
    EXPECT_THAT(variables.at(name), HasSubstr(" -I/w/r/h/include"));
}

TEST_F(EnvironmentTest, DescribesPython) {
  Python python;
  python.executable = AbsPath::Literal("/w/r/h/bin/python");
  python.program_folder = AbsPath::Literal("/venv/bin");
  python.version = "3.11.2";
  tools_.python = python;
  EXPECT_FALSE(Make().contains("VIRTUAL_ENV"));
  tools_.python->is_virtual = true;
  const auto variables = Make();
  EXPECT_EQ(variables.at("PYTHON"), "/w/r/h/bin/python");
  EXPECT_EQ(variables.at("VIRTUAL_ENV"), "/w/r/h");
  EXPECT_EQ(variables.at("PIP_REQUIRE_VIRTUALENV"), "1");
  EXPECT_EQ(variables.at("PY_VER"), "3.11");
  EXPECT_EQ(variables.at("SP_DIR"), "/w/r/h/lib/python3.11/site-packages");
  EXPECT_THAT(variables.at("PATH"), HasSubstr("h/bin:/venv/bin:/usr/bin"));
}

TEST_F(EnvironmentTest, NamesToolsAndPutsTheirFoldersLast) {
  tools_.tools = {
      {.requirement = "ninja", .path = AbsPath::Literal("/usr/bin/ninja"), .variable = ""},
      {.requirement = "cuda-nvcc", .path = AbsPath::Literal("/opt/cuda/bin/nvcc"), .variable = "CUDACXX"}};
  const auto variables = Make();
  EXPECT_EQ(variables.at("CUDACXX"), "/opt/cuda/bin/nvcc");
  EXPECT_EQ(variables.at("CMAKE_GENERATOR"), "Ninja");
  EXPECT_THAT(variables.at("PATH"), ::testing::EndsWith(":/usr/bin:/bin:/opt/cuda/bin"));
}

TEST_F(EnvironmentTest, ReservesRoomForSearchPathsAndLeavesNoPathInObjects) {
  const auto variables = Make();
  EXPECT_THAT(variables.at("LDFLAGS"), HasSubstr("-Wl,-rpath," + SearchPathPad()));
  EXPECT_THAT(variables.at("LDFLAGS"), HasSubstr("-Wl,--build-id=none"));
  EXPECT_THAT(variables.at("CXXFLAGS"), HasSubstr("-ffile-prefix-map=/w/r/work=/usr/local/src/toy-1.0"));
}

TEST_F(EnvironmentTest, VariantKeysDoNotReplaceVariablesButTheRecipeMay) {
  recipe_.variant = {{"toy_backend", "omp"}, {"PATH", "/evil"}, {"not-a-name", "x"}, {"9lives", "x"}};
  recipe_.script.env = {{"CFLAGS", "-O3"}, {"toy_tile", "64"}};
  const auto variables = Make();
  EXPECT_EQ(variables.at("toy_backend"), "omp");
  EXPECT_THAT(variables.at("PATH"), StartsWith("/w/r/b/bin:"));
  EXPECT_FALSE(variables.contains("not-a-name"));
  EXPECT_FALSE(variables.contains("9lives"));
  EXPECT_EQ(variables.at("CFLAGS"), "-O3");
  EXPECT_EQ(variables.at("toy_tile"), "64");
}

TEST_F(EnvironmentTest, PyTorchGetsTheVersionOfTheRecipe) {
  EXPECT_FALSE(Make().contains("PYTORCH_BUILD_VERSION")) << "not PyTorch";
  recipe_.name = "pytorch";
  recipe_.version = "2.13.0+cu130";
  EXPECT_EQ(Make().at("PYTORCH_BUILD_VERSION"), "2.13.0+cu130");
  EXPECT_EQ(Make().at("PYTORCH_BUILD_NUMBER"), "1");
  recipe_.script.env = {{"PYTORCH_BUILD_VERSION", "2.13.0"}, {"PYTORCH_BUILD_NUMBER", "3"}};
  EXPECT_EQ(Make().at("PYTORCH_BUILD_VERSION"), "2.13.0");
  EXPECT_EQ(Make().at("PYTORCH_BUILD_NUMBER"), "3");
  recipe_.script.env["OVERRIDE_PACKAGE_VERSION"] = "2.14.0.dev20260801+cpu";
  EXPECT_EQ(Make().at("PYTORCH_BUILD_VERSION"), "2.14.0.dev20260801+cpu");
  EXPECT_EQ(Make().at("PYTORCH_BUILD_NUMBER"), "0");
}

TEST_F(EnvironmentTest, IsDocumentedWholeAndAllOfItIsKnownInScripts) {
  recipe_.name = "pytorch";
  Python python;
  python.version = "3.11.2";
  python.is_virtual = true;
  tools_.python = python;
  mentioned_ = {"PKG_BUILDNUM", "PKG_BUILD_STRING", "PKG_HASH"};
  source_commit_ = std::string(40, 'c');
  const AbsPath program = AbsPath::Literal("/usr/bin/tool");
  tools_.tools = {{.requirement = "ninja", .path = program, .variable = ""}};
  for (const char* requirement : {"gcc", "gxx", "gfortran", "cuda-nvcc"}) {
    tools_.tools.push_back({.requirement = requirement,
                            .path = program,
                            .variable = std::string(FindProvider(requirement)->variable)});
  }
  tools_.tools.push_back({.requirement = "hip", .path = AbsPath::Literal("/usr/bin/hipcc"), .variable = ""});
  tools_.tools.push_back(
      {.requirement = "cuda", .path = layout_.build_prefix / "cuda/bin/nvcc", .variable = ""});
  ASSERT_OK_AND_ASSIGN(const std::string page,
                       ReadFile(env_->fs, test::Repository() / "docs/formats/build-environment.md"));
  std::vector<std::string> names;
  for (const auto& [name, value] : Make()) {
    EXPECT_THAT(page, HasSubstr("`" + name + "`"));
    names.push_back(name);
  }
  EXPECT_THAT(names, ::testing::ElementsAreArray(recipe::ScriptVariables()));
}

TEST_F(EnvironmentTest, MakesObjectsOfNvccEqualInAnyFolder) {
  EXPECT_FALSE(Make().contains("NVCC_PREPEND_FLAGS")) << "nobody asked for a CUDA compiler";
  tools_.tools = {
      {.requirement = "cuda-nvcc", .path = AbsPath::Literal("/opt/cuda/bin/nvcc"), .variable = "CUDACXX"}};
  const auto variables = Make();
  EXPECT_EQ(variables.at("NVCC_PREPEND_FLAGS"),
            "--objdir-as-tempdir -Xcompiler=-ffile-prefix-map=/w/r/work=/usr/local/src/toy-1.0 "
            "-Xcompiler=-ffile-prefix-map=/w/r/h=/usr/local/src/prefix");
  EXPECT_FALSE(variables.contains("CUDA_HOME")) << "Debian's toolkit is in the usual directories";
  EXPECT_FALSE(variables.contains("HIPCC_COMPILE_FLAGS_APPEND"));
}

TEST_F(EnvironmentTest, TheToolkitOfTheVariantIsTheOneThatProjectsFind) {
  tools_.tools = {
      {.requirement = "cuda-nvcc",
       .path = AbsPath::Literal("/usr/local/bin/nvcc"),
       .variable = "CUDACXX",
       .toolkit = CudaToolkit{.root = AbsPath::Literal("/usr/local/cuda-11.8"), .has_profile = true}}};
  for (const char* name : {"CUDA_HOME", "CUDA_PATH", "CUDAToolkit_ROOT"})
    EXPECT_EQ(Make().at(name), "/usr/local/cuda-11.8");
}

TEST_F(EnvironmentTest, MakesObjectsOfHipccEqualInAnyFolder) {
  tools_.tools = {{.requirement = "hip", .path = AbsPath::Literal("/usr/bin/hipcc"), .variable = ""}};
  EXPECT_EQ(
      Make().at("HIPCC_COMPILE_FLAGS_APPEND"),
      "-ffile-prefix-map=/w/r/work=/usr/local/src/toy-1.0 -ffile-prefix-map=/w/r/h=/usr/local/src/prefix");
}

TEST_F(EnvironmentTest, ToolsLaidForTheBuildHideThoseOfTheMachine) {
  tools_.tools = {
      {.requirement = "cuda-nvcc", .path = layout_.build_prefix / "cuda/bin/nvcc", .variable = "CUDACXX"}};
  const auto variables = Make();
  EXPECT_EQ(variables.at("PATH"), "/w/r/b/bin:/w/r/h/bin:/w/r/b/cuda/bin:/usr/bin:/bin");
  EXPECT_EQ(variables.at("CUDA_HOME"), "/w/r/b/cuda");
  EXPECT_EQ(variables.at("CUDAToolkit_ROOT"), "/w/r/b/cuda");
  EXPECT_THAT(variables.at("CXXFLAGS"), HasSubstr("-ffile-prefix-map=/w/r/b=/usr/local/src/build_prefix"));
}

TEST_F(EnvironmentTest, TheRecipesOwnFlagsWin) {
  tools_.tools = {
      {.requirement = "cuda-nvcc", .path = AbsPath::Literal("/opt/cuda/bin/nvcc"), .variable = "CUDACXX"}};
  recipe_.script.env = {{"NVCC_PREPEND_FLAGS", "-Wno-deprecated-gpu-targets"}};
  EXPECT_EQ(Make().at("NVCC_PREPEND_FLAGS"), "-Wno-deprecated-gpu-targets");
}

}  // namespace
}  // namespace ptpkg::builder
