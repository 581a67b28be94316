#include "graph/executor.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mutex>
#include <stdexcept>
#include <utility>

#include "support/matchers.h"
#include "support/test_env.h"

namespace ptpkg::graph {
namespace {

using test::FailsWith;
using test::IsOk;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// "make" writes its input "text" and the texts of what it needs into a file; "show" returns what it sees.
class ExecutorTest : public ::testing::Test {
 protected:
  ExecutorTest() {
    stages_.Add(
        {.name = "make", .keep = Keep::kStore, .parallel = true, .run = [this](Env& env, const NodeRun& run) {
           return RunMake(env, run);
         }});
    stages_.Add({.name = "show", .run = [](Env&, const NodeRun& run) -> Result<NodeResult> {
                   NodeResult result;
                   for (const auto& [role, need] : run.needs()) result.value[role] = need.value["text"];
                   return result;
                 }});
    stages_.Add(
        {.name = "sum", .after_failures = true, .run = [](Env&, const NodeRun& run) -> Result<NodeResult> {
           return NodeResult{.value = {{"seen", run.needs().size()}}};
         }});
  }

  Result<NodeResult> RunMake(Env& env, const NodeRun& run) {
    ++runs_;
    PTPKG_TRY(std::string text, run.Text("text"));
    if (text == "fail") return Error(ErrorCode::kCommandFailed, "it failed");
    for (const auto& [role, need] : run.needs()) {
      PTPKG_TRY(const std::string read, ReadFile(env.fs, need.files.root / "text"));
      text += "+" + read;
    }
    PTPKG_CHECK(WriteFile(env.fs, run.folder() / "text", text));
    NodeResult result{.value = {{"text", text}, {"jobs", env.jobs}, {"epoch", env.source_date_epoch}}};
    PTPKG_TRY(result.files, ScanTree(env, run.folder()));
    return result;
  }

  Node Make(const std::string& subject, const std::string& text,
            std::map<std::string, std::string> needs = {}) {
    Node node = stages_.MakeNode("make", subject);
    node.inputs = {{"text", text}, {"source_date_epoch", 12345}};
    node.needs = std::move(needs);
    return node;
  }
  Node Show(const std::string& subject, std::map<std::string, std::string> needs) {
    Node node = stages_.MakeNode("show", subject);
    node.needs = std::move(needs);
    return node;
  }

  Result<std::vector<NodeOutcome>> Run(const Plan& plan, bool dry_run = false) {
    PTPKG_CHECK(CheckPlan(plan));
    Store cache(env_, env_->cache_dir / "stages");
    Store staging(env_, env_->cache_dir / "staging");
    History history(env_, env_->cache_dir / "records");
    return Execute(env_, plan, stages_, {cache, staging, history}, {.dry_run = dry_run});
  }
  Result<NodeOutcome> RunOne(const Plan& plan, const std::string& id) {
    Store cache(env_, env_->cache_dir / "stages");
    Store staging(env_, env_->cache_dir / "staging");
    History history(env_, env_->cache_dir / "records");
    return ExecuteOne(env_, plan, id, stages_, {cache, staging, history});
  }

  std::vector<NodeState> States(const std::vector<NodeOutcome>& outcomes) {
    std::vector<NodeState> states;
    for (const NodeOutcome& outcome : outcomes) states.push_back(outcome.state);
    return states;
  }

