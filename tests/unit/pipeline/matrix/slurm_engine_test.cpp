#include "pipeline/matrix/slurm_engine.h"

#include <functional>
#include <utility>

#include "matrix/attempt.h"
#include "pipeline/matrix/local.h"
#include "pipeline/matrix/matrix.h"
#include "support/fake_process.h"
#include "unit/matrix/matrix_fixture.h"

namespace ptpkg::pipeline {
namespace {

using test::FailsWith;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

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
    process_.On("squeue", [this](const Command& command) {
      EXPECT_THAT(command.argv, Contains("-a"));
      ExitStatus status;
      status.output = queue_;
      if (squeue_failures_ > 0) status.code = 1;
      squeue_failures_ -= squeue_failures_ > 0 ? 1 : 0;
      return status;
    });
  }

  Result<ExitStatus> Sbatch(const Command& command) {
    if (const auto during = std::exchange(during_, {})) during();
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
  Result<std::vector<AbsPath>> Submit() {
    return SubmitSlurm(env_, run_, {0, 1, 2, 3}, {}, "/usr/bin/ptpkg");
  }

  test::FakeProcess process_;
  test::TestEnv env_{{.process = &process_}};
  matrix::Run run_;
  std::vector<std::vector<std::string>> submitted_;
  std::function<void()> during_;  ///< Called in the next submission.
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
                    Contains("--kill-on-invalid-dep=yes"), Contains("--export=ALL"), Contains("--requeue"),
                    Contains("--open-mode=append"), Contains("--job-name=magma")));
  EXPECT_THAT(submitted_[1], AllOf(Contains("--array=0-1"), Contains("--dependency=afterok:10"),
                                   Contains("--cpus-per-task=4")));
  EXPECT_THAT(submitted_[2], Contains("--dependency=afterany:10:11"));
  EXPECT_EQ(test::Must(ReadFile(env_->fs, run_.folder / "slurm/1/2-1.index")), "0 torch-a\n1 torch-b\n");
}

