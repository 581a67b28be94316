// Fork, exec, and the loop of the supervising process. Layer: support.
// ptpkg forks the supervisor, and that forks the child. Both run in a copy of a threaded process, in which
// any lock can be held for ever. So all calls from the first fork on are async-signal-safe, and nothing
// allocates.
// Supervisor and child each lead a process group. The supervisor kills by the number of the child's group,
// which stays reserved as long as the child is a zombie. So it does not reap a child (HasEnded) before it has
// dealt with the group.

#include "support/process/supervisor.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

#include "support/process/descendants.h"

namespace ptpkg::detail {
namespace {

constexpr int kNoticeFd = 3;
// Signals that ptpkg sends to the supervisor. The kernel sends the first one when ptpkg dies.
constexpr int kKillSignal = SIGUSR1;
constexpr int kTerminateSignal = SIGUSR2;
constexpr int kExecFailedStatus = 127;  // as sh does

void Send(NoticeKind kind, int value) {
  const Notice notice{kind, value};
  // Fails only when ptpkg is gone; records are far smaller than PIPE_BUF, hence whole.
  static_cast<void>(!::write(kNoticeFd, &notice, sizeof(notice)));
}

/// From `first` to `last`, neither of which need be open.
void CloseRange(int first, int last) {
  if (first > last || ::close_range(static_cast<unsigned>(first), static_cast<unsigned>(last), 0) == 0)
    return;
  // Linux before 5.9.
  const int limit = std::min(last, static_cast<int>(::sysconf(_SC_OPEN_MAX)));
  for (int fd = first; fd <= limit; ++fd) ::close(fd);
}

/// Leaves exactly stdin, stdout, stderr and the notice pipe open. Descriptors of other threads' files must
/// not live on here: they would keep locks and pipes open, and count against the limit of open files.
void ArrangeDescriptors(int null_fd, int output_fd, int notice_fd) {
  constexpr int kFree = kNoticeFd + 1;
  std::array<int, 3> kept = {null_fd, output_fd, notice_fd};
  std::sort(kept.begin(), kept.end());
  int next = kFree;
  for (const int fd : kept) {
    CloseRange(next, fd - 1);
    next = std::max(next, fd + 1);
  }
  CloseRange(next, INT_MAX);
  // Copies above the final places, so that none overwrites another.
  for (int* const fd : {&null_fd, &output_fd, &notice_fd}) {
    const int copy = ::fcntl(*fd, F_DUPFD_CLOEXEC, kFree);
    if (copy < 0) {
      const Notice notice{NoticeKind::kForkFailed, errno};
      static_cast<void>(!::write(notice_fd, &notice, sizeof(notice)));
      ::_exit(1);
    }
    *fd = copy;
  }
  ::dup3(notice_fd, kNoticeFd, O_CLOEXEC);
  ::dup2(null_fd, STDIN_FILENO);
  ::dup2(output_fd, STDOUT_FILENO);
  ::dup2(output_fd, STDERR_FILENO);
  CloseRange(kFree, INT_MAX);
}

[[noreturn]] void RunChild(const SpawnRequest& request, pid_t supervisor) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // The parent died before prctl: no signal will come any more.
  if (::getppid() != supervisor) ::_exit(kExecFailedStatus);
  if (::chdir(request.cwd) != 0) {
    Send(NoticeKind::kChdirFailed, errno);
    ::_exit(kExecFailedStatus);
  }
  // exec resets handlers but keeps ignored signals ignored: a child with SIGPIPE ignored makes
  // `yes | head` run for ever.
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  for (int number = 1; number < NSIG; ++number) ::sigaction(number, &action, nullptr);
  sigset_t none;
  ::sigemptyset(&none);
  // NOLINTNEXTLINE(concurrency-mt-unsafe): after fork this is the only thread
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execve(request.program, request.argv, request.envp);
  Send(NoticeKind::kExecFailed, errno);
  ::_exit(kExecFailedStatus);
}

int WaitStatusOf(const siginfo_t& info) {
  if (info.si_code == CLD_EXITED) return W_EXITCODE(info.si_status, 0);
  return W_EXITCODE(0, info.si_status);
}

/// The status of `child`, if it has ended; it stays a zombie. As long as it is one, its number names our
/// group and no other.
bool HasEnded(pid_t child, int& status) {
  siginfo_t info{};
  if (::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT) != 0) return false;
  if (info.si_pid != child) return false;
  status = WaitStatusOf(info);
  return true;
}

/// True when none of the group of `child` is left.
bool ReapGroup(pid_t child) {
  pid_t reaped = 0;
  do {
    reaped = ::waitpid(-child, nullptr, WNOHANG);
  } while (reaped > 0);
  return reaped < 0 && errno == ECHILD;
}

