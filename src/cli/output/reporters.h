#pragma once
// How progress looks: one line that moves on a terminal, plain lines in CI, JSON lines for machines.
// Layer: cli. All write to the sink, one call a line, under a lock of their own.

#include <memory>
#include <string>

#include "cli/output/log_sink.h"
#include "support/clock.h"
#include "support/reporter.h"

namespace ptpkg::cli {

enum class LogFormat : unsigned char { kAuto, kTerminal, kPlain, kJson };

struct ReporterOptions {
  LogFormat format = LogFormat::kAuto;  ///< kAuto: terminal if the sink is one and CI is not set, else plain.
  bool quiet = false;                   ///< Warnings only.
  bool verbose = false;  ///< The output of child processes too, and every stage that had nothing to do.
  bool color = false;
  bool in_ci = false;
  std::string cwd = {};  ///< Paths below it are shown relative to it, but not in JSON; "" = none.
};

/// A reporter that also speaks while nobody calls it.
class ProgressReporter : public Reporter {
 public:
  /// Time has passed. The terminal's line moves; plain and JSON tell of each running task every 30 s.
  virtual void Tick() = 0;
  /// Ends the moving line and tells what was held back. Before anything else writes to the terminal.
  virtual void Settle() = 0;
};

/// `clock` and `sink` outlive the reporter.
std::unique_ptr<ProgressReporter> MakeReporter(Clock& clock, LogSink& sink, const ReporterOptions& options);

}  // namespace ptpkg::cli
