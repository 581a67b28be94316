#include "pipeline/matrix/run_job.h"

#include <algorithm>

#include "matrix/attempt.h"
#include "pipeline/matrix/matrix.h"
#include "support/must.h"
#include "unit/pipeline/fixtures/build_fixture.h"

namespace ptpkg::pipeline {
namespace {

using test::FailsWith;
using test::HasHint;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::EndsWith;
using ::testing::HasSubstr;

/// Two minutes late once a file exists.
class LateClock final : public Clock {
 public:
  LateClock(Fs& fs, AbsPath file) : fs_(fs), file_(std::move(file)) {}
  std::chrono::steady_clock::time_point Now() override {
    return clock_->Now() + std::chrono::minutes(test::Must(Exists(fs_, file_)) ? 2 : 0);
  }
  std::chrono::system_clock::time_point WallNow() override { return clock_->WallNow(); }
  void SleepFor(std::chrono::milliseconds duration) override { clock_->SleepFor(duration); }

 private:
  std::unique_ptr<Clock> clock_ = MakeOsClock();
  Fs& fs_;
  AbsPath file_;
};

class RunJobTest : public BuildFixture {
 protected:
  MatrixRequest RequestFor(const std::string& engine) {
    MatrixRequest request{.build = Request({"toy"}), .engine = engine, .run = run_, .version = "1"};
    request.program = "/usr/bin/ptpkg";
    return request;
  }
  Result<JobOutcome> RunToy(Env& env) {
    return RunJob(env, {.run = run_, .job = "toy-1.0-0", .version = "1"});
  }
  std::vector<matrix::AttemptState> Attempts() {
    const matrix::Run run = test::Must(matrix::OpenRun(env_, run_, "1"));
    return test::Must(matrix::ReadAttempts(env_, run, run.graph.jobs[0]));
  }
  [[nodiscard]] RunRequest TheRun() const { return {.run = run_, .version = "1"}; }
  Env WithClock(Clock& clock) {
    return {.fs = env_->fs,
            .process = env_->process,
            .http = env_->http,
            .clock = clock,
            .reporter = env_->reporter,
            .cancel = env_->cancel,
            .jobs = env_->jobs,
            .cache_dir = env_->cache_dir,
            .cwd = env_->cwd,
            .variables = env_->variables};
  }

