#pragma once
// Interface of a stage: runs all nodes of one kind. Layer: graph.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "graph/plan.h"
#include "model/staged_tree.h"
#include "support/assert.h"
#include "support/env.h"

namespace ptpkg::graph {

/// Result of a node: a value, and files.
// NOLINTNEXTLINE(bugprone-exception-escape): the destructor of Json only looks as if it could throw
struct NodeResult {
  Json value = Json::object();
  StagedTree files = {};  ///< With digests; `root` is their current location.
  std::string key = {};   ///< Key of the node.
  /// Counters of this run, {"ccache_hits": 88}: not stored with the result.
  std::map<std::string, std::uint64_t> counts = {};
  std::string idle = {};  ///< Why a started node had nothing to do, "no package changed"; else "".
};

/// Exclusive hold on a resource while a result is made: the directory in which a long build resumes after an
/// interruption.
class Claim {
 public:
  Claim() = default;
  Claim(const Claim&) = delete;
  Claim& operator=(const Claim&) = delete;
  virtual ~Claim() = default;  ///< Releases the hold; the resource stays for the next run.
  /// The result is in the store: its temporary resources can be removed. Warns on failure.
  virtual void OnStored() = 0;
};

/// A running stage's view of its plan.
class NodeRun {
 public:
  /// `claim`: only for a stage that has one; borrowed.
  NodeRun(const Node& node, const NodeKey& key, std::map<std::string, NodeResult> needs, AbsPath folder,
          Claim* claim = nullptr)
      : node_(node), key_(key), needs_(std::move(needs)), folder_(std::move(folder)), claim_(claim) {}

  [[nodiscard]] const std::string& subject() const { return node_.subject; }
  [[nodiscard]] const std::string& key() const { return key_.key; }
  /// Input name → digest, for the manifest.
  [[nodiscard]] const std::map<std::string, std::string>& digests() const { return key_.digests; }
  /// Errors: kInvalidInput naming the node, when a handwritten or edited plan lacks the input.
  [[nodiscard]] Result<Json> Input(const std::string& name) const;
  [[nodiscard]] Result<std::string> Text(const std::string& name) const;      ///< An input that is a text.
  [[nodiscard]] Result<std::uint64_t> Number(const std::string& name) const;  ///< An input that is 0 or more.
  /// An input that is a list of texts.
  [[nodiscard]] Result<std::vector<std::string>> Texts(const std::string& name) const;
  /// True if the option `option` is set. Options cannot change the result.
  [[nodiscard]] bool Has(const std::string& option) const;
  [[nodiscard]] std::string Option(const std::string& name) const;       ///< The value, "" if unset.
  [[nodiscard]] Result<AbsPath> Place(const std::string& name) const;    ///< Errors: as Input.
  [[nodiscard]] Result<NodeResult> Need(const std::string& role) const;  ///< Errors: as Input.
  /// Results by role, only existing ones. (A stage that runs after failures gets the results of the other
  /// needs.)
  [[nodiscard]] const std::map<std::string, NodeResult>& needs() const { return needs_; }
  /// Directory for the files of the result. It exists, is empty and belongs to this run. "/nonexistent" for
  /// Keep::kNothing.
  [[nodiscard]] const AbsPath& folder() const { return folder_; }
  /// The claim from Stage::claim. REQUIRES: the stage has one.
  [[nodiscard]] Claim& claim() const {
    PTPKG_ASSERT(claim_ != nullptr);
    return *claim_;
  }

 private:
  [[nodiscard]] Error MissingInput(std::string_view what, const std::string& name) const;

  const Node& node_;
  const NodeKey& key_;
  std::map<std::string, NodeResult> needs_;
  AbsPath folder_;
  Claim* claim_;
};

enum class Keep : std::uint8_t {
  kNothing,  ///< The node runs each time; its result is its value.
  kStore,    ///< In the cache's store, for later runs.
  kStaging,  ///< In a store for one output directory, until a later node brings the files there.
};

struct Stage {
  std::string name;
  int version = 1;  ///< Incremented when equal inputs give another result.
  Keep keep = Keep::kNothing;
  /// Uses as many threads as it gets. Others take one.
  bool parallel = false;
  /// True if a node finishes so soon that it does not count when the jobs are shared: it starts as soon as
  /// possible, and takes no job. Empty: no node is light.
  std::function<bool(const Node&)> is_light = {};
  /// Runs also when some of its needs failed, unless all did.
  bool after_failures = false;
  /// Env is the run's, with `jobs` as granted. source_date_epoch is the input of that name. For a node
  /// without it, it is 0, which no archive accepts.
  std::function<Result<NodeResult>(Env&, const NodeRun&)> run;
  /// Looks for a result of this key outside of the store (in the output directory); empty: nowhere.
  std::function<Result<std::optional<NodeResult>>(Env&, const Node&, const std::string& key)> find = {};
  /// For stages whose results are kept. Called before `run`; waits while another process holds the same
  /// claim. The executor checks the store again after it, so that a result is made once. The claim ends when
  /// the result is in the store, or with the failure. Empty: two runs at once both make the result.
  std::function<Result<std::unique_ptr<Claim>>(Env&, const Node&, const NodeKey&)> claim = {};
  /// Called once with all nodes of the stage that are about to run, before any node of the plan starts. They
  /// have no needs, directory and claim yet. An error stops the run. Empty: the stage checks nothing in
  /// advance.
  std::function<Result<void>(Env&, const std::vector<NodeRun>&)> foresee = {};
};

/// The stages of this program, by name.
class StageTable {
 public:
  /// REQUIRES: no stage of that name exists.
  void Add(Stage stage);
  [[nodiscard]] const Stage* Find(std::string_view name) const;
  /// A node of that stage. REQUIRES: the stage exists.
  [[nodiscard]] Node MakeNode(const std::string& stage, const std::string& subject) const;
  [[nodiscard]] const std::map<std::string, Stage, std::less<>>& stages() const { return stages_; }

 private:
  std::map<std::string, Stage, std::less<>> stages_;
};

}  // namespace ptpkg::graph
