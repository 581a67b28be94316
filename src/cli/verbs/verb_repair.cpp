// ptpkg repair. Layer: cli. Wheels are repaired one after the other and have their names as soon as they
// pass, so a failure ends the run and leaves those before it.

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
  // Texts that can be missing are null in the document, so that "" is never a name.
  const auto text_or_null = [](const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); };
  Json grafted = Json::array();
  for (const pipeline::GraftedLibrary& library : one.grafted) {
    grafted.push_back({{"source", library.source},
                       {"path", library.path},
                       {"package", text_or_null(library.package)},
                       // A library that is opened by name keeps that name, whatever --rename says.
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
  // Reasons are notes. stdout has the path of each wheel alone, unchanged ones too, so that a script can use
  // them all.
  Reporter& reporter = context.env().reporter;
  for (const pipeline::GraftedLibrary& library : one.grafted) {
    reporter.Note(fmt::format(
        "  {} from '{}'{}{}", library.path, library.source,
        library.package.empty() ? "" : " of " + library.package,
        library.opened_by.empty() ? "" : fmt::format(", by the name that '{}' opens", library.opened_by)));
  }
  for (const auto& [library, why] : one.left_out)
    reporter.Note(fmt::format("  '{}' is not bundled: {}", library, why));
  for (const pipeline::RepairedFile& file : one.files) {
    for (const std::string& change : file.changes) reporter.Note(fmt::format("  {}: {}", file.path, change));
  }
  // With the file that sets it: whoever wants a lower tag begins there.
  if (one.platform != one.platform_before) {
    reporter.Note(fmt::format("  tag {}, was {}{}", one.platform, one.platform_before,
                              one.floor.empty() ? "" : fmt::format(" ({})", one.floor)));
  }
  if (!one.changed)
    reporter.Note(one.stays ? "  needs no repair"
                            // Byte for byte, so that signatures of the wheel stay valid.
                            : fmt::format("  needs no repair: {} byte for byte",
                                          dry_run ? "would be copied" : "copied"));
  context.Print(one.to.str());
}

void PrintOutcomes(Context& context, const std::vector<pipeline::RepairOutcome>& outcomes, bool dry_run) {
  for (const pipeline::RepairOutcome& one : outcomes) PrintRepaired(context, one, dry_run);
  // A wheel that lies in the output directory and needs no repair is not written at all.
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
  Json list = Json::array();
  for (const pipeline::RepairOutcome& one : summary.outcomes) list.push_back(OutcomeJson(one));
  // The wheels before a failure are complete and stay, so their lines come before the error.
  if (!context.json()) PrintOutcomes(context, summary.outcomes, run.dry_run);
  return FinishOutcomes(context, list, summary.failure);
}

std::vector<Option> LibraryOptions(RepairFlags& flags) {
  // The table of backends decides names and directories as PyTorch's own scripts do (docs/formats/repair.md).
  // An option of the group wins over it.
  const std::string group = "Libraries";
  pipeline::RepairRun& run = flags.run;
  const auto backends = pipeline::BackendNames();
  PTPKG_ASSERT(backends.has_value());  // the table is built in; tests read it
  return {
      {.names = "--backend",
       .value = "NAME",
       .help = "Follow PyTorch's own builds for this backend",
       .target = &run.backend,
       .choices = *backends,
       .group = group},
      {.names = "--lib-folder",
       .value = "DIR-IN-WHEEL",
       .help = "Put copies there in the wheel: toy.libs, toy/lib",
       .target = &run.lib_folder,
       .default_text = "the backend's, else NAME.libs",
       .group = group},
      {.names = "--rename",
       .value = "HOW",
       .help = "Choose the names of copies",
       .target = &run.rename,
       .choices = pipeline::RenameNames(),
       .default_text = "the backend's, else hash",
       .group = group},
      // An excluded library stays outside on purpose, so the check of the result accepts that it is missing.
      {.names = "--exclude",
       .value = "GLOB",
       .help = "Do not bundle these libraries or paths; may be repeated",
       .target = &run.exclude,
       .group = group},
      // A library that code opens by name (dlopen) is in no NEEDED entry, so this option has to name it.
      {.names = "--graft",
       .value = "NAME",
       .help = "Also bundle a library opened at run time; may be repeated",
       .target = &run.opened,
       .group = group},
      {.names = "--lib-dir",
       .value = "DIR",
       .help = "Search DIR for libraries first; may be repeated",
       .target = &flags.search,
       .group = group},
      {.names = "--strip",
       .help = "Strip the copies and the files that need them",
       .target = &run.strip,
       .group = group},
  };
}

}  // namespace

Verb RepairVerb() {
  // Shared by the parser, which fills it, and the action, which reads it later.
  auto flags = std::make_shared<RepairFlags>();
  pipeline::RepairRun& run = flags->run;
  std::vector<Option> options = {{.names = "ARTIFACT", .help = ".whl file", .target = &flags->wheels},
                                 {.names = "--platform",
                                  .value = "TAG",
                                  .help = "Require this platform tag, or linux for no manylinux",
                                  .target = &run.platform,
                                  .default_text = "the backend's, else the lowest"}};
  for (Option& option : LibraryOptions(*flags)) options.push_back(std::move(option));
  const std::vector<Option> rest = {
      {.names = "-o,--output",
       .value = "DIR",
       .help = "Write the new wheels to DIR",
       .target = &flags->output,
       .default_text = "beside the old ones"},
      {.names = "--force", .help = "Replace existing files", .target = &run.force},
      {.names = "--no-check", .help = "Skip the check of the new wheel", .target = &flags->no_check},
      {.names = "--dry-run",
       .help = "Show the changes and check the result; write nothing",
       .target = &run.dry_run}};
  options.insert(options.end(), rest.begin(), rest.end());
  return {.name = "repair",
          .summary = "Bundle external libraries into wheels, like auditwheel",
          .known_as = {"auditwheel", "delocate"},
          .options = std::move(options),
          .notes =
              "ptpkg searches libraries like the dynamic loader of this machine. It does not bundle "
              "libraries on the manylinux allow-list, driver libraries, libraries from the wheel's "
              "dependencies, and PyTorch itself. RPATHs keep entries that lead to a directory. "
              ".dist-info/sboms lists the copies and the packages that they come from. Only changed "
              "files are compressed again. The input is not changed unless --force lets the result "
              "replace it.",
          .examples = {"ptpkg repair dist/toy-1.0-cp311-cp311-linux_x86_64.whl -o wheelhouse",
                       "ptpkg repair torch-*.whl --backend pytorch-cuda13 -o out",
                       "ptpkg repair toy.whl --exclude 'libcu*' --lib-dir /opt/toy/lib --dry-run"},
          .run = [flags](Context& context) { return RunRepair(context, *flags); }};
}

}  // namespace ptpkg::cli
