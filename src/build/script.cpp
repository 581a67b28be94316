#include "build/script.h"

#include <fmt/core.h>

#include "support/reporter.h"
#include "support/text.h"

namespace ptpkg::build {

namespace {

constexpr std::size_t kShownLines = 40;

std::string LastLines(const std::string& output) {
  std::vector<std::string> lines = SplitLines(output);
  while (!lines.empty() && Trim(lines.back()).empty()) lines.pop_back();
  const std::size_t first = lines.size() > kShownLines ? lines.size() - kShownLines : 0;
  std::string text;
  for (std::size_t i = first; i < lines.size(); ++i) text += "\n  " + lines[i];
  return text;
}

/// What was run, and with which environment: the first thing one asks about a failed build.
std::string LogHeader(const ScriptInput& input, const Command& command) {
  std::string text = fmt::format("# {}: {}\n# in {}\n", input.build.recipe.FileStem(),
                                 ShellQuote(command.argv), command.cwd.str());
  for (const auto& [name, value] : command.env)
    text += fmt::format("# {}={}\n", name, ReplaceAll(value, "\n", "\\n"));
  return text;
}

Result<AbsPath> FindInterpreter(const ScriptInput& input) {
  const std::string& name = input.build.recipe.script.interpreter;
  if (name == "python") {
    const auto python = input.variables.find("PYTHON");
    if (python != input.variables.end()) return AbsPath::Parse(python->second);
  }
  const std::optional<AbsPath> found = FindProgram(name, input.variables.at("PATH"));
  if (found) return *found;
  return Error(ErrorCode::kNotFound, fmt::format("the interpreter '{}' of the build script is missing", name))
      .WithHint("install it, or add what provides it to the build requirements");
}

Error ScriptError(const ScriptInput& input, const ExitStatus& status) {
  const std::string how = status.signal != 0 ? fmt::format("was ended by signal {}", status.signal)
                                             : fmt::format("ended with status {}", status.code);
  const std::string log = input.build.log_file.str();
  const std::string tail = LastLines(status.output);
  return Error(ErrorCode::kCommandFailed,
               fmt::format("the build script of '{}' {}", input.build.recipe.FileStem(), how))
      .WithContext(
          tail.empty()
              ? fmt::format("while running the build script, which printed nothing; log: '{}'", log)
              : fmt::format("while running the build script; the last lines of its log '{}':{}", log, tail))
      .WithHint(fmt::format("the whole output is in '{}'", log));
}

}  // namespace

Result<std::optional<std::string>> ScriptText(Fs& fs, const recipe::Recipe& recipe) {
  if (!recipe.script.lines.empty()) return std::optional(Join(recipe.script.lines, "\n") + "\n");
  const bool is_default = recipe.script.file.empty();
  const std::string name = is_default ? "build.sh" : recipe.script.file;
  for (const std::string& candidate : {name, name + ".sh"}) {
    PTPKG_TRY(const AbsPath path, AbsPath::Resolve(recipe.recipe_dir, candidate));
    PTPKG_TRY(const bool there, Exists(fs, path));
    if (!there) continue;
    PTPKG_TRY(std::string text, ReadFile(fs, path), "while reading the build script");
    return std::optional(std::move(text));
  }
  if (is_default) return std::optional<std::string>();
  return Error(ErrorCode::kNotFound,
               fmt::format("the build script '{}' is not in '{}'", name, recipe.recipe_dir.str()))
      .WithHint("script.file is relative to the recipe's folder");
}

Result<void> RunScript(Env& env, const ScriptInput& input) {
  const recipe::Recipe& recipe = input.build.recipe;
  Task task(env.reporter, TaskInfo{.stage = "build", .subject = recipe.FileStem()});
  PTPKG_TRY(const AbsPath interpreter, FindInterpreter(input));

  // A copy below the root: neither the recipe's folder nor an edit during the build has a part in it.
  const AbsPath folder = input.build.layout.root / "script";
  PTPKG_CHECK(env.fs.MakeDirs(folder));
  const AbsPath file = folder / "build_script";
  PTPKG_CHECK(WriteFile(env.fs, file, input.preamble + input.text));

  Command command;
  command.argv = {interpreter.str()};
  if (recipe.script.interpreter == "bash") command.argv.emplace_back("-e");
  command.argv.push_back(file.str());
  command.env = input.variables;
  command.cwd = input.build.source_root;
  command.log_file = input.build.log_file;
  command.on_line = [&task](std::string_view line) { task.ChildOutput(line); };
  command.cancel = &env.cancel;

  PTPKG_CHECK(env.fs.MakeDirs(input.build.log_file.Parent()));
  PTPKG_CHECK(WriteFile(env.fs, input.build.log_file, LogHeader(input, command)),
              "while starting the build log");
  PTPKG_TRY(const ExitStatus status, env.process.Run(command),
            fmt::format("while running the build script; log: '{}'", input.build.log_file.str()));
  if (!status.ok()) return ScriptError(input, status);
  task.Done();
  return Ok();
}

}  // namespace ptpkg::build
