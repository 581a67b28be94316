#pragma once
// Stores node results by key across runs. Layer: graph.
//
//   <root>/results/<stage>/<key>/result.json   the value, and path, mode, size and digest of every file
//   <root>/results/<stage>/<key>/files/…       the files
//   <root>/results/<stage>/<key>/.lease        held while somebody reads the result; its time is the last use
//
// A result appears by rename, so it is whole when it is there, and it is compared with its digests each time
// it is taken: what a failing disk or a stray writer changed is made again, never shipped. Two runs at once
// are harmless: both make the same result, and the second finds it there.

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "graph/stage.h"
#include "support/files/lease.h"

namespace ptpkg::graph {

class Store {
 public:
  /// Writes nothing; `root` is made by the first Put.
  Store(Env& env, AbsPath root) : env_(&env), root_(std::move(root)) {}

  /// True if there is a result, whole or damaged. Reads no file of it.
  Result<bool> Holds(const std::string& stage, const std::string& key);

  /// The result, each file of it compared with its digest; it is held (lease.h) until this Store goes.
  /// nullopt when there is none, and when it is damaged: then it is removed unless somebody reads it, with a
  /// warning, so that it is made again. Errors: kIo when the damaged result cannot be removed; kCancelled.
  Result<std::optional<NodeResult>> Take(const std::string& stage, const std::string& key);

  /// Put takes a whole result that is there already instead of its own, or replaces it.
  enum class ExistingResult : std::uint8_t { kTake, kReplace };

  /// `make` fills the existing, empty directory that it gets, and returns the value and a manifest of the
  /// files with `files.root` in that directory; on an error nothing stays. What is returned lies in the
  /// store. A result that is replaced, or damaged, and that somebody still reads loses its name to this one,
  /// and goes when he lets go of it (scratch.h). Errors: those of `make`, kIo, kUsage when the value has text
  /// that is not UTF-8.
  Result<NodeResult> Put(const std::string& stage, const std::string& key,
                         const std::function<Result<NodeResult>(const AbsPath& folder)>& make,
                         ExistingResult if_there = ExistingResult::kTake);

  /// Removes what killed runs left beside the results (scratch.h). Errors: kIo.
  Result<void> RemoveAbandoned();

  /// Forgets a result, if it is there and nobody else reads it. Errors: kIo.
  Result<void> Drop(const std::string& stage, const std::string& key);

  [[nodiscard]] const AbsPath& root() const { return root_; }

 private:
  [[nodiscard]] AbsPath ResultPath(const std::string& stage, const std::string& key) const;
  Result<NodeResult> Read(const AbsPath& folder);
  /// Takes the lease of `folder`, which is or will be called `name`. False: it is being removed by somebody
  /// else.
  Result<bool> Hold(const AbsPath& folder, const AbsPath& name);
  void ReleaseLease(const AbsPath& name);
  Result<void> MoveAside(const AbsPath& folder);

  Env* env_;
  AbsPath root_;
  std::mutex mutex_;                   // of held_: nodes run side by side
  std::map<std::string, Lease> held_;  // by the result's path
};

}  // namespace ptpkg::graph