  AbsPath run_ = env_.dir().path() / "run";
};

TEST_F(RunJobTest, AJobThatTakesLongerThanItsMinutesFails) {
  const AbsPath started = env_.dir().path() / "started";
  WriteRecipe("toy", "touch " + started.str() + "; sleep 1000",
              "about: {license: MIT}\nextra: {ptpkg: {formats: [conda], resources: {minutes: 1}}}\n");
  ASSERT_OK(StartMatrix(env_, RequestFor("json")));
  LateClock clock(env_->fs, started);
  Env late = WithClock(clock);
  const Result<JobOutcome> outcome = RunToy(late);
  EXPECT_THAT(outcome,
              FailsWith(ErrorCode::kCommandFailed, "job 'toy-1.0-0' took longer than its limit of 1 min"));
  EXPECT_THAT(outcome, HasHint(HasSubstr("raise 'minutes' in extra.ptpkg.resources")));
  const auto attempts = Attempts();
  ASSERT_TRUE(attempts.at(0).end.has_value());
  EXPECT_EQ(attempts[0].end->end, matrix::JobEnd::kFailed);  // an engine does not start it again
  EXPECT_THAT(attempts[0].end->error, HasSubstr("limit of 1 min"));
}

TEST_F(RunJobTest, AJobWhoseScriptEndsBeforeItsWorkerIsInterruptedWasStopped) {
  WriteRecipe("toy", "exit 3", kCondaOnly);
  ASSERT_OK(StartMatrix(env_, RequestFor("json")));
  env_->variables["SLURM_JOB_ID"] = "7";
  env_.clock.OnSleep([&] { env_.cancel.Cancel(); });  // the only sleep is the one for the signal
  EXPECT_THAT(RunToy(env_), FailsWith(ErrorCode::kCancelled, "interrupted"));
  EXPECT_EQ(Attempts().at(0).end->end, matrix::JobEnd::kStopped);
}

TEST_F(RunJobTest, TheWorkerIsNamedAfterTheJobOfItsEngine) {
  WriteRecipe("toy", "true", kCondaOnly);
  ASSERT_OK(StartMatrix(env_, RequestFor("json")));
  const auto worker_with = [&](const std::map<std::string, std::string>& variables) {
    for (const auto& [name, value] : variables) env_->variables[name] = value;
    static_cast<void>(RunToy(env_));
    for (const auto& [name, value] : variables) env_->variables.erase(name);
    return Attempts().back().worker;
  };
  EXPECT_THAT(worker_with({{"SLURM_JOB_ID", "7"}}), EndsWith(", Slurm job 7"));
  EXPECT_THAT(worker_with({{"SLURM_JOB_ID", "7"}, {"SLURM_ARRAY_JOB_ID", "5"}, {"SLURM_ARRAY_TASK_ID", "2"}}),
              EndsWith(", Slurm job 5_2"));
  EXPECT_THAT(worker_with({{kLocalJobVariable, "ab"}, {"SLURM_JOB_ID", "7"}}), EndsWith(", local job ab"));
}

TEST_F(RunJobTest, ACancellationOfARunThatPtpkgDoesNotCallIsLifted) {
  WriteRecipe("toy", "mkdir -p $PREFIX/share && touch $PREFIX/share/toy", kCondaOnly);
  ASSERT_OK(StartMatrix(env_, RequestFor("json")));
  EXPECT_THAT(ResumeMatrix(env_, TheRun()),
              FailsWith(ErrorCode::kUsage, HasSubstr("was written for json, which runs its jobs")));
  ASSERT_OK(CancelMatrix(env_, TheRun()));
  EXPECT_THAT(RunToy(env_), FailsWith(ErrorCode::kCancelled, "the run was cancelled"));
  ASSERT_OK_AND_ASSIGN(const MatrixOutcome outcome, ResumeMatrix(env_, TheRun()));
  EXPECT_FALSE(outcome.status.cancelled);
  EXPECT_THAT(env_.reporter.notes(),
              Contains(AllOf(HasSubstr("is not cancelled any more; start each job with"),
                             HasSubstr("ptpkg run-node"))));
  EXPECT_OK(RunToy(env_));
}

TEST_F(RunJobTest, ACancellationIsNotLiftedWhileAJobRuns) {
  WriteRecipe("toy", "true", kCondaOnly);
  ASSERT_OK(StartMatrix(env_, RequestFor("json")));
  const matrix::Run run = test::Must(matrix::OpenRun(env_, run_, "1"));
  auto attempt = test::Must(matrix::Attempt::Begin(env_, run, run.graph.jobs[0], "host h1"));
  ASSERT_OK(CancelMatrix(env_, TheRun()));
  const auto refused = ResumeMatrix(env_, TheRun());
  EXPECT_THAT(refused, FailsWith(ErrorCode::kRefused, HasSubstr("have not stopped yet")));
  EXPECT_THAT(refused, HasHint(EndsWith("rm " + (run_ / "cancelled").str())));
  ASSERT_OK(attempt.End({.end = matrix::JobEnd::kStopped}));
  EXPECT_OK(ResumeMatrix(env_, TheRun()));
  EXPECT_THAT(MatrixLog(env_, TheRun(), "toy-1.0-0"),
              FailsWith(ErrorCode::kNotFound, HasSubstr("its output went where 'ptpkg run-node' ran")));
  EXPECT_THAT(MatrixLog(env_, TheRun(), "index"), FailsWith(ErrorCode::kNotFound, HasSubstr("not started")));
}

TEST_F(RunJobTest, ADryRunChecksTheEnginesFilesAndWritesNone) {
  WriteRecipe("toy", "true", kCondaOnly);
  MatrixRequest request = RequestFor("kubernetes");
  request.dry_run = true;
  EXPECT_THAT(StartMatrix(env_, request),
              FailsWith(ErrorCode::kUsage, HasSubstr("needs --image and --volume")));
  request.image = "i@sha256:0";
  request.volume = "claim:" + env_.dir().path().str();
  EXPECT_OK(StartMatrix(env_, request));
  EXPECT_FALSE(test::Must(Exists(env_->fs, run_)));
}

TEST_F(RunJobTest, KubernetesNeedsItsFailedJobsRemovedAfterACancellation) {
  WriteRecipe("toy", "true", kCondaOnly);
  MatrixRequest request = RequestFor("kubernetes");
  request.image = "i@sha256:0";
  request.volume = "claim:" + env_.dir().path().str();
  ASSERT_OK_AND_ASSIGN(const MatrixOutcome started, StartMatrix(env_, request));
  ASSERT_OK(CancelMatrix(env_, TheRun()));
  ASSERT_OK(ResumeMatrix(env_, TheRun()));
  EXPECT_THAT(env_.reporter.notes(),
              Contains(AllOf(HasSubstr("kubectl delete jobs -l ptpkg/run=" + started.run.settings.key),
                             HasSubstr("kubernetes/run.sh"))));
}

TEST_F(RunJobTest, ARunWhoseJobsDoNotSeeItCannotBeCancelled) {
  WriteRecipe("toy", "true", kCondaOnly);
  ASSERT_OK(StartMatrix(env_, RequestFor("github")));
  EXPECT_THAT(
      CancelMatrix(env_, TheRun()),
      FailsWith(ErrorCode::kUnsupported, HasSubstr("was written for github, whose jobs don't see it")));
  EXPECT_THAT(ResumeMatrix(env_, TheRun()),
              FailsWith(ErrorCode::kUsage, HasSubstr("was written for github")));
}

TEST_F(RunJobTest, JobsOfCiDoNotHavePlacesOutsideOfTheRepository) {
  Put("repository/.git/config", "");
  Put("repository/toy/recipe.yaml",
      std::string("schema_version: 1\npackage: {name: toy, version: \"1.0\"}\n"
                  "build: {number: 0, string: \"0\", script: {content: [\"true\"]}}\n") +
          kCondaOnly);
  const AbsPath repository = env_.dir().path() / "repository";
  MatrixRequest request = RequestFor("gitlab");
  const auto refused = [&](const char* option) {
    const auto outcome = StartMatrix(env_, request);
    EXPECT_THAT(outcome, FailsWith(ErrorCode::kUsage, HasSubstr("is not in the repository")));
    EXPECT_THAT(outcome, HasHint(EndsWith(option)));
  };
  request.build.recipes = {repository / "toy"};
  refused("--run");
  request.run = repository / "run";
  refused("--cache-dir");
  env_->cache_dir = repository / "cache";
  refused("--output");
  request.build.output = repository / "dist";
  request.build.variant_files = {env_.dir().path() / "other.yaml"};
  Put("other.yaml", "{}");
  EXPECT_THAT(StartMatrix(env_, request),
              FailsWith(ErrorCode::kUsage, HasSubstr("is outside the repository")));
  request.engine = "github";
  EXPECT_THAT(StartMatrix(env_, request),
              FailsWith(ErrorCode::kUsage, HasSubstr("is outside the repository")));
  request.build.variant_files = {};
  request.engine = "gitlab";
  EXPECT_OK(StartMatrix(env_, request));
}

}  // namespace
}  // namespace ptpkg::pipeline