/// Waits until the child and all others of its group have ended; returns the child's status. With `asks`,
/// the others of a child that has ended by itself live, and it stays a zombie, until ptpkg has looked.
int WaitForGroup(pid_t child, bool asks) {
  sigset_t awaited;
  ::sigemptyset(&awaited);
  ::sigaddset(&awaited, SIGCHLD);
  ::sigaddset(&awaited, kKillSignal);
  ::sigaddset(&awaited, kTerminateSignal);
  bool terminating = false;
  bool child_ended = false;
  bool ptpkg_looks = false;
  int child_status = 0;
  while (true) {
    if (!child_ended && HasEnded(child, child_status)) {
      child_ended = true;
      // When asked to terminate, the others get the same grace as the child.
      ptpkg_looks = asks && !terminating;
      if (ptpkg_looks) {
        Send(NoticeKind::kChildEnded, 0);
      } else if (!terminating) {
        ::kill(-child, SIGKILL);
      }
    }
    if (child_ended && !ptpkg_looks && ReapGroup(child)) return child_status;
    // All signals are blocked since the fork, so none is lost between the checks above and this wait.
    const int number = ::sigwaitinfo(&awaited, nullptr);
    // Whoever ends the group does not look at it any more: ptpkg may be dead.
    if (number == kTerminateSignal || number == kKillSignal) asks = false;
    if (number == kTerminateSignal) {
      terminating = true;
      ptpkg_looks = false;
      ::kill(-child, SIGTERM);
      // A stopped process takes no SIGTERM until it goes on.
      ::kill(-child, SIGCONT);
    }
    if (number == kKillSignal) {
      terminating = false;
      ptpkg_looks = false;
      ::kill(-child, SIGKILL);
    }
  }
}

[[noreturn]] void Supervise(const SpawnRequest& request, pid_t ptpkg) {
  ::prctl(PR_SET_PDEATHSIG, kKillSignal);
  if (::getppid() != ptpkg) ::_exit(1);
  // Orphans of the child become children of this process and not of init, so EndDescendants finds them.
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  // Out of ptpkg's group: who kills that group must not kill the one that cleans up.
  ::setpgid(0, 0);
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  ::sigaction(SIGCHLD, &action, nullptr);

  const pid_t self = ::getpid();
  const pid_t child = ::_Fork();
  if (child == 0) RunChild(request, self);
  if (child < 0) {
    Send(NoticeKind::kForkFailed, errno);
    ::_exit(1);
  }
  ::setpgid(child, child);  // both sides do it, so that neither can come too late
  // Only the group shall hold the output pipe: its end is then the end of the output.
  ::dup2(STDIN_FILENO, STDOUT_FILENO);
  ::dup2(STDIN_FILENO, STDERR_FILENO);
  const int status = WaitForGroup(child, request.asks_before_killing);
  const Descendants descendants = EndDescendants();
  if (descendants != Descendants::kEnded) Send(NoticeKind::kLeft, static_cast<std::int32_t>(descendants));
  Send(NoticeKind::kEnded, status);
  ::_exit(0);
}

struct Pipe {
  std::array<int, 2> fds = {-1, -1};

  Pipe() = default;
  Pipe(Pipe&&) = delete;
  Pipe& operator=(Pipe&&) = delete;
  ~Pipe() {
    for (const int fd : fds) {
      if (fd >= 0) ::close(fd);
    }
  }
  Result<void> Open() {
    if (::pipe2(fds.data(), O_CLOEXEC) != 0) return ErrnoError(errno, "cannot create a pipe");
    return Ok();
  }
  int ReleaseReadEnd() { return std::exchange(fds[0], -1); }
};

}  // namespace

Result<Supervisor> Supervisor::Start(const SpawnRequest& request) {
  Pipe output;
  Pipe notices;
  PTPKG_CHECK(output.Open());
  PTPKG_CHECK(notices.Open());
  if (::fcntl(output.fds[0], F_SETFL, O_NONBLOCK) != 0) return ErrnoError(errno, "cannot set up a pipe");
  const int null_fd = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null_fd < 0) return ErrnoError(errno, "cannot open '/dev/null'");

  // No handler of ours may run in the fork: it would act on this process's state.
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t self = ::getpid();
#if defined(__SANITIZE_THREAD__)
  const pid_t pid = ::fork();  // its runtime hangs in a child whose birth it has not seen
#else
  // _Fork: without the fork handlers of libraries, which take locks.
  const pid_t pid = ::_Fork();
#endif
  if (pid == 0) {
    ArrangeDescriptors(null_fd, output.fds[1], notices.fds[1]);
    Supervise(request, self);
  }
  const int fork_errno = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ::close(null_fd);
  if (pid < 0) return ErrnoError(fork_errno, "cannot start a process");
  return Supervisor(pid, output.ReleaseReadEnd(), notices.ReleaseReadEnd());
}

Supervisor::Supervisor(Supervisor&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      output_fd_(std::exchange(other.output_fd_, -1)),
      notice_fd_(std::exchange(other.notice_fd_, -1)) {}

Supervisor::~Supervisor() {
  if (pid_ < 0) return;
  KillGroup();
  // The read end stays open until the group is gone: a writer must die of our signal, not SIGPIPE.
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  ::close(output_fd_);
  ::close(notice_fd_);
}

void Supervisor::TerminateGroup() const { ::kill(pid_, kTerminateSignal); }
void Supervisor::KillGroup() const { ::kill(pid_, kKillSignal); }

}  // namespace ptpkg::detail
