#include "graph/remote_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <latch>
#include <map>
#include <new>

#include "graph/executor.h"
#include "support/matchers.h"
#include "support/test_env.h"

namespace ptpkg::graph {
namespace {

using test::FailsWith;
using test::IsOk;
using test::IsOkAndHolds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;
using enum NodeState;

/// Texts by key, of nodes whose result is one file.
class TextStore final : public RemoteStore {
 public:
  explicit TextStore(Env& env) : env_(env) {}

  [[nodiscard]] bool Shares(const Node& node) const override { return node.stage != "pack"; }
  bool Holds(const Node& /*node*/, const std::string& key) override { return texts.contains(key); }
  Result<std::optional<NodeResult>> Fetch(const Node& node, const std::string& key,
                                          const AbsPath& folder) override {
    if (on_fetch) PTPKG_CHECK(on_fetch());
    asked.push_back(node.id);
    if (!texts.contains(key)) return std::optional<NodeResult>();
    PTPKG_CHECK(WriteFile(env_.fs, folder / "text", texts[key]));
    NodeResult result{.value = {{"text", texts[key]}}};
    PTPKG_TRY(result.files, ScanTree(env_, folder));
    return std::optional(std::move(result));
  }
  bool Upload(const Node& node, const NodeResult& result, bool replace) override {
    if (on_upload) on_upload();
    uploaded.push_back(node.id + (replace ? " again" : ""));
    return takes && texts.insert_or_assign(result.key, result.value["text"]).second;
  }

  std::map<std::string, std::string> texts;
  std::vector<std::string> asked;
  std::vector<std::string> uploaded;
  std::function<Result<void>()> on_fetch;
  std::function<void()> on_upload;
  bool takes = true;

 private:
  Env& env_;
};

class SharedClaim final : public Claim {
  void OnStored() override {}
};

class RemoteStoreTest : public ::testing::Test {
 protected:
  RemoteStoreTest() {
    const auto run = [this](Env& env, const NodeRun& run) -> Result<NodeResult> {
      runs_.push_back(run.subject());
      PTPKG_TRY(const std::string text, run.Text("text"));
      if (text == "y") begun_.count_down();
      if (text == "fail") return Error(ErrorCode::kCommandFailed, "it failed");
      PTPKG_CHECK(WriteFile(env.fs, run.folder() / "text", text));
      NodeResult result{.value = {{"text", text}}};
      PTPKG_TRY(result.files, ScanTree(env, run.folder()));
      return result;
    };
    const auto claim = [this](Env&, const Node&, const NodeKey& key) -> Result<std::unique_ptr<Claim>> {
      if (on_claim_) on_claim_(key.key);
      return std::unique_ptr<Claim>(std::make_unique<SharedClaim>());
    };
    stages_.Add({.name = "make", .keep = Keep::kStore, .run = run, .claim = claim});
    stages_.Add({.name = "pack", .keep = Keep::kStore, .run = run});
    stages_.Add({.name = "stage", .keep = Keep::kStaging, .run = run});
  }

  Node MakeNode(const std::string& stage, const std::string& text) {
    Node node = stages_.MakeNode(stage, "a");
    node.inputs = {{"text", text}};
    return node;
  }

  /// On a machine that has nothing yet.
  Result<std::vector<NodeOutcome>> RunOnNewMachine(const Plan& plan, bool dry_run = false) {
    const AbsPath machine = env_->cache_dir / std::to_string(++machines_);
    Store cache(env_, machine / "stages");
    Store staging(env_, machine / "staging");
    History history(env_, machine / "records");
    return Execute(env_, plan, stages_, {cache, staging, history, &remote_}, {.dry_run = dry_run});
  }

