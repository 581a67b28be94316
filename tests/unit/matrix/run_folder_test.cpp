#include "matrix/run_folder.h"

#include "support/fault_fs.h"
#include "unit/matrix/matrix_fixture.h"

namespace ptpkg::matrix {
namespace {

using test::FailsWith;
using test::IsOkAndHolds;
using ::testing::HasSubstr;

class RunFolderTest : public MatrixTest {
 protected:
  void Change(const AbsPath& file, const std::string& from, const std::string& to) {
    std::string text = test::Must(ReadFile(env_->fs, file));
    ASSERT_NE(text.find(from), std::string::npos);
    test::Must(WriteFile(env_->fs, file, text.replace(text.find(from), from.size(), to)));
  }

  std::optional<Lease> lease_;
};

TEST_F(RunFolderTest, ARunIsReadAsItWasWritten) {
  const matrix::Run run = NewRun();
  ASSERT_OK_AND_ASSIGN(const matrix::Run read, OpenRun(env_, run.folder, "1 (c)"));
  EXPECT_EQ(read.settings.output, run.settings.output);
  EXPECT_EQ(read.settings.lease_seconds, 10U);
  EXPECT_EQ(read.settings.remote_cache, "s3://bucket/team");
  EXPECT_TRUE(read.settings.remote_cache_read_only);
  EXPECT_EQ(JobsToJson(read.graph), JobsToJson(run.graph));
  ASSERT_OK_AND_ASSIGN(const graph::Plan plan, ReadPlan(env_, read));
  EXPECT_EQ(plan.nodes.size(), TorchPlan().nodes.size());
}

TEST_F(RunFolderTest, OnlyThePtpkgThatStartedARunReadsIt) {
  const matrix::Run run = NewRun();
  EXPECT_THAT(OpenRun(env_, run.folder, "2 (d)"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("is from ptpkg 1 (c), but this is ptpkg 2 (d)")));
}

TEST_F(RunFolderTest, AnEditedRunIsRefused) {
  const matrix::Run run = NewRun();
  Change(run.folder / "run.json", "\"lease_seconds\": 10", "\"lease_seconds\": 11");
  EXPECT_THAT(OpenRun(env_, run.folder, "1 (c)"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("was edited")));
}

TEST_F(RunFolderTest, AnEditedPlanIsRefused) {
  const matrix::Run run = NewRun();
  Change(run.PlanFile(), "\"options\": {}", "\"options\": {\"force\": \"\"}");
  EXPECT_THAT(ReadPlan(env_, run),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("was edited after the run started")));
}

TEST_F(RunFolderTest, ADirectoryWithFilesIsNoPlaceForARun) {
  const matrix::Run run = NewRun();
  EXPECT_THAT(CreateRun(env_, run, TorchPlan()),
              FailsWith(ErrorCode::kAlreadyExists, HasSubstr("is not empty")));
  EXPECT_THAT(OpenRun(env_, env_.dir().path(), "1"),
              FailsWith(ErrorCode::kNotFound, HasSubstr("is not a run")));
}

TEST_F(RunFolderTest, OneProcessAtATimeStartsTheJobs) {
  const matrix::Run run = NewRun();
  EXPECT_THAT(IsRunLeased(env_, run), IsOkAndHolds(false));
  {
    ASSERT_OK_AND_ASSIGN(const Lease lease, LeaseRun(env_, run));
    EXPECT_THAT(IsRunLeased(env_, run), IsOkAndHolds(true));
    EXPECT_THAT(LeaseRun(env_, run),
                FailsWith(ErrorCode::kRefused, HasSubstr("another 'ptpkg matrix' is starting or running")));
  }
  EXPECT_OK(LeaseRun(env_, run));
}

TEST_F(RunFolderTest, OfTwoNewRunsInOneDirectoryTheSecondWritesNothing) {
  matrix::Run run{.folder = env_.dir().path() / "run"};
  run.graph = GroupNodes(TorchPlan(), Publishing::kInEachJob);
  {
    ASSERT_OK(env_->fs.MakeDirs(run.folder));
    ASSERT_OK_AND_ASSIGN(const Lease first, LeaseRun(env_, run));  // it has written nothing so far
    EXPECT_THAT(CreateRun(env_, run, TorchPlan()), FailsWith(ErrorCode::kRefused, HasSubstr("another")));
  }
  EXPECT_THAT(env_->fs.ListDir(run.folder), IsOkAndHolds(std::vector<std::string>{"engine"}));
  env_.clock.OnSleep([&] {  // the first call writes its run while the second one waits for the lease
    test::Must(WriteFile(env_->fs, run.folder / "run.json", "{}"));
    lease_.reset();
  });
  lease_.emplace(test::Must(LeaseRun(env_, run)));
  EXPECT_THAT(CreateRun(env_, run, TorchPlan()),
              FailsWith(ErrorCode::kAlreadyExists, HasSubstr("is not empty")));
  EXPECT_THAT(ReadFile(env_->fs, run.folder / "run.json"), IsOkAndHolds(std::string("{}")));
}

TEST_F(RunFolderTest, ACallThatWasKilledLeavesNoPartOfARun) {
  for (std::uint64_t number = 1;; ++number) {
    test::TestEnv env;
    test::FaultFs fs(
        env->fs, {.number = number, .scope = test::FaultScope::kMutating, .after = test::FaultAfter::kDead});
    Env faulty = WithFs(env, fs);
    matrix::Run run{.folder = env.dir().path() / "run"};
    run.graph = GroupNodes(TorchPlan(), Publishing::kInEachJob);
    if (CreateRun(faulty, run, TorchPlan())) break;
    const Result<matrix::Run> opened = OpenRun(env, run.folder, "");
    if (opened) {
      EXPECT_OK(ReadPlan(env, *opened)) << number;
    }
    ASSERT_LT(number, 200U);
  }
}

TEST_F(RunFolderTest, ADamagedRecordCountsAsMissing) {
  const matrix::Run run = NewRun();
  const AbsPath attempt = run.AttemptsFolder(run.graph.jobs[0]) / "1";
  ASSERT_OK(env_->fs.MakeDir(attempt));
  ASSERT_OK(WriteFile(env_->fs, attempt / "end.json", "{"));
  ASSERT_OK_AND_ASSIGN(const auto attempts, ReadAttempts(env_, run, run.graph.jobs[0]));
  ASSERT_EQ(attempts.size(), 1U);
  EXPECT_FALSE(attempts[0].end.has_value());
}

TEST(JobRecordTest, JsonHoldsAllOfIt) {
  JobRecord record{.end = JobEnd::kFailed, .started_s = 5, .seconds = 1.5, .error = "e", .error_code = "io"};
  record.nodes.push_back({.id = "build/a",
                          .key = "k",
                          .state = "ran",
                          .reason = "r",
                          .begin_seconds = 1,
                          .seconds = 2,
                          .digest = "d"});
  record.inputs = {{"publish/x", "d"}};
  const Json json = JobRecordToJson(record);
  ASSERT_OK_AND_ASSIGN(const JobRecord read, JobRecordFromJson(json, "f"));
  EXPECT_EQ(JobRecordToJson(read), json);
  EXPECT_FALSE(read.IsCached());
  EXPECT_THAT(JobRecordFromJson({{"state", "x"}}, "f"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("unknown state 'x'")));
}

TEST(JobRecordTest, ADigestIsThatOfTheContent) {
  graph::NodeResult result{.key = "k"};
  const std::string approval = DigestOfResult(result);
  result.files.root = AbsPath::Literal("/elsewhere");
  EXPECT_EQ(DigestOfResult(result), approval);
  result.value = {
      {"artifacts", {{{"path", "conda/a"}, {"format", "conda"}, {"sha256", std::string(64, 'a')}}}}};
  const std::string artifact = DigestOfResult(result);
  EXPECT_NE(artifact, approval);
  result.value["artifacts"][0]["sha256"] = std::string(64, 'b');
  EXPECT_NE(DigestOfResult(result), artifact);
  result.value = {{"prefix", "/p"}};
  result.files.entries.push_back({.path = RelPath::Literal("f"), .size_bytes = 1});
  const std::string tree = DigestOfResult(result);
  result.files.root = AbsPath::Literal("/third");
  EXPECT_EQ(DigestOfResult(result), tree);
}

}  // namespace
}  // namespace ptpkg::matrix
