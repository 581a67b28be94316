// What is known to break a build is told of all builds of a plan, before any of them starts.

#include "graph/plan.h"
#include "pipeline/plan/run_plan.h"
#include "unit/builder/fixtures/fake_index.h"
#include "unit/pipeline/fixtures/build_fixture.h"

namespace ptpkg::pipeline {
namespace {

using test::FailsWith;
using test::IsOk;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class ForeseeTest : public BuildFixture {
 protected:
  ForeseeTest() {
    Write("sound", true);
    Write("first", false);
    Write("second", false);
  }
  /// A script that is noted when it runs; unless `sound`, a submodule of its source is empty.
  void Write(const std::string& name, bool sound) {
    Put(name + "/src/in", "1");
    const std::string module = "lib/" + name;
    if (!sound) Put(name + "/src/.gitmodules", "[submodule \"x\"]\n\tpath = " + module + "\n");
    EXPECT_THAT(env_->fs.MakeDirs(env_.dir() / (name + "/src/" + module)), IsOk());
    WriteRecipe(name, "echo " + name + " >> " + (env_.dir() / "ran").str() + "; cp in $PREFIX/" + name,
                std::string("source: {path: src}\n") + kCondaOnly);
  }
  std::string Started() {
    const auto text = ReadFile(env_->fs, env_.dir() / "ran");
    return text ? *text : "";
  }
};

TEST_F(ForeseeTest, AllErrorsOfAllBuildsAreToldBeforeOneStarts) {
  const auto refused = Run(Request({"sound", "first", "second"}));
  ASSERT_THAT(refused, FailsWith(ErrorCode::kRefused, HasSubstr("2 of the 3 builds would fail: ")));
  EXPECT_THAT(refused.error().message(),
              AllOf(HasSubstr("'lib/first'"), HasSubstr("'lib/second'"),
                    HasSubstr("[submodules-empty] ('first-1.0-0')"), HasSubstr("('second-1.0-0')")));
  EXPECT_EQ(Started(), "");
  EXPECT_THAT(Artifacts(), IsEmpty());
  BuildRequest blind = Request({"sound", "first"});
  blind.preflight = false;
  ASSERT_THAT(Run(blind), IsOk());
}

TEST_F(ForeseeTest, TheListOfArchitecturesIsJudgedByTheCompilerThatIsThere) {
  Put("bin/nvcc", "#!/bin/sh\necho 'Cuda compilation tools, release 13.0, V13.0.88'\n");
  ASSERT_THAT(env_->fs.SetMode(env_.dir() / "bin/nvcc", 0755), IsOk());
  env_->variables["PATH"] = (env_.dir() / "bin").str() + ":" + env_->variables["PATH"];
  const auto run_for = [&](const std::string& list) {
    WriteRecipe("gpu", "touch $PREFIX/gpu",
                "requirements: {build: [cuda-nvcc]}\nabout: {license: MIT}\n"
                "extra: {ptpkg: {formats: [conda], device_code: [\"any\"]}}\n");
    const auto text = ReadFile(env_->fs, env_.dir() / "gpu/recipe.yaml");
    Put("gpu/recipe.yaml", ReplaceAll(text ? *text : "", "any", list));
    BuildRequest request = Request({"gpu"});
    request.dry_run = true;
    return Run(request);
  };
  ASSERT_THAT(run_for("9.0+PTX"), IsOk());
  EXPECT_THAT(run_for("6.0;9.0"), FailsWith(ErrorCode::kRefused, HasSubstr("no longer supports sm_60 "
                                                                           "[cuda-architecture-dropped]")));
}

TEST(ForeseeWheels, ACompilerOfThePythonIndexIsJudgedByItsPin) {
  test::FakeProcess process;
  test::TestEnv env({.process = &process});
  test::FakeIndex index(process, env);
  env->variables["PATH"] = env.dir().MakeDir("bin").str();
  const auto wheel = [](const std::string& name) { return name + "-py3-none-manylinux2014_x86_64.whl"; };
  index.Has("cuda-toolkit==13.0.*", {wheel("cuda_toolkit-13.0.2")});
  index.Has("cuda-toolkit[cccl,nvcc]==13.0.*",
            {wheel("cuda_toolkit-13.0.2"), wheel("nvidia_cuda_nvcc-13.0.88"), wheel("nvidia_nvvm-13.0.88"),
             wheel("nvidia_cuda_crt-13.0.88"), wheel("nvidia_cuda_runtime-13.0.96"),
             wheel("nvidia_cuda_cccl-13.3.5.0.6")});
  env.dir().WriteFile("gpu/recipe.yaml",
                      "schema_version: 1\npackage: {name: gpu, version: \"1\"}\n"
                      "build: {number: 0, string: \"0\", script: [\"false\"]}\n"
                      "requirements: {build: [\"cuda-nvcc 13.0.*\"]}\nabout: {license: MIT}\n"
                      "extra: {ptpkg: {formats: [conda], device_code: [\"6.0\"]}}\n");
  EXPECT_THAT(Build(env, {.recipes = {env.dir() / "gpu"},
                          .output = env.dir() / "dist",
                          .host_env = builder::HostEnv::kWheels}),
              FailsWith(ErrorCode::kRefused, HasSubstr("nvcc 13.0.88 no longer supports sm_60")));
}

TEST_F(ForeseeTest, WhatNeedNotRunIsNotJudged) {
  BuildRequest blind = Request({"first"});
  blind.preflight = false;
  ASSERT_THAT(Run(blind), IsOk());
  ASSERT_THAT(Run(Request({"sound", "first"})), IsOk());
  EXPECT_EQ(Started(), "first\nsound\n");
}

TEST_F(ForeseeTest, ADryRunIsRefusedAndAPlanIsJudgedWhereItRuns) {
  BuildRequest dry = Request({"first"});
  dry.dry_run = true;
  EXPECT_THAT(Run(dry), FailsWith(ErrorCode::kRefused, HasSubstr("the build would fail: ")));
  ASSERT_OK_AND_ASSIGN(const BuildPlan planned, PlanBuild(env_, Request({"first"})));
  EXPECT_THAT(DescribePlan(env_, planned.plan, output_), IsOk());
  const AbsPath file = env_.dir() / "plan.json";
  ASSERT_THAT(WriteFile(env_->fs, file, DumpJson(graph::PlanToJson(planned.plan))), IsOk());
  EXPECT_THAT(RunNode(env_, file, "build/first-1.0-0"),
              FailsWith(ErrorCode::kRefused, HasSubstr("'lib/first'")));
  EXPECT_EQ(Started(), "");
}

}  // namespace
}  // namespace ptpkg::pipeline
