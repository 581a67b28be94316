#pragma once
// Results of stages, kept by content key across runs, and the memory of why a stage ran. Layer: graph.
//
//   <root>/results/<stage>/<key>/        what the stage made; appears by rename, so it is whole
//   <root>/records/<subject>/<stage>.json  the inputs of the last run for this subject
//
// Two runs at once are harmless: both make the same result, the second rename finds it there.

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "support/env.h"
#include "support/json_fwd.h"

namespace ptpkg::graph {

/// The named inputs of one stage for one subject. Equal inputs, equal result.
class StageInputs {
 public:
  /// `version`: raised whenever the code of the stage changes what it makes.
  StageInputs(std::string stage, std::string subject, int version);
  StageInputs& Add(const std::string& name, std::string_view value);

  [[nodiscard]] const std::string& stage() const { return stage_; }
  [[nodiscard]] const std::string& subject() const { return subject_; }
  [[nodiscard]] const std::map<std::string, std::string>& digests() const { return digests_; }
  [[nodiscard]] std::string Key() const;  ///< 64 hex digits.

 private:
  std::string stage_;
  std::string subject_;
  std::map<std::string, std::string> digests_;  // input name → digest of its value
};

class StageStore {
 public:
  /// Removes what killed runs left half-made. Errors: kIo.
  static Result<StageStore> Open(Env& env, const AbsPath& root);

  /// The folder of a finished result, if there is one.
  Result<std::optional<AbsPath>> Find(const StageInputs& inputs);
  /// Calls `make` with an empty folder and keeps what it leaves there. Returns the final folder.
  Result<AbsPath> Put(const StageInputs& inputs, const std::function<Result<void>(const AbsPath&)>& make);

  /// Why the stage has to run for this subject, against its last record: "first run",
  /// "'source' and 'script' changed", or "inputs unchanged, result missing".
  Result<std::string> WhyChanged(const StageInputs& inputs);
  /// Remembers the inputs, with `outcome` for stages whose result lies elsewhere (an artifact).
  Result<void> Record(const StageInputs& inputs, const Json& outcome);
  /// The outcome of the last record if its key equals that of `inputs`.
  Result<std::optional<Json>> Recall(const StageInputs& inputs);

 private:
  StageStore(Env& env, AbsPath root) : env_(env), root_(std::move(root)) {}
  [[nodiscard]] AbsPath ResultPath(const StageInputs& inputs) const;
  [[nodiscard]] AbsPath RecordPath(const StageInputs& inputs) const;
  Result<std::optional<Json>> ReadRecord(const StageInputs& inputs);

  Env& env_;
  AbsPath root_;
};

}  // namespace ptpkg::graph
