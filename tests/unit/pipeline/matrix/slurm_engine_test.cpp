#include "pipeline/matrix/slurm_engine.h"

#include "support/fake_process.h"
#include "unit/matrix/matrix_fixture.h"

namespace ptpkg::pipeline {
namespace {

using test::FailsWith;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;

class SlurmEngineTest : public ::testing::Test {
 protected:
  SlurmEngineTest() {
    run_.folder = env_.dir().path() / "run";
    run_.settings = {
        .key = "abc", .version = "1", .engine = "slurm", .cache = env_->cache_dir, .output = run_.folder};
    run_.settings.engine_settings = {{"partition", "build"}, {"sbatch", {"--account=ml"}}};
    const graph::Plan plan = matrix::TorchPlan();
    run_.graph = matrix::GroupNodes(plan, matrix::Publishing::kInEachJob);
    test::Must(matrix::CreateRun(env_, run_, plan));
    process_.On("sbatch", [this](const Command& command) { return Sbatch(command); });
    process_.On("squeue", [this](const Command&) {
      ExitStatus status;
      status.output = queue_;
      if (squeue_failures_ > 0) status.code = 1;
      squeue_failures_ -= squeue_failures_ > 0 ? 1 : 0;
      return status;
    });
  }

  Result<ExitStatus> Sbatch(const Command& command) {
    ExitStatus status;
    submitted_.push_back(command.argv);
    const std::string number = std::to_string(9 + submitted_.size());
    for (const std::string& word : command.argv) {
      if (word.starts_with("--comment=")) queue_ += number + "|0|PENDING|None||" + word.substr(10) + "\n";
    }
    if (submitted_.size() == fails_at_) {
      if (is_lost_) queue_.clear();
      return failure_;
    }
    status.output = number + "\n";
    return status;
  }
  Result<std::vector<AbsPath>> Submit() { return SubmitSlurm(env_, run_, {0, 1, 2, 3}, "/usr/bin/ptpkg"); }

  test::FakeProcess process_;
  test::TestEnv env_{{.process = &process_}};
  matrix::Run run_;
  std::vector<std::vector<std::string>> submitted_;
  std::string queue_;
  std::size_t fails_at_ = 0;
  bool is_lost_ = false;
  int squeue_failures_ = 0;
  ExitStatus failure_;
};

TEST_F(SlurmEngineTest, AllBatchesAreSubmittedAtOnceWithTheirDependencies) {
  EXPECT_OK(Submit());
  ASSERT_EQ(submitted_.size(), 3U);
  EXPECT_THAT(submitted_[0],
              AllOf(Contains("--comment=abc/1/1-1"), Contains("--partition=build"), Contains("--account=ml"),
                    Contains("--kill-on-invalid-dep=yes"), Contains("--export=NONE"), Contains("--requeue"),
                    Contains("--open-mode=append"), Contains("--job-name=magma")));
  EXPECT_THAT(submitted_[1], AllOf(Contains("--array=0-1"), Contains("--dependency=afterok:10"),
                                   Contains("--cpus-per-task=4")));
  EXPECT_THAT(submitted_[2], Contains("--dependency=afterany:10:11"));
  EXPECT_EQ(test::Must(ReadFile(env_->fs, run_.folder / "slurm/1/2-1.index")), "0 torch-a\n1 torch-b\n");
}

TEST_F(SlurmEngineTest, ASubmissionThatTimedOutIsFoundAndNotRepeated) {
  fails_at_ = 2;
  failure_.timed_out = true;
  EXPECT_OK(Submit());
  EXPECT_EQ(submitted_.size(), 3U);
  EXPECT_THAT(submitted_[2], Contains("--dependency=afterany:10:11"));
}

TEST_F(SlurmEngineTest, ASubmissionThatNeverArrivedIsRepeated) {
  fails_at_ = 2;
  is_lost_ = true;
  failure_.timed_out = true;
  EXPECT_OK(Submit());
  EXPECT_EQ(submitted_.size(), 4U);
}

TEST_F(SlurmEngineTest, ASubmissionIsNotRepeatedBeforeTheQueueAnswers) {
  fails_at_ = 2;
  failure_.timed_out = true;
  squeue_failures_ = 2;
  EXPECT_OK(Submit());
  EXPECT_EQ(submitted_.size(), 3U);
}

TEST_F(SlurmEngineTest, WithoutAnAnswerNobodyKnowsAndNothingIsRepeated) {
  fails_at_ = 2;
  failure_.timed_out = true;
  squeue_failures_ = 100;
  EXPECT_THAT(Submit(), FailsWith(ErrorCode::kCommandFailed, HasSubstr("squeue")));
  EXPECT_EQ(submitted_.size(), 2U);
}

TEST_F(SlurmEngineTest, ARefusalIsFinal) {
  fails_at_ = 1;
  is_lost_ = true;
  failure_.code = 1;
  failure_.output = "sbatch: error: Batch job submission failed: Invalid account\n";
  EXPECT_THAT(Submit(), FailsWith(ErrorCode::kCommandFailed, HasSubstr("Invalid account")));
  EXPECT_EQ(submitted_.size(), 1U);
}

TEST_F(SlurmEngineTest, WithoutClientsTheErrorNamesThem) {
  test::FakeProcess none;
  test::TestEnv env{{.process = &none}};
  EXPECT_THAT(AskSlurm(env, run_), FailsWith(ErrorCode::kNotFound, HasSubstr("squeue")));
  EXPECT_THAT(CheckSlurm(env, run_, {0}), FailsWith(ErrorCode::kNotFound, HasSubstr("sinfo")));
}

TEST_F(SlurmEngineTest, TheQueueIsAskedOnceForAllJobs) {
  ASSERT_OK(Submit());
  queue_ =
      "10|0|COMPLETED|None|h1|abc/1/1-1\n11|1|PENDING|Dependency||abc/1/2-1\n12|0|RUNNING|None|h1|other/1/"
      "1-1\n";
  const std::size_t before = process_.commands().size();
  ASSERT_OK_AND_ASSIGN(const auto jobs, AskSlurm(env_, run_));
  EXPECT_EQ(process_.commands().size(), before + 1);
  ASSERT_EQ(jobs.size(), 2U);
  EXPECT_FALSE(jobs.at("magma").queued);
  EXPECT_TRUE(jobs.at("torch-b").queued);
  EXPECT_EQ(jobs.at("torch-b").reason, "Dependency");
}

TEST_F(SlurmEngineTest, CancelWithdrawsWhatIsQueuedByOneCall) {
  ASSERT_OK(Submit());
  process_.Answer("scancel", 0, "");
  queue_ =
      "10|0|COMPLETED|None|h1|abc/1/1-1\n11|0|RUNNING|None|h2|abc/1/2-1\n11|1|PENDING|Dependency||abc/1/"
      "2-1\n";
  ASSERT_OK(CancelSlurm(env_, run_));
  EXPECT_EQ(process_.commands().back().argv, (std::vector<std::string>{"scancel", "11_0", "11_1"}));
}

}  // namespace
}  // namespace ptpkg::pipeline
