// ParallelFor and the core of OrderedPipeline, on oneTBB. Layer: support.

#include "support/parallel.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <tbb/global_control.h>
#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_pipeline.h>
#include <tbb/task_arena.h>

namespace ptpkg {
namespace {

/// Lets an arena have more threads than the machine has cores, for --jobs says so; oneTBB's own limit
/// is the core count. Of several such objects the smallest limit counts, none goes below the cores.
class ThreadLimit {
 public:
  explicit ThreadLimit(int jobs) {
    if (jobs > tbb::info::default_concurrency()) {
      control_.emplace(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(jobs));
    }
  }

 private:
  std::optional<tbb::global_control> control_;
};

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
    // A broken invariant: oneTBB carries it to the caller; the other threads need not go on.
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
  // An arena per call: a thread that waits here takes no foreign task on its stack, so callers may
  // hold locks and calls may nest.
  const ThreadLimit limit(static_cast<int>(threads));
  tbb::task_arena arena(static_cast<int>(threads));
  arena.execute([&] {
    tbb::parallel_for(
        std::size_t{0}, threads, [&](std::size_t) { Drain(queue, work); }, tbb::simple_partitioner());
  });
  return std::move(queue).Outcome();
}

namespace detail {

Result<void> RunOrderedPipeline(int jobs, std::size_t tokens, const PipelineSteps& steps) {
  using TokenPtr = std::unique_ptr<PipelineToken>;
  std::atomic<bool> stopped{false};
  bool input_failed = false;         // touched by the serial first step only
  std::optional<Error> first_error;  // touched by the serial last step only

  const auto next = [&](tbb::flow_control& control) -> TokenPtr {
    TokenPtr token;
    if (!stopped.load(std::memory_order_relaxed) && !input_failed) token = steps.next();
    if (token == nullptr) {
      control.stop();
    } else {
      input_failed = token->error.has_value();
    }
    return token;
  };
  const auto work = [&](TokenPtr token) -> TokenPtr {
    // Only tokens after the failed one can see `stopped`, as the last step runs in order.
    if (!token->error && !stopped.load(std::memory_order_relaxed)) steps.work(*token);
    return token;
  };
  const auto done = [&](const TokenPtr& token) {
    if (first_error) return;
    if (token->error) {
      first_error = std::move(token->error);
    } else if (Result<void> result = steps.done(*token); !result) {
      first_error = std::move(result).error();
    }
    if (first_error) stopped.store(true, std::memory_order_relaxed);
  };

  const ThreadLimit limit(jobs);
  tbb::task_arena arena(std::max(jobs, 1));
  arena.execute([&] {
    tbb::parallel_pipeline(std::max<std::size_t>(tokens, 1),
                           tbb::make_filter<void, TokenPtr>(tbb::filter_mode::serial_in_order, next) &
                               tbb::make_filter<TokenPtr, TokenPtr>(tbb::filter_mode::parallel, work) &
                               tbb::make_filter<TokenPtr, void>(tbb::filter_mode::serial_in_order, done));
  });
  if (first_error) return *std::move(first_error);
  return Ok();
}

}  // namespace detail
}  // namespace ptpkg
