// ptpkg check and index. Layer: cli. A check can end badly in two ways. Findings are its result and give exit
// code 1. A path that can't be examined is an error, whose code wins, with the results of the other paths
// beside it.

#include <algorithm>
#include <fmt/core.h>
#include <memory>
#include <optional>

#include "cli/output/findings.h"
#include "cli/verbs/verbs.h"
#include "pipeline/commands/check_command.h"
#include "pipeline/commands/fix_command.h"
#include "support/text/json.h"
#include "support/text/plural.h"

namespace ptpkg::cli {

namespace {

struct CheckFlags {
  std::vector<std::string> paths;
  std::optional<std::string> verify_key;
  bool fix = false;
  std::optional<std::string> output;
  pipeline::CheckRequest request;
};

/// Per path: its findings, what its ELF files need, and their GPU code (docs/cli/check.md has the fields).
Json OutcomesToJson(const std::vector<pipeline::CheckOutcome>& outcomes) {
  Json list = Json::array();
  for (const pipeline::CheckOutcome& outcome : outcomes) {
    Json item = *outcome.facts;
    item["subject"] = outcome.report.subject;
    item["profile"] = outcome.profile;
    item["ok"] = !outcome.report.HasErrors();
    item["findings"] = FindingsToJson({outcome.report});
    list.push_back(std::move(item));
  }
  return list;
}

void PrintChecked(Context& context, const pipeline::CheckOutcome& outcome) {
  Report shown = outcome.report;
  shown.subject = context.Shown(shown.subject);
  // Findings go to stderr, like all diagnostics. stdout has one verdict for each path.
  PrintFindings(context, {shown});
  context.Print(fmt::format("{}: {}", shown.subject, shown.HasErrors() ? "errors" : "ok"));
  if (!outcome.floor.empty()) context.Print(fmt::format("  {}", outcome.floor));
  if (!outcome.device_code.empty()) context.Print(fmt::format("  {}", outcome.device_code));
}

/// Like OutcomesToJson, with the changes made.
Json FixedToJson(const std::vector<pipeline::FixOutcome>& outcomes) {
  // Readers of 'ptpkg check --json' find all of its fields here too.
  std::vector<pipeline::CheckOutcome> checked;
  for (const pipeline::FixOutcome& outcome : outcomes) checked.push_back(outcome.checked);
  Json list = OutcomesToJson(checked);
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const pipeline::FixOutcome& outcome = outcomes[i];
    list[i]["written"] = outcome.written ? Json(outcome.written->str()) : Json(nullptr);
    list[i]["fixed"] =
        FindingsToJson({Report{.subject = outcome.checked.report.subject, .findings = outcome.fixed}});
  }
  return list;
}

void PrintFixed(Context& context, const pipeline::FixOutcome& outcome) {
  // Fixed findings are the result of --fix, so they go to stdout. Those that are left follow on stderr.
  for (const Finding& finding : outcome.fixed)
    context.Print(fmt::format("fixed: {} [{}] {}", finding.file, finding.id, finding.message));
  PrintChecked(context, outcome.checked);
  context.env().reporter.Note(outcome.written
                                  ? fmt::format("'{}' written", context.Shown(outcome.written->str()))
                                  : "nothing to fix automatically");
}

Result<ExitCode> RunFix(Context& context, const CheckFlags& flags, const pipeline::CheckRequest& request) {
  // Without --output each wheel is replaced where it is.
  PTPKG_TRY(const std::optional<AbsPath> output, ResolveFile(context, flags.output));
  PTPKG_TRY(const pipeline::FixSummary summary, pipeline::Fix(context.env(), request, output));
  const std::vector<pipeline::FixOutcome>& outcomes = summary.outcomes;
  if (!context.json()) {
    for (const pipeline::FixOutcome& outcome : outcomes) PrintFixed(context, outcome);
  }
  if (summary.failure) {  // the wheels before it are replaced already
    Json details = Json::object();
    details["outcomes"] = FixedToJson(outcomes);
    context.SetErrorDetails(details);
    return Error(*summary.failure);
  }
  if (context.json()) context.PrintJson(FixedToJson(outcomes));
  // The fixed wheel decides, so a run that fixed all errors ends with 0.
  const bool errors = std::any_of(outcomes.begin(), outcomes.end(),
                                  [](const auto& outcome) { return outcome.checked.report.HasErrors(); });
  return errors ? kCheckFound : kDone;
}

Result<ExitCode> RunCheck(Context& context, const CheckFlags& flags) {
  pipeline::CheckRequest request = flags.request;
  // A missing file is the failure of its path alone: the others are still checked.
  PTPKG_TRY(request.paths, ResolveEach(context, flags.paths));
  PTPKG_TRY(request.verify_key, ResolveFile(context, flags.verify_key));
  if (flags.fix) return RunFix(context, flags, request);
  PTPKG_TRY(const pipeline::CheckSummary summary, pipeline::Check(context.env(), request));
  const std::vector<pipeline::CheckOutcome>& outcomes = summary.outcomes;
  if (!context.json()) {
    for (const pipeline::CheckOutcome& outcome : outcomes) PrintChecked(context, outcome);
  }
  if (summary.failure) {  // the others were looked at
    if (!outcomes.empty()) context.SetErrorDetails({{"outcomes", OutcomesToJson(outcomes)}});
    return Error(*summary.failure);
  }
  if (context.json()) context.PrintJson(OutcomesToJson(outcomes));
  const bool errors = std::any_of(outcomes.begin(), outcomes.end(),
                                  [](const auto& outcome) { return outcome.report.HasErrors(); });
  return errors ? kCheckFound : kDone;
}

struct IndexFlags {
  std::string folder;
  bool roots = false;
  bool shards = false;
  bool current_repodata = false;
  std::string patch;
};

Json TextsOf(const std::vector<AbsPath>& paths) {
  Json texts = Json::array();
  for (const AbsPath& path : paths) texts.push_back(path.str());
  return texts;
}

Result<ExitCode> RunIndex(Context& context, const IndexFlags& flags) {
  PTPKG_TRY(const AbsPath folder, ResolveInput(context, flags.folder));
  std::optional<AbsPath> patch;
  if (!flags.patch.empty()) {
    // It must exist: a mistyped path would publish the rows without their corrections.
    PTPKG_TRY(patch, ResolveInput(context, flags.patch));
  }
  PTPKG_TRY(const pipeline::IndexOutcome outcome,
            pipeline::Index(context.env(), {.folder = folder,
                                            .roots = flags.roots,
                                            .shards = flags.shards,
                                            .current_repodata = flags.current_repodata,
                                            .patch = patch}));
  // The index is complete but for damaged packages. The reporter has named them.
  const ExitCode code = CodeOfIndex(outcome.left_out.size());
  if (context.json()) {
    context.PrintJson({{"packages", outcome.packages},
                       {"written", TextsOf(outcome.written)},
                       {"left_out", TextsOf(outcome.left_out)},
                       // 'roots' was the name of --per-backend, and stays in documents that scripts read.
                       {"roots", outcome.roots},
                       {"rootless", TextsOf(outcome.rootless)}});
    return code;
  }
  for (const AbsPath& path : outcome.written) context.Print(path.str());
  context.env().reporter.Note(fmt::format("{}, {} written", Plural(outcome.packages, "package"),
                                          Plural(outcome.written.size(), "index file")));
  return code;
}

}  // namespace

