#include "publish/gate.h"

#include <fmt/core.h>

#include "support/plural.h"

namespace ptpkg::publish {

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

Result<Report> PassGate(Env& env, const AbsPath& artifact, const verify::CheckOptions& options) {
  const std::string name(artifact.Name());
  Task task(env.reporter, {.stage = "check", .subject = name});
  // A fresh wheel has the interpreter's tag; who uploads it to a public index gives it another one first.
  verify::CheckOptions here = options;
  here.never_errors.emplace_back("wheel-platform-tag");
  PTPKG_TRY(Report report, verify::CheckArtifact(env, artifact, here),
            fmt::format("while checking '{}'", name));
  report.subject = name;
  if (report.HasErrors()) return RefusedBy(report);
  task.Done(report.findings.empty() ? "" : Plural(report.findings.size(), "finding"));
  return report;
}

}  // namespace ptpkg::publish
