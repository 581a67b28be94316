#pragma once
// Thread pool of the process. Layer: support, private to it: parallel. h is what others use. Not oneTBB: its
// workers start each other, and where the machine gives no more threads (RLIMIT_NPROC, pids.max of a
// container) the exception of that start ends the process (docs/decisions/0004).

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>

namespace ptpkg {

/// Calls `body` on this thread, and at the same time on up to `threads - 1` others as they come free; returns
/// when all calls have ended. One call must be able to do all the work: others may come late or never. Calls
/// nest: a thread that waits here takes no foreign work, so callers may hold locks. An exception of any call
/// is thrown again here, the first one. Calls side by side have as many threads as they ask for together;
/// calls within one share those of the largest among them. Fewer, without a word, where the machine gives no
/// more.
void RunOnThreads(std::size_t threads, const std::function<void()>& body);

/// Tasks that may add tasks, done by several threads, the newest first, so that few wait.
class TaskQueue {
 public:
  using Task = std::function<void()>;

  /// From any thread, before or during Run.
  void Add(Task task);
  /// Returns when no task is left. What a task throws ends the run and comes out here.
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