Verb CheckVerb() {
  // Shared by the parser, which fills it, and the action, which reads it later.
  auto flags = std::make_shared<CheckFlags>();
  pipeline::CheckRequest& request = flags->request;
  return {.name = "check",
          .summary = "Check packages, wheels, zips or directories for defects",
          .known_as = {"verify", "validate", "lint", "audit"},
          .options = {{.names = "ARTIFACT",
                       .help = ".conda, .tar.bz2, .whl or .zip file, or a directory",
                       .target = &flags->paths},
                      {.names = "--profile",
                       .value = "NAME",
                       .help = "Apply the rules of this destination",
                       .target = &request.profile,
                       .choices = pipeline::ProfileNames(),
                       .default_text = "by file name"},
                      {.names = "--target",
                       .value = "LIST",
                       .help = "Check wheels for pypi, channel, uv, pip, installer",
                       .target = &request.targets},
                      {.names = "--allow-unresolved",
                       .value = "GLOB",
                       .help = "Accept these libraries as provided; may be repeated",
                       .target = &request.allow_unresolved},
                      {.names = "--device-code",
                       .value = "LIST",
                       .help = "Require exactly these GPU architectures; may be repeated",
                       .target = &request.device_code,
                       .default_text = "the package's own"},
                      {.names = "--forbid-path",
                       .value = "TEXT",
                       .help = "Report files that contain TEXT; may be repeated",
                       .target = &request.forbidden_paths},
                      {.names = "--dependency",
                       .value = "NAME",
                       .help = "Add a dependency to the declared ones; may be repeated",
                       .target = &request.dependencies},
                      {.names = "--verify-key",
                       .value = "FILE",
                       .help = "Require signatures that the PEM key in FILE verifies",
                       .target = &flags->verify_key},
                      {.names = "--fix",
                       .help = "Fix RPATHs, RECORD and tags of wheels, then check them",
                       .target = &flags->fix},
                      {.names = "-o,--output",
                       .value = "DIR",
                       .help = "Write fixed wheels to DIR",
                       .target = &flags->output,
                       .default_text = "replace the old ones",
                       .needs = "--fix"}},
          .notes =
              "'ptpkg explain ID' explains a finding. --target turns refusals by these consumers "
              "into errors and ignores all other wheel-* findings. LIST of --device-code is "
              "'8.0;9.0+PTX', or 'GLOB=LIST' for some files.\n"
              "\n"
              "With --fix, ptpkg drops RPATH entries that are absolute, relative, empty, repeated or dead, "
              "sets WHEEL's tags and build from the file name, rewrites RECORD and normalizes names.\n"
              "\n"
              "Exit codes: 0 no errors, 1 errors found, 2 wrong command line, 3 not an artifact or "
              "not a public key, 4 no such file. Other files are still checked.",
          .examples = {"ptpkg check dist/wheels/*.whl dist/conda/linux-64/*.conda",
                       "ptpkg check --profile pytorch-index --dependency triton site-packages/torch",
                       "ptpkg check --target pypi,uv dist/wheels/*.whl",
                       "ptpkg check --device-code '8.0;9.0+PTX' toy-1.0-0.conda",
                       "ptpkg check dist --verify-key ptpkg-public.pem"},
          .run = [flags](Context& context) { return RunCheck(context, *flags); }};
}

