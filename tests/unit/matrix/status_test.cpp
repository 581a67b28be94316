#include "matrix/status.h"

#include "matrix/attempt.h"
#include "unit/matrix/matrix_fixture.h"

namespace ptpkg::matrix {
namespace {

using ::testing::ElementsAre;

class StatusTest : public MatrixTest {
 protected:
  StatusTest() : run_(NewRun()) {}

  /// With a result, as a job has that passed; the index reads those of all jobs that have passed.
  void End(std::size_t job, JobRecord record) {
    const Job& known = run_.graph.jobs[job];
    if (record.end == JobEnd::kPassed)
      record.nodes = {{.id = known.nodes.back(), .key = "k", .state = "cached", .digest = digest_}};
    for (const std::size_t need : known.after_failures ? known.needs : std::set<std::size_t>()) {
      const auto attempts = test::Must(ReadAttempts(env_, run_, run_.graph.jobs[need]));
      const AttemptState* passed = PassedAttempt(attempts);
      if (passed != nullptr) record.inputs[passed->end->nodes[0].id] = passed->end->nodes[0].digest;
    }
    Attempt attempt = test::Must(Attempt::Begin(env_, run_, run_.graph.jobs[job], "host h1"));
    test::Must(attempt.End(record));
  }
  RunStatus Status(bool alive) { return test::Must(ReadStatus(env_, run_, std::nullopt, alive)); }
  static std::vector<std::string_view> States(const RunStatus& status) {
    std::vector<std::string_view> states;
    for (const JobStatus& job : status.jobs) states.push_back(JobStateName(job.state));
    return states;
  }
  std::set<std::size_t> ToRun() { return JobsToRun(run_, test::Must(ReadAllAttempts(env_, run_))); }

  matrix::Run run_;
  std::string digest_ = "a";
};

TEST_F(StatusTest, JobsAreWhatTheirRecordsSay) {
  EXPECT_THAT(States(Status(true)), ElementsAre("waiting", "waiting", "waiting", "waiting"));
  End(0, {.end = JobEnd::kPassed, .seconds = 3});
  End(1, {.end = JobEnd::kFailed, .error = "no"});
  ASSERT_OK(Attempt::Begin(env_, run_, run_.graph.jobs[2], "host h2"));
  const RunStatus running = Status(true);
  EXPECT_THAT(States(running), ElementsAre("passed", "failed", "running", "waiting"));
  EXPECT_TRUE(running.jobs[0].cached);
  EXPECT_EQ(running.jobs[1].error, "no");
  EXPECT_EQ(running.jobs[2].worker, "host h2");
  EXPECT_FALSE(running.IsOver());
  EXPECT_THAT(States(Status(false)), ElementsAre("passed", "failed", "lost", "not started"));
}

TEST_F(StatusTest, AJobThatWaitsForAFailedOneNeverStarts) {
  End(0, {.end = JobEnd::kFailed});
  EXPECT_THAT(States(Status(true)), ElementsAre("failed", "not started", "not started", "waiting"));
}

TEST_F(StatusTest, TheSchedulerSaysWhatIsStillQueued) {
  End(0, {.end = JobEnd::kStopped});
  const std::map<std::string, EngineJob> engine = {
      {"magma", {.queued = true, .id = "1_0", .state = "PENDING", .reason = "BeginTime"}},
      {"torch-a", {.queued = true, .id = "2_0", .state = "PENDING"}}};
  ASSERT_OK_AND_ASSIGN(const RunStatus status, ReadStatus(env_, run_, engine, false));
  EXPECT_THAT(States(status), ElementsAre("waiting", "waiting", "not started", "not started"));
  EXPECT_EQ(status.jobs[0].engine.reason, "BeginTime");
}

TEST_F(StatusTest, WhyTheSchedulerEndedAJobComesFirst) {
  End(0, {});
  End(1, {.end = JobEnd::kStopped, .error = "interrupted"});
  std::map<std::string, EngineJob> engine;
  for (const char* job : {"magma", "torch-a", "torch-b"}) engine[job] = {.state = "TIMEOUT", .ended = "time"};
  ASSERT_OK_AND_ASSIGN(const RunStatus status, ReadStatus(env_, run_, engine, false));
  EXPECT_EQ(status.jobs[0].error, "");  // its last attempt passed
  EXPECT_EQ(status.jobs[1].error, "time; interrupted");
  EXPECT_EQ(status.jobs[2].error, "time");
  EXPECT_EQ(status.jobs[3].error, "");
}

TEST_F(StatusTest, TheTimeLeftIsTheLongestChain) {
  for (Job& job : run_.graph.jobs) job.expected_seconds = 10;
  run_.graph.jobs[2].expected_seconds = 30;
  EXPECT_EQ(Status(true).seconds_left, 50);
  End(0, {});
  EXPECT_EQ(Status(true).seconds_left, 40);
  run_.graph.jobs[3].expected_seconds = 0;
  EXPECT_EQ(Status(true).seconds_left, std::nullopt);
}

TEST_F(StatusTest, WhatHasNotPassedRunsAgain) {
  EXPECT_THAT(ToRun(), ElementsAre(0, 1, 2, 3));
  for (std::size_t i = 0; i < 4; ++i) End(i, {});
  EXPECT_THAT(ToRun(), ElementsAre());
  End(1, {.end = JobEnd::kFailed, .error_code = "command_failed"});
  EXPECT_THAT(ToRun(), ElementsAre(1, 3));
}

TEST_F(StatusTest, WhoMissedAnInputTakesTheJobsBeforeAlong) {
  for (std::size_t i = 0; i < 4; ++i) End(i, {});
  End(2, {.end = JobEnd::kFailed, .error_code = "not_found"});
  EXPECT_THAT(ToRun(), ElementsAre(0, 2, 3));
}

TEST_F(StatusTest, TheIndexHasPassedOnlyWithAllResults) {
  End(0, {});
  End(1, {.end = JobEnd::kFailed});
  End(2, {});
  End(3, {});  // it runs after failures too
  EXPECT_THAT(States(Status(false)), ElementsAre("passed", "failed", "passed", "passed"));
  const std::map<std::string, EngineJob> pending = {{"index", {.queued = true, .state = "PENDING"}}};
  EXPECT_EQ(test::Must(ReadStatus(env_, run_, pending, false)).jobs[3].state, JobState::kWaiting);
  End(1, {});
  const RunStatus status = Status(false);
  EXPECT_THAT(States(status), ElementsAre("passed", "passed", "passed", "not started"));
  EXPECT_EQ(status.jobs[3].error, "it ran before jobs that it needs had passed");
  EXPECT_FALSE(status.HasPassed());
  EXPECT_THAT(States(Status(true)), ElementsAre("passed", "passed", "passed", "waiting"));
  EXPECT_THAT(ToRun(), ElementsAre(3));
  End(3, {});
  EXPECT_THAT(ToRun(), ElementsAre());
  digest_ = "b";
  End(1, {});  // made again, with other content
  EXPECT_THAT(ToRun(), ElementsAre(3));
}

TEST_F(StatusTest, JsonNamesEveryJob) {
  const RunStatus status = Status(true);
  const Json json = StatusToJson(run_, status);
  EXPECT_GT(status.read_s, 0);
  EXPECT_EQ(json["time"], status.read_s);
  ASSERT_EQ(json["jobs"].size(), 4U);
  EXPECT_EQ(json["jobs"][1]["needs"], Json::array({"magma"}));
  EXPECT_EQ(json["jobs"][1]["state"], "waiting");
  EXPECT_EQ(json["seconds_left"], nullptr);
}

}  // namespace
}  // namespace ptpkg::matrix
