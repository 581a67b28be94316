#pragma once
// How progress looks: one line that moves on a terminal, plain lines in CI, JSON lines for machines.
// Layer: cli. All write to stderr.

#include <memory>

#include "support/clock.h"
#include "support/reporter.h"

namespace ptpkg::cli {

enum class LogFormat : unsigned char { kAuto, kTerminal, kPlain, kJson };

struct ReporterOptions {
  LogFormat format = LogFormat::kAuto;  ///< kAuto: terminal if stderr is one and CI is not set, else plain.
  bool quiet = false;                   ///< Warnings only.
  bool verbose = false;                 ///< The output of child processes too.
  bool color = false;
  bool in_ci = false;
};

std::unique_ptr<Reporter> MakeReporter(Clock& clock, const ReporterOptions& options);

}  // namespace ptpkg::cli
