// ptpkg transmute. Layer: cli. ptpkg copies members unchanged, so users choose only the place of the
// result.

#include <fmt/core.h>
#include <memory>

#include "cli/verbs/verbs.h"
#include "pipeline/transmute/transmute.h"
#include "support/text/json.h"
#include "support/text/plural.h"

namespace ptpkg::cli {

namespace {

struct TransmuteFlags {
  std::vector<std::string> packages;
  std::optional<std::string> output;
  bool force = false;
};

Result<ExitCode> RunTransmute(Context& context, const TransmuteFlags& flags) {
  pipeline::TransmuteRun run{.force = flags.force};
  PTPKG_TRY(run.packages, ResolveExisting(context, flags.packages));
  PTPKG_TRY(run.output, ResolveFile(context, flags.output));
  PTPKG_TRY(const pipeline::TransmuteSummary summary, pipeline::Transmute(context.env(), run));
  Json list = Json::array();
  for (const pipeline::TransmuteOutcome& one : summary.outcomes) {
    list.push_back({{"from", one.from.str()}, {"to", one.to.str()}});
    // Printed after the run, and before a failure: these packages are complete and stay.
    if (!context.json()) context.Print(one.to.str());
  }
  if (!context.json() && !list.empty())
    context.env().reporter.Note(Plural(list.size(), "package") + " written");
  return FinishOutcomes(context, list, summary.failure);
}

}  // namespace

Verb TransmuteVerb() {
  // Shared by the parser, which fills it, and the action, which reads it later.
  auto flags = std::make_shared<TransmuteFlags>();
  return {.name = "transmute",
          .summary = "Convert conda packages between .conda and .tar.bz2",
          .known_as = {"cph", "convert"},
          .options = {{.names = "PACKAGE", .help = ".conda or .tar.bz2 file", .target = &flags->packages},
                      {.names = "-o,--output",
                       .value = "DIR",
                       .help = "Write the new packages to DIR",
                       .target = &flags->output,
                       .default_text = "beside the old ones"},
                      {.names = "--force", .help = "Replace existing files", .target = &flags->force}},
          .notes =
              "Contents, modes and times of all members stay. ptpkg refuses packages with errors of 'ptpkg "
              "check', reads each result back and compares it with its source before it gets its name. Old "
              "packages stay.",
          .examples = {"ptpkg transmute toy-1.0-h1_0.conda",
                       "ptpkg transmute linux-64/*.tar.bz2 --output new/linux-64"},
          .run = [flags](Context& context) { return RunTransmute(context, *flags); }};
}

}  // namespace ptpkg::cli
