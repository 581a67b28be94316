// Every script of a recipe runs here: as a file with its interpreter, in the given environment, with its
// output in a log and in the parsers of script_watch.h.
//
// The order of output matters for secrets: lines are masked before a parser, the terminal or a record sees
// them, and the log's header is written before secrets enter the environment. Values of several lines are
// remembered line by line, because a log shows lines.
//
// A script that succeeds may have left processes behind. One that still writes below a watched directory
// fails the build, since the package would hold part of its output. Others, such as a compiler cache's
// server, are only named: Process has ended them by then. The writer's files count as outputs of failed
// commands: a resumed build removes them.

#include "builder/script/script.h"

#include <algorithm>
#include <cctype>
#include <fmt/core.h>

#include "builder/script/failed_commands.h"
#include "builder/script/script_watch.h"
#include "support/reporter.h"
#include "support/text/display_text.h"
#include "support/text/plural.h"
#include "support/text/text.h"

namespace ptpkg::builder {

namespace {

constexpr std::size_t kShownLines = 40;
constexpr std::size_t kMostNamed = 3;  // files and processes of one message

/// The command and its environment: the first thing one asks about a failed build.
std::string LogHeader(const ScriptRun& run, const Command& command) {
  std::string text =
      fmt::format("# {}: {}\n# in {}\n", run.subject, ShellQuote(command.argv), command.cwd.str());
  for (const auto& [name, value] : command.env)
    text += fmt::format("# {}={}\n", name, ReplaceAll(value, "\n", "\\n"));
  return text;
}

Result<void> AppendToLog(Fs& fs, const AbsPath& log_file, const std::string& text) {
  PTPKG_CHECK(fs.MakeDirs(log_file.Parent()));
  PTPKG_TRY(const bool there, Exists(fs, log_file));
  std::string before;
  if (there) {
    PTPKG_TRY(before, ReadFile(fs, log_file));
  }
  return WriteFile(fs, log_file, before + text);
}

Result<AbsPath> FindInterpreter(const ScriptRun& run) {
  if (run.interpreter == "python") {
    const auto python = run.variables.find("PYTHON");
    if (python != run.variables.end()) return AbsPath::Parse(python->second);
  }
  const std::optional<AbsPath> found = FindProgram(run.interpreter, run.variables.at("PATH"));
  if (found) return *found;
  return Error(ErrorCode::kNotFound,
               fmt::format("the interpreter '{}' of the {} script is missing", run.interpreter, run.stage))
      .WithHint("install it, or add its package to the requirements");
}

/// The file behind `name` in `folder`, if there is one.
Result<std::optional<std::string>> FileText(Fs& fs, const std::string& name, const AbsPath& folder) {
  for (const std::string& candidate : {name, name + ".sh"}) {
    PTPKG_TRY(const AbsPath path, AbsPath::Resolve(folder, candidate));
    PTPKG_TRY(const bool there, Exists(fs, path));
    if (!there) continue;
    PTPKG_TRY(std::string text, ReadFile(fs, path), "while reading a script of the recipe");
    return std::optional(std::move(text));
  }
  return std::optional<std::string>();
}

/// A log shows text line by line.
void RememberEachLine(const std::string& value) {
  RememberSecret(value);
  for (const std::string& line : SplitLines(value)) RememberSecret(line);
}

}  // namespace

std::map<std::string, std::string> SecretsOf(Env& env, const std::vector<std::string>& names,
                                             const std::string& subject) {
  std::map<std::string, std::string> secrets;
  for (const std::string& name : names) {
    const auto found = env.variables.find(name);
    if (found == env.variables.end()) {
      env.reporter.Warn(fmt::format("'{}': the secret '{}' is not set in your environment", subject, name));
      continue;
    }
    if (found->second.size() < kShortestSecret) {
      env.reporter.Warn(fmt::format("'{}': the secret '{}' has fewer than {} bytes, so logs show it", subject,
                                    name, kShortestSecret));
    }
    RememberEachLine(found->second);
    secrets.emplace(name, found->second);
  }
  return secrets;
}

namespace {

/// A directory can be below another.
struct LongerFirst {
  bool operator()(const std::string& a, const std::string& b) const {
    return a.size() != b.size() ? a.size() > b.size() : a < b;
  }
};

/// Replaces `folder` where its path ends, so not in "FOLDER_build" and "FOLDER.log".
void ReplaceFolder(std::string& text, const std::string& folder, const std::string& name) {
  for (std::size_t at = text.find(folder); at != std::string::npos; at = text.find(folder, at)) {
    const std::size_t end = at + folder.size();
    const bool is_whole =
        end == text.size() || (std::isalnum(static_cast<unsigned char>(text[end])) == 0 &&
                               std::string_view("_-.+~").find(text[end]) == std::string_view::npos);
    if (is_whole) text.replace(at, folder.size(), name);
    at += is_whole ? name.size() : folder.size();
  }
}

}  // namespace

std::string LastLines(const std::string& output) {
  std::vector<std::string> lines = SplitLines(output);
  while (!lines.empty() && Trim(lines.back()).empty()) lines.pop_back();
  const std::size_t first = lines.size() > kShownLines ? lines.size() - kShownLines : 0;
  std::string text;
  for (std::size_t i = first; i < lines.size(); ++i) text += "\n  " + DisplayLine(lines[i]);
  return text;
}

std::string ReplaceFoldersByVariables(std::string text, const std::map<std::string, std::string>& variables) {
  std::map<std::string, std::string, LongerFirst> folders;
  for (const char* const name : {"PREFIX", "BUILD_PREFIX", "SRC_DIR"}) {
    const auto variable = variables.find(name);
    if (variable != variables.end() && variable->second.starts_with('/')) {
      folders.emplace(variable->second, std::string("$") + name);
    }
  }
  for (const auto& [folder, name] : folders) ReplaceFolder(text, folder, name);
  return text;
}

std::string ExitSummary(const ExitStatus& status) {
  return status.signal != 0 ? fmt::format("was killed by signal {}", status.signal)
                            : fmt::format("exited with status {}", status.code);
}

Result<std::string> ScriptText(Fs& fs, const recipe::BuildScript& script, const AbsPath& folder) {
  if (!script.lines.empty()) return Join(script.lines, "\n") + "\n";
  PTPKG_TRY(std::optional<std::string> text, FileText(fs, script.file, folder));
  if (text) return *std::move(text);
  return Error(ErrorCode::kNotFound, fmt::format("the script '{}' is not beside the recipe", script.file))
      .WithHint("script files are relative to the recipe directory");
}

Result<std::optional<std::string>> BuildScriptText(Fs& fs, const recipe::BuildScript& script,
                                                   const AbsPath& folder) {
  if (script.interpreter.empty()) return std::optional<std::string>();
  if (script.lines.empty() && script.file.empty()) return FileText(fs, "build.sh", folder);
  PTPKG_TRY(std::string text, ScriptText(fs, script, folder));
  return std::optional(std::move(text));
}

namespace {

bool IsAnyWriting(const std::vector<OrphanProcess>& left) {
  return std::any_of(left.begin(), left.end(),
                     [](const OrphanProcess& each) { return !each.writing.empty(); });
}

/// Watchers of a build script; other scripts have none.
struct Watchers {
  ScriptWatch& watch;
  std::optional<FailedCommandsWriter> failed = {};
};

Result<ExitStatus> RunAndWatch(Env& env, const ScriptRun& run, Watchers* watchers) {
  ScriptWatch* const watch = watchers == nullptr ? nullptr : &watchers->watch;
  Task task(env.reporter, TaskInfo{.stage = run.stage,
                                   .subject = run.subject,
                                   .how = run.how,
                                   .log_file = watch == nullptr ? std::string() : run.log_file.str()});
  PTPKG_TRY(const AbsPath interpreter, FindInterpreter(run));
  PTPKG_CHECK(env.fs.MakeDirs(run.file.Parent()));
  PTPKG_CHECK(WriteFile(env.fs, run.file, run.text));

  Command command;
  command.argv = {interpreter.str()};
  // Without -e a script with a failed command in its middle would succeed.
  if (run.interpreter == "bash") command.argv.emplace_back("-e");
  command.argv.push_back(run.file.str());
  command.env = run.variables;
  command.cwd = run.cwd;
  command.log_file = run.log_file;
  command.on_line = [&](std::string_view raw) {
    const std::string line = MaskSecrets(raw);
    task.ChildOutput(line);
    if (watch != nullptr) watch->ReadOutputLine(task, line);
    if (watchers != nullptr && watchers->failed) watchers->failed->ReadOutputLine(line);
  };
  command.cancel = &env.cancel;
  if (watch != nullptr) {
    for (const auto& [name, folder] : run.watched) command.watched.push_back(folder);
  }

  // Before the secrets enter the environment: the header lists all variables.
  PTPKG_CHECK(AppendToLog(env.fs, run.log_file, LogHeader(run, command)), "while starting the log");
  for (const auto& [name, value] : run.secrets) command.env.insert_or_assign(name, value);
  if (watch != nullptr) watch->Start(task);
  PTPKG_TRY(ExitStatus status, env.process.Run(command),
            fmt::format("while running the {} script; log: '{}'", run.stage, run.log_file.str()));
  status.output = MaskSecrets(status.output);
  // The caller reports any other end as a failure, so the task must not look finished.
  if (status.ok() && !IsAnyWriting(status.left)) task.Done(run.title);
  return status;
}

}  // namespace

Result<ExitStatus> RunScript(Env& env, const ScriptRun& run) { return RunAndWatch(env, run, nullptr); }

namespace {

/// "$PREFIX/lib/data.txt".
std::string FileInFolder(const AbsPath& file, const std::map<std::string, AbsPath>& watched) {
  for (const auto& [name, folder] : watched) {
    const auto below = file.RelativeTo(folder);
    if (below) return fmt::format("${}/{}", name, below->str());
  }
  return file.str();
}

/// Checks a script that ended well.
Result<void> CheckOrphans(Env& env, const ScriptRun& run, const std::vector<OrphanProcess>& left) {
  std::vector<std::string> others;
  for (const OrphanProcess& each : left) {
    if (each.writing.empty()) {
      others.push_back(each.command);
      continue;
    }
    std::vector<std::string> files;
    for (const AbsPath& file : each.writing) files.push_back(FileInFolder(file, run.watched));
    return Error(ErrorCode::kCommandFailed,
                 fmt::format("the {} script of '{}' ended while its process '{}' was still writing {}",
                             run.stage, run.subject, each.command, FirstNames(files, kMostNamed)))
        .WithHint(fmt::format(
            "wait for the process (bash: \"wait\") or end it before the script ends; full output: '{}'",
            run.log_file.str()));
  }
  if (!others.empty()) {
    env.reporter.Note(fmt::format("'{}': the {} script left processes running; ptpkg ended them: {}",
                                  run.subject, run.stage, FirstNames(others, kMostNamed)));
  }
  return Ok();
}

}  // namespace

Result<void> RunBuildScript(Env& env, const ScriptRun& run) {
  ScriptWatch watch(env, {.stage = run.stage,
                          .subject = run.subject,
                          .log = run.log_file.str(),
                          .jobs = env.jobs,
                          .bytes_per_job = run.bytes_per_job,
                          .free_bytes = run.free_bytes,
                          .variables = run.variables,
                          .remembers = run.remembers});
  Watchers watchers{.watch = watch};
  if (run.failed_commands) {
    PTPKG_TRY(FailedCommandsWriter writer, FailedCommandsWriter::Start(env, *run.failed_commands));
    watchers.failed.emplace(std::move(writer));
  }
  PTPKG_TRY(const ExitStatus status, RunAndWatch(env, run, &watchers));
  if (watchers.failed) {
    // The next run must not trust these files, although no command reported a failure.
    for (const OrphanProcess& each : status.left) {
      for (const AbsPath& file : each.writing) watchers.failed->Add({file.str()});
    }
    if (!watchers.failed->is_complete()) {
      env.reporter.Warn(fmt::format(
          "cannot record the failed commands of '{}' in '{}': after fixing the failure, build with --fresh",
          run.subject, run.failed_commands->str()));
    }
  }
  if (!status.ok()) return watch.Failed(status);
  PTPKG_CHECK(CheckOrphans(env, run, status.left));
  watch.Succeeded();
  return Ok();
}

}  // namespace ptpkg::builder
