// A hostile archive can have millions of findings of one kind. LimitedFindings lists the first of each id and
// severity (limits::kFindingsOfAKind), and then only counts, in one further finding. So memory and output
// stay bounded, and CountFindings still has the real numbers. Invariant: of each id and severity, at most one
// finding has `more` above 0.

#include "model/finding.h"

#include <algorithm>
#include <fmt/core.h>
#include <iterator>

#include "support/limits.h"

namespace ptpkg {

std::string_view SeverityName(Severity severity) {
  switch (severity) {
    case Severity::kInfo:
      return "info";
    case Severity::kWarning:
      return "warning";
    case Severity::kError:
      return "error";
  }
  return "";
}

std::uint64_t CountFindings(const std::vector<Finding>& findings, Severity severity) {
  std::uint64_t count = 0;
  for (const Finding& finding : findings) {
    // A counting finding stands for `more` others, and each other one for itself.
    if (finding.severity == severity) count += std::max<std::uint64_t>(finding.more, 1);
  }
  return count;
}

void LimitedFindings::Add(Finding finding) {
  Kind& kind = kinds_[{finding.id, finding.severity}];
  // A finding that already counts others comes from an earlier limit. Its count is added, and it is not
  // listed.
  if (finding.more == 0 && kind.listed < limits::kFindingsOfAKind) {
    ++kind.listed;
    findings_.push_back(std::move(finding));
    return;
  }
  if (!kind.rest) {
    kind.rest = findings_.size();
    findings_.push_back(
        {.id = finding.id, .severity = finding.severity, .file = {}, .message = {}, .fix = {}, .more = 0});
  }
  Finding& rest = findings_[*kind.rest];
  rest.more += std::max<std::uint64_t>(finding.more, 1);
  rest.message = fmt::format("and {} more of this kind", rest.more);
}

void LimitFindings(std::vector<Finding>& findings) {
  std::vector<Finding> limited;
  LimitedFindings list(limited);
  for (Finding& finding : findings) list.Add(std::move(finding));
  // Counting findings have no file and would otherwise be between findings about members.
  std::stable_partition(limited.begin(), limited.end(),
                        [](const Finding& finding) { return finding.more == 0; });
  findings = std::move(limited);
}

}  // namespace ptpkg
