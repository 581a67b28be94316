// Findings as text and JSON. Layer: cli.

#include <algorithm>
#include <fmt/format.h>

#include "cli/verbs.h"

namespace ptpkg::cli {

namespace {

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

}  // namespace

void PrintFindings(const std::vector<Report>& reports) {
  for (const Report& report : reports) {
    std::vector<Finding> worst_first = report.findings;
    std::stable_sort(worst_first.begin(), worst_first.end(), [](const Finding& left, const Finding& right) {
      return left.severity > right.severity;
    });
    for (const Finding& finding : worst_first) {
      PrintLog(fmt::format("{}{}{}: {}: {} [{}]", report.subject, finding.file.empty() ? "" : ":",
                           finding.file, SeverityName(finding.severity), finding.message, finding.id));
      if (!finding.fix.empty()) PrintLog(fmt::format("  fix: {}", finding.fix));
    }
  }
}

Json FindingsToJson(const std::vector<Report>& reports) {
  Json list = Json::array();
  for (const Report& report : reports) {
    for (const Finding& finding : report.findings) {
      list.push_back({{"subject", report.subject},
                      {"id", finding.id},
                      {"severity", SeverityName(finding.severity)},
                      {"file", finding.file},
                      {"message", finding.message},
                      {"fix", finding.fix}});
    }
  }
  return list;
}

}  // namespace ptpkg::cli
