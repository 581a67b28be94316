#pragma once
// Child process interface. Layer: support.

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "support/cancel.h"
#include "support/path.h"

namespace ptpkg {

class Reporter;

struct Command {
  /// argv[0]: absolute path, or a name without '/' looked up in env["PATH"].
  std::vector<std::string> argv = {};
  std::map<std::string, std::string> env = {};  ///< The whole environment; nothing is inherited.
  AbsPath cwd = AbsPath::Literal("/");
  /// Log of stdout and stderr, appended as output arrives. Created if missing, in an existing directory; a
  /// symlink is refused.
  std::optional<AbsPath> log_file = {};
  /// Each output line without its break, on the calling thread; may be empty. A line above 64 KiB
  /// comes in pieces of that size.
  std::function<void(std::string_view)> on_line = {};
  std::optional<std::chrono::milliseconds> timeout = {};
  const CancelToken* cancel = nullptr;  ///< Borrowed for the call.
  /// Directories in which no half-written file may remain. With any, ExitStatus::left is filled. Processes
  /// that the child leaves running then get 1 s to end by themselves while they have a file there open for
  /// writing, else 200 ms.
  std::vector<AbsPath> watched = {};
};

/// Process that a finished child left running, and that had to be killed.
struct OrphanProcess {
  std::string command;  ///< See ShellQuote, one line of at most 200 bytes; the process name if empty.
  std::vector<AbsPath> writing;  ///< Files below Command::watched that it had open for writing, sorted.
};

struct ExitStatus {
  int code = 0;    ///< Valid when `signal` is 0.
  int signal = 0;  ///< The signal that ended the process, else 0.
  bool timed_out = false;
  std::chrono::milliseconds elapsed{0};
  std::string output;  ///< The last 64 KiB of stdout and stderr, interleaved as they came.
  /// Filled with Command::watched if the child ended by itself. Empty where /proc lists no children.
  std::vector<OrphanProcess> left = {};

  [[nodiscard]] bool ok() const { return code == 0 && signal == 0 && !timed_out; }
};

class Process {
 public:
  virtual ~Process() = default;
  /// Runs to the end, in a process group of its own, with stdin from /dev/null. On timeout or cancellation
  /// the group gets SIGTERM, after 5 s SIGKILL. As soon as the child ends (with Command::watched a moment
  /// later), its remaining processes are killed: the rest of its group, and descendants outside it (setsid,
  /// daemons). None survives the call, nor the death of ptpkg itself, SIGKILL included. Exceptions:
  /// - processes that a service manager started on request: they do not descend from the child;
  /// - processes outside the group that live 10 s after SIGKILL;
  /// - all outside the group where /proc does not list them (descendants.h).
  /// ptpkg warns of the last two. Signals ignored by ptpkg are not ignored by the child. A non-zero exit is a
  /// value, not an error. Errors: kNotFound (program, interpreter or cwd), kInvalidInput (empty argv,
  /// relative program path, NUL bytes), kIo (fork, log file), kCancelled.
  virtual Result<ExitStatus> Run(const Command& command) = 0;
};

/// `reporter`, borrowed, gets warnings of processes that could not be killed.
std::unique_ptr<Process> MakeOsProcess(Reporter* reporter = nullptr);

/// PATH of `variables`, or /usr/bin:/bin if it is not set: the input of FindProgram.
std::string PathVariable(const std::map<std::string, std::string>& variables);

/// The absolute path of `name` in the colon-separated `path_variable`; nullopt if none is executable.
std::optional<AbsPath> FindProgram(std::string_view name, std::string_view path_variable);

/// For messages and scripts: argv quoted for sh, where needed.
std::string ShellQuote(const std::vector<std::string>& argv);

}  // namespace ptpkg