  test::TestEnv env_;
  StageTable stages_;
  std::atomic<int> runs_ = 0;
};

/// Something that some wait for.
class Meeting {
 public:
  void Come() {
    const std::lock_guard lock(mutex_);
    here_ = true;
    came_.notify_all();
  }
  bool WaitFor(std::chrono::milliseconds time) {
    std::unique_lock lock(mutex_);
    return came_.wait_for(lock, time, [&] { return here_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable came_;
  bool here_ = false;
};

using enum NodeState;

TEST_F(ExecutorTest, RunsWhatIsNotThereAndFindsItTheNextTime) {
  const Plan plan{{Make("a", "a"), Make("b", "b", {{"first", "make/a"}}), Show("all", {{"it", "make/b"}})}};
  ASSERT_OK_AND_ASSIGN(const auto first, Run(plan));
  EXPECT_THAT(States(first), ElementsAre(kRan, kRan, kRan));
  EXPECT_EQ(first[2].result.value["it"], "b+a");
  EXPECT_EQ(first[0].reason, "first run");
  EXPECT_EQ(first[0].result.value["epoch"], 12345);
  ASSERT_OK_AND_ASSIGN(const auto second, Run(plan));
  EXPECT_THAT(States(second), ElementsAre(kNotNeeded, kFound, kRan));
  EXPECT_EQ(second[2].result.value["it"], "b+a");
  EXPECT_EQ(runs_, 2);
}

TEST_F(ExecutorTest, StagesForeseeWhatWillRunBeforeAnythingDoes) {
  std::vector<std::string> foreseen;
  stages_.Add({.name = "wary",
               .keep = Keep::kStore,
               .run = [this](Env& env, const NodeRun& run) { return RunMake(env, run); },
               .foresee = [&](Env&, const std::vector<NodeRun>& runs) -> Result<void> {
                 for (const NodeRun& run : runs) {
                   PTPKG_TRY(const std::string text, run.Text("text"));
                   foreseen.push_back(text);
                   if (text == "bad") return Error(ErrorCode::kRefused, "it would fail");
                 }
                 return Ok();
               }});
  const auto wary = [&](const std::string& subject, const std::string& text) {
    Node node = Make(subject, text);
    node.stage = "wary";
    node.id = "wary/" + subject;
    return node;
  };
  const Plan good{{Make("a", "a"), wary("b", "b"), wary("c", "c")}};
  ASSERT_THAT(Run(good), IsOk());
  EXPECT_THAT(foreseen, ElementsAre("b", "c"));
  EXPECT_EQ(runs_, 3);
  const Plan bad{{Make("d", "d"), wary("b", "b"), wary("e", "bad")}};
  EXPECT_THAT(Run(bad), FailsWith(ErrorCode::kRefused, "it would fail"));
  EXPECT_THAT(Run(bad, true), FailsWith(ErrorCode::kRefused, "it would fail"));
  EXPECT_THAT(RunOne(bad, "wary/e"), FailsWith(ErrorCode::kRefused, "it would fail"));
  EXPECT_THAT(foreseen, ElementsAre("b", "c", "bad", "bad", "bad"));
  EXPECT_EQ(runs_, 3);
}

TEST_F(ExecutorTest, AChangedInputRunsTheNodeAndWhatIsMadeOfIt) {
  ASSERT_THAT(Run({{Make("a", "a"), Make("b", "b", {{"first", "make/a"}})}}), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto outcomes, Run({{Make("a", "A"), Make("b", "b", {{"first", "make/a"}})}}));
  EXPECT_THAT(States(outcomes), ElementsAre(kRan, kRan));
  EXPECT_EQ(outcomes[0].reason, "'text' changed");
  EXPECT_EQ(outcomes[1].reason, "'first' changed");
  EXPECT_EQ(outcomes[1].result.value["text"], "b+A");
}

/// Writes what happens to it into a list.
class NotedClaim final : public Claim {
 public:
  explicit NotedClaim(std::vector<std::string>& events) : events_(events) { events_.emplace_back("claimed"); }
  NotedClaim(const NotedClaim&) = delete;
  NotedClaim& operator=(const NotedClaim&) = delete;
  ~NotedClaim() override { events_.emplace_back("let go"); }
  void OnStored() override { events_.emplace_back("kept"); }

 private:
  std::vector<std::string>& events_;
};

TEST_F(ExecutorTest, AClaimEndsAfterItsResultIsKeptOrWithTheFailure) {
  std::vector<std::string> events;
  stages_.Add({.name = "hold",
               .keep = Keep::kStore,
               .run = [&](Env& env, const NodeRun& run) -> Result<NodeResult> {
                 static_cast<void>(dynamic_cast<NotedClaim&>(run.claim()));
                 events.emplace_back("ran");
                 return RunMake(env, run);
               },
               .claim = [&](Env&, const Node&, const NodeKey& key) -> Result<std::unique_ptr<Claim>> {
                 EXPECT_TRUE(key.digests.contains("text"));
                 return std::unique_ptr<Claim>(std::make_unique<NotedClaim>(events));
               }});
  Node node = stages_.MakeNode("hold", "a");
  node.inputs = {{"text", "a"}};
  ASSERT_OK(Run({{node}}));
  EXPECT_THAT(events, ElementsAre("claimed", "ran", "kept", "let go"));
  events.clear();
  ASSERT_OK(Run({{node}}));
  EXPECT_THAT(events, ElementsAre());
  node.inputs = {{"text", "fail"}};
  ASSERT_OK_AND_ASSIGN(const auto failed, Run({{node}}));
  EXPECT_EQ(failed[0].state, kFailed);
  EXPECT_THAT(events, ElementsAre("claimed", "ran", "let go"));
}

TEST_F(ExecutorTest, WhatAnotherMadeWhileOneWaitedForTheClaimIsTaken) {
  std::vector<std::string> events;
  bool waits = false;
  Node node;
  stages_.Add({.name = "hold",
               .keep = Keep::kStore,
               .run = [&](Env& env, const NodeRun& run) { return RunMake(env, run); },
               .claim = [&](Env&, const Node&, const NodeKey&) -> Result<std::unique_ptr<Claim>> {
                 if (!std::exchange(waits, false))
                   return std::unique_ptr<Claim>(std::make_unique<NotedClaim>(events));
                 EXPECT_THAT(Run({{node}}), IsOk());  // another process, which had the claim
                 return std::unique_ptr<Claim>(std::make_unique<NotedClaim>(events));
               }});
  node = stages_.MakeNode("hold", "a");
  node.inputs = {{"text", "a"}};
  waits = true;
  ASSERT_OK_AND_ASSIGN(const auto outcomes, Run({{node}}));
  EXPECT_EQ(runs_, 1);
  EXPECT_EQ(outcomes[0].reason, "another run has built it meanwhile");
  EXPECT_EQ(outcomes[0].result.value["text"], "a");
  EXPECT_THAT(events, ElementsAre("claimed", "kept", "let go", "claimed", "kept", "let go"));
}

TEST_F(ExecutorTest, ADamagedResultIsMadeAgain) {
  const Plan plan{{Make("a", "a"), Show("all", {{"it", "make/a"}})}};
  ASSERT_OK_AND_ASSIGN(const auto first, Run(plan));
  ASSERT_THAT(WriteFile(env_->fs, first[0].result.files.root / "text", "b"), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto second, Run(plan));
  EXPECT_THAT(States(second), ElementsAre(kRan, kRan));
  EXPECT_EQ(second[1].result.value["it"], "a");
  EXPECT_EQ(second[0].reason, "inputs unchanged, result missing or damaged");
}

TEST_F(ExecutorTest, ANodeThatIsToBeMadeAnewRunsAndReplacesItsResult) {
  Plan plan{{Make("a", "a"), Show("all", {{"it", "make/a"}})}};
  ASSERT_OK_AND_ASSIGN(const auto first, Run(plan));
  const AbsPath text = first[0].result.files.root / "text";
  ASSERT_OK_AND_ASSIGN(const FileStat before, env_->fs.Stat(text));
  plan.nodes[0].options.emplace(kRefreshOption, "");
  ASSERT_OK_AND_ASSIGN(const auto second, Run(plan));
  EXPECT_EQ(second[0].state, kRan);
  EXPECT_EQ(second[0].reason, "asked for");
  ASSERT_OK_AND_ASSIGN(const FileStat after, env_->fs.Stat(text));
  EXPECT_NE(after.inode, before.inode);
  plan.nodes[0].options.clear();
  ASSERT_OK_AND_ASSIGN(const auto third, Run(plan));
  EXPECT_EQ(third[0].state, kFound);
}

TEST_F(ExecutorTest, NodesOfOneSubjectAndStageAreRememberedOneByOne) {
  Plan plan{{Make("a", "package"), Make("a", "wheel")}};
  plan.nodes[0].id = "make/conda/a";
  plan.nodes[1].id = "make/wheel/a";
  ASSERT_THAT(Run(plan), IsOk());
  ASSERT_THAT(RemoveTree(env_->fs, env_->cache_dir / "stages/results"), IsOk());
  plan.nodes[0].inputs["text"] = "changed";
  ASSERT_OK_AND_ASSIGN(const auto outcomes, Run(plan, /*dry_run=*/true));
  EXPECT_EQ(outcomes[0].reason, "'text' changed");
  EXPECT_EQ(outcomes[1].reason, "inputs unchanged, result missing or damaged");
}

TEST_F(ExecutorTest, ARecordThatCannotBeReadOrWrittenStopsNothing) {
  const Plan plan{{Make("a", "a")}};
  ASSERT_THAT(Run(plan), IsOk());
  ASSERT_THAT(RemoveTree(env_->fs, env_->cache_dir / "stages/results"), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto names, env_->fs.ListDir(env_->cache_dir / "records/a"));
  ASSERT_EQ(names.size(), 1U);
  const AbsPath record = env_->cache_dir / "records/a" / names[0];
  ASSERT_THAT(env_->fs.Remove(record), IsOk());
  ASSERT_THAT(env_->fs.MakeDirs(record / "in the way"), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto outcomes, Run(plan));
  EXPECT_EQ(outcomes[0].state, kRan);
  EXPECT_EQ(outcomes[0].reason, "last run unknown");
  EXPECT_THAT(env_.reporter.warnings(), ElementsAre(HasSubstr("cannot tell why 'make/a' runs"),
                                                    HasSubstr("later runs cannot tell why 'make/a' runs")));
}

TEST_F(ExecutorTest, ADryRunSaysWhatWouldRunAndWritesNothing) {
  const Plan plan{{Make("a", "a"), Make("b", "b", {{"first", "make/a"}})}};
  ASSERT_OK_AND_ASSIGN(const auto outcomes, Run(plan, /*dry_run=*/true));
  EXPECT_THAT(States(outcomes), ElementsAre(kWouldRun, kWouldRun));
  EXPECT_EQ(outcomes[0].reason, "first run");
  EXPECT_EQ(runs_, 0);
  EXPECT_THAT(test::ListTree(env_->fs, env_->cache_dir), ::testing::IsEmpty());
  ASSERT_THAT(Run(plan), IsOk());
  const auto before = test::ListTree(env_->fs, env_->cache_dir);
  ASSERT_OK_AND_ASSIGN(const auto again,
                       Run({{Make("a", "a"), Make("b", "c", {{"first", "make/a"}})}}, true));
  EXPECT_THAT(States(again), ElementsAre(kFound, kWouldRun));
  EXPECT_EQ(test::ListTree(env_->fs, env_->cache_dir), before);
}

TEST_F(ExecutorTest, AFailureStopsWhatNeedsItAndIsToldOnce) {
  Node sum = stages_.MakeNode("sum", "all");
  sum.needs = {{"bad", "make/b"}, {"good", "make/a"}};
  const Plan plan{{Make("a", "a"), Make("b", "fail", {{"first", "make/a"}}),
                   Make("c", "c", {{"bad", "make/b"}}), sum, Show("only", {{"it", "make/c"}})}};
  ASSERT_OK_AND_ASSIGN(const auto outcomes, Run(plan));
  EXPECT_THAT(States(outcomes), ElementsAre(kRan, kFailed, kNotReached, kRan, kNotReached));
  ASSERT_TRUE(outcomes[1].error.has_value());
  EXPECT_EQ(outcomes[1].error->message(), "it failed");
  EXPECT_EQ(outcomes[3].result.value["seen"], 1) << "a stage that runs after failures sees what is there";
}

TEST_F(ExecutorTest, AStageAfterFailuresDoesNotRunWhenNothingIsThere) {
  Node sum = stages_.MakeNode("sum", "all");
  sum.needs = {{"bad", "make/b"}};
  ASSERT_OK_AND_ASSIGN(const auto outcomes, Run({{Make("b", "fail"), sum}}));
  EXPECT_THAT(States(outcomes), ElementsAre(kFailed, kNotReached));
}

TEST_F(ExecutorTest, IndependentNodesRunSideBySideAndShareTheJobs) {
  // Each of the two waits for the other: alone, one after the other, they would never end.
  std::mutex mutex;
  std::condition_variable met;
  int here = 0;
  stages_.Add({.name = "meet", .parallel = true, .run = [&](Env& env, const NodeRun&) -> Result<NodeResult> {
                 std::unique_lock lock(mutex);
                 ++here;
                 met.notify_all();
                 const bool both = met.wait_for(lock, std::chrono::seconds(30), [&] { return here == 2; });
                 return NodeResult{.value = {{"both", both}, {"jobs", env.jobs}}};
               }});
  env_->jobs = 5;
  const Plan plan{{stages_.MakeNode("meet", "a"), stages_.MakeNode("meet", "b")}};
  ASSERT_OK_AND_ASSIGN(const auto outcomes, Run(plan));
  EXPECT_EQ(outcomes[0].result.value["both"], true);
  EXPECT_EQ(outcomes[0].result.value["jobs"].get<int>() + outcomes[1].result.value["jobs"].get<int>(), 5);
}

TEST_F(ExecutorTest, AParallelNodeWaitsForItsShare) {
  // Three nodes of one thread are at work when "big" becomes ready: one of four jobs is free then. They end
  // when it starts, or else after a while.
  Meeting big_runs;
  stages_.Add({.name = "small", .run = [&](Env&, const NodeRun& run) -> Result<NodeResult> {
                 if (run.subject() != "first") big_runs.WaitFor(std::chrono::milliseconds(300));
                 return NodeResult{};
               }});
  stages_.Add({.name = "big", .parallel = true, .run = [&](Env& env, const NodeRun&) -> Result<NodeResult> {
                 big_runs.Come();
                 return NodeResult{.value = {{"jobs", env.jobs}}};
               }});
  env_->jobs = 4;
  Plan plan;
  for (const char* name : {"first", "a", "b", "c"}) plan.nodes.push_back(stages_.MakeNode("small", name));
  plan.nodes.push_back(stages_.MakeNode("big", "it"));
  plan.nodes.back().needs = {{"it", "small/first"}};
  ASSERT_OK_AND_ASSIGN(const auto outcomes, Run(plan));
  EXPECT_GE(outcomes.back().result.value["jobs"].get<int>(), 3);
}

TEST_F(ExecutorTest, NodesOfOneThreadTakeNoSharesFromAParallelOne) {
  stages_.Add({.name = "big", .parallel = true, .run = [&](Env& env, const NodeRun&) -> Result<NodeResult> {
                 return NodeResult{.value = {{"jobs", env.jobs}}};
               }});
  env_->jobs = 8;
  Plan plan{{stages_.MakeNode("big", "it")}};
  for (const char* name : {"a", "b", "c", "d", "e", "f", "g"}) plan.nodes.push_back(Show(name, {}));
  ASSERT_OK_AND_ASSIGN(const auto outcomes, Run(plan));
  EXPECT_EQ(outcomes.front().result.value["jobs"], 6);
}

TEST_F(ExecutorTest, ALightNodeTakesNoJobsFromOthersAndDoesNotWait) {
  Meeting light_ran;
  stages_.Add({.name = "build",
               .parallel = true,
               .is_light = [](const Node& node) { return node.subject.starts_with("light"); },
               .run = [&](Env& env, const NodeRun& run) -> Result<NodeResult> {
                 const bool light = run.subject().starts_with("light");
                 const bool met = light || light_ran.WaitFor(std::chrono::seconds(30));
                 if (run.subject() == "light2") light_ran.Come();
                 return NodeResult{.value = {{"jobs", env.jobs}, {"met", met}}};
               }});
  env_->jobs = 3;
  Plan plan;
  for (const char* name : {"light1", "heavy", "light2"})
    plan.nodes.push_back(stages_.MakeNode("build", name));
  ASSERT_OK_AND_ASSIGN(const auto outcomes, Run(plan));
  for (const NodeOutcome& outcome : outcomes) {
    EXPECT_EQ(outcome.result.value["jobs"], 3);
    EXPECT_EQ(outcome.result.value["met"], true);
  }
}

TEST_F(ExecutorTest, NeverMoreNodesThanJobs) {
  std::atomic<int> now = 0;
  std::atomic<int> most = 0;
  stages_.Add({.name = "count", .run = [&](Env&, const NodeRun&) -> Result<NodeResult> {
                 most = std::max<int>(most, ++now);
                 std::this_thread::sleep_for(std::chrono::milliseconds(2));
                 --now;
                 return NodeResult{};
               }});
  env_->jobs = 3;
  Plan plan;
  for (int i = 0; i < 20; ++i) plan.nodes.push_back(stages_.MakeNode("count", std::to_string(i)));
  ASSERT_OK_AND_ASSIGN(const auto outcomes, Run(plan));
  EXPECT_THAT(States(outcomes), ::testing::Each(kRan));
  EXPECT_LE(most, 3);
}

TEST_F(ExecutorTest, OneNodeAloneAsAnotherMachineWouldRunIt) {
  const Plan made{{Make("a", "a"), Make("b", "b", {{"first", "make/a"}})}};
  ASSERT_OK_AND_ASSIGN(const Plan plan, PlanFromJson(*ParseJson(DumpJson(PlanToJson(made)), "plan"), "plan"));
  EXPECT_THAT(RunOne(plan, "make/b"), FailsWith(ErrorCode::kNotFound, HasSubstr("'make/a'")));
  EXPECT_THAT(RunOne(plan, "make/z"), FailsWith(ErrorCode::kNotFound, HasSubstr("no node 'make/z'")));
  ASSERT_THAT(RunOne(plan, "make/a"), IsOk());
  ASSERT_OK_AND_ASSIGN(const NodeOutcome outcome, RunOne(plan, "make/b"));
  EXPECT_EQ(outcome.result.value["text"], "b+a");
  ASSERT_OK_AND_ASSIGN(const auto whole, Run(plan));
  EXPECT_THAT(States(whole), ElementsAre(kNotNeeded, kFound));
  EXPECT_EQ(runs_, 2);
}

TEST_F(ExecutorTest, AFailedNodeAloneIsAnError) {
  EXPECT_THAT(RunOne({{Make("a", "fail")}}, "make/a"),
              FailsWith(ErrorCode::kCommandFailed, HasSubstr("it failed")));
}

TEST_F(ExecutorTest, AnExceptionOfANodeIsAFailureOfThatNode) {
  stages_.Add({.name = "throw", .parallel = true, .run = [](Env&, const NodeRun& run) -> Result<NodeResult> {
                 if (run.subject() == "odd") throw 7;  // NOLINT(hicpp-exception-baseclass): the worst case
                 throw std::runtime_error("a broken invariant");
               }});
  env_->jobs = 3;
  Node sum = stages_.MakeNode("sum", "all");
  sum.needs = {{"bad", "throw/a"}, {"good", "make/a"}};
  const Plan plan{{Make("a", "a"), stages_.MakeNode("throw", "a"), stages_.MakeNode("throw", "odd"), sum}};
  ASSERT_OK_AND_ASSIGN(const auto outcomes, Run(plan));
  EXPECT_THAT(States(outcomes), ElementsAre(kRan, kFailed, kFailed, kRan)) << "the others end in order";
  EXPECT_EQ(outcomes[1].error->code(), ErrorCode::kInternal);
  EXPECT_EQ(outcomes[1].error->message(), "internal error: a broken invariant");
  EXPECT_THAT(outcomes[1].error->hint(), HasSubstr("report it"));
  EXPECT_EQ(outcomes[2].error->code(), ErrorCode::kInternal);
  EXPECT_THAT(RunOne(plan, "throw/a"), FailsWith(ErrorCode::kInternal, HasSubstr("a broken invariant")));
}

TEST_F(ExecutorTest, AStageOfAnotherVersionIsRefused) {
  Node node = Make("a", "a");
  node.version = 7;
  EXPECT_THAT(Run({{node}}), FailsWith(ErrorCode::kInvalidInput, HasSubstr("version 7")));
  node.version = 1;
  node.stage = "brew";
  EXPECT_THAT(Run({{node}}), FailsWith(ErrorCode::kInvalidInput, HasSubstr("'brew'")));
}

TEST_F(ExecutorTest, AStageCannotReadAnInputThatItsNodeLacks) {
  Node node = Make("a", "a");
  node.inputs.erase("text");
  ASSERT_OK_AND_ASSIGN(const auto outcomes, Run({{node}}));
  ASSERT_TRUE(outcomes[0].error.has_value());
  EXPECT_THAT(outcomes[0].error->message(), HasSubstr("'text'"));
  node = Make("a", "a");
  node.inputs.erase("source_date_epoch");
  ASSERT_OK_AND_ASSIGN(const auto others, Run({{node}}));
  EXPECT_EQ(others[0].result.value["epoch"], 0) << "not the run's own time, which the key would not hold";
}

TEST_F(ExecutorTest, AResultFoundElsewhereCounts) {
  stages_.Add(
      {.name = "elsewhere",
       .keep = Keep::kStaging,
       .run = [](Env&, const NodeRun&) -> Result<NodeResult> { return Error(ErrorCode::kInternal, "ran"); },
       .find = [](Env&, const Node&, const std::string&) -> Result<std::optional<NodeResult>> {
         return std::optional(NodeResult{.value = {{"text", "there"}}});
       }});
  const Plan plan{{stages_.MakeNode("elsewhere", "a"), Show("all", {{"it", "elsewhere/a"}})}};
  ASSERT_OK_AND_ASSIGN(const auto outcomes, Run(plan));
  EXPECT_THAT(States(outcomes), ElementsAre(kFound, kRan));
  EXPECT_EQ(outcomes[1].result.value["it"], "there");
}

TEST_F(ExecutorTest, AStoreWhosePathIsNotUtf8IsRefusedBeforeAnythingRuns) {
  env_->cache_dir = env_->cache_dir / "nc\xff";
  for (const bool dry_run : {true, false}) {
    EXPECT_THAT(Run({{Make("a", "a")}}, dry_run), FailsWith(ErrorCode::kUsage, HasSubstr("nc\\xff")));
  }
  EXPECT_THAT(RunOne({{Make("a", "a")}}, "make/a"), FailsWith(ErrorCode::kUsage, HasSubstr("cache")));
  EXPECT_EQ(runs_, 0);
}

TEST_F(ExecutorTest, ACancelledRunStartsNothing) {
  env_.cancel.Cancel();
  EXPECT_THAT(Run({{Make("a", "a")}}), FailsWith(ErrorCode::kCancelled, ::testing::_));
  EXPECT_EQ(runs_, 0);
}

}  // namespace
}  // namespace ptpkg::graph