TEST_F(SlurmEngineTest, JobsGetNoVariablesOfTheCallerThatMightBeSecret) {
  env_->variables = {{"HOME", "/home/me"},
                     {"SLURM_CONF", "/etc/slurm.conf"},
                     {"SBATCH_QOS", "long"},
                     {"SBATCH_EXPORT", "NONE"},
                     {"SLURM_RESTART_COUNT", "2"},
                     {"AWS_SECRET_ACCESS_KEY", "secret-of-the-test"},
                     {"DATABASE", "secret-of-the-test"}};
  EXPECT_OK(Submit());
  const std::map<std::string, std::string> expected = {
      {"HOME", "/home/me"}, {"SLURM_CONF", "/etc/slurm.conf"}, {"SBATCH_QOS", "long"}};
  EXPECT_EQ(process_.commands().front().env, expected);
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

TEST_F(SlurmEngineTest, CancelCallsNobodyWhenNothingIsQueuedAndReportsAFailure) {
  ASSERT_OK(Submit());
  process_.Answer("scancel", 1, "scancel: error: Access denied\n");
  EXPECT_THAT(CancelSlurm(env_, run_), FailsWith(ErrorCode::kCommandFailed, HasSubstr("Access denied")));
  queue_ = "10|0|COMPLETED|None|h1|abc/1/1-1\n";
  EXPECT_OK(CancelSlurm(env_, run_));
}

TEST_F(SlurmEngineTest, ResourcesAndTheNameOfTheDirectoryAreArguments) {
  run_.graph.jobs[0].resources.gpus = 2;
  run_.graph.jobs[0].resources.minutes = 90;
  process_.Answer("sinfo", 0, "build*|64|512000|(null)|infinite\n");
  run_.folder = env_.dir().path() / "100%a";
  ASSERT_OK(Submit());
  EXPECT_THAT(submitted_[0],
              AllOf(Contains("--gres=gpu:2"), Contains("--time=95"),
                    Contains("--output=" + env_.dir().path().str() + "/100%%a/slurm/1/1-1-%a.out")));
  run_.folder = env_.dir().path() / "back\\slash";
  EXPECT_THAT(CheckSlurm(env_, run_, {0}), FailsWith(ErrorCode::kUsage, HasSubstr("has a backslash")));
}

TEST_F(SlurmEngineTest, DefaultsOfTheUserDoNotReachTheClients) {
  const std::vector<std::string> kept = {"SBATCH_ACCOUNT", "SBATCH_QOS", "SLURM_CONF"};
  const std::vector<std::string> dropped = {"SBATCH_ARRAY_INX", "SCANCEL_STATE",    "SINFO_PARTITION",
                                            "SLURM_CLUSTERS",   "SQUEUE_PARTITION", "SQUEUE_USERS"};
  for (const auto& names : {kept, dropped}) {
    for (const std::string& name : names) env_->variables[name] = "x";
  }
  ASSERT_OK(Submit());
  ASSERT_OK(AskSlurm(env_, run_));
  for (const Command& command : process_.commands()) {
    for (const std::string& name : kept) EXPECT_TRUE(command.env.contains(name)) << name;
    for (const std::string& name : dropped) EXPECT_FALSE(command.env.contains(name)) << name;
  }
}

TEST_F(SlurmEngineTest, ASecretOfTheCallerIsLeftOutWithAWarning) {
  const std::string token = "secret-of-the-test";
  env_->variables["CCACHE_REMOTE_STORAGE"] = "http://h/x|bearer-token=" + token;
  env_->variables["CCACHE_MAXSIZE"] = "20G";
  ASSERT_OK(Submit());
  EXPECT_THAT(test::Must(ReadFile(env_->fs, run_.folder / "slurm/1/1-1.sh")),
              AllOf(HasSubstr("export CCACHE_MAXSIZE=20G\n"), Not(HasSubstr(token))));
  EXPECT_THAT(env_.reporter.warnings(),
              ElementsAre(AllOf(HasSubstr("without CCACHE_REMOTE_STORAGE"), Not(HasSubstr(token)))));
}

TEST_F(SlurmEngineTest, AnswersThatSayThatTheControllerIsAwayAreRepeated) {
  fails_at_ = 1;
  is_lost_ = true;
  failure_.code = 1;
  failure_.output = "sbatch: error: Unable to contact slurm controller\n";
  EXPECT_OK(Submit());
  EXPECT_EQ(submitted_.size(), 4U);
}

TEST_F(SlurmEngineTest, AClientWithoutAnAnswerIsNamedWithItsTimeLimit) {
  process_.On("squeue", [](const Command&) {
    ExitStatus status;
    status.timed_out = true;
    return status;
  });
  EXPECT_THAT(AskSlurm(env_, run_),
              FailsWith(ErrorCode::kCommandFailed, "'squeue' failed: no answer within 60 s"));
}

TEST_F(SlurmEngineTest, OfTwoResumesAtOnceOneSubmits) {
  process_.Answer("sinfo", 0, "build*|64|512000|(null)|infinite\n");
  const RunRequest request{.run = run_.folder, .version = "1", .program = "/usr/bin/ptpkg"};
  during_ = [&] {
    EXPECT_THAT(ResumeMatrix(env_, request),
                FailsWith(ErrorCode::kRefused, HasSubstr("another 'ptpkg matrix' is starting")));
  };
  EXPECT_OK(ResumeMatrix(env_, request));
  EXPECT_EQ(submitted_.size(), 3U);
  EXPECT_THAT(ResumeMatrix(env_, request),
              FailsWith(ErrorCode::kRefused, HasSubstr("are still queued or running")));
  queue_.clear();
  EXPECT_OK(ResumeMatrix(env_, request));
  EXPECT_THAT(submitted_.back(), Contains("--comment=abc/2/3-1"));
}

TEST_F(SlurmEngineTest, TheLastSubmissionOfAJobSaysWhySlurmEndedIt) {
  ASSERT_OK(Submit());
  ASSERT_OK(Submit());
  queue_ =
      "13|0|TIMEOUT|TimeLimit|h1|abc/2/1-1\n9|0|NODE_FAIL|None|h1|abc/1/1-1\n14|0|CANCELLED|"
      "DependencyNeverSatisfied||abc/2/2-1\n";
  ASSERT_OK_AND_ASSIGN(const auto jobs, AskSlurm(env_, run_));
  EXPECT_THAT(jobs.at("magma").ended, HasSubstr("ended it with TIMEOUT: raise 'minutes'"));
  EXPECT_THAT(jobs.at("torch-a").ended, HasSubstr("a job that it needs has not passed"));
}

TEST_F(SlurmEngineTest, AccountingExplainsWhatTheControllerHasForgotten) {
  ASSERT_OK(Submit());
  queue_.clear();
  const auto end = [&](std::size_t job, const char* worker, const matrix::JobRecord& record) {
    auto attempt = test::Must(matrix::Attempt::Begin(env_, run_, run_.graph.jobs[job], worker));
    test::Must(attempt.End(record));
  };
  const RunRequest request{.run = run_.folder, .version = "1"};
  ASSERT_OK(MatrixStatus(env_, request));
  EXPECT_EQ(process_.commands().back().argv.front(), "squeue");  // nothing has failed so far
  end(0, "host h1, process 5, Slurm job 10_0", {.end = matrix::JobEnd::kFailed, .error = "killed"});
  end(1, "host h1, process 6, Slurm job 11_0", {});
  ASSERT_OK_AND_ASSIGN(const MatrixOutcome without, MatrixStatus(env_, request));
  EXPECT_EQ(without.status.jobs[0].error, "killed");  // a cluster without sacct
  process_.Answer("sacct", 0, "10_0|OUT_OF_MEMORY\n11_0|COMPLETED\n");
  ASSERT_OK_AND_ASSIGN(const MatrixOutcome outcome, MatrixStatus(env_, request));
  EXPECT_EQ(process_.commands().back().argv.back(), "10_0");
  EXPECT_THAT(outcome.status.jobs[0].error,
              AllOf(HasSubstr("OUT_OF_MEMORY: raise 'memory'"), HasSubstr("; killed")));
  EXPECT_EQ(outcome.status.jobs[0].engine.state, "OUT_OF_MEMORY");
}

TEST_F(SlurmEngineTest, AWorkerOfThisMachineThatDiedBeforeItsAttemptHasNotPassed) {
  auto attempt = test::Must(matrix::Attempt::Begin(env_, run_, run_.graph.jobs[0], "host h1, process 5"));
  test::Must(attempt.End({}));
  process_.On("ptpkg", [](const Command&) {
    ExitStatus status;
    status.signal = 9;
    return status;
  });
  const std::size_t before = process_.commands().size();
  EXPECT_OK(RunLocal(env_, run_, {.program = AbsPath::Literal("/usr/bin/ptpkg"), .jobs = {0, 1}}));
  EXPECT_EQ(process_.commands().size(), before + 1);  // nothing that needs the job
  EXPECT_THAT(env_.reporter.warnings(), ElementsAre(HasSubstr("was killed by signal 9 in job 'magma'")));
}

}  // namespace
}  // namespace ptpkg::pipeline
