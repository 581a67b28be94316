// `inspect` adds one thing to the facts of an artifact: the times of the stages that made it. They are in the
// manifest of the output directory, which lies one or two levels above (wheels/, conda/linux-64/). A foreign
// or damaged manifest gives no times, since an artifact can be inspected wherever it lies.

#include "pipeline/commands/inspect.h"

#include <algorithm>

#include "inspect/comparison.h"
#include "inspect/inspection.h"
#include "pipeline/plan/first_failure.h"
#include "publish/output/output_folder.h"
#include "support/text/json.h"
#include "versions/cuda_archs.h"

namespace ptpkg::pipeline {
namespace {

/// Maximum depth of an artifact in an output directory: conda/linux-64/.
constexpr int kDeepest = 2;

std::string TextOf(const Json& time, const std::string& key) {
  auto text = JsonStringOr(time, key, "", key);
  return text ? *std::move(text) : std::string();
}

/// null if the manifest lacks it: older versions did not write "begin_seconds".
Json SecondsOf(const Json& time, const char* key) {
  const auto seconds = time.find(key);
  if (seconds == time.end() || !seconds->is_number()) return nullptr;
  return std::max(0.0, seconds->get<double>());
}

/// Stages of the artifact's last build, if it lies in the output directory of one. A manifest of others, or a
/// damaged one, gives none.
Result<Json> StagesOf(Env& env, const AbsPath& artifact) {
  AbsPath folder = artifact.Parent();
  for (int up = 0; up < kDeepest; ++up) {
    folder = folder.Parent();
    PTPKG_TRY(const bool is_output, Exists(env.fs, folder / "manifest.json"));
    if (!is_output) continue;
    const Result<publish::OutputFolder> output = publish::OutputFolder::Open(env, folder);
    if (!output && output.error().code() == ErrorCode::kIo) return output.error();
    if (!output) continue;
    PTPKG_TRY(const RelPath path, artifact.RelativeTo(folder));
    Json stages = Json::array();
    for (const Json& time : output->TimesOf(path)) {
      const Json duration = SecondsOf(time, "seconds");
      stages.push_back({{"name", TextOf(time, "stage")},
                        {"subject", TextOf(time, "subject")},
                        {"ran", time.contains("ran") && time["ran"] == true},
                        {"reason", TextOf(time, "reason")},
                        {"begin_s", SecondsOf(time, "begin_seconds")},
                        {"duration_s", duration.is_null() ? Json(0.0) : duration}});
    }
    return stages;
  }
  return Json::array();
}

Result<InspectOutcome> InspectOne(Env& env, const AbsPath& artifact, const inspect::InspectOptions& options) {
  Task task(env.reporter, {.stage = "inspect", .subject = std::string(artifact.Name())});
  PTPKG_TRY(inspect::Inspection inspection, inspect::InspectArtifact(env, artifact, options));
  PTPKG_TRY((*inspection.document)["stages"], StagesOf(env, artifact));
  task.Done();
  return InspectOutcome{.report = std::move(inspection.report), .document = std::move(inspection.document)};
}

}  // namespace

Result<InspectSummary> Inspect(Env& env, const InspectRequest& request) {
  if (const auto asked = versions::DeviceCodeRequest::Parse(request.device_code); !asked) {
    return Error(ErrorCode::kUsage, asked.error().message()).WithHint(asked.error().hint());
  }
  const inspect::InspectOptions options{.quick = request.quick,
                                        .check = {.allow_unresolved = request.allow_unresolved,
                                                  .device_code = request.device_code,
                                                  .dependencies = request.dependencies}};
  InspectSummary summary;
  FirstFailure failure;
  for (const AbsPath& artifact : request.artifacts) {
    Result<InspectOutcome> outcome = InspectOne(env, artifact, options);
    if (outcome) {
      summary.outcomes.push_back(*std::move(outcome));
    } else if (!failure.Add(env, std::move(outcome).error())) {
      break;
    }
  }
  summary.failure = std::move(failure).Take();
  return summary;
}

Result<DiffOutcome> Diff(Env& env, const AbsPath& before, const AbsPath& after) {
  Task task(env.reporter, {.stage = "diff", .subject = std::string(after.Name())});
  PTPKG_TRY(inspect::Comparison comparison, inspect::CompareArtifacts(env, before, after));
  task.Done();
  return DiffOutcome{.identical = comparison.identical, .document = std::move(comparison.document)};
}

}  // namespace ptpkg::pipeline
