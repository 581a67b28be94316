#pragma once
// Stores node results by key across runs. Layer: graph.
//
//   <root>/results/<stage>/<key>/
//   - result.json   the value, and path, mode, size and digest of every file
//   - files/…       the files
//   - .lease        held while a process reads the result; its time is the last use
//
// A result appears by rename, so it is always complete. Each Take compares it with its digests: a result that
// a failing disk or a stray program changed is made again, never shipped. Two runs at once are harmless: both
// make the same result, and the second finds the first one's.

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "graph/stage.h"
#include "support/files/lease.h"

namespace ptpkg::graph {

/// {"value": …, "files": …}, for ReadResult.
Json ResultToJson(const NodeResult& result);
/// The result that `record` describes, without a key, with its files below `files`. `record` has "value" and
/// "files". Errors: kCorrupt, whose message is the first difference between record and files; others from
/// TreeFromJson, naming `where`, and ScanTree.
Result<NodeResult> ReadResult(Env& env, const Json& record, const AbsPath& files, std::string_view where);

class Store {
 public:
  /// Writes nothing; the first Put makes `root`.
  Store(Env& env, AbsPath root) : env_(&env), root_(std::move(root)) {}

  /// True if there is a result, complete or damaged. Reads no file of it.
  Result<bool> Holds(const std::string& stage, const std::string& key);

  /// The result, after a check of each file against its digest. Holds a lease on it (lease.h) until this
  /// Store is destroyed. nullopt when there is none, or a damaged one. Removes a damaged one with a warning
  /// unless it is in use, so that it is made again. Errors: kIo when the damaged result cannot be removed;
  /// kCancelled.
  Result<std::optional<NodeResult>> Take(const std::string& stage, const std::string& key);

  /// If a complete result exists, Put either returns it instead of its own, or replaces it.
  enum class ExistingResult : std::uint8_t { kTake, kReplace };

  /// `make` fills the existing, empty directory that it gets. It returns the value and a manifest of the
  /// files with `files.root` in that directory. After an error nothing stays. The returned files are in the
  /// store. If a replaced or damaged result is still in use, the new one takes its name, and the old one is
  /// removed after its last use (scratch.h). Errors: any error from `make`, kIo, kUsage when the value has
  /// text that is not UTF-8.
  Result<NodeResult> Put(const std::string& stage, const std::string& key,
                         const std::function<Result<NodeResult>(const AbsPath& folder)>& make,
                         ExistingResult if_there = ExistingResult::kTake);

  /// Removes files that killed runs left next to the results (scratch.h). Errors: kIo.
  Result<void> RemoveAbandoned();

  /// Removes a result, if it exists and no one else is reading it. Errors: kIo.
  Result<void> Drop(const std::string& stage, const std::string& key);

  [[nodiscard]] const AbsPath& root() const { return root_; }

 private:
  [[nodiscard]] AbsPath ResultPath(const std::string& stage, const std::string& key) const;
  Result<NodeResult> Read(const AbsPath& folder);
  /// Takes the lease of `folder`, whose name is or will be `name`. False: another process is removing it.
  Result<bool> Hold(const AbsPath& folder, const AbsPath& name);
  void ReleaseLease(const AbsPath& name);
  Result<void> MoveAside(const AbsPath& folder);

  Env* env_;
  AbsPath root_;
  std::mutex mutex_;                   // of held_: nodes run in parallel
  std::map<std::string, Lease> held_;  // by the result's path
};

}  // namespace ptpkg::graph
