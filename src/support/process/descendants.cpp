// Kills all descendants of the supervisor, also the ones that left its session or process group, which a
// signal to the group would miss. A walk that kills at once loses processes that fork meanwhile.
// 1. Stop from the top down: a stopped process can't fork behind the walk.
// 2. Kill from the bottom up: a parent that still lives keeps its child at the place where the walk saw it.
// 3. Reap, and repeat until no child is left. Orphans move up to the supervisor, a subreaper, so that each
//    pass finds them.
// Process numbers are reused. Numbers of own children are safe until Reap. Any other number is signalled
// through a pidfd, after its parent was checked again.
// Invariant: EndDescendants is async-signal-safe. So nothing allocates, buffers are on the stack, and the
// recursion has a limit.

#include "support/process/descendants.h"

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <signal.h>
#include <string_view>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

namespace ptpkg::detail {
namespace {

constexpr time_t kLimitSeconds = 10;
// Whoever stands deeper moves up when its parents have died, one pass later.
constexpr int kMaxGenerations = 64;

/// "/proc/<number>/<tail>" without allocation. `tail` ≤ 40 characters.
class ProcPath {
 public:
  ProcPath(pid_t pid, std::string_view tail) {
    Append("/proc/");
    AppendNumber(pid);
    Append(tail);
  }
  ProcPath(pid_t pid, pid_t thread, std::string_view tail) : ProcPath(pid, "/task/") {
    AppendNumber(thread);
    Append(tail);
  }
  [[nodiscard]] const char* c_str() const { return text_.data(); }

 private:
  void Append(std::string_view text) {
    for (const char c : text) text_.at(size_++) = c;
  }
  void AppendNumber(pid_t number) {
    std::array<char, 16> digits{};
    std::size_t count = 0;
    do {
      digits.at(count++) = static_cast<char>('0' + number % 10);
      number /= 10;
    } while (number > 0);
    while (count > 0) text_.at(size_++) = digits.at(--count);
  }

  std::array<char, 96> text_{};  // ends with NUL whatever is in it
  std::size_t size_ = 0;
};

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&&) = delete;
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_;
};

/// Collects digits to numbers across the borders of buffers.
class NumberReader {
 public:
  /// The number that `c` ends, or 0.
  pid_t Take(char c) {
    if (c >= '0' && c <= '9') {
      number_ = number_ * 10 + (c - '0');
      return 0;
    }
    const pid_t done = number_;
    number_ = 0;
    return done;
  }

 private:
  pid_t number_ = 0;
};

/// The process that /proc says is the parent of `pid`; 0 if there is none such.
pid_t ParentOf(pid_t pid) {
  const Descriptor file(::open(ProcPath(pid, "/stat").c_str(), O_RDONLY | O_CLOEXEC));
  // "pid (name) state parent …"; the name has at most 15 bytes, of any kind.
  std::array<char, 128> text{};
  if (file.get() < 0 || ::read(file.get(), text.data(), text.size() - 1) <= 0) return 0;
  const std::string_view stat(text.data());
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string_view::npos || name_end + 4 >= stat.size()) return 0;
  NumberReader reader;
  for (const char c : stat.substr(name_end + 4)) {
    const pid_t number = reader.Take(c);
    if (number > 0) return number;
  }
  return 0;
}

/// Signals `pid`, a child of `parent`, unless it has become another process meanwhile. Nobody but us reaps
/// our own children, so their numbers stay theirs. A descriptor holds the numbers of others during the check.
void Signal(pid_t pid, pid_t parent, int number) {
  if (parent == ::getpid()) {
    ::kill(pid, number);
    return;
  }
  const Descriptor process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (process.get() < 0 || ParentOf(pid) != parent) return;
  ::syscall(SYS_pidfd_send_signal, process.get(), number, nullptr, 0);
}

/// Stops from the top down or kills from the bottom up. See the beginning of this file.
class Walk {
 public:
  explicit Walk(int number) : number_(number) {}

