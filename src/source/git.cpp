// All calls of git go through here, so that no setting of the user or of a repository changes what a build
// reads.
//
// - Calls to servers get the user's environment and configuration, because proxies, credential helpers and
//   insteadOf are there. Variables that lead to another repository or change its content are left out
//   (IsPassedOn).
// - Calls on the cache's own repositories get no configuration at all.
// - Hooks, prompts, background maintenance and recursion into submodules are switched off for both.
//
// git has exit codes but no error codes, so CodeOf reads its messages, in LC_ALL=C. The order matters: damage
// of our own repository, refused logins, missing things, and everything else counts as the network. Only
// network errors are tried again, with at most three attempts: git cannot resume in the middle of a pack.
// The path in a message tells whose files are damaged: git names files of our mirror by their full path. A
// server reports its own files with another path, after "remote: " or, through SSH, without a mark.

#include "source/git.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>

#include "support/process/process.h"
#include "support/process/shared_variables.h"
#include "support/text/plural.h"
#include "support/text/text.h"

namespace ptpkg::source {

namespace {

using recipe::GitUrl;

constexpr int kAttempts = 3;
constexpr std::chrono::seconds kPause{1};  // before the second attempt; doubled before the third

bool HoldsAny(const std::string& text, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return text.find(word) != std::string::npos; });
}

/// True if a line of git's names a damaged file of `repository`, or one of ptpkg's own refs there.
bool IsOwnDamage(const std::string& output, const AbsPath& repository) {
  const std::vector<std::string> lines = SplitLines(output);
  return std::any_of(lines.begin(), lines.end(), [&](const std::string& line) {
    if (line.starts_with("error: refs/ptpkg")) return true;
    return !line.starts_with("remote: ") && HoldsAny(line, {repository.str() + "/"}) &&
           HoldsAny(line, {"is corrupt", "too short to be a packfile", "error: packfile",
                           "error: object file", "error: index file"});
  });
}

constexpr const char* kMovedTag = "would clobber existing tag";
constexpr const char* kInTheWay = "untracked working tree files would be overwritten";

ErrorCode CodeOf(const std::string& output, const std::optional<AbsPath>& repository) {
  if (HoldsAny(output, {kMovedTag, kInTheWay}) || !GitLockHint(output).empty()) return ErrorCode::kRefused;
  if (repository && IsOwnDamage(output, *repository)) return ErrorCode::kCorrupt;
  if (HoldsAny(output, {"could not read Username", "could not read Password", "Authentication failed",
                        "Permission denied", "terminal prompts disabled", "Host key verification failed",
                        "error: 403", "dubious ownership"})) {
    return ErrorCode::kRefused;
  }
  if (HoldsAny(output, {"not found", "does not appear to be a git repository", "does not exist",
                        "repository not exported", "couldn't find remote ref", "No such file or directory",
                        "error: 404",
                        // For a commit: the server does not have it, or gives none by its id.
                        "not our ref", "unadvertised object", "bad object", "dumb http transport",
                        "not support shallow", "not support --depth"})) {
    return ErrorCode::kNotFound;
  }
  return ErrorCode::kNetwork;
}

/// git lists the files below its message: "\tdata/new.txt".
std::string InTheWayHint(const std::string& output) {
  std::vector<std::string> files;
  for (const std::string& line : SplitLines(output)) {
    if (line.starts_with('\t')) files.push_back(line.substr(1));
  }
  return "move these files away: " + FirstNames(files, 5);
}

std::string HintOf(ErrorCode code, const std::string& output) {
  if (HoldsAny(output, {"dubious ownership"})) {
    return "the repository belongs to another user: git config --global --add safe.directory PATH";
  }
  if (HoldsAny(output, {kMovedTag}))
    return "compare the tags with git show; to take the server's: git tag -d NAME, and try again";
  if (HoldsAny(output, {kInTheWay})) return InTheWayHint(output);
  if (std::string hint = GitLockHint(output); !hint.empty()) return hint;
  if (code == ErrorCode::kRefused) {
    return "ptpkg runs git without a password prompt: set up a credential helper or an SSH key, and test it "
           "with git ls-remote";
  }
  if (code == ErrorCode::kIo || code == ErrorCode::kCorrupt)
    return "reproduce it with git on the command line";
  if (code == ErrorCode::kNotFound) return "check the URL; a private repository may need credentials";
  return "check the network and the proxy settings, for example with git ls-remote and this URL";
}

/// True if git gets the variable: of git's own, those for the user's ways to servers, and none that leads
/// to another repository or changes what git does with one.
bool IsPassedOn(const std::string& name) {
  static constexpr std::array<std::string_view, 8> kWays = {
      "GIT_SSH",   "GIT_SSL_",    "GIT_ASKPASS",   "GIT_PROXY_",
      "GIT_HTTP_", "GIT_CONFIG_", "GIT_EXEC_PATH", "GIT_ALLOW_PROTOCOL"};
  return !name.starts_with("GIT_") ||
         std::any_of(kWays.begin(), kWays.end(), [&](std::string_view way) { return name.starts_with(way); });
}

}  // namespace

