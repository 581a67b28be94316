// Runs commands: output, log file, timeout, cancellation. Layer: support.
// One thread polls two pipes, the command's output and the supervisor's notices, and looks at the clock in
// between.
// The supervisor ends the run: when the child has ended, it kills the rest of the group and reports the
// status. Command::watched puts a step between the two, in which processes that the child left get a short
// time to finish writing (FindOrphans). After that, output is not waited for, since a process that left the
// group can keep the pipe open for hours.
// A cancellation or timeout sends SIGTERM, and SIGKILL after kGrace.

#include "support/process/process.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/process/descendants.h"
#include "support/process/orphan_processes.h"
#include "support/process/supervisor.h"
#include "support/reporter.h"
#include "support/secret.h"

namespace ptpkg {
namespace {

using Milliseconds = std::chrono::milliseconds;
using SteadyClock = std::chrono::steady_clock;

constexpr std::size_t kTailBytes = 64U << 10U;
constexpr std::size_t kLineLimitBytes = 64U << 10U;
constexpr std::size_t kPipeBytes = 64U << 10U;      // the capacity of a pipe
constexpr Milliseconds kGrace{5000};                // from SIGTERM to SIGKILL
constexpr Milliseconds kCancelPollInterval{50};     // how late a cancellation may be seen
constexpr Milliseconds kWritingGrace{1000};         // for what a child left: Command::watched
constexpr Milliseconds kLeftGrace{200};             // for others
constexpr Milliseconds kLookInterval{20};           // meanwhile
constexpr Milliseconds kNoDeadlineInterval{60000};  // nothing to watch but the pipes

/// Cuts a byte stream into lines.
class LineSplitter {
 public:
  explicit LineSplitter(const std::function<void(std::string_view)>& on_line) : on_line_(on_line) {}

  void Add(std::string_view text) {
    if (!on_line_) return;
    while (!text.empty()) {
      const std::size_t room = kLineLimitBytes - partial_.size();
      // A line of exactly the limit is whole: its line break is one byte further.
      const std::size_t end = text.substr(0, room + 1).find('\n');
      partial_ += text.substr(0, std::min(end, room));
      if (end == std::string_view::npos && partial_.size() < kLineLimitBytes) return;
      text.remove_prefix(end == std::string_view::npos ? room : end + 1);
      Emit();
    }
  }

  void Finish() {
    if (on_line_ && !partial_.empty()) Emit();
  }

 private:
  void Emit() {
    std::string_view line = partial_;
    if (line.ends_with('\r')) line.remove_suffix(1);
    on_line_(line);
    partial_.clear();
  }

  const std::function<void(std::string_view)>& on_line_;
  std::string partial_;
};

class LogFile {
 public:
  LogFile() = default;
  LogFile(LogFile&&) = delete;
  LogFile& operator=(LogFile&&) = delete;
  ~LogFile() {
    static_cast<void>(Write(MaskAllSecrets(begun_)));
    if (fd_ >= 0) ::close(fd_);
  }

  Result<void> Open(const AbsPath& path) {
    path_ = path;
    // O_APPEND: several commands of one script write to the same log in turn.
    fd_ = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY, 0666);
    if (fd_ < 0) return Failure(errno, "open");
    return Ok();
  }

  /// Writes whole lines, in which no secret is cut in two, and masks secrets in them.
  Result<void> Add(std::string_view text) {
    constexpr std::size_t kLongestLine = 64U << 10U;
    if (fd_ < 0) return Ok();
    begun_ += text;
    const std::size_t lines = begun_.find_last_of("\r\n") + 1;  // npos + 1 is 0
    // '\r' ends a line too: progress bars write nothing else for minutes.
    const std::size_t ready = begun_.size() - lines > kLongestLine ? begun_.size() : lines;
    Result<void> written = Write(MaskAllSecrets(std::string_view(begun_).substr(0, ready)));
    begun_.erase(0, ready);
    return written;
  }

 private:
  Result<void> Write(std::string_view text) const {
    while (fd_ >= 0 && !text.empty()) {
      const ssize_t put = ::write(fd_, text.data(), text.size());
      if (put < 0 && errno == EINTR) continue;
      if (put <= 0) return Failure(put < 0 ? errno : EIO, "write");
      text.remove_prefix(static_cast<std::size_t>(put));
    }
    return Ok();
  }

  [[nodiscard]] Error Failure(int sys_errno, std::string_view what) const {
    // Never kNotFound, which Run's callers read as "no such program".
    Error error = ErrnoError(sys_errno, fmt::format("cannot {} log file '{}'", what, path_.str()));
    return Error(ErrorCode::kIo, error.message()).WithHint(error.hint()).WithErrno(sys_errno);
  }

