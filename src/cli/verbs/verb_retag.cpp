// ptpkg retag. Layer: cli. All wheels are checked before the first gets its name, so a failure mostly leaves
// nothing changed; after that point only the file system can fail. FinishOutcomes() then reports the wheels
// that have their names.

#include <fmt/core.h>
#include <memory>
#include <tuple>

#include "cli/verbs/verbs.h"
#include "pipeline/commands/retag_command.h"
#include "support/text/json.h"
#include "support/text/plural.h"

namespace ptpkg::cli {

namespace {

struct RetagFlags {
  std::vector<std::string> wheels;
  std::string output;
  bool no_build = false;
  bool no_local = false;
  bool no_check = false;
  pipeline::RetagRun run;
};

Result<ExitCode> RunRetag(Context& context, const RetagFlags& flags) {
  pipeline::RetagRun run = flags.run;
  PTPKG_TRY(run.wheels, ResolveExisting(context, flags.wheels));
  if (!flags.output.empty()) {
    PTPKG_TRY(run.output, context.Path(flags.output));
  }
  // For the pipeline, "" takes a part away. A command line can't ask for that by an empty value: it mostly
  // comes from a variable that is not set, so each part has a --no option.
  for (const auto& [taken_away, value, name] : {std::tuple(flags.no_build, &run.changes.build, "build"),
                                                std::tuple(flags.no_local, &run.changes.local, "local")}) {
    if (!taken_away) continue;
    if (*value) return Error(ErrorCode::kUsage, fmt::format("--{0} and --no-{0} exclude each other", name));
    *value = "";
  }
  run.check = !flags.no_check;
  PTPKG_TRY(const pipeline::RetagSummary summary, pipeline::Retag(context.env(), run));
  Json list = Json::array();
  for (const pipeline::RetagOutcome& one : summary.outcomes) {
    list.push_back({{"from", one.from.str()}, {"to", one.to.str()}});
    if (!context.json()) context.Print(one.to.str());
  }
  // After a failure that came before the first rename, '0 wheels written' would only repeat the error.
  if (!context.json() && (!summary.failure || !list.empty())) {
    context.env().reporter.Note(
        fmt::format("{} {}", Plural(list.size(), "wheel"), run.dry_run ? "would be written" : "written"));
  }
  return FinishOutcomes(context, list, summary.failure);
}

/// Each is a part of the file name, except --requires. A change of one part leaves all others.
std::vector<Option> ChangeOptions(RetagFlags& flags) {
  pipeline::RetagRun& run = flags.run;
  const std::string group = "Changes";
  return {
      {.names = "--platform",
       .value = "TAG",
       .help = "Set the platform tags: manylinux_2_28_x86_64",
       .target = &run.changes.platform,
       .group = group},
      {.names = "--python",
       .value = "TAG",
       .help = "Set the Python tags: cp311, py2.py3",
       .target = &run.changes.python,
       .group = group},
      {.names = "--abi",
       .value = "TAG",
       .help = "Set the ABI tags: cp311, abi3, none",
       .target = &run.changes.abi,
       .group = group},
      {.names = "--build",
       .value = "TAG",
       .help = "Set the build tag, which begins with a digit",
       .target = &run.changes.build,
       .group = group,
       .instead_of_empty = "'--no-build' removes the build tag"},
      {.names = "--no-build", .help = "Remove the build tag", .target = &flags.no_build, .group = group},
      {.names = "--local",
       .value = "SEGMENT",
       .help = "Set the local version, after '+': cu130",
       .target = &run.changes.local,
       .group = group,
       .instead_of_empty = "'--no-local' removes the local segment"},
      {.names = "--no-local", .help = "Remove the local version", .target = &flags.no_local, .group = group},
      {.names = "--requires",
       .value = "REQUIREMENT",
       .help = "Replace the requirement on a project; may be repeated",
       .target = &run.changes.requirements,
       .group = group},
  };
}

}  // namespace

Verb RetagVerb() {
  // Shared by the parser, which fills it, and the action, which reads it later.
  auto flags = std::make_shared<RetagFlags>();
  pipeline::RetagRun& run = flags->run;
  std::vector<Option> options = {{.names = "ARTIFACT", .help = ".whl file", .target = &flags->wheels}};
  for (Option& option : ChangeOptions(*flags)) options.push_back(std::move(option));
  // The input is kept unless --remove or --force says otherwise: a wheel with new tags is a new file.
  const std::vector<Option> rest = {
      {.names = "-o,--output",
       .value = "DIR",
       .help = "Write the new wheels to DIR",
       .target = &flags->output,
       .default_text = "beside the old ones"},
      {.names = "--force", .help = "Replace existing files", .target = &run.force},
      {.names = "--remove",
       .help = "Remove each old wheel after the new one is written",
       .target = &run.remove},
      {.names = "--no-check",
       .help = "Skip the check that the files satisfy new tags",
       .target = &flags->no_check},
      {.names = "--dry-run",
       .help = "Check, and print the new names; write nothing",
       .target = &run.dry_run}};
  options.insert(options.end(), rest.begin(), rest.end());
  return {.name = "retag",
          .summary = "Change a wheel's tags, build, local version or requirements",
          .options = std::move(options),
          .notes =
              "Only .dist-info is rewritten; all other files are copied without recompressing. ptpkg "
              "refuses tags that the files do not satisfy: a platform tag that is too low, or a Python "
              "or ABI tag that extension modules are not built for. Signatures, signed statements and "
              "attestations of a replaced or removed wheel are removed with it.",
          .examples = {"ptpkg retag torch*.whl --platform manylinux_2_28_x86_64 -o out",
                       "ptpkg retag torch-2.6.0+cpu-*.whl --no-local --remove"},
          .run = [flags](Context& context) { return RunRetag(context, *flags); }};
}

}  // namespace ptpkg::cli
