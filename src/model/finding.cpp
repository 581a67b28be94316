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
    if (finding.severity == severity) count += std::max<std::uint64_t>(finding.more, 1);
  }
  return count;
}

void LimitedFindings::Add(Finding finding) {
  Kind& kind = kinds_[{finding.id, finding.severity}];
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
  std::stable_partition(limited.begin(), limited.end(),
                        [](const Finding& finding) { return finding.more == 0; });
  findings = std::move(limited);
}

}  // namespace ptpkg