  /// The children of all threads of `pid`. False if /proc does not tell.
  // NOLINTNEXTLINE(misc-no-recursion): kMaxGenerations deep, at 5 KB a step
  bool Visit(pid_t pid, int depth) {
    const Descriptor folder(::open(ProcPath(pid, "/task").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (folder.get() < 0) return false;
    alignas(std::uint64_t) std::array<char, 2048> buffer{};
    bool told = false;
    while (true) {
      const long size = ::syscall(SYS_getdents64, folder.get(), buffer.data(), buffer.size());
      if (size <= 0) return told;
      for (long at = 0; at < size;) {
        const char* entry = buffer.data() + at;
        told |= VisitThread(pid, ThreadIn(entry), depth);
        at += RecordLength(entry);
      }
    }
  }

 private:
  // struct linux_dirent64 of getdents64(2): inode, offset, record length, type, name.
  static constexpr std::size_t kLengthAt = 16;
  static constexpr std::size_t kNameAt = 19;

  static std::uint16_t RecordLength(const char* entry) {
    std::uint16_t length = 0;
    std::memcpy(&length, entry + kLengthAt, sizeof(length));
    return length;
  }
  /// 0 for "." and "..".
  static pid_t ThreadIn(const char* entry) {
    NumberReader reader;
    for (const char* c = entry + kNameAt; *c != '\0'; ++c) static_cast<void>(reader.Take(*c));
    return reader.Take('\0');
  }

  // NOLINTNEXTLINE(misc-no-recursion): see Visit
  bool VisitThread(pid_t pid, pid_t thread, int depth) {
    if (thread == 0) return false;
    const Descriptor file(::open(ProcPath(pid, thread, "/children").c_str(), O_RDONLY | O_CLOEXEC));
    if (file.get() < 0) return false;
    std::array<char, 1024> buffer{};
    NumberReader reader;
    while (true) {
      const ssize_t size = ::read(file.get(), buffer.data(), buffer.size());
      if (size <= 0) return true;
      for (const char c : std::string_view(buffer.data(), static_cast<std::size_t>(size))) {
        const pid_t child = reader.Take(c);  // each number is followed by a space
        if (child > 0) VisitChild(child, pid, depth);
      }
    }
  }

  // NOLINTNEXTLINE(misc-no-recursion): see Visit
  void VisitChild(pid_t child, pid_t parent, int depth) {
    if (number_ == SIGSTOP) Signal(child, parent, number_);
    if (depth < kMaxGenerations) static_cast<void>(Visit(child, depth + 1));
    if (number_ != SIGSTOP) Signal(child, parent, number_);
  }

  int number_;
};

/// True if /proc uses ptpkg's process numbers: it belongs to another PID namespace after
/// `unshare --pid` without a mount of its own.
bool ProcIsOurs() {
  std::array<char, 16> text{};
  if (::readlink("/proc/self", text.data(), text.size() - 1) <= 0) return false;
  NumberReader reader;
  for (const char c : text) {
    const pid_t number = reader.Take(c);
    if (number > 0) return number == ::getpid();
  }
  return false;
}

time_t Now() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec;
}

/// True when no child is left.
bool Reap() {
  while (true) {
    const pid_t reaped = ::waitpid(-1, nullptr, WNOHANG);
    if (reaped < 0 && errno == ECHILD) return true;
    if (reaped == 0) return false;
  }
}

}  // namespace

Descendants EndDescendants() {
  constexpr timespec kPause{0, 20'000'000};
  sigset_t child_ended;
  ::sigemptyset(&child_ended);
  ::sigaddset(&child_ended, SIGCHLD);
  const bool proc_is_ours = ProcIsOurs();
  const time_t limit = Now() + kLimitSeconds;
  while (!Reap()) {
    if (!proc_is_ours) return Descendants::kNotListed;
    if (Now() >= limit) return Descendants::kNotInTime;
    static_cast<void>(Walk(SIGSTOP).Visit(::getpid(), 0));
    if (!Walk(SIGKILL).Visit(::getpid(), 0)) return Descendants::kNotListed;
    ::sigtimedwait(&child_ended, nullptr, &kPause);
  }
  return Descendants::kEnded;
}

}  // namespace ptpkg::detail
