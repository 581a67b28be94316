#include "matrix/slurm.h"

#include "unit/matrix/matrix_fixture.h"

namespace ptpkg::matrix {
namespace {

using test::FailsWith;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

/// Two magmas, a torch for each, and a vision for each torch.
JobGraph ReleaseGraph() {
  graph::Plan plan;
  for (const std::string cuda : {"12", "13"}) AddPackage(plan, "magma" + cuda);
  for (const std::string cuda : {"12", "13"})
    AddPackage(plan, "torch" + cuda, {{"package magma", "conda/magma" + cuda}});
  for (const std::string cuda : {"12", "13"})
    AddPackage(plan, "vision" + cuda, {{"package torch", "conda/torch" + cuda}});
  graph::Node index = NodeOf("index", "dist");
  for (const char* name : {"magma12", "magma13", "torch12", "torch13", "vision12", "vision13"})
    index.needs.emplace(name, std::string("publish/") + name);
  plan.nodes.push_back(index);
  return GroupNodes(plan, Publishing::kInEachJob);
}

std::set<std::size_t> All(const JobGraph& graph) {
  std::set<std::size_t> all;
  for (std::size_t i = 0; i < graph.jobs.size(); ++i) all.insert(i);
  return all;
}

std::vector<std::string> Described(const JobGraph& graph, const std::set<std::size_t>& jobs,
                                   std::uint64_t most = 1000) {
  std::vector<std::string> lines;
  std::map<std::string, std::string> submitted;
  std::vector<SlurmBatch> earlier;
  for (const SlurmBatch& batch : SlurmBatches(graph, jobs, most)) {
    lines.push_back(batch.name + " [" + SlurmArray(batch) + "] " +
                    SlurmDependency(batch, earlier, submitted));
    earlier.push_back(batch);
    submitted[batch.name] = std::to_string(10 + submitted.size());
  }
  return lines;
}

TEST(SlurmTest, JobsThatAreAlikeAreArraysThatWaitInPairs) {
  const JobGraph graph = ReleaseGraph();
  EXPECT_THAT(Described(graph, All(graph)),
              ElementsAre("1-1 [0-1] ", "2-1 [0-1] aftercorr:10", "3-1 [0-1] aftercorr:11",
                          "4-1 [0] afterany:10:11:12"));
}

TEST(SlurmTest, JobsThatWaitForTheSameOneAreOneArray) {
  const JobGraph graph = GroupNodes(TorchPlan(), Publishing::kInEachJob);
  EXPECT_THAT(Described(graph, All(graph)),
              ElementsAre("1-1 [0] ", "2-1 [0-1] afterok:10", "3-1 [0] afterany:10:11"));
}

TEST(SlurmTest, AJobThatWaitsForSeveralTasksNamesThem) {
  graph::Plan plan;
  for (const std::string name : {"a", "b", "c"}) AddPackage(plan, name);
  AddPackage(plan, "both", {{"1", "conda/a"}, {"2", "conda/c"}});
  const JobGraph graph = GroupNodes(plan, Publishing::kInEachJob);
  EXPECT_THAT(Described(graph, All(graph)), ElementsAre("1-1 [0-2] ", "2-1 [0] afterok:10_0:10_2"));
}

TEST(SlurmTest, OtherResourcesAndALongArrayMakeAnotherArray) {
  graph::Plan plan;
  for (const std::string name : {"a", "b", "c", "d"}) AddPackage(plan, name);
  plan.nodes[0].options = {{"gpus", "1"}};
  const JobGraph graph = GroupNodes(plan, Publishing::kInEachJob);
  EXPECT_THAT(Described(graph, All(graph), 2), ElementsAre("1-1 [0] ", "1-2 [0-1] ", "1-3 [0] "));
}

TEST(SlurmTest, NeedsThatHavePassedAreNotWaitedFor) {
  const JobGraph graph = ReleaseGraph();
  EXPECT_THAT(Described(graph, {3, 5, 6}),
              ElementsAre("2-1 [0] ", "3-1 [0] afterok:10", "4-1 [0] afterany:10:11"));
}

TEST(SlurmTest, TheScriptQuotesItsValues) {
  const std::string script = SlurmScript({.run = AbsPath::Literal("/run $x"),
                                          .index = AbsPath::Literal("/run/i"),
                                          .program = "/bin/ptpkg",
                                          .variables = {{"PATH", "/a b:/c"}}});
  EXPECT_THAT(script, HasSubstr("export PATH='/a b:/c'\n"));
  EXPECT_THAT(script, HasSubstr("run='/run $x'\nindex=/run/i\nptpkg=/bin/ptpkg\n"));
  EXPECT_THAT(script, HasSubstr("trap : TERM INT"));
  EXPECT_THAT(script, HasSubstr("\nunset SLURM_JWT "));
  EXPECT_THAT(script, HasSubstr("scontrol requeue \"$SLURM_JOB_ID\""));
}

TEST(SlurmTest, RowsOfSqueueAreReadAndOtherLinesAreNot) {
  const auto rows = ParseSqueue(
      "12|3|PENDING|Dependency||key/1/1-1\nslurm_load_jobs: a warning\n13|N/A|RUNNING|None|h1|\n");
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].comment, "key/1/1-1");
  EXPECT_EQ(rows[1].node, "h1");
  for (const char* live : {"PENDING", "RUNNING", "REQUEUED", "SOMETHING_NEW"})
    EXPECT_TRUE(IsLiveSlurmState(live)) << live;
  for (const char* final : {"COMPLETED", "FAILED", "CANCELLED", "NODE_FAIL"})
    EXPECT_FALSE(IsLiveSlurmState(final)) << final;
}

