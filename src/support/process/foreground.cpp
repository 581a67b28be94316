#include "support/process/foreground.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <fmt/core.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace ptpkg {

namespace {

// Not SIGTSTP: a command that a person stops has to stop together with us, or nobody could wake it.
constexpr std::array kTerminalSignals = {SIGINT, SIGQUIT};
constexpr std::array kEndSignals = {SIGTERM, SIGHUP};
// A shell's exit codes for a program that does not exist, or cannot be run.
constexpr int kNotRun = 127;
constexpr int kSignalled = 128;

/// Data of the signal handler.
struct ForHandler {
  volatile std::sig_atomic_t child = 0;     ///< The command's process; 0 while it does not run.
  volatile std::sig_atomic_t early = 0;     ///< The signal that came before it ran.
  volatile std::sig_atomic_t for_term = 0;  ///< Signal that it gets for SIGTERM.
};
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): a handler can reach nothing else
ForHandler for_handler;

void HandOn(int signal_number) {
  const int handed = signal_number == SIGTERM ? for_handler.for_term : signal_number;
  if (for_handler.child > 0) {
    kill(for_handler.child, handed);
  } else {
    for_handler.early = handed;
  }
}

/// For its life, the terminal's signals are ignored and those that ask for the end handed on.
class Signals {
 public:
  explicit Signals(bool interactive) {
    for_handler.child = 0;
    for_handler.early = 0;
    for_handler.for_term = interactive ? SIGHUP : SIGTERM;
    struct sigaction ignore = {};
    ignore.sa_handler = SIG_IGN;
    struct sigaction hand_on = {};
    hand_on.sa_handler = HandOn;
    std::size_t i = 0;
    for (const int signal : kTerminalSignals) sigaction(signal, &ignore, &before_.at(i++));
    for (const int signal : kEndSignals) sigaction(signal, &hand_on, &before_.at(i++));
  }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;
  ~Signals() {
    std::size_t i = 0;
    for (const int signal : kTerminalSignals) sigaction(signal, &before_.at(i++), nullptr);
    for (const int signal : kEndSignals) sigaction(signal, &before_.at(i++), nullptr);
  }

  static void Reach(pid_t child) {
    for_handler.child = child;
    // A signal between the installation of the handlers and the fork had no child to go to.
    if (for_handler.early != 0) kill(child, for_handler.early);
  }
  /// Its number may be another process's from now on.
  static void Forget() { for_handler.child = 0; }

 private:
  std::array<struct sigaction, kTerminalSignals.size() + kEndSignals.size()> before_ = {};
};

/// In the child. Only async-signal-safe calls: other threads may hold locks.
[[noreturn]] void Become(const char* cwd, char* const* argv, char* const* envp) {
  struct sigaction usual = {};
  usual.sa_handler = SIG_DFL;
  for (const int signal : kTerminalSignals) sigaction(signal, &usual, nullptr);
  for (const int signal : kEndSignals) sigaction(signal, &usual, nullptr);
  sigaction(SIGPIPE, &usual, nullptr);  // which ptpkg ignores
  // A command that outlives us would go on writing to a directory that nobody holds any more.
  prctl(PR_SET_PDEATHSIG, SIGHUP);
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
    return Error(ErrorCode::kNotFound, fmt::format("the directory '{}' does not exist", command.cwd.str()));
  }
  std::vector<std::string> env;
  for (const auto& [name, value] : command.env) env.push_back(name + "=" + value);
  const std::vector<char*> argv_pointers = Pointers(argv);
  const std::vector<char*> env_pointers = Pointers(env);

  const Signals signals(command.interactive);
  const pid_t child = fork();
  if (child < 0) return ErrnoError(errno, fmt::format("cannot start '{}'", argv.front()));
  if (child == 0) Become(command.cwd.c_str(), argv_pointers.data(), env_pointers.data());
  Signals::Reach(child);
  int status = 0;
  // WNOWAIT leaves the child a zombie, so that no other process gets its number before the handler has
  // forgotten it.
  siginfo_t ended = {};
  while (waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT) < 0) {
    if (errno != EINTR) return ErrnoError(errno, fmt::format("cannot wait for '{}'", argv.front()));
  }
  Signals::Forget();
  if (waitpid(child, &status, 0) < 0) {
    return ErrnoError(errno, fmt::format("cannot wait for '{}'", argv.front()));
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : kSignalled + WTERMSIG(status);
}

}  // namespace ptpkg
