// The program: parse, run one verb, turn errors into text and exit code. Layer: cli.

#include <CLI/CLI.hpp>
#include <csignal>
#include <exception>
#include <fmt/format.h>
#include <unistd.h>

#include "cli/context.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "cli/patchelf.h"
#include "cli/verbs.h"
#include "support/text.h"

namespace ptpkg::cli {

namespace {

// The signal handler can reach nothing else.
CancelToken cancel_token;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

/// The first signal asks for an orderly end, which removes what is unfinished; the second one does not ask.
void OnSignal(int signal_number) {
  cancel_token.Cancel();
  static_cast<void>(std::signal(signal_number, SIG_DFL));
}

void AddCommonFlags(CLI::App& app, CommonFlags& flags) {
  app.add_flag("--json", flags.json, "Print the result as one JSON document on stdout");
  app.add_flag("-q,--quiet", flags.quiet, "Print warnings and errors only");
  app.add_flag("-v,--verbose", flags.verbose, "Print the output of build scripts too");
  app.add_option("-j,--jobs", flags.jobs,
                 "Threads to use, and CPU_COUNT of build scripts (default: all CPUs)")
      ->check(CLI::Range(1, 1024));
  app.add_option("--color", flags.color, "Colours on stderr (default: auto; NO_COLOR is honoured)")
      ->check(CLI::IsMember({"auto", "always", "never"}));
  app.add_option(
         "--log-format", flags.log_format,
         "How progress is told (default: auto, that is terminal or, without one or with CI set, plain)")
      ->check(CLI::IsMember({"auto", "terminal", "plain", "json"}));
  app.add_option("--cache-dir", flags.cache_dir,
                 "Downloads and stage results (default: PTPKG_CACHE_DIR, else ~/.cache/ptpkg)");
}

const CLI::App& ChosenApp(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  return chosen.empty() ? app : *chosen.front();
}

std::vector<std::string> KnownWords(const CLI::App& app, bool flags) {
  std::vector<std::string> words;
  if (!flags) {
    for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; })) {
      words.push_back(verb->get_name());
    }
    return words;
  }
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) words.push_back("--" + name);
  }
  return words;
}

/// A usage error, with the nearest flag or verb when a word was unknown.
Error UsageError(const CLI::App& app, const CLI::ParseError& failure) {
  const CLI::App& chosen = ChosenApp(app);
  std::string message = failure.what();
  // An unknown word explains the failure better than what is missing because of it.
  if (const std::vector<std::string> rest = app.remaining(/*recurse=*/true); !rest.empty()) {
    const std::string word = rest.front().substr(0, rest.front().find('='));
    const bool is_flag = word.starts_with('-');
    Error error(ErrorCode::kUsage, fmt::format("'{}' is not a {} of '{}'", word, is_flag ? "flag" : "verb",
                                               &chosen == &app ? "ptpkg" : "ptpkg " + chosen.get_name()));
    const auto nearest = NearestMatch(word, KnownWords(chosen, is_flag));
    if (nearest) return std::move(error).WithHint(fmt::format("did you mean '{}'?", *nearest));
    return std::move(error).WithHint("see --help");
  }
  message = ReplaceAll(message, "\n", "; ");
  if (!message.empty() && message.front() >= 'A' && message.front() <= 'Z') {
    message.front() = static_cast<char>(message.front() - 'A' + 'a');
  }
  return Error(ErrorCode::kUsage, message)
      .WithHint(fmt::format("see 'ptpkg{}{} --help'", &chosen == &app ? "" : " ",
                            &chosen == &app ? "" : chosen.get_name()));
}

void PrintError(const Error& error, bool json) {
  PrintLog(FormatError(error));
  if (!json) return;
  Json document = {{"error",
                    {{"code", ErrorCodeName(error.code())},
                     {"message", error.message()},
                     {"context", error.context()},
                     {"hint", error.hint()}}}};
  if (error.span()) {
    document["error"]["file"] = error.span()->file;
    document["error"]["line"] = error.span()->line;
    document["error"]["column"] = error.span()->column;
  }
  PrintResult(document.dump(2));
}

int Run(int argc, char** argv) {
  CLI::App app{"Builds conda packages and wheels from one staged tree, checks them, and indexes them.",
               "ptpkg"};
  app.set_version_flag("--version", PTPKG_VERSION);
  app.require_subcommand(1);
  app.fallthrough();
  CommonFlags flags;
  AddCommonFlags(app, flags);
  Action action;
  AddBuildVerbs(app, action);
  AddRenderVerb(app, action);
  AddRelinkVerb(app, action);
  AddCheckVerb(app, action);
  AddIndexVerb(app, action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& wanted) {
    // --help and --version
    return app.exit(wanted);
  } catch (const CLI::ParseError& failure) {
    PrintError(UsageError(app, failure), flags.json);
    return kUsageError;
  }
  auto context = Context::Create(flags, cancel_token, environ);
  if (!context) {
    PrintError(context.error(), flags.json);
    return ExitCodeOf(context.error().code());
  }
  const auto result = action(**context);
  if (result) return *result;
  context->reset();  // ends the progress line before the diagnostic
  PrintError(result.error(), flags.json);
  return ExitCodeOf(result.error().code());
}

/// The program under the name patchelf.
int RunAsPatchelf(int argc, char** argv) {
  CommonFlags flags;
  flags.quiet = true;
  flags.cache_dir = "/nonexistent";  // it caches nothing, and shall work where HOME is not set
  auto context = Context::Create(flags, cancel_token, environ);
  if (!context) {
    PrintError(context.error(), /*json=*/false);
    return 1;
  }
  return RunPatchelf((*context)->env(), std::vector<std::string>(argv + 1, argv + argc));
}

}  // namespace

}  // namespace ptpkg::cli

int main(int argc, char** argv) {
  const bool as_patchelf = argc > 0 && ptpkg::cli::IsPatchelfName(argv[0]);
  // patchelf just dies of a signal: an edit in progress has its undo record.
  if (!as_patchelf) {
    static_cast<void>(std::signal(SIGINT, ptpkg::cli::OnSignal));
    static_cast<void>(std::signal(SIGTERM, ptpkg::cli::OnSignal));
  }
  static_cast<void>(std::signal(SIGPIPE, SIG_IGN));
  try {
    return as_patchelf ? ptpkg::cli::RunAsPatchelf(argc, argv) : ptpkg::cli::Run(argc, argv);
  } catch (const std::exception& failure) {
    ptpkg::cli::PrintLog(fmt::format(
        "internal error: {}\nplease report it, with the command line and the input", failure.what()));
    return ptpkg::cli::kInternalError;
  }
}
