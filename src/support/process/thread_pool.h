#pragma once
// Thread pool of the process. Layer: support, private to it: others use parallel.h. Not oneTBB: its workers
// start each other, and if the machine refuses more threads (RLIMIT_NPROC, pids.max of a container), the
// exception of that start ends the process (docs/decisions/0004).

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>

namespace ptpkg {

/// Calls `body` on this thread, and at the same time on up to `threads - 1` others when they are free.
/// Returns when all calls have ended. One call must be able to do all the work: others can come late or
/// never. Calls nest: a thread that waits here takes no foreign work, so callers can hold locks. Rethrows the
/// first exception of any call. Concurrent calls get the sum of their requested threads. Calls nested in one
/// call share the largest request among them. If the machine refuses more threads, silently uses fewer.
void RunOnThreads(std::size_t threads, const std::function<void()>& body);

/// Tasks that may add tasks, done by several threads, the newest first, so that few wait.
class TaskQueue {
 public:
  using Task = std::function<void()>;

  /// From any thread, before or during Run.
  void Add(Task task);
  /// Returns when no task is left. An exception of a task ends the run and is rethrown here.
  void Run(std::size_t threads);

 private:
  void Serve();
  std::optional<Task> Take();
  void Finished();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> tasks_;
  std::size_t running_ = 0;
};

}  // namespace ptpkg
