// ptpkg dev and shell. Layer: cli. (verb_shell.cpp is about the shells that call ptpkg.)

#include <fmt/core.h>
#include <memory>
#include <unistd.h>

#include "cli/output/findings.h"
#include "cli/verbs/recipe_flags.h"
#include "pipeline/develop/dev.h"
#include "pipeline/develop/shell.h"
#include "support/text/json.h"
#include "support/text/plural.h"
#include "support/text/text.h"

namespace ptpkg::cli {

namespace {

struct DevFlags {
  RecipeFlags recipe;
  std::string recipe_path;
  std::string name;
  bool fresh = false;
  bool no_test = false;
  bool no_preflight = false;
  std::vector<std::string> command;  ///< Command of shell.
};

Result<pipeline::NativeRequest> NativeRequestOf(Context& context, DevFlags& flags) {
  // One recipe: both verbs work in one directory.
  flags.recipe.recipes = {flags.recipe_path};
  pipeline::NativeRequest request{.build = {}, .name = flags.name};
  PTPKG_TRY(request.build, RequestOf(context, flags.recipe));
  request.build.fresh = flags.fresh;
  request.build.test = !flags.no_test;
  request.build.preflight = !flags.no_preflight;
  return request;
}

std::vector<std::string> Texts(const std::vector<RelPath>& paths) {
  std::vector<std::string> texts;
  texts.reserve(paths.size());
  for (const RelPath& path : paths) texts.push_back(path.str());
  return texts;
}

Json DevSummaryToJson(const pipeline::DevSummary& summary) {
  return {{"subject", summary.subject},
          {"source", summary.layout.source.str()},
          {"prefix", summary.layout.prefix.str()},
          {"environment", summary.layout.EnvironmentFile().str()},
          {"log", summary.log.str()},
          {"anew", summary.anew},
          // Empty for a first run, which needs no reason.
          {"why_anew", summary.why_anew},
          {"copied", Texts(summary.copied)},
          {"removed", Texts(summary.removed)},
          {"script", summary.script},
          {"script_seconds", summary.script_seconds},
          {"tests",
           {{"ran", summary.tests.ran},
            {"skipped", summary.tests.skipped},
            {"seconds", summary.test_seconds},
            {"findings", FindingsToJson({summary.tests.report})}}}};
}

std::string SourcesText(const pipeline::DevSummary& summary) {
  // Then every file was copied, and a list says nothing.
  if (summary.anew) return "all sources are new";
  if (summary.copied.empty() && summary.removed.empty()) return "no source changed";
  std::string text;
  if (!summary.copied.empty()) {
    text = fmt::format("{} copied: {}", Plural(summary.copied.size(), "file"),
                       FirstNames(Texts(summary.copied), pipeline::kMostShown));
  }
  if (!summary.removed.empty()) {
    text += fmt::format("{}{} removed: {}", text.empty() ? "" : "; ", Plural(summary.removed.size(), "file"),
                        FirstNames(Texts(summary.removed), pipeline::kMostShown));
  }
  return text;
}

/// Summary of the rebuilt parts, and of the time taken.
std::string DevSummaryText(const pipeline::DevSummary& summary) {
  std::string text = fmt::format("{}: {}; ", summary.subject, SourcesText(summary));
  text += summary.script.empty() ? "no script"
                                 : fmt::format("{} {:.1f} s", summary.script, summary.script_seconds);
  const auto& tests = summary.tests;
  if (!tests.ran.empty()) {
    text += fmt::format("; {} {:.1f} s{}", Plural(tests.ran.size(), "test"), summary.test_seconds,
                        tests.failed == 0 ? "" : fmt::format(", {} failed", tests.failed));
  }
  for (const std::string& skipped : tests.skipped) text += fmt::format("; skipped: {}", skipped);
  return text;
}

Result<ExitCode> RunDev(Context& context, DevFlags& flags) {
  PTPKG_TRY(const pipeline::NativeRequest request, NativeRequestOf(context, flags));
  PTPKG_TRY(const pipeline::DevSummary summary, pipeline::Dev(context.env(), request));
  if (context.json()) {
    context.PrintJson(DevSummaryToJson(summary));
  } else {
    PrintFindings(context, {summary.tests.report});
    context.Print(DevSummaryText(summary));
  }
  // A failed test is a finding: the build itself passed, and its directory waits for the next edit.
  return summary.tests.report.HasErrors() ? kCheckFound : kDone;
}

Result<ExitCode> RunShell(Context& context, DevFlags& flags) {
  // A command writes to stdout itself, and --json promises one document there. `json` of a configuration file
  // is for runs without a command.
  const bool json = context.json() && (flags.command.empty() || context.flags().given.contains("--json"));
  if (json && !flags.command.empty()) {
    return Error(ErrorCode::kUsage, "--json runs nothing, but a command was given")
        .WithHint("leave out --json or the command");
  }
  // bash would take its commands from the standard input, which belongs to the caller.
  if (!json && flags.command.empty() && ::isatty(STDIN_FILENO) != 1) {
    return Error(ErrorCode::kUsage, "a shell needs a terminal")
        .WithHint(
            "give a command: 'ptpkg shell RECIPE -- COMMAND'; --json names a file with the environment");
  }
  PTPKG_TRY(const pipeline::NativeRequest request, NativeRequestOf(context, flags));
  PTPKG_TRY(const pipeline::ShellSummary summary,
            pipeline::Shell(context.env(), {.native = request,
                                            .command = flags.command,
                                            .enters = !json,
                                            // Nothing may write to the terminal from here on: it belongs to
                                            // the shell.
                                            .on_enter = [&context] { context.SettleReporter(); }}));
  // Like ssh and env: whoever calls the command through ptpkg sees the command's own code.
  // It need not be one of the enumerators: any code, 128 and a signal, or 127 (docs/exit-codes.md).
  if (!json) return static_cast<ExitCode>(summary.status);
  context.PrintJson({{"subject", summary.subject},
                     {"source", summary.source.str()},
                     {"environment", summary.environment.str()}});
  return kDone;
}

/// Both verbs choose one native build by these. --output is not written to: it is the channel that has
/// packages which the recipe requires.
std::vector<Option> DevOptions(DevFlags& flags) {
  std::vector<Option> options = RecipeOptions(flags.recipe, "Take packages for the host prefix from DIR");
  options.push_back({.names = "--name",
                     .value = "NAME",
                     .help = "Select an output or staging output of the recipe",
                     .target = &flags.name});
  options.push_back(NoPreflightOption(flags.no_preflight));
  return options;
}

}  // namespace

Verb DevVerb() {
  // Shared by the parser, which fills it, and the action, which reads it later.
  auto flags = std::make_shared<DevFlags>();
  std::vector<Option> options = DevOptions(*flags);
  options.insert(options.begin(),
                 {.names = "RECIPE", .help = "recipe.yaml or its directory", .target = &flags->recipe_path});
  options.push_back(
      {.names = "--fresh", .help = "Start anew in an empty directory", .target = &flags->fresh});
  options.push_back({.names = "--no-test", .help = "Skip the recipe's tests", .target = &flags->no_test});
  return {.name = "dev",
          .summary = "Build and test incrementally in a persistent directory",
          .options = std::move(options),
          .notes =
              "The first run prepares sources and host prefix and runs the build script. Later "
              "runs copy changed files of local sources, run the script again (or "
              "extra.ptpkg.dev.script) and then the tests in the prefix, with $PREFIX/lib in "
              "LD_LIBRARY_PATH. Nothing is packed. Exit codes: the same as build, and 1 if a test "
              "fails.",
          .examples = {"ptpkg dev recipes/pytorch --source pytorch=../pytorch",
                       "ptpkg dev fixtures/toytorch --select python=3.11 --select toy_backend=cpu"},
          .run = [flags](Context& context) { return RunDev(context, *flags); }};
}

Verb ShellVerb() {
  // Shared by the parser, which fills it, and the action, which reads it later.
  auto flags = std::make_shared<DevFlags>();
  std::vector<Option> options = DevOptions(*flags);
  options.insert(options.begin(),
                 {{.names = "RECIPE", .help = "recipe.yaml or its directory", .target = &flags->recipe_path},
                  {.names = "COMMAND",
                   .help = "Command to run, after '--'; without it, an interactive bash",
                   .target = &flags->command,
                   .optional = true}});
  return {
      .name = "shell",
      .summary = "Open a shell in a build's environment",
      .options = std::move(options),
      .notes =
          "The shell opens in the newest directory of 'ptpkg dev' or of a failed or interrupted "
          "build. If there is none, it opens in one that --keep-work kept, else in a new one, "
          "prepared up to the build script. Only a new one uses --source, --env and --output. The "
          "shell gets the script's environment; with --json, ptpkg prints the name of its file and "
          "runs nothing. 'ptpkg shell' exits with the exit code of COMMAND.",
      .examples = {"ptpkg shell recipes/pytorch", "ptpkg shell recipes/pytorch -- ninja -C build -t deps"},
      .run = [flags](Context& context) { return RunShell(context, *flags); }};
}

}  // namespace ptpkg::cli
