// ptpkg repair. Layer: cli.

#include <algorithm>
#include <fmt/core.h>
#include <memory>

#include "cli/verbs/verbs.h"
#include "pipeline/commands/repair_command.h"
#include "support/assert.h"
#include "support/text/json.h"
#include "support/text/plural.h"

namespace ptpkg::cli {

namespace {

struct RepairFlags {
  std::vector<std::string> wheels;
  std::vector<std::string> search;
  std::string output;
  bool no_check = false;
  pipeline::RepairRun run;
};

Json OutcomeJson(const pipeline::RepairOutcome& one) {
  const auto text_or_null = [](const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); };
  Json grafted = Json::array();
  for (const pipeline::GraftedLibrary& library : one.grafted) {
    grafted.push_back({{"source", library.source},
                       {"path", library.path},
                       {"package", text_or_null(library.package)},
                       {"opened_by", text_or_null(library.opened_by)}});
  }
  Json left_out = Json::array();
  for (const auto& [library, why] : one.left_out) left_out.push_back({{"library", library}, {"why", why}});
  Json files = Json::array();
  for (const pipeline::RepairedFile& file : one.files)
    files.push_back({{"path", file.path}, {"changes", file.changes}});
  return {{"from", one.from.str()},
          {"to", one.to.str()},
          {"changed", one.changed},
          {"platform_before", one.platform_before},
          {"platform", one.platform},
          {"floor", text_or_null(one.floor)},
          {"grafted", grafted},
          {"left_out", left_out},
          {"files", files}};
}

void PrintRepaired(Context& context, const pipeline::RepairOutcome& one, bool dry_run) {
  Reporter& reporter = context.env().reporter;
  for (const pipeline::GraftedLibrary& library : one.grafted) {
    reporter.Note(fmt::format(
        "  {} from '{}'{}{}", library.path, library.source,
        library.package.empty() ? "" : " of " + library.package,
        library.opened_by.empty() ? "" : fmt::format(", by the name that '{}' opens", library.opened_by)));
  }
  for (const auto& [library, why] : one.left_out)
    reporter.Note(fmt::format("  '{}' stays outside: {}", library, why));
  for (const pipeline::RepairedFile& file : one.files) {
    for (const std::string& change : file.changes) reporter.Note(fmt::format("  {}: {}", file.path, change));
  }
  if (one.platform != one.platform_before) {
    reporter.Note(fmt::format("  tag {}, was {}{}", one.platform, one.platform_before,
                              one.floor.empty() ? "" : fmt::format(" ({})", one.floor)));
  }
  if (!one.changed)
    reporter.Note(one.stays ? "  needs no repair"
                            : fmt::format("  needs no repair: {} byte for byte",
                                          dry_run ? "would be copied" : "copied"));
  context.Print(one.to.str());
}

void PrintOutcomes(Context& context, const std::vector<pipeline::RepairOutcome>& outcomes, bool dry_run) {
  for (const pipeline::RepairOutcome& one : outcomes) PrintRepaired(context, one, dry_run);
  const auto stay = static_cast<std::size_t>(std::count_if(
      outcomes.begin(), outcomes.end(), [](const pipeline::RepairOutcome& one) { return one.stays; }));
  const std::size_t written = outcomes.size() - stay;
  if (written != 0) {
    context.env().reporter.Note(
        fmt::format("{} {}", Plural(written, "wheel"), dry_run ? "would be written" : "written"));
  }
  if (stay != 0) context.env().reporter.Note(fmt::format("{} unchanged", Plural(stay, "wheel")));
}

Result<ExitCode> RunRepair(Context& context, const RepairFlags& flags) {
  pipeline::RepairRun run = flags.run;
  PTPKG_TRY(run.wheels, ResolveExisting(context, flags.wheels));
  PTPKG_TRY(run.search, ResolvePaths(context, flags.search));
  if (!flags.output.empty()) {
    PTPKG_TRY(run.output, context.Path(flags.output));
  }
  run.check = !flags.no_check;
  PTPKG_TRY(const pipeline::RepairSummary summary, pipeline::Repair(context.env(), run));
  if (context.json()) {
    Json list = Json::array();
    for (const pipeline::RepairOutcome& one : summary.outcomes) list.push_back(OutcomeJson(one));
    if (!summary.failure) {
      context.PrintJson(list);
    } else {
      context.SetErrorDetails({{"outcomes", std::move(list)}});
    }
  } else {
    PrintOutcomes(context, summary.outcomes, run.dry_run);
  }
  if (summary.failure) return Error(*summary.failure);  // the wheels before it are written already
  return kDone;
}

std::vector<Option> LibraryOptions(RepairFlags& flags) {
  const std::string group = "Libraries";
  pipeline::RepairRun& run = flags.run;
  const auto backends = pipeline::BackendNames();
  PTPKG_ASSERT(backends.has_value());  // the table is built in; tests read it
  return {
      {.names = "--backend",
       .value = "NAME",
       .help = "Repair as PyTorch's own builds for it are: search paths, names, folder and tag",
       .target = &run.backend,
       .choices = *backends,
       .group = group},
      {.names = "--lib-folder",
       .value = "FOLDER",
       .help = "Where the copies go in the wheel: toy.libs, toy/lib (default: the backend's, else NAME.libs)",
       .target = &run.lib_folder,
       .group = group},
      {.names = "--rename",
       .value = "HOW",
       .help = "Names of the copies: with a hash, as they are asked for, or without version (default: the "
               "backend's, else hash)",
       .target = &run.rename,
       .choices = pipeline::RenameNames(),
       .group = group},
      {.names = "--exclude",
       .value = "GLOB",
       .help = "Libraries, or their paths on this machine, that stay outside; may be repeated",
       .target = &run.exclude,
       .group = group},
      {.names = "--graft",
       .value = "NAME",
       .help = "Library that is opened at run time: copied too, under this name; may be repeated",
       .target = &run.opened,
       .group = group},
      {.names = "--search",
       .value = "DIR",
       .help = "Folder that is searched before all others; may be repeated",
       .target = &flags.search,
       .group = group},
      {.names = "--strip",
       .help = "Take symbols out of the copies, and of the files that need them, with strip",
       .target = &run.strip,
       .group = group},
  };
}

}  // namespace

