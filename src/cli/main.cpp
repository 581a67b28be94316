// The program: parse, run one verb, turn errors into text and exit code. Layer: cli.
// A run takes three steps, and each can fail by itself: the parser reads the words and the configuration
// files, the Context reads the environment, and the verb does the work. Errors look alike after each step, so
// their form (text, JSON log, --json) is known before the first one.

#include <csignal>
#include <unistd.h>

#include "cli/build_info.h"
#include "cli/configuration.h"
#include "cli/context.h"
#include "cli/exit_code.h"
#include "cli/help.h"
#include "cli/output/json_log.h"
#include "cli/suggestions.h"
#include "cli/terminal_output.h"
#include "cli/verbs/verbs.h"
#include "support/internal_error.h"
#include "support/process/standard_descriptors.h"
#include "support/text/json.h"

namespace ptpkg::cli {

namespace {

// The signal handler can reach nothing else.
CancelToken cancel_token;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): as above
volatile std::sig_atomic_t last_signal = 0;

/// The first signal asks for an orderly end, which removes what is unfinished; the second one does not ask.
void OnSignal(int signal_number) {
  last_signal = signal_number;
  cancel_token.Cancel();
  static_cast<void>(std::signal(signal_number, SIG_DFL));
}

/// Exit code in the shell's convention: 128 and the signal that ended the run.
int AfterSignal(int code) {
  if (code == kInterrupted && last_signal == SIGTERM) return kTerminated;
  if (code == kInterrupted && last_signal == SIGHUP) return kHungUp;
  return code;
}

int ExitCodeAfter(const Error& error) { return AfterSignal(ExitCodeOf(error.code())); }

/// Form in which the user wants errors.
struct ErrorForm {
  bool json = false;      ///< A document on stdout, besides.
  bool json_log = false;  ///< An event of the JSON log, instead of text.
};

/// Read from the words themselves: flags may be wrong, or not read yet. Behind "--" stands a command with
/// flags of its own.
ErrorForm FormOf(const std::vector<std::string>& words) {
  ErrorForm form;
  for (std::size_t i = 0; i < words.size() && words[i] != "--"; ++i) {
    form.json = form.json || words[i] == "--json";
    form.json_log = form.json_log || words[i] == "--log-format=json" ||
                    (words[i] == "--log-format" && i + 1 < words.size() && words[i + 1] == "json");
  }
  return form;
}

/// --json promises one document on stdout after a failure too, so that no script has to parse the text on
/// stderr. `details`: fields of the work that was done all the same (Context::SetErrorDetails).
void PrintError(const Error& error, const ErrorForm& form, const Json& details = Json::object()) {
  const Json description = ErrorToJson(error);
  if (form.json_log) {
    Json event = description;
    event["event"] = "error";
    StderrSink().Write(JsonLine(event));
  } else {
    PrintLog(FormatError(error));
  }
  if (!form.json) return;
  Json document = details;
  document["error"] = description;
  PrintResult(JsonDocument(document));
}

/// Every stage can fail to write in the cache directory, and says only where it lies.
Error WithCacheOption(const Error& error, const AbsPath& cache) {
  const std::string& message = error.message();
  bool concerned = message.find("'" + cache.str() + "'") != std::string::npos ||
                   message.find("'" + cache.str() + "/") != std::string::npos;
  // An error while the directories are made names the one that failed, which can be far above the cache.
  for (AbsPath above = cache; !concerned && above != above.Parent(); above = above.Parent()) {
    concerned = message.find("cannot create directory '" + above.str() + "'") != std::string::npos;
  }
  const bool of_system = error.code() == ErrorCode::kIo || error.code() == ErrorCode::kInvalidInput ||
                         error.code() == ErrorCode::kAlreadyExists;
  if (!concerned || !of_system) return error;
  return Error(error).WithHint("choose a writable cache directory with --cache-dir DIR or PTPKG_CACHE_DIR");
}

/// The settings of configuration files for `verb`, whose positional arguments are `words`.
Result<std::vector<Setting>> SettingsOfFiles(const Program& program, const Verb& verb,
                                             const std::vector<std::string>& words) {
  // The environment is read here once more: the Context owns it, but is made from the flags that these
  // settings fill.
  const std::map<std::string, std::string> variables = ReadEnvironment(environ);
  PTPKG_TRY(const AbsPath cwd, WorkingDirectory());
  PTPKG_TRY(const std::optional<AbsPath> recipe, RecipeOf(verb, words, cwd));
  const std::unique_ptr<Fs> fs = MakeOsFs();
  const auto files = FindConfigurationFiles(*fs, {.cwd = cwd, .variables = variables, .recipe = recipe});
  PTPKG_TRY(const Configuration configuration, ReadConfiguration(*fs, program, files));
  return SettingsFor(configuration, program, verb, variables);
}

/// `ptpkg help [VERB]`.
int PrintHelp(const Program& program, const CommonFlags& flags, const ErrorForm& form) {
  // The argument is looked up here and not by choices of the option, so that names of other programs get
  // their hint.
  const Verb* verb = flags.help_of ? FindVerb(program, *flags.help_of) : nullptr;
  if (flags.help_of && verb == nullptr) {
    PrintError(UnknownVerb(program, *flags.help_of), form);
    return kUsageError;
  }
  const std::string text = HelpText(program, verb, HelpWidth());
  PrintResult(flags.json ? JsonDocument({{"text", text}}) : text);
  return kDone;
}

int Run(const std::vector<std::string>& words) {
  CommonFlags flags;
  const Program program = MakeProgram(flags);
  const auto settings = [&](const Verb& verb, const std::vector<std::string>& arguments) {
    // A broken configuration file must not keep anybody from reading the help, or from leaving the file out.
    const bool needs_none = flags.version || flags.no_config || verb.name == "help" || verb.name == "version";
    return needs_none ? Result<std::vector<Setting>>(std::vector<Setting>())
                      : SettingsOfFiles(program, verb, arguments);
  };
  const auto parsed = ParseCommandLine(program, words, {.help_width = HelpWidth(), .settings = settings});
  ErrorForm form = FormOf(words);
  if (!parsed) {
    PrintError(parsed.error(), form);
    return ExitCodeAfter(parsed.error());
  }
  if (parsed->help) {
    PrintResult(*parsed->help);
    return kDone;
  }
  // From here on a configuration file counts too: 'json = true' is for errors as well.
  form.json = form.json || flags.json;
  form.json_log = form.json_log || flags.log_format == "json";
  // The version and the help need no Context, whose creation fails on a wrong variable or without HOME.
  if (flags.version || (parsed->verb != nullptr && parsed->verb->name == "version")) {
    PrintResult(flags.json ? JsonDocument(VersionToJson(ThisBuild())) : VersionText(ThisBuild()));
    return kDone;
  }
  if (parsed->verb != nullptr && parsed->verb->name == "help") return PrintHelp(program, flags, form);
  // The line asks for nothing, so stdout stays empty, and a script that lost its command sees a usage error.
  if (parsed->verb == nullptr) {
    PrintLog(HelpText(program, nullptr, HelpWidth()));
    return kUsageError;
  }
  auto context = Context::Create(flags, cancel_token, environ);
  if (!context) {
    PrintError(context.error(), form);
    return ExitCodeAfter(context.error());
  }
  const auto result = parsed->verb->run(**context);
  if (result) return AfterSignal(*result);
  // A copy: the document is printed after the Context is gone.
  const Json details = (*context)->error_details();
  const Error error = WithCacheOption(result.error(), (*context)->env().cache_dir);
  context->reset();  // ends the progress line before the diagnostic
  PrintError(error, form, details);
  return ExitCodeAfter(error);
}

}  // namespace

}  // namespace ptpkg::cli

int main(int argc, char** argv) {
  if (const auto opened = ptpkg::OpenStandardDescriptors(); !opened) {
    ptpkg::cli::PrintError(opened.error(), {});
    return ptpkg::cli::kIoFailed;
  }
  static_cast<void>(std::signal(SIGINT, ptpkg::cli::OnSignal));
  static_cast<void>(std::signal(SIGTERM, ptpkg::cli::OnSignal));
  // Only the call that sets a handler returns the earlier action, so the one of nohup is put back afterwards.
  if (std::signal(SIGHUP, ptpkg::cli::OnSignal) == SIG_IGN)
    static_cast<void>(std::signal(SIGHUP, SIG_IGN));  // nohup
  // A write to a pipe without a reader then fails with EPIPE, and terminal_output.cpp ends the run with 141.
  static_cast<void>(std::signal(SIGPIPE, SIG_IGN));
  const std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
  // An exception in a node of a plan is that node's failure (graph/node_result.cpp). This is for the main
  // thread.
  try {
    return ptpkg::cli::Run(words);
  } catch (...) {
    ptpkg::cli::PrintError(ptpkg::CurrentInternalError(), ptpkg::cli::FormOf(words));
    return ptpkg::cli::kInternalError;
  }
}
