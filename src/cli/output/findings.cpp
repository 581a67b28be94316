// Findings for people and for machines. Layer: cli. People get the worst ones first, equal ones of several
// files in one line, and the command that explains the worst. Machines get all of them, in the order of the
// check.

#include "cli/output/findings.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>

#include "cli/output/text_layout.h"
#include "support/text/display_text.h"
#include "support/text/json.h"
#include "support/text/plural.h"
#include "support/text/text.h"

namespace ptpkg::cli {

namespace {

/// A finding, and how many say the same of other files.
struct Folded {
  const Finding* finding;
  std::size_t more = 0;

  [[nodiscard]] bool Says(const Finding& other) const {
    return finding->severity == other.severity && finding->id == other.id &&
           finding->message == other.message && finding->fix == other.fix;
  }
};

std::vector<Folded> Fold(const Report& report, bool all) {
  std::vector<Folded> folded;
  for (const Finding& finding : report.findings) {
    // A wheel with one fault in 500 libraries shows one line with a count.
    // A linear search is enough: checks list at most 200 findings of one id and severity for an artifact.
    const auto same = std::find_if(folded.begin(), folded.end(),
                                   [&](const Folded& candidate) { return !all && candidate.Says(finding); });
    if (same == folded.end()) {
      folded.push_back({.finding = &finding});
    } else {
      ++same->more;
    }
  }
  std::stable_sort(folded.begin(), folded.end(), [](const Folded& left, const Folded& right) {
    return left.finding->severity > right.finding->severity;
  });
  return folded;
}

/// The id of the first finding among the most severe ones; "" if all are notes.
std::string WorstFinding(const std::vector<Report>& reports) {
  const Finding* worst = nullptr;
  for (const Report& report : reports) {
    for (const Finding& finding : report.findings) {
      // Notes ask for nothing, so no command explains them.
      if (finding.severity == Severity::kInfo) continue;
      if (worst == nullptr || finding.severity > worst->severity) worst = &finding;
    }
  }
  return worst == nullptr ? "" : worst->id;
}

Json FindingToJson(const Report& report, const Finding& finding) {
  Json object = {
      {"subject", report.subject}, {"id", finding.id},           {"severity", SeverityName(finding.severity)},
      {"file", finding.file},      {"message", finding.message}, {"fix", finding.fix}};
  // This one stands for the findings above that limit, and only counts them.
  if (finding.more > 0) object["more"] = finding.more;
  return object;
}

}  // namespace

std::vector<std::string> FindingLines(const std::vector<Report>& reports, const FindingTextOptions& options) {
  constexpr std::size_t kIndent = 4;
  std::vector<std::string> lines;
  const auto add = [&](const std::string& line) {
    const std::string shown = DisplayLine(line);
    lines.push_back(options.width ? WrapWords(shown, {.width = *options.width, .indent = kIndent}) : shown);
  };
  for (const Report& report : reports) {
    for (const Folded& folded : Fold(report, options.all)) {
      const Finding& finding = *folded.finding;
      add(fmt::format("{}{}{}{}: {}: {} [{}]", report.subject, finding.file.empty() ? "" : ":", finding.file,
                      folded.more == 0 ? "" : fmt::format(" and {} more", folded.more),
                      SeverityName(finding.severity), finding.message, finding.id));
      if (!finding.fix.empty()) {
        const std::string fix = "fix: " + DisplayLine(finding.fix);
        // The first indent is no word.
        lines.push_back(
            "  " + (options.width ? WrapWords(fix, {.width = *options.width, .indent = kIndent, .already = 2})
                                  : fix));
      }
    }
  }
  return lines;
}

void PrintFindings(Context& context, const std::vector<Report>& reports) {
  // Machines get every finding by itself; equal ones are folded for people only.
  if (context.logs_json()) {
    for (const Report& report : reports) {
      for (const Finding& finding : report.findings) {
        Json event = FindingToJson(report, finding);
        event["event"] = "finding";
        context.LogEvent(event);
      }
    }
    return;
  }
  for (const std::string& line :
       FindingLines(reports, {.all = context.verbose(), .width = context.LogWidth()})) {
    // With --quiet too: a finding can be the reason why the run fails.
    context.LogAlways(line);
  }
  const std::string id = WorstFinding(reports);
  if (HasPage(id)) context.Log(fmt::format("see 'ptpkg explain {}'", id));
}

Json FindingsToJson(const std::vector<Report>& reports) {
  Json list = Json::array();
  for (const Report& report : reports) {
    for (const Finding& finding : report.findings) list.push_back(FindingToJson(report, finding));
  }
  return list;
}

std::string CountFindings(const std::vector<Report>& reports) {
  constexpr std::array<Severity, 3> kWorstFirst = {Severity::kError, Severity::kWarning, Severity::kInfo};
  std::vector<std::string> parts;
  for (const Severity severity : kWorstFirst) {
    std::uint64_t count = 0;
    for (const Report& report : reports) count += ptpkg::CountFindings(report.findings, severity);
    const std::string_view noun = severity == Severity::kInfo ? "note" : SeverityName(severity);
    if (count > 0) parts.push_back(Plural(count, noun));
  }
  return parts.empty() ? "no findings" : Join(parts, ", ");
}

}  // namespace ptpkg::cli
