#include "support/foreground.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <fmt/core.h>
#include <sys/wait.h>
#include <unistd.h>

namespace ptpkg {

namespace {

// Not SIGTSTP: a command that a person stops has to stop together with us, or nobody could wake it.
constexpr std::array kTerminalSignals = {SIGINT, SIGQUIT};
// As a shell tells of a program that is not there, or cannot be run.
constexpr int kNotRun = 127;
constexpr int kSignalled = 128;

/// Ignores the terminal's signals for its life.
class SignalsIgnored {
 public:
  SignalsIgnored() {
    struct sigaction ignore = {};
    ignore.sa_handler = SIG_IGN;
    for (std::size_t i = 0; i < kTerminalSignals.size(); ++i) {
      sigaction(kTerminalSignals.at(i), &ignore, &before_.at(i));
    }
  }
  SignalsIgnored(const SignalsIgnored&) = delete;
  SignalsIgnored& operator=(const SignalsIgnored&) = delete;
  ~SignalsIgnored() {
    for (std::size_t i = 0; i < kTerminalSignals.size(); ++i) {
      sigaction(kTerminalSignals.at(i), &before_.at(i), nullptr);
    }
  }

 private:
  std::array<struct sigaction, kTerminalSignals.size()> before_ = {};
};

/// In the child. Only async-signal-safe calls: other threads may hold locks.
[[noreturn]] void Become(const char* cwd, char* const* argv, char* const* envp) {
  struct sigaction usual = {};
  usual.sa_handler = SIG_DFL;
  for (const int signal : kTerminalSignals) sigaction(signal, &usual, nullptr);
  sigaction(SIGPIPE, &usual, nullptr);  // which ptpkg ignores
  if (chdir(cwd) == 0) execve(argv[0], argv, envp);
  _exit(kNotRun);
}

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

Result<int> RunInForeground(const ForegroundCommand& command) {
  std::vector<std::string> argv = command.argv;
  if (argv.empty() || access(argv.front().c_str(), X_OK) != 0) {
    return Error(ErrorCode::kNotFound,
                 fmt::format("'{}' is not a program", argv.empty() ? std::string() : argv.front()));
  }
  if (access(command.cwd.c_str(), X_OK) != 0) {
    return Error(ErrorCode::kNotFound, fmt::format("the folder '{}' is not there", command.cwd.str()));
  }
  std::vector<std::string> env;
  for (const auto& [name, value] : command.env) env.push_back(name + "=" + value);
  const std::vector<char*> argv_pointers = Pointers(argv);
  const std::vector<char*> env_pointers = Pointers(env);

  const SignalsIgnored ignored;
  const pid_t child = fork();
  if (child < 0) return ErrnoError(errno, fmt::format("cannot start '{}'", argv.front()));
  if (child == 0) Become(command.cwd.c_str(), argv_pointers.data(), env_pointers.data());
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return ErrnoError(errno, fmt::format("cannot wait for '{}'", argv.front()));
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : kSignalled + WTERMSIG(status);
}

}  // namespace ptpkg