Verb RepairVerb() {
  // Shared by the parser, which fills it, and the action, which reads it later.
  auto flags = std::make_shared<RepairFlags>();
  pipeline::RepairRun& run = flags->run;
  std::vector<Option> options = {
      {.names = "ARTIFACT", .help = ".whl files", .target = &flags->wheels},
      {.names = "--platform",
       .value = "TAG",
       .help = "Platform tag that the result has to deserve, or linux: manylinux_2_28_x86_64 (default: auto, "
               "the backend's or the lowest that it deserves)",
       .target = &run.platform}};
  for (Option& option : LibraryOptions(*flags)) options.push_back(std::move(option));
  const std::vector<Option> rest = {
      {.names = "-o,--output",
       .value = "DIR",
       .help = "Where the new wheels go (default: beside the old ones)",
       .target = &flags->output},
      {.names = "--force", .help = "Replace files of the new names", .target = &run.force},
      {.names = "--no-check",
       .help = "Do not check the result before it gets its name",
       .target = &flags->no_check},
      {.names = "--dry-run",
       .help = "Say what would be done, and check the result; write nothing",
       .target = &run.dry_run}};
  options.insert(options.end(), rest.begin(), rest.end());
  return {.name = "repair",
          .summary = "Make wheels run elsewhere: copy libraries in, mend search paths and tags",
          .known_as = {"auditwheel", "delocate"},
          .options = std::move(options),
          .notes =
              "Libraries are looked for as the dynamic loader of this machine does. Not copied\n"
              "is what every system of the tag has, what a driver or a dependency of the wheel\n"
              "brings, and PyTorch itself. Search paths keep what leads somewhere. The copies,\n"
              "and the packages that they are from, are listed in .dist-info/sboms.\n"
              "Only files that change are compressed again. The input stays as it is, unless\n"
              "--force lets the result take its name.",
          .examples = {"ptpkg repair dist/toy-1.0-cp311-cp311-linux_x86_64.whl -o wheelhouse",
                       "ptpkg repair torch-*.whl --backend pytorch-cuda13 -o out",
                       "ptpkg repair toy.whl --exclude 'libcu*' --search /opt/toy/lib --dry-run"},
          .run = [flags](Context& context) { return RunRepair(context, *flags); }};
}

}  // namespace ptpkg::cli
