// The program: parse, run one verb, turn errors into text and exit code. Layer: cli.

#include <algorithm>
#include <csignal>
#include <exception>
#include <fmt/format.h>
#include <unistd.h>

#include "cli/context.h"
#include "cli/exit_code.h"
#include "cli/help.h"
#include "cli/output.h"
#include "cli/patchelf.h"
#include "cli/verbs.h"

namespace ptpkg::cli {

namespace {

// The signal handler can reach nothing else.
CancelToken cancel_token;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

/// The first signal asks for an orderly end, which removes what is unfinished; the second one does not ask.
void OnSignal(int signal_number) {
  cancel_token.Cancel();
  static_cast<void>(std::signal(signal_number, SIG_DFL));
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

int Run(const std::vector<std::string>& words) {
  CommonFlags flags;
  const Program program = MakeProgram(flags);
  const auto parsed = ParseCommandLine(program, words);
  if (!parsed) {
    // The flags are not read yet.
    PrintError(parsed.error(), std::find(words.begin(), words.end(), "--json") != words.end());
    return kUsageError;
  }
  if (parsed->help) {
    PrintResult(HelpText(program, parsed->verb, HelpWidth()));
    return kDone;
  }
  if (flags.version) {
    PrintResult(PTPKG_VERSION);
    return kDone;
  }
  if (parsed->verb == nullptr) {
    PrintLog(HelpText(program, nullptr, HelpWidth()));
    return kUsageError;
  }
  auto context = Context::Create(flags, cancel_token, environ);
  if (!context) {
    PrintError(context.error(), flags.json);
    return ExitCodeOf(context.error().code());
  }
  const auto result = parsed->verb->run(**context);
  if (result) return *result;
  context->reset();  // ends the progress line before the diagnostic
  PrintError(result.error(), flags.json);
  return ExitCodeOf(result.error().code());
}

/// The program under the name patchelf.
int RunAsPatchelf(const std::vector<std::string>& words) {
  CommonFlags flags;
  flags.quiet = true;
  flags.cache_dir = "/nonexistent";  // it caches nothing, and shall work where HOME is not set
  auto context = Context::Create(flags, cancel_token, environ);
  if (!context) {
    PrintError(context.error(), /*json=*/false);
    return 1;
  }
  return RunPatchelf((*context)->env(), words);
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
    const std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
    return as_patchelf ? ptpkg::cli::RunAsPatchelf(words) : ptpkg::cli::Run(words);
  } catch (const std::exception& failure) {
    ptpkg::cli::PrintLog(fmt::format(
        "internal error: {}\nplease report it, with the command line and the input", failure.what()));
    return ptpkg::cli::kInternalError;
  }
}