  int fd_ = -1;
  std::string begun_;  // the last line so far
  AbsPath path_ = AbsPath::Literal("/");
};

/// Null-terminated array of pointers into strings that stay alive.
class PointerArray {
 public:
  explicit PointerArray(std::vector<std::string> texts) : texts_(std::move(texts)) {
    for (std::string& text : texts_) pointers_.push_back(text.data());
    pointers_.push_back(nullptr);
  }
  PointerArray(PointerArray&&) = delete;
  PointerArray& operator=(PointerArray&&) = delete;
  ~PointerArray() = default;

  [[nodiscard]] char* const* get() const { return pointers_.data(); }

 private:
  std::vector<std::string> texts_;
  std::vector<char*> pointers_;
};

bool HasNul(std::string_view text) { return text.find('\0') != std::string_view::npos; }

Result<void> CheckCommand(const Command& command) {
  if (command.argv.empty() || command.argv[0].empty()) {
    return Error(ErrorCode::kInvalidInput, "a command needs a program");
  }
  // execve would cut the argument there without an error.
  if (std::any_of(command.argv.begin(), command.argv.end(), HasNul)) {
    return Error(ErrorCode::kInvalidInput,
                 fmt::format("an argument of '{}' contains a NUL byte", command.argv[0].c_str()));
  }
  for (const auto& [name, value] : command.env) {
    if (name.empty() || name.find('=') != std::string::npos || HasNul(name) || HasNul(value)) {
      return Error(ErrorCode::kInvalidInput,
                   fmt::format("environment variable '{}' of '{}' is not valid", name, command.argv[0]));
    }
  }
  return Ok();
}

bool IsExecutableFile(const char* path) {
  struct stat st {};
  return ::stat(path, &st) == 0 && S_ISREG(st.st_mode) && ::access(path, X_OK) == 0;
}

Result<std::string> ResolveProgram(const Command& command) {
  const std::string& name = command.argv[0];
  if (name.starts_with('/')) return name;
  if (name.find('/') != std::string::npos) {
    return Error(ErrorCode::kInvalidInput,
                 fmt::format("program '{}' is neither an absolute path nor a plain name", name));
  }
  // The command's own PATH and not ptpkg's: the program must not depend on the caller's environment.
  const auto path = command.env.find("PATH");
  if (path != command.env.end()) {
    if (const std::optional<AbsPath> found = FindProgram(name, path->second)) return found->str();
  }
  return Error(ErrorCode::kNotFound, fmt::format("program '{}' was not found", name))
      .WithHint(
          path == command.env.end() || path->second.empty()
              ? "the command's PATH is empty"
              : fmt::format("install it, or add its directory to the command's PATH, '{}'", path->second));
}

PointerArray EnvironmentOf(const Command& command) {
  std::vector<std::string> texts;
  texts.reserve(command.env.size());
  for (const auto& [name, value] : command.env) texts.push_back(fmt::format("{}={}", name, value));
  return PointerArray(std::move(texts));
}

/// One running command, from start to the end of its group.
class Running {
 public:
  Running(const Command& command, detail::Supervisor supervisor, LogFile& log, Reporter* reporter)
      : command_(command),
        supervisor_(std::move(supervisor)),
        log_(log),
        reporter_(reporter),
        lines_(command.on_line) {
    if (command.timeout) deadline_ = started_ + *command.timeout;
  }

  Result<ExitStatus> Wait() {
    while (!ended_) {
      CheckCancelAndTime();
      if (child_ended_) FindOrphans();
      PTPKG_CHECK(PollOnce());
    }
    PTPKG_CHECK(ReadOutput());  // what was still in the pipe
    lines_.Finish();
    if (start_error_) return *std::move(start_error_);
    // A run that finished before it saw the signal counts as finished, if nothing else of it was cut off.
    if (cancelled_ && (!status_.ok() || !looked_)) return Error(ErrorCode::kCancelled, "interrupted");
    status_.elapsed = std::chrono::duration_cast<Milliseconds>(SteadyClock::now() - started_);
    if (status_.output.size() > kTailBytes) status_.output.erase(0, status_.output.size() - kTailBytes);
    return std::move(status_);
  }

 private:
  void CheckCancelAndTime() {
    if (child_ended_) return;  // FindOrphans heeds the cancellation
    const auto now = SteadyClock::now();
    if (kill_at_) {
      if (now < *kill_at_) return;
      supervisor_.KillGroup();
      kill_at_ = now + kGrace;  // again, should a process have been forked meanwhile
      return;
    }
    cancelled_ = command_.cancel != nullptr && command_.cancel->cancelled();
    status_.timed_out = !cancelled_ && deadline_ && now >= *deadline_;
    if (!cancelled_ && !status_.timed_out) return;
    supervisor_.TerminateGroup();
    kill_at_ = now + kGrace;
  }

