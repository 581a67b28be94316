// ptpkg retag. Layer: cli.

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
  for (const auto& [taken_away, value, name] : {std::tuple(flags.no_build, &run.changes.build, "build"),
                                                std::tuple(flags.no_local, &run.changes.local, "local")}) {
    if (!taken_away) continue;
    if (*value) return Error(ErrorCode::kUsage, fmt::format("--{0} and --no-{0} exclude each other", name));
    *value = "";
  }
  run.check = !flags.no_check;
  PTPKG_TRY(const pipeline::RetagSummary summary, pipeline::Retag(context.env(), run));
  if (context.json()) {
    Json list = Json::array();
    for (const pipeline::RetagOutcome& one : summary.outcomes)
      list.push_back({{"from", one.from.str()}, {"to", one.to.str()}});
    if (!summary.failure) {
      context.PrintJson(list);
    } else {
      context.SetErrorDetails({{"outcomes", std::move(list)}});
    }
  } else {
    for (const pipeline::RetagOutcome& one : summary.outcomes) context.Print(one.to.str());
    if (!summary.failure || !summary.outcomes.empty()) {
      context.env().reporter.Note(fmt::format("{} {}", Plural(summary.outcomes.size(), "wheel"),
                                              run.dry_run ? "would be written" : "written"));
    }
  }
  if (summary.failure) return Error(*summary.failure);  // what has its name by then stays
  return kDone;
}

std::vector<Option> ChangeOptions(RetagFlags& flags) {
  pipeline::RetagRun& run = flags.run;
  const std::string group = "Changes";
  return {
      {.names = "--platform",
       .value = "TAG",
       .help = "Platform tag, or several with '.' between them: manylinux_2_28_x86_64",
       .target = &run.changes.platform,
       .group = group},
      {.names = "--python",
       .value = "TAG",
       .help = "Python tag: cp311, py2.py3",
       .target = &run.changes.python,
       .group = group},
      {.names = "--abi",
       .value = "TAG",
       .help = "ABI tag: cp311, abi3, none",
       .target = &run.changes.abi,
       .group = group},
      {.names = "--build",
       .value = "TAG",
       .help = "Build tag; begins with a digit",
       .target = &run.changes.build,
       .group = group,
       .instead_of_empty = "'--no-build' removes the build tag"},
      {.names = "--no-build", .help = "Remove the build tag", .target = &flags.no_build, .group = group},
      {.names = "--local",
       .value = "SEGMENT",
       .help = "Local segment of the version, behind its '+': cu130",
       .target = &run.changes.local,
       .group = group,
       .instead_of_empty = "'--no-local' removes the local segment"},
      {.names = "--no-local",
       .help = "Remove the local segment of the version",
       .target = &flags.no_local,
       .group = group},
      {.names = "--requires",
       .value = "REQUIREMENT",
       .help = "Requirement, in place of those on the same project and of the same extra, if of one; may be "
               "repeated",
       .target = &run.changes.requirements,
       .group = group},
  };
}

}  // namespace

Verb RetagVerb() {
  // Shared by the parser, which fills it, and the action, which reads it later.
  auto flags = std::make_shared<RetagFlags>();
  pipeline::RetagRun& run = flags->run;
  std::vector<Option> options = {{.names = "ARTIFACT", .help = ".whl files", .target = &flags->wheels}};
  for (Option& option : ChangeOptions(*flags)) options.push_back(std::move(option));
  const std::vector<Option> rest = {
      {.names = "-o,--output",
       .value = "DIR",
       .help = "Where the new wheels go (default: beside the old ones)",
       .target = &flags->output},
      {.names = "--force", .help = "Replace files of the new names", .target = &run.force},
      {.names = "--remove", .help = "Remove each old wheel once the new one is there", .target = &run.remove},
      {.names = "--no-check",
       .help = "With new tags: do not check that the files keep what these promise",
       .target = &flags->no_check},
      {.names = "--dry-run",
       .help = "Check as the run would, print the names, and write nothing",
       .target = &run.dry_run}};
  options.insert(options.end(), rest.begin(), rest.end());
  return {.name = "retag",
          .summary = "Give wheels other tags, another build, local version or requirements",
          .options = std::move(options),
          .notes =
              "Nothing but .dist-info is written anew: all other files are copied as they are\n"
              "stored. With new tags the result is checked first: the files have to deserve the\n"
              "platform, and extension modules have to be for the Python and ABI that they are\n"
              "named for.\n"
              "Signatures, signed statements and attestations beside a wheel that is replaced\n"
              "or removed are removed with it.",
          .examples = {"ptpkg retag torch*.whl --platform manylinux_2_28_x86_64 -o out",
                       "ptpkg retag torch-2.6.0+cpu-*.whl --no-local --remove"},
          .run = [flags](Context& context) { return RunRetag(context, *flags); }};
}

}  // namespace ptpkg::cli
