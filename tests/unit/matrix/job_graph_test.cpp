#include "matrix/job_graph.h"

#include "unit/matrix/matrix_fixture.h"

namespace ptpkg::matrix {
namespace {

using test::FailsWith;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> Ids(const JobGraph& graph) {
  std::vector<std::string> ids;
  for (const Job& job : graph.jobs) ids.push_back(job.id);
  return ids;
}

TEST(JobGraphTest, ABuildAndAllThatFollowsIsOneJob) {
  const JobGraph graph = GroupNodes(TorchPlan(), Publishing::kInEachJob);
  EXPECT_THAT(Ids(graph), ElementsAre("magma", "torch-a", "torch-b", "index"));
  EXPECT_THAT(graph.jobs[1].nodes,
              ElementsAre("build/torch-a", "conda/torch-a", "check/torch-a", "publish/torch-a"));
  EXPECT_THAT(graph.jobs[1].needs, ElementsAre(0));
  EXPECT_THAT(graph.jobs[3].needs, ElementsAre(0, 1, 2));
  EXPECT_EQ(graph.jobs[3].level, 2U);
  EXPECT_TRUE(graph.jobs[3].after_failures);
  EXPECT_FALSE(graph.jobs[0].after_failures);
}

TEST(JobGraphTest, TheLastJobCanPublishEverything) {
  const JobGraph graph = GroupNodes(TorchPlan(), Publishing::kInLastJob);
  EXPECT_THAT(Ids(graph), ElementsAre("magma", "torch-a", "torch-b", "publish"));
  EXPECT_THAT(graph.jobs[0].nodes, ElementsAre("build/magma", "conda/magma", "check/magma"));
  EXPECT_THAT(graph.jobs[3].nodes,
              ElementsAre("publish/magma", "publish/torch-a", "publish/torch-b", "index/dist"));
  EXPECT_FALSE(graph.jobs[3].after_failures);
}

TEST(JobGraphTest, ANodeJoinsTheLastJobThatItNeedsSoThatNoTwoWaitForEachOther) {
  graph::Plan plan;
  plan.nodes.push_back(NodeOf("build", "a"));
  plan.nodes.push_back(NodeOf("build", "b", {{"package a", "build/a"}}));
  plan.nodes.push_back(NodeOf("outputs", "a", {{"1", "build/a"}, {"2", "build/b"}}));
  const JobGraph graph = GroupNodes(plan, Publishing::kInEachJob);
  ASSERT_EQ(graph.jobs.size(), 2U);
  EXPECT_THAT(graph.jobs[1].nodes, ElementsAre("build/b", "outputs/a"));
  EXPECT_THAT(graph.jobs[0].needs, IsEmpty());
}

TEST(JobGraphTest, ResourcesAreThoseOfTheRecipeOrDefaults) {
  graph::Plan plan = TorchPlan();
  plan.nodes[0].options = {
      {"cores", "16"}, {"memory-per-job", "3000000000"}, {"gpus", "1"}, {"minutes", "90"}, {"disk", "7"}};
  const JobGraph graph = GroupNodes(plan, Publishing::kInEachJob);
  EXPECT_EQ(graph.jobs[0].resources, (Resources{16, 48'000'000'000, 7, 1, 90}));
  EXPECT_EQ(graph.jobs[1].resources, (Resources{4, 8'000'000'000, 0, 0, 0}));
  EXPECT_EQ(graph.jobs[3].resources, Resources());
}

TEST(JobGraphTest, JsonHoldsAllOfIt) {
  JobGraph graph = GroupNodes(TorchPlan(), Publishing::kInEachJob);
  graph.jobs[0].expected_seconds = 12.5;
  graph.jobs[0].variant = {{"python", "3.11"}};
  const Json json = JobsToJson(graph);
  ASSERT_OK_AND_ASSIGN(const JobGraph read, JobsFromJson(json, "a file"));
  EXPECT_EQ(JobsToJson(read), json);
  EXPECT_EQ(read.LevelCount(), 3U);
}

TEST(JobGraphTest, OtherJsonIsRefused) {
  EXPECT_THAT(JobsFromJson(Json::object(), "f"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("'jobs' of f")));
  EXPECT_THAT(JobsFromJson(Json::array({1}), "f"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("not an object")));
  Json jobs = JobsToJson(GroupNodes(TorchPlan(), Publishing::kInEachJob));
  jobs[0]["needs"] = {"torch-a"};
  EXPECT_THAT(JobsFromJson(jobs, "f"), FailsWith(ErrorCode::kInvalidInput, HasSubstr("needs 'torch-a'")));
  jobs = JobsToJson(GroupNodes(TorchPlan(), Publishing::kInEachJob));
  jobs[0]["resources"]["cores"] = -1;
  EXPECT_THAT(JobsFromJson(jobs, "f"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("'cores' of f is negative")));
}

}  // namespace
}  // namespace ptpkg::matrix
