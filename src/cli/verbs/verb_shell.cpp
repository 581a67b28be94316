// ptpkg completion and man: the program's own description for shells and man(1). Layer: cli. The step that
// installs ptpkg calls both (cmake/PtpkgInstall.cmake), so pages and scripts belong to the program beside
// them.

#include <algorithm>
#include <fmt/format.h>
#include <memory>

#include "cli/build_info.h"
#include "cli/completion.h"
#include "cli/man_page.h"
#include "cli/verbs/verbs.h"
#include "support/text/text.h"

namespace ptpkg::cli {

namespace {

/// Without the last line break, which printing adds.
void PrintText(Context& context, std::string text) {
  if (context.json()) return context.PrintJson({{"text", text}});
  if (text.ends_with('\n')) text.pop_back();
  context.Print(text);
}

Result<ExitCode> RunCompletion(Context& context, const std::string& shell) {
  // Nobody parses with this program, so its targets are never written.
  CommonFlags flags;
  const Program program = MakeProgram(flags);
  PrintText(context, shell == "bash"  ? BashCompletion(program)
                     : shell == "zsh" ? ZshCompletion(program)
                                      : FishCompletion(program));
  return kDone;
}

Result<ExitCode> RunMan(Context& context, const std::optional<std::string>& name) {
  CommonFlags flags;
  const Program program = MakeProgram(flags);
  if (!name) {
    PrintText(context, ManPage(program, nullptr, ThisBuild().version));
    return kDone;
  }
  const auto verb = std::find_if(program.verbs.begin(), program.verbs.end(),
                                 [&](const Verb& candidate) { return candidate.name == *name; });
  if (verb == program.verbs.end()) {
    return Error(ErrorCode::kUsage, fmt::format("unknown command '{}'", *name))
        .WithHint("'ptpkg --help' lists the commands");
  }
  PrintText(context, ManPage(program, &*verb, ThisBuild().version));
  return kDone;
}

}  // namespace

Verb CompletionVerb() {
  // Shared by the parser, which fills it, and the action, which reads it later.
  auto shell = std::make_shared<std::string>();
  return {.name = "completion",
          .summary = "Print a shell completion script",
          .options = {{.names = "SHELL",
                       .help = "Shell to complete in",
                       .target = &*shell,
                       .choices = {"bash", "zsh", "fish"}}},
          .examples = {"ptpkg completion bash > ~/.local/share/bash-completion/completions/ptpkg",
                       "ptpkg completion fish > ~/.config/fish/completions/ptpkg.fish"},
          .run = [shell](Context& context) { return RunCompletion(context, *shell); }};
}

Verb ManVerb() {
  // Shared by the parser, which fills it, and the action, which reads it later.
  auto name = std::make_shared<std::optional<std::string>>();
  return {.name = "man",
          .summary = "Print a manual page in roff",
          .options = {{.names = "COMMAND",
                       .value = "VERB",
                       .help = "Command to describe; none: the program",
                       .target = &*name}},
          .examples = {"ptpkg man build | man -l -"},
          .run = [name](Context& context) { return RunMan(context, *name); }};
}

// main() answers the next two before there is a Context, so that nothing can keep them from working. They are
// verbs nevertheless, because --help, completion and manual pages read the list of verbs.
Verb HelpVerb(CommonFlags& flags) {
  return {.name = "help",
          .summary = "Print the help page of a command",
          .options = {{.names = "COMMAND",
                       .value = "VERB",
                       .help = "Command to describe; none: the program",
                       .target = &flags.help_of}},
          .examples = {"ptpkg help build"},
          .run = [](Context& /*context*/) -> Result<ExitCode> { return kDone; }};  // main() prints it
}

Verb VersionVerb() {
  return {.name = "version",
          .summary = "Print the version, commit and libraries",
          .options = {},
          .examples = {"ptpkg version --json"},
          .run = [](Context& /*context*/) -> Result<ExitCode> { return kDone; }};  // main() prints it
}

}  // namespace ptpkg::cli
