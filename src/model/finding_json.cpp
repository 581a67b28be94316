// The form of reports in stored results: the severity is a number, and each field is present. Documents for
// users have their own form, with names. The number is checked when it is read: a cast of any other one would
// be a value that no switch over Severity handles.

#include "model/finding_json.h"

#include <fmt/core.h>

namespace ptpkg {

Json ReportToJson(const Report& report) {
  Json findings = Json::array();
  for (const Finding& finding : report.findings) {
    findings.push_back({{"id", finding.id},
                        {"severity", static_cast<int>(finding.severity)},
                        {"file", finding.file},
                        {"message", finding.message},
                        {"fix", finding.fix},
                        {"more", finding.more}});
  }
  return {{"subject", report.subject}, {"findings", findings}};
}

Result<Report> ReportFromJson(const Json& json, std::string_view where) {
  Report report;
  PTPKG_TRY(report.subject, JsonString(json, "subject", where));
  for (const Json& item : json.value("findings", Json::array())) {
    Finding finding;
    PTPKG_TRY(finding.id, JsonString(item, "id", where));
    PTPKG_TRY(const std::int64_t severity, JsonInteger(item, "severity", where));
    if (severity < 0 || severity > static_cast<std::int64_t>(Severity::kError)) {
      return Error(ErrorCode::kInvalidInput, fmt::format("a finding in {} has severity {}", where, severity));
    }
    finding.severity = static_cast<Severity>(severity);
    PTPKG_TRY(finding.file, JsonString(item, "file", where));
    PTPKG_TRY(finding.message, JsonString(item, "message", where));
    PTPKG_TRY(finding.fix, JsonString(item, "fix", where));
    PTPKG_TRY(const std::int64_t more, JsonInteger(item, "more", where));
    finding.more = static_cast<std::uint64_t>(more);
    report.findings.push_back(std::move(finding));
  }
  return report;
}

}  // namespace ptpkg
