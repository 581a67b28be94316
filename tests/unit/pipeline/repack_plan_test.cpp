// What repacking plans before it reads a wheel.

#include "graph/plan.h"
#include "pipeline/repack.h"
#include "support/json.h"
#include "support/matchers.h"
#include "support/test_env.h"

namespace ptpkg::pipeline {
namespace {

using test::FailsWith;
using ::testing::HasSubstr;

TEST(PlanRepack, APythonThatIsNoneIsFoundBeforeTheWheelIsRead) {
  test::TestEnv env;
  RepackRequest request;
  request.input = env.dir().path() / "nowhere-1.0-py3-none-any.whl";
  request.output = env.dir().path() / "dist";
  request.python = "3.x";
  EXPECT_THAT(PlanRepack(env, request), FailsWith(ErrorCode::kUsage, HasSubstr("--python: '3.x'")));
}

TEST(PlanRepack, PatchReleasesOfPythonShareTheirResult) {
  test::TestEnv env;
  RepackRequest request;
  request.input = env.dir().WriteFile("toy-1.0-py3-none-any.whl", "not read as a wheel yet");
  request.output = env.dir().path() / "dist";
  request.python = "3.11.7";
  ASSERT_OK_AND_ASSIGN(const graph::Plan plan, PlanRepack(env, request));
  EXPECT_EQ(plan.nodes.front().inputs.at("python"), "3.11");
}

}  // namespace
}  // namespace ptpkg::pipeline
