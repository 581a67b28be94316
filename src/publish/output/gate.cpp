// The checks in front of every publication: an artifact with an error is not published. The message lists
// the findings, up to a limit, and the ids for `ptpkg explain`.

#include "publish/output/gate.h"

#include <fmt/core.h>
#include <set>
#include <string>

#include "support/text/plural.h"

namespace ptpkg::publish {

Error RefusedBy(const Report& report) {
  constexpr std::size_t kShown = 20;
  std::string lines;
  std::set<std::string> ids;
  std::size_t errors = 0;
  for (const Finding& finding : report.findings) {
    if (finding.severity != Severity::kError || ++errors > kShown) continue;
    ids.insert(finding.id);
    lines += fmt::format("\n    {} [{}] {}", finding.file.empty() ? report.subject : finding.file, finding.id,
                         finding.message);
    if (!finding.fix.empty()) lines += "\n      fix: " + finding.fix;
  }
  if (errors > kShown) lines += fmt::format("\n    and {} more", errors - kShown);
  return Error(ErrorCode::kCheckFailed,
               fmt::format("'{}' failed its checks and was not published:{}", report.subject, lines))
      .WithHint(fmt::format("ptpkg explain {} explains {}", *ids.begin(),
                            ids.size() == 1 ? "it" : "the first finding; run it with the other ids too"));
}

Result<Report> PassGate(Env& env, const AbsPath& artifact, const verify::CheckOptions& options) {
  const std::string name(artifact.Name());
  Task task(env.reporter, {.stage = "check", .subject = name});
  PTPKG_TRY(Report report, verify::CheckArtifact(env, artifact, options),
            fmt::format("while checking '{}'", name));
  report.subject = name;
  if (report.HasErrors()) return RefusedBy(report);
  task.Done(report.findings.empty() ? "" : Plural(report.findings.size(), "finding"));
  return report;
}

}  // namespace ptpkg::publish
