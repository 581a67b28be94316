#pragma once
// Supervisor between ptpkg and its child: kills the child when ptpkg ends. Layer: support, internal to
// process.cpp. It ensures that the child does not outlive ptpkg, and ends with both.
//
// Linux can tie one process to the death of its parent (PR_SET_PDEATHSIG), but not a whole group: after a
// SIGKILL of ptpkg, a build's make and compilers would run on. The supervisor detects ptpkg's death, kills
// all and ends. As a subreaper it inherits every orphan among the child's descendants, also those outside the
// group. So it can kill them and detects the end of the last one, with the exceptions of descendants.h. It is
// a fork without exec and calls only async-signal-safe functions.

#include <cstdint>
#include <sys/types.h>

#include "support/result.h"

namespace ptpkg::detail {

/// Everything is prepared before the fork: no allocation is allowed after it. All pointers are
/// borrowed for the call; `argv` and `envp` end with a null pointer.
struct SpawnRequest {
  const char* program = nullptr;
  char* const* argv = nullptr;
  char* const* envp = nullptr;
  const char* cwd = nullptr;
  bool asks_before_killing = false;  ///< kChildEnded is sent.
};

enum class NoticeKind : std::int32_t {
  kForkFailed,   ///< value: errno. Nothing ran.
  kChdirFailed,  ///< value: errno. kEnded follows.
  kExecFailed,   ///< value: errno. kEnded follows.
  kChildEnded,   ///< Only the child has ended, by itself: what it left lives until KillGroup. kEnded follows.
  kLeft,         ///< value: Descendants (descendants.h), not kEnded: some still run. kEnded follows.
  kEnded,  ///< value: wait status of the child. Without kLeft, none of its descendants is left. The last
           ///< notice.
};

struct Notice {
  NoticeKind kind = NoticeKind::kForkFailed;
  std::int32_t value = 0;
};

class Supervisor {
 public:
  /// Forks the supervisor, which starts the child. Errors: kIo.
  static Result<Supervisor> Start(const SpawnRequest& request);

  Supervisor(Supervisor&& other) noexcept;
  Supervisor& operator=(Supervisor&&) = delete;
  /// Kills the child and its descendants if they still run, and waits for their end. For those outside the
  /// child's group, this works only as far as EndDescendants can.
  ~Supervisor();

  /// Read end of the child's stdout and stderr, non-blocking.
  [[nodiscard]] int output_fd() const { return output_fd_; }
  /// Read end of a pipe of Notice records.
  [[nodiscard]] int notice_fd() const { return notice_fd_; }
  /// The supervisor's process: an ancestor of all processes that the child leaves.
  [[nodiscard]] pid_t pid() const { return pid_; }

  void TerminateGroup() const;  ///< SIGTERM to all; the supervisor waits for them to end.
  void KillGroup() const;       ///< SIGKILL to all.

 private:
  Supervisor(pid_t pid, int output_fd, int notice_fd)
      : pid_(pid), output_fd_(output_fd), notice_fd_(notice_fd) {}

  pid_t pid_;  // not reaped before the destructor, so the number cannot be reused
  int output_fd_;
  int notice_fd_;
};

}  // namespace ptpkg::detail
