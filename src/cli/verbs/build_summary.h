#pragma once
// Final output of build, conda and wheel. Layer: cli.

#include <string>
#include <vector>

#include "pipeline/plan/build_plan.h"

namespace ptpkg::cli {

struct ExplainFacts {
  bool dry_run = false;  ///< Progress has already listed the runs.
};
/// One line per stage: "   build  x: ran: tools changed". The reasons "inputs unchanged" and "would run: …"
/// come without "ran".
std::vector<std::string> ExplainLines(const pipeline::BuildSummary& summary, const ExplainFacts& facts = {});

struct SummaryFacts {
  std::string output;  ///< The output directory.
  double seconds = 0;  ///< Since the program started.
  bool dry_run = false;
};
/// `2 artifacts in '/x/dist': 3.1 MB, 28% of 11.2 MB unpacked; 1 warning; 12 s`
std::string SummaryLine(const pipeline::BuildSummary& summary, const SummaryFacts& facts);

}  // namespace ptpkg::cli