std::string GitReason(const std::string& output) {
  const std::vector<std::string> lines = SplitLines(output);
  for (const std::string_view mark : {"fatal: ", "ERROR: ", "error: ", "ssh: "}) {
    for (const std::string& line : lines) {
      const std::size_t at = line.find(mark);
      if (at == std::string::npos || (at != 0 && !line.starts_with("remote: "))) continue;
      std::string reason(Trim(line.substr(mark == "ssh: " ? at : at + mark.size())));
      while (reason.ends_with('.')) reason.pop_back();
      return reason;
    }
  }
  for (const std::string& line : lines) {
    // " ! [rejected]        v2.0       -> v2.0  (would clobber existing tag)"
    const std::size_t at = line.find("[rejected]");
    if (at != std::string::npos)
      return std::string(Trim(line.substr(at + std::string_view("[rejected]").size())));
  }
  return std::string(Trim(lines.empty() ? output : lines.front()));
}

std::string GitReason(const ExitStatus& status) {
  if (status.signal != 0) return fmt::format("git was killed by signal {}", status.signal);
  return GitReason(status.output);
}

std::string GitLockHint(const std::string& output) {
  const std::size_t name = output.find("/index.lock': File exists");
  const std::size_t begin = output.rfind('\'', name);
  if (name == std::string::npos || begin == std::string::npos) return "";
  const std::string path = output.substr(begin + 1, output.find('\'', name) - begin - 1);
  return fmt::format("if no git runs there, an interrupted one left the file: rm {}", ShellQuote({path}));
}

Result<Git> Git::Find(Env& env) {
  const std::optional<AbsPath> program = FindProgram("git", PathVariable(env.variables));
  if (program) return Git(env, *program);
  return Error(ErrorCode::kNotFound, "program 'git' is missing").WithHint("install it: apt-get install git");
}

std::map<std::string, std::string> Git::Variables(const GitCall& call) const {
  std::map<std::string, std::string> variables;
  if (call.with_user_config) {
    for (const auto& [name, value] : SharedVariables(*env_)) {
      if (IsPassedOn(name)) variables.emplace(name, value);
    }
  } else {
    const auto path = env_->variables.find("PATH");
    if (path != env_->variables.end()) variables.insert(*path);
    variables["GIT_CONFIG_GLOBAL"] = "/dev/null";
    variables["GIT_CONFIG_NOSYSTEM"] = "1";
    variables["GIT_ATTR_NOSYSTEM"] = "1";
  }
  variables["LC_ALL"] = "C";
  variables["GIT_TERMINAL_PROMPT"] = "0";
  // ssh would ask on the terminal, and the child would wait without end.
  variables["SSH_ASKPASS"] = "/bin/false";
  variables["SSH_ASKPASS_REQUIRE"] = "force";
  if (call.index) variables["GIT_INDEX_FILE"] = call.index->str();
  return variables;
}

Result<ExitStatus> Git::Run(const GitCall& call) const {
  Command command;
  command.argv = {program_.str()};
  for (const char* setting :
       {"core.hooksPath=/dev/null", "core.fsmonitor=false", "gc.auto=0", "maintenance.auto=false",
        "fetch.recurseSubmodules=false", "submodule.recurse=false", "init.defaultBranch=main",
        // Same limit as for downloads: a transfer without a byte for a minute ends.
        "http.lowSpeedLimit=1", "http.lowSpeedTime=60"}) {
    command.argv.insert(command.argv.end(), {"-c", setting});
  }
  for (const std::string& setting : call.settings) command.argv.insert(command.argv.end(), {"-c", setting});
  if (call.repository) command.argv.push_back("--git-dir=" + call.repository->str());
  if (call.work_tree) command.argv.push_back("--work-tree=" + call.work_tree->str());
  command.argv.insert(command.argv.end(), call.args.begin(), call.args.end());
  command.env = Variables(call);
  if (call.work_tree) command.cwd = *call.work_tree;
  command.on_line = call.on_line;
  command.cancel = &env_->cancel;
  return env_->process.Run(command);
}

Result<std::string> Git::Read(const GitCall& call) const {
  PTPKG_TRY(const ExitStatus status, Run(call));
  if (status.ok()) return std::string(Trim(status.output));
  return Error(
      ErrorCode::kCommandFailed,
      fmt::format("git {} failed: {}", call.args.empty() ? "" : call.args.front(), GitReason(status)));
}

Result<std::string> Git::RunWithRetry(const GitCall& call, const GitUrl& url,
                                      const std::string& doing) const {
  std::chrono::milliseconds pause = kPause;
  for (int attempt = 1;; ++attempt) {
    PTPKG_TRY(const ExitStatus status, Run(call));
    if (status.ok()) return std::string(Trim(status.output));
    ErrorCode code = CodeOf(status.output, call.repository);
    // A local repository has no network, and a killed git left no message.
    if (code == ErrorCode::kNetwork && (url.is_local || status.signal != 0)) code = ErrorCode::kIo;
    const bool again = code == ErrorCode::kNetwork && attempt < kAttempts;
    if (!again) {
      // git repeats the URL as it was given, with the password in it.
      const std::string reason = ReplaceAll(GitReason(status), url.text, recipe::ShownGitUrl(url.text));
      return Error(code, fmt::format("{}: {}", doing, reason)).WithHint(HintOf(code, status.output));
    }
    PTPKG_CHECK(env_->cancel.Check());
    env_->clock.SleepFor(pause);
    pause *= 2;
  }
}

Result<bool> Git::Has(const std::string& command) const {
  PTPKG_TRY(const ExitStatus status, Run({.args = {command, "version"}}));
  return status.ok();
}

}  // namespace ptpkg::source