  /// Processes that the child left may end by themselves soon: a tee empties its pipe.
  void FindOrphans() {
    std::vector<OrphanProcess> left = detail::FindOrphanProcesses(*fs_, supervisor_.pid(), command_.watched);
    const bool writes = std::any_of(left.begin(), left.end(),
                                    [](const OrphanProcess& each) { return !each.writing.empty(); });
    const bool cancelled = command_.cancel != nullptr && command_.cancel->cancelled();
    const auto now = SteadyClock::now();
    if (writes) last_writing_ = now;
    // A process that has closed its file is about to end.
    const auto deadline = writes ? *child_ended_ + kWritingGrace : last_writing_ + kLeftGrace;
    if (!left.empty() && !cancelled && now < deadline) return;
    status_.left = std::move(left);
    looked_ = true;
    child_ended_.reset();
    supervisor_.KillGroup();
  }

  [[nodiscard]] int PollTimeout() const {
    auto wait = command_.cancel != nullptr && !kill_at_ ? kCancelPollInterval : kNoDeadlineInterval;
    const std::optional<SteadyClock::time_point> next = kill_at_ ? kill_at_ : deadline_;
    if (next) {
      const auto left = std::chrono::ceil<Milliseconds>(*next - SteadyClock::now());
      wait = std::clamp(left, Milliseconds{0}, wait);
    }
    if (child_ended_) wait = std::min(wait, kLookInterval);
    return static_cast<int>(wait.count());
  }

  Result<void> PollOnce() {
    std::array<pollfd, 2> fds = {pollfd{output_ended_ ? -1 : supervisor_.output_fd(), POLLIN, 0},
                                 pollfd{supervisor_.notice_fd(), POLLIN, 0}};
    if (::poll(fds.data(), fds.size(), PollTimeout()) < 0) {
      if (errno == EINTR) return Ok();
      return ErrnoError(errno, "cannot wait for a process");
    }
    if (fds[0].revents != 0) PTPKG_CHECK(ReadOutput());
    if (fds[1].revents != 0) PTPKG_CHECK(ReadNotice());
    return Ok();
  }

  /// Reads what is there, at most a few pipes full, so that a chatty child cannot outrun its timeout.
  Result<void> ReadOutput() {
    constexpr int kMaxReads = 16;
    std::array<char, kPipeBytes> buffer;
    for (int i = 0; i < kMaxReads && !output_ended_; ++i) {
      const ssize_t got = ::read(supervisor_.output_fd(), buffer.data(), buffer.size());
      if (got < 0 && errno == EINTR) continue;
      if (got < 0 && errno == EAGAIN) return Ok();
      if (got < 0) return ErrnoError(errno, "cannot read the output of a process");
      output_ended_ = got == 0;
      const std::string_view text(buffer.data(), static_cast<std::size_t>(got));
      PTPKG_CHECK(log_.Add(text));
      lines_.Add(text);
      status_.output += text;
      // Cut rarely: each cut moves 64 KiB.
      if (status_.output.size() > 8 * kTailBytes) status_.output.erase(0, status_.output.size() - kTailBytes);
    }
    return Ok();
  }

  Result<void> ReadNotice() {
    detail::Notice notice;
    const ssize_t got = ::read(supervisor_.notice_fd(), &notice, sizeof(notice));
    if (got < 0 && errno == EINTR) return Ok();
    // The supervisor's last notice is kEnded, so an end of the pipe before that means that it was killed.
    if (got != static_cast<ssize_t>(sizeof(notice))) {
      return Error(ErrorCode::kIo, fmt::format("the process that watches '{}' was killed", command_.argv[0]));
    }
    switch (notice.kind) {
      case detail::NoticeKind::kForkFailed:
        return ErrnoError(notice.value, "cannot start a process");
      case detail::NoticeKind::kChdirFailed:
        start_error_ =
            ErrnoError(notice.value, fmt::format("cannot enter directory '{}'", command_.cwd.str()));
        break;
      case detail::NoticeKind::kExecFailed:
        start_error_ = ExecError(notice.value);
        break;
      case detail::NoticeKind::kChildEnded:
        if (kill_at_) break;  // the rest of the group has the grace of a cancellation
        child_ended_ = SteadyClock::now();
        last_writing_ = *child_ended_;
        FindOrphans();
        break;
      case detail::NoticeKind::kLeft:
        WarnOfOrphans(static_cast<detail::Descendants>(notice.value));
        break;
      case detail::NoticeKind::kEnded:
        ended_ = true;
        if (WIFSIGNALED(notice.value)) {
          status_.signal = WTERMSIG(notice.value);
        } else {
          status_.code = WEXITSTATUS(notice.value);
        }
        break;
    }
    return Ok();
  }

