#include "graph/store.h"

#include <fmt/format.h>
#include <vector>

#include "support/atomic_file.h"
#include "support/hash.h"
#include "support/json.h"

namespace ptpkg::graph {

StageInputs::StageInputs(std::string stage, std::string subject, int version)
    : stage_(std::move(stage)), subject_(std::move(subject)) {
  Add("ptpkg", std::to_string(version));
}

StageInputs& StageInputs::Add(const std::string& name, std::string_view value) {
  const bool is_new = digests_.emplace(name, HashText(value).Hex()).second;
  PTPKG_ASSERT(is_new);
  return *this;
}

std::string StageInputs::Key() const {
  KeyHasher hasher;
  hasher.Add("stage", stage_);
  for (const auto& [name, digest] : digests_) hasher.Add(name, digest);
  return hasher.Finish().Hex();
}

namespace {

constexpr std::string_view kAttempt = "attempt";

/// Calls `clean` for each folder in `parent`, which may be missing.
Result<void> ForEachFolder(Fs& fs, const AbsPath& parent,
                           const std::function<Result<void>(const AbsPath&)>& clean) {
  PTPKG_TRY(const bool there, Exists(fs, parent));
  if (!there) return Ok();
  PTPKG_TRY(const std::vector<std::string> names, fs.ListDir(parent));
  for (const std::string& name : names) PTPKG_CHECK(clean(parent / name));
  return Ok();
}

}  // namespace

Result<StageStore> StageStore::Open(Env& env, const AbsPath& root) {
  PTPKG_CHECK(ForEachFolder(env.fs, root / "results", [&](const AbsPath& stage) {
    return RemoveStaleTempDirs(env.fs, stage, kAttempt);
  }));
  PTPKG_CHECK(ForEachFolder(env.fs, root / "records",
                            [&](const AbsPath& subject) { return RemoveStaleTemps(env.fs, subject); }));
  return StageStore(env, root);
}

AbsPath StageStore::ResultPath(const StageInputs& inputs) const {
  return root_ / "results" / inputs.stage() / inputs.Key();
}

AbsPath StageStore::RecordPath(const StageInputs& inputs) const {
  return root_ / "records" / inputs.subject() / (inputs.stage() + ".json");
}

Result<std::optional<AbsPath>> StageStore::Find(const StageInputs& inputs) {
  const AbsPath path = ResultPath(inputs);
  PTPKG_TRY(const bool there, Exists(env_.fs, path));
  return there ? std::optional(path) : std::nullopt;
}

Result<AbsPath> StageStore::Put(const StageInputs& inputs,
                                const std::function<Result<void>(const AbsPath&)>& make) {
  const AbsPath final_path = ResultPath(inputs);
  PTPKG_CHECK(env_.fs.MakeDirs(final_path.Parent()));
  PTPKG_TRY(TempDir attempt, TempDir::Create(env_.fs, final_path.Parent(), kAttempt));
  PTPKG_CHECK(make(attempt.path()));
  auto renamed = env_.fs.Rename(attempt.path(), final_path);
  if (renamed) {
    static_cast<void>(std::move(attempt).Release());
    return final_path;
  }
  // Another run was faster: equal key means equal content, so its result serves as well.
  if (renamed.error().code() == ErrorCode::kAlreadyExists) return final_path;
  return std::move(renamed).error();
}

Result<std::optional<Json>> StageStore::ReadRecord(const StageInputs& inputs) {
  const AbsPath path = RecordPath(inputs);
  PTPKG_TRY(const bool there, Exists(env_.fs, path));
  if (!there) return std::optional<Json>();
  PTPKG_TRY(const std::string text, ReadFile(env_.fs, path));
  auto record = ParseJson(text, path.str());
  // A damaged record costs one run of the stage; it is no reason to stop.
  if (!record || !record->is_object() || !record->contains("inputs") || !(*record)["inputs"].is_object()) {
    return std::optional<Json>();
  }
  return std::optional(*std::move(record));
}

Result<std::string> StageStore::WhyChanged(const StageInputs& inputs) {
  PTPKG_TRY(const std::optional<Json> record, ReadRecord(inputs));
  if (!record) return std::string("first run");
  const Json& before = (*record)["inputs"];
  std::vector<std::string> changed;
  for (const auto& [name, digest] : inputs.digests()) {
    if (!before.contains(name) || before[name] != digest) changed.push_back("'" + name + "'");
  }
  for (const auto& [name, digest] : before.items()) {
    if (!inputs.digests().contains(name)) changed.push_back("'" + name + "'");
  }
  if (changed.empty()) return std::string("inputs unchanged, result missing");
  return fmt::format("{} changed", fmt::join(changed, ", "));
}

Result<void> StageStore::Record(const StageInputs& inputs, const Json& outcome) {
  const AbsPath path = RecordPath(inputs);
  PTPKG_CHECK(env_.fs.MakeDirs(path.Parent()));
  const Json record = {{"key", inputs.Key()}, {"inputs", inputs.digests()}, {"outcome", outcome}};
  return WriteFile(env_.fs, path, DumpJson(record));
}

Result<std::optional<Json>> StageStore::Recall(const StageInputs& inputs) {
  PTPKG_TRY(const std::optional<Json> record, ReadRecord(inputs));
  if (!record || record->value("key", "") != inputs.Key() || !record->contains("outcome")) {
    return std::optional<Json>();
  }
  return std::optional<Json>((*record)["outcome"]);
}

}  // namespace ptpkg::graph
