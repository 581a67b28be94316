// One pool for the whole process. A call offers its body to idle threads and runs it itself, so it ends even
// if no helper ever comes, and nested calls can't deadlock. Threads are added up to the sum of the
// helpers of all running calls, and stay until the process ends.
// A family is an outermost call with the calls nested in it. Its threads wait for each other, so the family
// needs only the helpers of its largest call.

#include "support/process/thread_pool.h"

#include <algorithm>
#include <exception>
#include <list>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace ptpkg {
namespace {

class Pool {
 public:
  Pool() = default;
  Pool(Pool&&) = delete;
  Pool& operator=(Pool&&) = delete;
  ~Pool() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  void Run(std::size_t helpers, const std::function<void()>& body) {
    Family own;
    Call call{.body = body, .family = Current() != nullptr ? *Current() : own, .wanted = helpers};
    if (helpers > 0) Offer(call);
    Enter(call);
    std::unique_lock lock(mutex_);
    // Helpers that have not begun by now have nothing left to do.
    offered_.remove(&call);
    call.ended.wait(lock, [&] { return call.running == 0; });
    promised_ -= own.helpers;
    if (call.failure != nullptr) std::rethrow_exception(call.failure);
  }

 private:
  /// A call and those within it.
  struct Family {
    std::size_t helpers = 0;  // of the largest
  };

  struct Call {
    const std::function<void()>& body;
    Family& family;
    std::size_t wanted = 0;  // helpers that may still join
    std::size_t running = 0;
    std::exception_ptr failure = nullptr;
    std::condition_variable ended = {};
  };

  void Offer(Call& call) {
    const std::lock_guard lock(mutex_);
    if (call.wanted > call.family.helpers) {
      promised_ += call.wanted - call.family.helpers;
      call.family.helpers = call.wanted;
    }
    try {
      while (threads_.size() < promised_) threads_.emplace_back([this] { Serve(); });
    } catch (const std::system_error&) {
      // EAGAIN: those that there are do the work.
    }
    offered_.push_back(&call);
    wake_.notify_all();
  }

  void Enter(Call& call) {
    Family* const before = std::exchange(Current(), &call.family);
    try {
      call.body();
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (call.failure == nullptr) call.failure = std::current_exception();
    }
    Current() = before;
  }

  void Serve() {
    std::unique_lock lock(mutex_);
    while (true) {
      wake_.wait(lock, [this] { return stopping_ || !offered_.empty(); });
      if (stopping_) return;
      // The next thread helps the next call.
      Call& call = *offered_.front();
      offered_.pop_front();
      if (--call.wanted > 0) offered_.push_back(&call);
      ++call.running;
      lock.unlock();
      Enter(call);
      lock.lock();
      if (--call.running == 0) call.ended.notify_all();
    }
  }

  /// Family of the call that this thread works for.
  static Family*& Current() {
    // NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): one a thread, seen here alone
    thread_local Family* current = nullptr;
    return current;
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::size_t promised_ = 0;  // helpers of all families
  std::list<Call*> offered_;
  std::vector<std::thread> threads_;
  bool stopping_ = false;
};

Pool& ThePool() {
  static Pool pool;
  return pool;
}

}  // namespace

void RunOnThreads(std::size_t threads, const std::function<void()>& body) {
  ThePool().Run(std::max<std::size_t>(threads, 1) - 1, body);
}

void TaskQueue::Add(Task task) {
  {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  changed_.notify_one();
}

void TaskQueue::Run(std::size_t threads) {
  RunOnThreads(threads, [this] { Serve(); });
}

/// nullopt when nothing is left and nobody is at work who could add something.
std::optional<TaskQueue::Task> TaskQueue::Take() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !tasks_.empty() || running_ == 0; });
  if (tasks_.empty()) return std::nullopt;
  Task task = std::move(tasks_.back());
  tasks_.pop_back();
  ++running_;
  return task;
}

void TaskQueue::Finished() {
  bool is_end = false;
  {
    const std::lock_guard lock(mutex_);
    --running_;
    is_end = running_ == 0 && tasks_.empty();
  }
  if (is_end) changed_.notify_all();
}

void TaskQueue::Serve() {
  while (std::optional<Task> task = Take()) {
    try {
      (*task)();
    } catch (...) {
      {
        const std::lock_guard lock(mutex_);
        tasks_.clear();
      }
      Finished();
      throw;
    }
    Finished();
  }
}

}  // namespace ptpkg