TEST(SlurmTest, AnEndBySlurmSaysWhatToChange) {
  const AbsPath run = AbsPath::Literal("/a run");
  const auto why = [&](const char* state, const char* reason = "None") {
    return WhySlurmEnded(run, state, reason);
  };
  EXPECT_EQ(
      why("TIMEOUT", "TimeLimit"),
      "Slurm ended it with TIMEOUT: raise 'minutes' in extra.ptpkg.resources of its recipe, and start a "
      "new run");
  EXPECT_THAT(why("OUT_OF_MEMORY"), HasSubstr("OUT_OF_MEMORY: raise 'memory'"));
  EXPECT_THAT(why("DEADLINE"), HasSubstr("remove the deadline"));
  EXPECT_THAT(why("NODE_FAIL"),
              HasSubstr("its machine failed; continue with 'ptpkg matrix resume '/a run''"));
  EXPECT_THAT(why("BOOT_FAIL"), HasSubstr("its machine failed"));
  EXPECT_THAT(why("PREEMPTED"), HasSubstr("another job took its machine"));
  EXPECT_THAT(why("CANCELLED by 1000"), HasSubstr("ended it with CANCELLED: it was withdrawn"));
  EXPECT_EQ(why("CANCELLED", "DependencyNeverSatisfied"),
            "Slurm withdrew it: a job that it needs has not passed");
  for (const char* own : {"COMPLETED", "FAILED", "SOMETHING_NEW"}) EXPECT_EQ(why(own), "") << own;
}

TEST(SlurmTest, TheJobOfAWorkerIsFoundInSacctsAnswer) {
  EXPECT_EQ(SlurmJobOf("host h1, process 5, Slurm job 12_3"), "12_3");
  EXPECT_EQ(SlurmJobOf("host h1, process 5, local job 12"), "");
  EXPECT_EQ(SlurmJobOf("host h1, process 5, Slurm job 1;x"), "");
  const auto states = ParseSacct("12_3|CANCELLED by 0\nsacct: a warning\n13|TIMEOUT\n");
  EXPECT_EQ(states, (std::map<std::string, std::string>{{"12_3", "CANCELLED by 0"}, {"13", "TIMEOUT"}}));
}

TEST(SlurmTest, NodesOfSinfoAreRead) {
  const auto rows =
      ParseSinfo("build*|4|4000|(null)|infinite\ngpu|64|512000|gpu:a100:4(S:0-1),shard:8|1-02:30:00\n");
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_TRUE(rows[0].is_default);
  EXPECT_EQ(rows[0].partition, "build");
  EXPECT_EQ(rows[0].gpus, 0U);
  EXPECT_EQ(rows[0].minutes, 0U);
  EXPECT_EQ(rows[1].gpus, 4U);
  EXPECT_EQ(rows[1].memory_bytes, 512000ULL << 20U);
  EXPECT_EQ(rows[1].minutes, 26U * 60 + 30);
}

TEST(SlurmTest, AJobThatNoMachineCanRunIsRefusedBeforeItIsSubmitted) {
  JobGraph graph = ReleaseGraph();
  const auto nodes = ParseSinfo("build*|4|16000|(null)|60:00\ngpu|64|512000|gpu:4|infinite\n");
  EXPECT_OK(CheckCluster(graph, All(graph), nodes, ""));
  EXPECT_THAT(CheckCluster(graph, All(graph), nodes, "none"),
              FailsWith(ErrorCode::kNotFound, HasSubstr("the cluster has no partition 'none'")));
  EXPECT_THAT(CheckCluster(graph, All(graph), {}, ""),
              FailsWith(ErrorCode::kNotFound, HasSubstr("no default partition")));
  graph.jobs[1].resources.gpus = 1;
  EXPECT_THAT(CheckCluster(graph, All(graph), nodes, ""),
              FailsWith(ErrorCode::kUnsupported,
                        HasSubstr("job 'magma13' asks for 4 cores, 8.0 GB, 1 GPUs, but partition 'build'")));
  EXPECT_OK(CheckCluster(graph, All(graph), nodes, "gpu"));
  EXPECT_OK(CheckCluster(graph, All(graph), nodes, "build,gpu"));
  EXPECT_OK(CheckCluster(graph, {0}, nodes, ""));
  graph.jobs[0].resources.minutes = 120;
  EXPECT_THAT(CheckCluster(graph, {0}, nodes, ""),
              FailsWith(ErrorCode::kUnsupported, HasSubstr("for 120 min")));
  graph.jobs[0].resources = {.cores = 65};
  EXPECT_THAT(CheckCluster(graph, {0}, nodes, "gpu"),
              FailsWith(ErrorCode::kUnsupported, HasSubstr("65 cores")));
}

TEST(SlurmTest, SlurmsTimeLimitComesAfterTheOneOfTheJob) {
  const auto nodes = ParseSinfo("build*|4|16000|(null)|60:00\ngpu|64|512000|gpu:4|infinite\n");
  EXPECT_EQ(SlurmMinutes(30, nodes, ""), 35U);
  EXPECT_EQ(SlurmMinutes(58, nodes, ""), 60U);  // the partition takes no more
  EXPECT_EQ(SlurmMinutes(58, nodes, "gpu"), 63U);
}

}  // namespace
}  // namespace ptpkg::matrix
