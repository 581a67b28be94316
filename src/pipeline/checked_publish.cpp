#include "pipeline/checked_publish.h"

#include <fmt/core.h>

#include "pipeline/stage_timer.h"

namespace ptpkg::pipeline {

namespace {

/// kCheckFailed, with one line per error; the rest of a long list is counted.
Error RefusedBy(const Report& report) {
  constexpr std::size_t kShown = 20;
  std::string lines;
  std::size_t errors = 0;
  for (const Finding& finding : report.findings) {
    if (finding.severity != Severity::kError || ++errors > kShown) continue;
    lines += fmt::format("\n    {} [{}] {}", finding.file.empty() ? report.subject : finding.file, finding.id,
                         finding.message);
  }
  if (errors > kShown) lines += fmt::format("\n    and {} more", errors - kShown);
  return Error(ErrorCode::kCheckFailed,
               fmt::format("'{}' did not pass its checks and was not published:{}", report.subject, lines))
      .WithHint("docs/findings/<id>.md explains each finding and its remedy");
}

Result<void> CheckOne(Env& env, const Artifact& artifact, const verify::CheckOptions& options,
                      BuildSummary& summary) {
  const std::string name(artifact.path.Name());
  StageTimer timer(env, summary, "check", name);
  Task task(env.reporter, {.stage = "check", .subject = name});
  PTPKG_TRY(Report report, verify::CheckArtifact(env, artifact.path, options),
            fmt::format("while checking '{}'", name));
  report.subject = name;
  const bool refused = report.HasErrors();
  if (!report.findings.empty()) summary.reports.push_back(report);
  if (refused) return RefusedBy(report);
  task.Done(report.findings.empty() ? "" : fmt::format("{} findings", report.findings.size()));
  timer.Ran("new artifact");
  return Ok();
}

}  // namespace

Result<std::vector<ArtifactRecord>> CheckAndPublish(Env& env, publish::OutputFolder& output,
                                                    const std::vector<Artifact>& artifacts,
                                                    const PublishRequest& request, BuildSummary& summary) {
  for (const Artifact& artifact : artifacts) PTPKG_CHECK(CheckOne(env, artifact, request.check, summary));
  std::vector<ArtifactRecord> records;
  for (const Artifact& artifact : artifacts) {
    const RelPath place = output.PlaceOf(artifact.format, request.subdir, artifact.path.Name());
    PTPKG_CHECK(output.Publish(artifact, place));
    records.push_back({.path = place.str(),
                       .format = std::string(ArtifactFormatName(artifact.format)),
                       .sha256 = artifact.digests.sha256.Hex(),
                       .md5 = artifact.digests.md5.Hex(),
                       .size_bytes = artifact.digests.size_bytes,
                       .unpacked_bytes = artifact.unpacked_bytes,
                       .inputs = request.inputs});
  }
  summary.artifacts.insert(summary.artifacts.end(), records.begin(), records.end());
  return records;
}

}  // namespace ptpkg::pipeline
