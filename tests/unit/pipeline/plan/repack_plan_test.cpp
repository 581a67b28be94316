// What repacking plans before it reads a wheel, and what it refuses to run.

#include "pipeline/plan/repack_plan.h"

#include "graph/plan.h"
#include "pipeline/plan/run_plan.h"
#include "support/files/atomic_file.h"
#include "support/matchers.h"
#include "support/test_env.h"
#include "support/text/json.h"

namespace ptpkg::pipeline {
namespace {

using test::FailsWith;
using ::testing::HasSubstr;

TEST(PlanRepack, APythonThatIsNoneIsFoundBeforeTheWheelIsRead) {
  test::TestEnv env;
  RepackRequest request;
  request.input = env.dir().path() / "nowhere-1.0-py3-none-any.whl";
  request.output = env.dir().path() / "dist";
  request.pythons = {"3.11", "3.x"};
  EXPECT_THAT(PlanRepack(env, request), FailsWith(ErrorCode::kUsage, HasSubstr("--python: '3.x'")));
}

TEST(PlanRepack, PatchReleasesOfPythonShareTheirResult) {
  test::TestEnv env;
  RepackRequest request;
  request.input = env.dir().WriteFile("toy-1.0-py3-none-any.whl", "not read as a wheel yet");
  request.output = env.dir().path() / "dist";
  request.pythons = {"3.11.7", "3.11.2"};
  ASSERT_OK_AND_ASSIGN(const graph::Plan plan, PlanRepack(env, request));
  EXPECT_EQ(plan.nodes.front().inputs.at("python"), "3.11");
  EXPECT_NE(plan.nodes.at(1).stage, "repack-conda");
}

TEST(PlanRepack, SeveralPythonsAreANodeEach) {
  test::TestEnv env;
  RepackRequest request;
  request.input = env.dir().WriteFile("toy-1.0-cp39-abi3-linux_x86_64.whl", "not read as a wheel yet");
  request.output = env.dir().path() / "dist";
  ASSERT_OK_AND_ASSIGN(const graph::Plan all, PlanRepack(env, request));
  EXPECT_EQ(all.nodes.front().inputs.at("python"), "");
  request.pythons = {"3.11", "3.12"};
  ASSERT_OK_AND_ASSIGN(const graph::Plan plan, PlanRepack(env, request));
  ASSERT_OK(graph::CheckPlan(plan));
  EXPECT_EQ(plan.nodes.at(0).inputs.at("python"), "3.11");
  EXPECT_EQ(plan.nodes.at(1).inputs.at("python"), "3.12");
  request.build_string = "one";
  EXPECT_THAT(PlanRepack(env, request), FailsWith(ErrorCode::kUsage, HasSubstr("one build string")));
  request.build_string = "";
  request.input = env.dir().WriteFile("toy-1.0-py3-none-any.whl", "not read as a wheel yet");
  EXPECT_THAT(PlanRepack(env, request),
              FailsWith(ErrorCode::kUsage, HasSubstr("one package for all Pythons")));
}

TEST(PlanRepack, FoldersAreKnownByTheirDistribution) {
  test::TestEnv env;
  const AbsPath prefix = env.dir().path() / "prefix";
  ASSERT_OK(env->fs.MakeDirs(prefix / "lib/python3.11/site-packages/toy-1.0.dist-info"));
  EXPECT_THAT(IsWheelTree(env, prefix), test::IsOkAndHolds(false));
  ASSERT_OK(WriteFile(env->fs, prefix / "lib/python3.11/site-packages/toy-1.0.dist-info/METADATA", "x"));
  EXPECT_THAT(IsWheelTree(env, prefix), test::IsOkAndHolds(true));
  ASSERT_OK(WriteFile(env->fs, prefix / "recipe.yaml", "x"));
  EXPECT_THAT(IsWheelTree(env, prefix), test::IsOkAndHolds(false));
  EXPECT_THAT(IsWheelTree(env, env.dir().path() / "nowhere"), test::IsOkAndHolds(false));
}

TEST(RunRepack, AFolderThatChangedSinceThePlanIsRefused) {
  test::TestEnv env;
  RepackRequest request;
  request.input = env.dir().path() / "tree";
  request.output = env.dir().path() / "dist";
  ASSERT_OK(env->fs.MakeDirs(request.input / "toy-1.0.dist-info"));
  ASSERT_OK(WriteFile(env->fs, request.input / "toy-1.0.dist-info/METADATA", "as it was"));
  ASSERT_OK_AND_ASSIGN(const graph::Plan plan, PlanRepack(env, request));
  ASSERT_OK(WriteFile(env->fs, request.input / "toy-1.0.dist-info/METADATA", "as it is"));
  ASSERT_OK_AND_ASSIGN(const BuildSummary summary, RunPlan(env, plan, request.output, {}));
  ASSERT_TRUE(summary.failure.has_value());
  EXPECT_EQ(summary.failure->code(), ErrorCode::kRefused);
}

// The files are read once, to be packed; what was packed is compared.
TEST(RunRepack, WhatChangedInAnUnpackedWheelSinceThePlanIsRefused) {
  const auto change = [](const std::function<void(test::TestEnv&, const AbsPath&)>& edit) {
    test::TestEnv env;
    RepackRequest request;
    request.input = env.dir().path() / "tree";
    request.output = env.dir().path() / "dist";
    const AbsPath info = request.input / "toy-1.0.dist-info";
    EXPECT_OK(env->fs.MakeDirs(info));
    EXPECT_OK(WriteFile(env->fs, info / "METADATA", "Metadata-Version: 2.1\nName: toy\nVersion: 1.0\n"));
    EXPECT_OK(
        WriteFile(env->fs, info / "WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"));
    EXPECT_OK(WriteFile(env->fs, request.input / "toy.py", "x = 1\n"));
    EXPECT_OK(WriteFile(env->fs, request.input / "toy.pyc", "left out"));
    EXPECT_OK(WriteFile(env->fs, info / "INSTALLER", "left out"));
    const Result<graph::Plan> plan = PlanRepack(env, request);
    EXPECT_OK(plan);
    edit(env, request.input);
    const Result<BuildSummary> summary = RunPlan(env, *plan, request.output, {});
    EXPECT_OK(summary);
    return summary->failure ? summary->failure->message() : std::string();
  };
  EXPECT_EQ(change([](test::TestEnv&, const AbsPath&) {}), "");
  for (const char* file : {"toy.py", "toy.pyc", "new.py", "toy-1.0.dist-info/INSTALLER",
                           "toy-1.0.dist-info/METADATA", "toy-1.0.dist-info/WHEEL"}) {
    EXPECT_THAT(change([&](test::TestEnv& env, const AbsPath& tree) {
                  EXPECT_OK(WriteFile(env->fs, tree / RelPath::Literal(file), "x = 2\n"));
                }),
                HasSubstr("changed after planning"))
        << file;
  }
  EXPECT_THAT(change([](test::TestEnv& env, const AbsPath& tree) {
                EXPECT_OK(env->fs.SetMode(tree / "toy.py", 0755));
              }),
              HasSubstr("changed after planning"));
}

TEST(PlanRepack, NothingIsRepackedAsAZip) {
  test::TestEnv env;
  for (const char* name : {"toy-1.0-py3-none-any.whl", "toy-1.0-0.conda"}) {
    RepackRequest request;
    request.input = env.dir().WriteFile(name, "x");
    request.output = env.dir().path() / "dist";
    request.formats = {ArtifactFormat::kZip};
    EXPECT_THAT(PlanRepack(env, request),
                FailsWith(ErrorCode::kUsage, HasSubstr("cannot be repacked as zip")));
  }
}

TEST(RunRepack, AnArtifactThatChangedSinceThePlanIsRefused) {
  for (const char* name : {"toy-1.0-py3-none-any.whl", "toy-1.0-0.conda"}) {
    test::TestEnv env;
    RepackRequest request;
    request.input = env.dir().WriteFile(name, "as it was");
    request.output = env.dir().path() / "dist";
    ASSERT_OK_AND_ASSIGN(const graph::Plan plan, PlanRepack(env, request));
    ASSERT_OK(WriteFile(env->fs, request.input, "as it is"));
    ASSERT_OK_AND_ASSIGN(const BuildSummary summary, RunPlan(env, plan, request.output, {}));
    ASSERT_TRUE(summary.failure.has_value());
    EXPECT_EQ(summary.failure->code(), ErrorCode::kRefused);
    EXPECT_THAT(summary.failure->message(), HasSubstr("changed after planning"));
  }
}

}  // namespace
}  // namespace ptpkg::pipeline
