// ParallelFor and the core of OrderedPipeline. Layer: support.

#include "support/process/parallel.h"

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>

#include "support/process/thread_pool.h"

namespace ptpkg {
namespace {

/// Hands out indexes in order, so that whatever lies below a failed index has been handed out too:
/// that makes the lowest failing index the same on every run.
class IndexQueue {
 public:
  explicit IndexQueue(std::size_t count) : end_(count) {}

  std::optional<std::size_t> Next() {
    const std::lock_guard lock(mutex_);
    if (next_ >= end_) return std::nullopt;
    return next_++;
  }

  void Fail(std::size_t index, Error error) {
    const std::lock_guard lock(mutex_);
    end_ = 0;
    if (error_ && failed_index_ < index) return;
    failed_index_ = index;
    error_ = std::move(error);
  }

  void Stop() {
    const std::lock_guard lock(mutex_);
    end_ = 0;
  }

  Result<void> Outcome() && {
    if (error_) return *std::move(error_);
    return Ok();
  }

 private:
  std::mutex mutex_;
  std::size_t next_ = 0;
  std::size_t end_;
  std::size_t failed_index_ = 0;
  std::optional<Error> error_;
};

void Drain(IndexQueue& queue, const std::function<Result<void>(std::size_t)>& work) {
  try {
    while (const std::optional<std::size_t> index = queue.Next()) {
      Result<void> result = work(*index);
      if (!result) queue.Fail(*index, std::move(result).error());
    }
  } catch (...) {
    // A broken invariant: the pool carries it to the caller; the other threads need not go on.
    queue.Stop();
    throw;
  }
}

}  // namespace

Result<void> ParallelFor(int jobs, std::size_t count, const std::function<Result<void>(std::size_t)>& work) {
  IndexQueue queue(count);
  const std::size_t threads = std::min(count, static_cast<std::size_t>(std::max(jobs, 1)));
  if (threads <= 1) {
    Drain(queue, work);
    return std::move(queue).Outcome();
  }
  RunOnThreads(threads, [&] { Drain(queue, work); });
  return std::move(queue).Outcome();
}

namespace detail {

namespace {

/// Each thread takes the next step that is free: hand on the oldest token if it is ready, else make a token
/// and work on it. Handing on comes first, because it frees a token. At most one thread is in `next` and one
/// in `done`, and no step holds the lock.
class Pipeline {
 public:
  Pipeline(std::size_t tokens, const PipelineSteps& steps) : tokens_(tokens), steps_(steps) {}

  void Serve() {
    try {
      std::unique_lock lock(mutex_);
      while (!IsEnd()) {
        if (CanHandOn()) {
          HandOn(lock);
        } else if (CanMake()) {
          Make(lock);
        } else {
          changed_.wait(lock);
        }
      }
    } catch (...) {
      const std::lock_guard lock(mutex_);
      broken_ = true;
      changed_.notify_all();
      throw;
    }
    changed_.notify_all();
  }

  Result<void> Outcome() && {
    if (error_) return *std::move(error_);
    return Ok();
  }

 private:
  using TokenPtr = std::unique_ptr<PipelineToken>;

  // All with the lock held.
  [[nodiscard]] bool IsEnd() const { return broken_ || (input_ended_ && alive_ == 0); }
  [[nodiscard]] bool CanHandOn() const {
    return !handing_on_ && !ready_.empty() && ready_.begin()->first == handed_on_;
  }
  [[nodiscard]] bool CanMake() const { return !making_ && !input_ended_ && alive_ < tokens_; }

  void HandOn(std::unique_lock<std::mutex>& lock) {
    handing_on_ = true;
    TokenPtr token = std::move(ready_.begin()->second);
    ready_.erase(ready_.begin());
    // After an error, later tokens are only counted off: `done` must not see them.
    if (!error_ && token->error) error_ = std::move(token->error);
    if (!error_) {
      lock.unlock();
      Result<void> result = steps_.done(*token);
      token.reset();  // before the next one is made
      lock.lock();
      if (!result) error_ = std::move(result).error();
    }
    input_ended_ = input_ended_ || error_.has_value();
    ++handed_on_;
    --alive_;
    handing_on_ = false;
    changed_.notify_all();
  }

  void Make(std::unique_lock<std::mutex>& lock) {
    making_ = true;
    ++alive_;
    lock.unlock();
    TokenPtr token = steps_.next();
    lock.lock();
    making_ = false;
    if (token == nullptr || token->error) input_ended_ = true;
    if (token == nullptr) {
      --alive_;
      changed_.notify_all();
      return;
    }
    const std::size_t number = made_++;
    changed_.notify_all();
    // Only tokens after a failed one can see the error, as tokens are handed on in order.
    if (!token->error && !error_) {
      lock.unlock();
      steps_.work(*token);
      lock.lock();
    }
    ready_.emplace(number, std::move(token));
    changed_.notify_all();
  }

  const std::size_t tokens_;
  const PipelineSteps& steps_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::size_t, TokenPtr> ready_;  // worked on, by number
  std::size_t made_ = 0;
  std::size_t handed_on_ = 0;
  std::size_t alive_ = 0;
  bool making_ = false;
  bool handing_on_ = false;
  bool input_ended_ = false;
  bool broken_ = false;
  std::optional<Error> error_;
};

}  // namespace

Result<void> RunOrderedPipeline(int jobs, std::size_t tokens, const PipelineSteps& steps) {
  Pipeline pipeline(std::max<std::size_t>(tokens, 1), steps);
  const std::size_t threads =
      // More threads than tokens would only wait.
      std::min(std::max<std::size_t>(tokens, 1), static_cast<std::size_t>(std::max(jobs, 1)));
  RunOnThreads(threads, [&] { pipeline.Serve(); });
  return std::move(pipeline).Outcome();
}

}  // namespace detail
}  // namespace ptpkg
