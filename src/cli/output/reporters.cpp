#include "cli/output/reporters.h"

#include "cli/output/text_reporter.h"

namespace ptpkg::cli {

std::unique_ptr<ProgressReporter> MakeReporter(Clock& clock, LogSink& sink, const ReporterOptions& options) {
  LogFormat format = options.format;
  if (format == LogFormat::kAuto) {
    // CI services keep logs, in which a moving line would be hundreds of lines, also where they offer a
    // terminal.
    const bool moves = sink.Width().has_value() && !options.in_ci && !options.quiet;
    format = moves ? LogFormat::kTerminal : LogFormat::kPlain;
  }
  switch (format) {
    case LogFormat::kTerminal:
      return MakeTerminalReporter(clock, sink, options);
    case LogFormat::kJson:
      return MakeJsonReporter(clock, sink, options);
    default:
      return MakePlainReporter(clock, sink, options);
  }
}

}  // namespace ptpkg::cli
