// Stores results of nodes under their keys, shared by runs that can be killed at any moment.
//
// A result is made in a scratch directory next to its final place and appears by one rename, so a name in
// the store always leads to a complete result. If two runs make the same key, the second rename fails, and
// the second run takes the first result: equal keys mean equal content.
//
// A result in use has a shared lease, and cleaning takes an exclusive one (docs/decisions/0009-leases.md).
// The lease is taken before the result has its name, so no cleaner can come between. Reading compares the
// digest of result.json, and path, mode, size and digest of every file, with the record. A damaged result
// is dropped and made again: the store is a cache, and no error of it may stop a build.

#include "graph/result_store.h"

#include <algorithm>
#include <fmt/core.h>

#include "model/tree_json.h"
#include "support/digest/sealed_json.h"
#include "support/files/atomic_file.h"
#include "support/files/scratch.h"
#include "support/text/json_utf8.h"

namespace ptpkg::graph {

namespace {

constexpr std::string_view kAttempt = "attempt";

Error Damaged(const AbsPath& folder, std::string_view what) {
  return {ErrorCode::kCorrupt, fmt::format("the stored result '{}' is damaged: {}", folder.str(), what)};
}

/// The first difference between the recorded and the present files. "" if there is none.
std::string FirstDifference(const StagedTree& recorded, const StagedTree& found) {
  const std::size_t common = std::min(recorded.entries.size(), found.entries.size());
  for (std::size_t i = 0; i < common; ++i) {
    const TreeEntry& before = recorded.entries[i];
    const TreeEntry& now = found.entries[i];
    if (before.path != now.path) {
      return before.path < now.path ? fmt::format("'{}' is missing", before.path.str())
                                    : fmt::format("'{}' was added", now.path.str());
    }
    if (!(before == now)) return fmt::format("'{}' has changed", before.path.str());
  }
  if (recorded.entries.size() > common)
    return fmt::format("'{}' is missing", recorded.entries[common].path.str());
  if (found.entries.size() > common) return fmt::format("'{}' was added", found.entries[common].path.str());
  return "";
}

}  // namespace

Json ResultToJson(const NodeResult& result) {
  return {{"value", result.value}, {"files", TreeToJson(result.files)}};
}

Result<NodeResult> ReadResult(Env& env, const Json& record, const AbsPath& files, std::string_view where) {
  NodeResult result{.value = record["value"]};
  PTPKG_TRY(result.files, TreeFromJson(record["files"], files, where));
  PTPKG_TRY(const StagedTree found, ScanTree(env, files));
  const std::string difference = FirstDifference(result.files, found);
  if (!difference.empty()) return Error(ErrorCode::kCorrupt, difference);
  return result;
}

AbsPath Store::ResultPath(const std::string& stage, const std::string& key) const {
  return root_ / "results" / stage / key;
}

Result<bool> Store::Holds(const std::string& stage, const std::string& key) {
  return Exists(env_->fs, ResultPath(stage, key) / "result.json");
}

Result<bool> Store::Hold(const AbsPath& folder, const AbsPath& name) {
  PTPKG_TRY(std::optional<Lease> lease, LeaseShared(*env_, folder));
  if (!lease) return false;
  const std::lock_guard lock(mutex_);
  held_.emplace(name.str(), *std::move(lease));
  return true;
}

void Store::ReleaseLease(const AbsPath& name) {
  const std::lock_guard lock(mutex_);
  held_.erase(name.str());
}

Result<NodeResult> Store::Read(const AbsPath& folder) {
  const AbsPath path = folder / "result.json";
  PTPKG_TRY(const std::string text, ReadFile(env_->fs, path));
  auto json = ParseJson(text, path.str());
  if (!json || !json->is_object() || !json->contains("body") || !json->contains("digest")) {
    return Damaged(folder, "result.json cannot be read");
  }
  const std::optional<Json> record = OpenSealedJson(*std::move(json));
  if (!record || !record->contains("value") || !record->contains("files"))
    return Damaged(folder, "result.json has changed");
  Result<NodeResult> result = ReadResult(*env_, *record, folder / "files", path.str());
  if (!result && result.error().code() == ErrorCode::kCorrupt)
    return Damaged(folder, result.error().message());
  if (result) result->key = folder.Name();
  return result;
}

Result<std::optional<NodeResult>> Store::Take(const std::string& stage, const std::string& key) {
  const AbsPath folder = ResultPath(stage, key);
  const Result<FileStat> stat = env_->fs.Lstat(folder);
  if (!stat && stat.error().code() == ErrorCode::kNotFound) return std::optional<NodeResult>();
  if (!stat) return Error(stat.error());
  if (stat->kind != FileKind::kDirectory) {
    env_->reporter.Warn(
        fmt::format("{}; building it again", Damaged(folder, "it is not a directory").message()));
    const Result<void> removed = env_->fs.Remove(folder);
    const bool gone = !removed && removed.error().code() == ErrorCode::kNotFound;  // another run was faster
    if (!removed && !gone) return Error(removed.error()).WithContext("while removing a damaged result");
    return std::optional<NodeResult>();
  }
  PTPKG_TRY(const bool held, Hold(folder, folder));
  if (!held) return std::optional<NodeResult>();
  Result<NodeResult> result = Read(folder);
  if (result) return std::optional(*std::move(result));
  if (result.error().code() == ErrorCode::kCancelled) return std::move(result).error();
  // A disk that cannot read a file should not stop the run: the node can run again.
  env_->reporter.Warn(fmt::format("{}; building it again", result.error().message()));
  PTPKG_CHECK(Drop(stage, key), "while removing a damaged result");
  return std::optional<NodeResult>();
}

Result<NodeResult> Store::Put(const std::string& stage, const std::string& key,
                              const std::function<Result<NodeResult>(const AbsPath&)>& make,
                              ExistingResult if_there) {
  const AbsPath final_path = ResultPath(stage, key);
  PTPKG_CHECK(env_->fs.MakeDirs(final_path.Parent()), "while preparing the store");
  PTPKG_TRY(TempDir attempt, TempDir::Create(env_->fs, final_path.Parent(), kAttempt));
  const AbsPath files = attempt.path() / "files";
  PTPKG_CHECK(env_->fs.MakeDir(files));
  PTPKG_TRY(NodeResult result, make(files));
  PTPKG_ASSERT(result.files.entries.empty() || result.files.root == files);
  Json body = ResultToJson(result);
  PTPKG_CHECK(CheckUtf8(body, "the stored result of a node"));
  PTPKG_CHECK(WriteFile(env_->fs, attempt.path() / "result.json", DumpJson(SealJson(std::move(body)))));
  // Held before it has its name, so that nobody who cleans the store can come between.
  PTPKG_TRY([[maybe_unused]] const bool held, Hold(attempt.path(), final_path));
  auto renamed = env_->fs.Rename(attempt.path(), final_path);
  if (!renamed && renamed.error().code() == ErrorCode::kAlreadyExists) {
    // Another run was faster: equal key means equal content, so its result serves as well, unless it is
    // damaged. It is that result which has to be held then, not ours.
    ReleaseLease(final_path);
    if (if_there == ExistingResult::kTake) {
      PTPKG_TRY(std::optional<NodeResult> other, Take(stage, key));
      if (other) return *std::move(other);
    }
    // A directory cannot replace another one that has files, so the old one must give up its name first.
    PTPKG_CHECK(MoveAside(final_path), "while moving an old result aside");
    PTPKG_TRY([[maybe_unused]] const bool held_again, Hold(attempt.path(), final_path));
    renamed = env_->fs.Rename(attempt.path(), final_path);
  }
  if (!renamed) return std::move(renamed).error().WithContext("while storing a result");
  PTPKG_CHECK(env_->fs.SyncDir(final_path.Parent()));
  result.files.root = final_path / "files";
  result.key = key;
  return result;
}

Result<void> Store::RemoveAbandoned() {
  const AbsPath results = root_ / "results";
  PTPKG_TRY(const bool there, Exists(env_->fs, results));
  if (!there) return Ok();
  PTPKG_TRY(const std::vector<std::string> stages, env_->fs.ListDir(results));
  for (const std::string& stage : stages) PTPKG_CHECK(ptpkg::RemoveAbandoned(*env_, results / stage));
  return Ok();
}

/// Readers of the old result keep their open files, and find ours under the name. For a damaged result that
/// is the same content, but whole.
Result<void> Store::MoveAside(const AbsPath& folder) {
  Result<void> renamed = env_->fs.Rename(folder, folder.Parent() / NewScratchFolderName("replaced"));
  if (!renamed && renamed.error().code() == ErrorCode::kNotFound) return Ok();
  return renamed;
}

Result<void> Store::Drop(const std::string& stage, const std::string& key) {
  const AbsPath folder = ResultPath(stage, key);
  ReleaseLease(folder);
  PTPKG_TRY(const bool there, Exists(env_->fs, folder));
  if (!there) return Ok();
  PTPKG_TRY(std::optional<Lease> lease, Lease::Try(env_->fs, folder, LockKind::kExclusive));
  // Another run uses the damaged result: whoever makes it anew moves it aside.
  if (!lease) return Ok();
  return (*std::move(lease)).Remove();
}

}  // namespace ptpkg::graph
