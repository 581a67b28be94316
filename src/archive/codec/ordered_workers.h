#pragma once
// Runs work on threads and returns results in submission order. Layer: archive, internal to it.
// OrderedPipeline (support/process/parallel.h) pulls its input; a sink is pushed, so it needs this.

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <future>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "support/result.h"

namespace ptpkg::archive {

/// Runs tasks on `jobs` threads (on the caller's own when jobs is 1) and gives the results to `done`,
/// in the order of Submit and on the caller's thread. At most `2 * jobs` tasks are alive at once.
/// If the machine gives no more threads (RLIMIT_NPROC, pids.max of a container), those already started do the
/// work; without any, the caller does.
template <class Out>
class OrderedWorkers {
 public:
  using WorkFunction = std::function<Result<Out>()>;
  using DoneFunction = std::function<Result<void>(Out)>;

  OrderedWorkers(int jobs, DoneFunction done) : done_(std::move(done)) {
    if (jobs <= 1) return;
    try {
      for (int i = 0; i < jobs; ++i) threads_.emplace_back([this] { Serve(); });
    } catch (const std::system_error&) {
      // EAGAIN: as many as there are. Thrown on, it would find the threads joinable and end the process.
    }
    max_alive_ = 2 * threads_.size();
  }

  /// Drops the tasks that no thread has begun, waits for the others.
  ~OrderedWorkers() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
      waiting_.clear();
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  OrderedWorkers(const OrderedWorkers&) = delete;
  OrderedWorkers& operator=(const OrderedWorkers&) = delete;

  /// Blocks while too many tasks are alive. Returns the first error of an earlier task or of `done`; after
  /// an error the object is of no use.
  Result<void> Submit(WorkFunction work) {
    if (threads_.empty()) {
      PTPKG_TRY(Out out, Guarded(work));
      return done_(std::move(out));
    }
    while (alive_.size() >= max_alive_) PTPKG_CHECK(TakeFront());
    // Results that are ready leave at once, so that their memory goes and the sink below is kept busy.
    while (!alive_.empty() && alive_.front().wait_for(std::chrono::seconds(0)) == std::future_status::ready) {
      PTPKG_CHECK(TakeFront());
    }
    std::packaged_task<Result<Out>()> task([work = std::move(work)] { return Guarded(work); });
    alive_.push_back(task.get_future());
    {
      const std::lock_guard lock(mutex_);
      waiting_.push_back(std::move(task));
    }
    wake_.notify_one();
    return Ok();
  }

  /// Number of its own threads; 0 where the caller does the work.
  [[nodiscard]] std::size_t threads() const { return threads_.size(); }

  /// Waits for all tasks.
  Result<void> Drain() {
    while (!alive_.empty()) PTPKG_CHECK(TakeFront());
    return Ok();
  }

 private:
  static Result<Out> Guarded(const WorkFunction& work) {
    try {
      return work();
    } catch (const std::exception& failure) {  // std::bad_alloc: must not end the process from a thread
      return Error(ErrorCode::kInternal, std::string("a compression thread failed: ") + failure.what());
    }
  }

  Result<void> TakeFront() {
    std::future<Result<Out>> front = std::move(alive_.front());
    alive_.pop_front();
    PTPKG_TRY(Out out, front.get());
    return done_(std::move(out));
  }

  void Serve() {
    while (true) {
      std::packaged_task<Result<Out>()> task;
      {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
        if (waiting_.empty()) return;
        task = std::move(waiting_.front());
        waiting_.pop_front();
      }
      task();
    }
  }

  DoneFunction done_;
  std::size_t max_alive_ = 0;
  std::deque<std::future<Result<Out>>> alive_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::packaged_task<Result<Out>()>> waiting_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace ptpkg::archive
