#pragma once
// Findings as text and JSON. Layer: cli.

#include <string>
#include <string_view>
#include <vector>

#include "cli/context.h"
#include "model/finding.h"
#include "support/text/json_fwd.h"

namespace ptpkg::cli {

struct FindingTextOptions {
  bool all = false;                       ///< A line for each; else equal ones of several files are one line.
  std::optional<std::size_t> width = {};  ///< Lines are broken between words; nullopt: never.
};

/// Worst first: "x.whl:torch/lib/a.so and 13 more: warning: message [id]", and "  fix: …" below.
std::vector<std::string> FindingLines(const std::vector<Report>& reports, const FindingTextOptions& options);

/// True if `ptpkg explain` has a page with this name.
[[nodiscard]] bool HasPage(std::string_view name);

/// Prints findings to stderr, in the form of the log; then the command that explains the worst finding.
void PrintFindings(Context& context, const std::vector<Report>& reports);

Json FindingsToJson(const std::vector<Report>& reports);

/// "no findings", "2 warnings", "1 error, 2 warnings, 5 notes".
std::string CountFindings(const std::vector<Report>& reports);

}  // namespace ptpkg::cli