  test::TestEnv env_;
  TextStore remote_{env_};
  StageTable stages_;
  std::vector<std::string> runs_;
  std::function<void(const std::string&)> on_claim_;
  std::latch begun_{1};  ///< The node with the text "y" has begun.
  int machines_ = 0;
};

TEST_F(RemoteStoreTest, AResultOfOneMachineIsFoundByAnother) {
  const Plan plan{{MakeNode("make", "x")}};
  ASSERT_OK_AND_ASSIGN(const auto first, RunOnNewMachine(plan));
  EXPECT_EQ(first[0].state, kRan);
  EXPECT_EQ(first[0].reason, "first run");
  EXPECT_THAT(first[0].result.counts,
              ElementsAre(Pair("remote_cache_misses", 1U), Pair("remote_cache_uploads", 1U)));
  ASSERT_OK_AND_ASSIGN(const auto second, RunOnNewMachine(plan));
  EXPECT_EQ(second[0].state, kFound);
  EXPECT_EQ(second[0].reason, "from the remote cache");
  EXPECT_THAT(second[0].result.counts, ElementsAre(Pair("remote_cache_hits", 1U)));
  EXPECT_THAT(ReadFile(env_->fs, second[0].result.files.root / "text"), IsOkAndHolds("x"));
  EXPECT_THAT(runs_, ElementsAre("a"));
  // It is in this machine's own cache from now on, and the history knows its inputs.
  Store cache(env_, env_->cache_dir / "2/stages");
  EXPECT_THAT(cache.Holds("make", second[0].result.key), IsOkAndHolds(true));
  History history(env_, env_->cache_dir / "2/records");
  EXPECT_EQ(history.ChangeReason(plan.nodes[0], KeysOf(plan)[0]),
            "inputs unchanged, result missing or damaged");
}

TEST_F(RemoteStoreTest, OnlyWhatIsSharedGoesThere) {
  ASSERT_THAT(RunOnNewMachine({{MakeNode("pack", "x"), MakeNode("stage", "x")}}), IsOk());
  EXPECT_THAT(remote_.asked, IsEmpty());
  EXPECT_THAT(remote_.uploaded, IsEmpty());
}

TEST_F(RemoteStoreTest, AFailedNodeIsNotUploaded) {
  ASSERT_OK_AND_ASSIGN(const auto outcomes, RunOnNewMachine({{MakeNode("make", "fail")}}));
  EXPECT_EQ(outcomes[0].state, kFailed);
  EXPECT_THAT(remote_.uploaded, IsEmpty());
}

TEST_F(RemoteStoreTest, AnUploadThatFailsHarmsNothing) {
  remote_.takes = false;
  ASSERT_OK_AND_ASSIGN(const auto outcomes, RunOnNewMachine({{MakeNode("make", "x")}}));
  EXPECT_EQ(outcomes[0].state, kRan);
  EXPECT_THAT(outcomes[0].result.counts, ElementsAre(Pair("remote_cache_misses", 1U)));
}

TEST_F(RemoteStoreTest, NodesDoNotWaitForAnUploadAndTheRunDoes) {
  Plan plan{{MakeNode("make", "x"), MakeNode("pack", "y")}};
  plan.nodes[1].needs = {{"made", plan.nodes[0].id}};
  remote_.on_upload = [&] { begun_.wait(); };
  ASSERT_OK_AND_ASSIGN(const auto outcomes, RunOnNewMachine(plan));
  EXPECT_THAT(runs_, ElementsAre("a", "a"));
  EXPECT_THAT(outcomes[0].result.counts,
              ElementsAre(Pair("remote_cache_misses", 1U), Pair("remote_cache_uploads", 1U)));
}

TEST_F(RemoteStoreTest, AnUploadThatThrowsHarmsNothing) {
  remote_.on_upload = [] { throw std::bad_alloc(); };
  ASSERT_OK_AND_ASSIGN(const auto outcomes, RunOnNewMachine({{MakeNode("make", "x")}}));
  EXPECT_EQ(outcomes[0].state, kRan);
  EXPECT_THAT(env_.reporter.warnings(), SizeIs(1));
}

TEST_F(RemoteStoreTest, ADryRunFetchesNothing) {
  const Plan plan{{MakeNode("make", "x")}};
  ASSERT_THAT(RunOnNewMachine(plan), IsOk());
  remote_.asked.clear();
  ASSERT_OK_AND_ASSIGN(const auto outcomes, RunOnNewMachine(plan, true));
  EXPECT_EQ(outcomes[0].state, kFound);
  EXPECT_EQ(outcomes[0].reason, "in the remote cache");
  EXPECT_THAT(remote_.asked, IsEmpty());
  EXPECT_THAT(Exists(env_->fs, env_->cache_dir / "2/stages"), IsOkAndHolds(false));
}

TEST_F(RemoteStoreTest, AResultThatComesWhileTheNodeWaitsIsTaken) {
  on_claim_ = [&](const std::string& key) { remote_.texts[key] = "x"; };
  ASSERT_OK_AND_ASSIGN(const auto outcomes, RunOnNewMachine({{MakeNode("make", "x")}}));
  EXPECT_EQ(outcomes[0].state, kRan);
  EXPECT_EQ(outcomes[0].reason, "from the remote cache");
  EXPECT_THAT(runs_, IsEmpty());
  EXPECT_THAT(remote_.uploaded, IsEmpty());
}

TEST_F(RemoteStoreTest, ANodeThatMustRunReplacesTheResult) {
  Plan plan{{MakeNode("make", "x")}};
  ASSERT_THAT(RunOnNewMachine(plan), IsOk());
  plan.nodes[0].options.emplace(kRefreshOption, "");
  remote_.asked.clear();
  ASSERT_OK_AND_ASSIGN(const auto outcomes, RunOnNewMachine(plan));
  EXPECT_EQ(outcomes[0].state, kRan);
  EXPECT_THAT(remote_.asked, IsEmpty());
  EXPECT_THAT(remote_.uploaded, ElementsAre("make/a", "make/a again"));
}

TEST_F(RemoteStoreTest, AnInterruptWhileItFetchesEndsTheRun) {
  remote_.on_fetch = [&] {
    env_.cancel.Cancel();
    return env_.cancel.Check();
  };
  EXPECT_THAT(RunOnNewMachine({{MakeNode("make", "x")}}),
              FailsWith(ErrorCode::kCancelled, HasSubstr("interrupted")));
  EXPECT_THAT(runs_, IsEmpty());
}

}  // namespace
}  // namespace ptpkg::graph