Verb IndexVerb() {
  // Shared by the parser, which fills it, and the action, which reads it later.
  auto flags = std::make_shared<IndexFlags>();
  return {
      .name = "index",
      .summary = "Write the index of a conda channel or a directory of wheels",
      .options = {{.names = "DIR", .help = "Conda channel, or directory of wheels", .target = &flags->folder},
                  {.names = "--per-backend",
                   .help = "Also index each backend by itself: DIR/cu130/",
                   .target = &flags->roots},
                  {.names = "--shards",
                   .help = "Also write sharded repodata (CEP 16) for a channel",
                   .target = &flags->shards},
                  {.names = "--current-repodata",
                   .help = "Also write current_repodata.json for a channel",
                   .target = &flags->current_repodata},
                  {.names = "--patch",
                   .value = "PATH",
                   .help = "Correct the index by these patch_instructions.json",
                   .target = &flags->patch}},
      .notes =
          "A wheel belongs to the backend in its local version (+cu130) or to the directory that "
          "it is in. Later runs update these indexes, and apply the patch, without the options.\n"
          "\n"
          "PATH is a directory or a conda package with SUBDIR/patch_instructions.json, or that file.",
      .examples = {"ptpkg index dist/conda", "ptpkg index --shards channel",
                   "ptpkg index --patch hotfixes channel", "ptpkg index --per-backend dist/wheels"},
      .run = [flags](Context& context) { return RunIndex(context, *flags); }};
}

}  // namespace ptpkg::cli