  void WarnOfOrphans(detail::Descendants why) const {
    if (reporter_ == nullptr) return;
    const std::string_view reason = why == detail::Descendants::kNotListed
                                        ? "/proc does not list them; mount it for this PID namespace"
                                        : "they were still alive 10 s after SIGKILL";
    reporter_->Warn(
        fmt::format("processes started by '{}' may still be running: {}", command_.argv[0], reason));
  }

  [[nodiscard]] Error ExecError(int sys_errno) const {
    Error error = ErrnoError(sys_errno, fmt::format("cannot run '{}'", command_.argv[0]));
    if (sys_errno == ENOENT && ::access(command_.argv[0].c_str(), F_OK) == 0) {
      return std::move(error).WithHint("the file exists, but the interpreter in its first line does not");
    }
    if (sys_errno == ENOEXEC) {
      return std::move(error).WithHint("a script needs a first line such as '#!/bin/sh'");
    }
    return error;
  }

  const Command& command_;
  detail::Supervisor supervisor_;
  LogFile& log_;
  Reporter* reporter_;
  LineSplitter lines_;
  const SteadyClock::time_point started_ = SteadyClock::now();
  std::optional<SteadyClock::time_point> deadline_;
  std::optional<SteadyClock::time_point> kill_at_;      // set once the group was asked to end
  std::optional<SteadyClock::time_point> child_ended_;  // until what it left is to be killed
  bool looked_ = command_.watched.empty();              // at what the child left
  SteadyClock::time_point last_writing_;                // then something of it was seen to write, or it ended
  std::unique_ptr<Fs> fs_ = MakeOsFs();
  bool cancelled_ = false;
  bool output_ended_ = false;
  bool ended_ = false;
  std::optional<Error> start_error_;
  ExitStatus status_;
};

class OsProcess final : public Process {
 public:
  explicit OsProcess(Reporter* reporter) : reporter_(reporter) {}

  Result<ExitStatus> Run(const Command& command) override {
    PTPKG_CHECK(CheckCommand(command));
    if (command.cancel != nullptr) PTPKG_CHECK(command.cancel->Check());
    PTPKG_TRY(const std::string program, ResolveProgram(command));
    LogFile log;
    if (command.log_file) PTPKG_CHECK(log.Open(*command.log_file));

    const PointerArray argv(command.argv);
    const PointerArray envp = EnvironmentOf(command);
    PTPKG_TRY(detail::Supervisor supervisor,
              detail::Supervisor::Start(
                  {program.c_str(), argv.get(), envp.get(), command.cwd.c_str(), !command.watched.empty()}));
    return Running(command, std::move(supervisor), log, reporter_).Wait();
  }

 private:
  Reporter* reporter_;
};

bool NeedsQuotes(std::string_view word, bool is_program) {
  constexpr std::string_view kSafe =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+:,./-=";
  // In front of a command, NAME=value would be an assignment.
  if (is_program && word.find('=') != std::string_view::npos) return true;
  return word.empty() || word.find_first_not_of(kSafe) != std::string_view::npos;
}

}  // namespace

std::unique_ptr<Process> MakeOsProcess(Reporter* reporter) { return std::make_unique<OsProcess>(reporter); }

std::string PathVariable(const std::map<std::string, std::string>& variables) {
  const auto found = variables.find("PATH");
  return found == variables.end() ? "/usr/bin:/bin" : found->second;
}

std::optional<AbsPath> FindProgram(std::string_view name, std::string_view path_variable) {
  if (name.empty() || name.find('/') != std::string_view::npos || HasNul(name)) return std::nullopt;
  while (!path_variable.empty()) {
    const std::size_t colon = path_variable.find(':');
    const std::string_view folder = path_variable.substr(0, colon);
    path_variable.remove_prefix(colon == std::string_view::npos ? path_variable.size() : colon + 1);
    // Empty and relative entries mean the working directory, which we never depend on.
    if (!folder.starts_with('/')) continue;
    Result<AbsPath> path = AbsPath::Parse(fmt::format("{}/{}", folder, name));
    if (path && IsExecutableFile(path->c_str())) return *std::move(path);
  }
  return std::nullopt;
}

std::string ShellQuote(const std::vector<std::string>& argv) {
  std::string line;
  for (const std::string& word : argv) {
    const bool is_program = &word == argv.data();
    if (!is_program) line += ' ';
    if (!NeedsQuotes(word, is_program)) {
      line += word;
      continue;
    }
    line += '\'';
    for (const char c : word) {
      if (c == '\'') {
        // Ends the quotes, adds an escaped quote and begins again: inside single quotes nothing is special
        // (POSIX, 2.2.2).
        line += "'\\''";
      } else {
        line += c;
      }
    }
    line += '\'';
  }
  return line;
}

}  // namespace ptpkg
