#include "support/process/parallel.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <gtest/gtest.h>
#include <memory>
#include <mutex>
#include <numeric>
#include <random>
#include <set>
#include <stdexcept>
#include <thread>

#include "support/few_threads.h"
#include "support/matchers.h"
#include "support/process/thread_pool.h"

namespace ptpkg::test {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

Error ErrorOf(std::size_t index) { return {ErrorCode::kIo, "item " + std::to_string(index)}; }

/// Different at every call, so that threads interleave differently.
void Jitter(std::size_t seed) {
  std::minstd_rand random(static_cast<unsigned>(seed * 7919 + 1));
  std::this_thread::sleep_for(std::chrono::microseconds(random() % 300));
}

struct PipelineRun {
  Result<void> result;
  std::vector<int> done;
  int made = 0;
};

/// Numbers 0 … count-1, multiplied by ten; each step can fail at one number.
PipelineRun RunNumbers(int jobs, int count, std::optional<int> next_fails, std::optional<int> work_fails,
                       std::optional<int> done_fails) {
  PipelineRun run;
  run.result = OrderedPipeline<int, std::unique_ptr<int>>(
      jobs, 4,
      [&]() -> Result<std::optional<int>> {
        if (run.made == next_fails) return Error(ErrorCode::kIo, "next");
        if (run.made == count) return std::optional<int>();
        return std::optional<int>(run.made++);
      },
      [&](int number) -> Result<std::unique_ptr<int>> {
        Jitter(static_cast<std::size_t>(number));
        if (number == work_fails) return Error(ErrorCode::kCorrupt, "work");
        return std::make_unique<int>(number * 10);
      },
      [&](std::unique_ptr<int> number) -> Result<void> {
        if (*number / 10 == done_fails) return Error(ErrorCode::kRefused, "done");
        run.done.push_back(*number);
        return Ok();
      });
  return run;
}

std::vector<int> Tens(int count) {
  std::vector<int> tens(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) tens[static_cast<std::size_t>(i)] = i * 10;
  return tens;
}

TEST(ParallelFor, VisitsEachIndexOnce) {
  for (const int jobs : {1, 2, 7}) {
    std::vector<std::atomic<int>> visits(1000);
    ASSERT_OK(ParallelFor(jobs, visits.size(), [&](std::size_t i) {
      ++visits[i];
      return Ok();
    }));
    for (const auto& count : visits) EXPECT_EQ(count, 1);
  }
  EXPECT_OK(ParallelFor(4, 0, [](std::size_t i) -> Result<void> { return ErrorOf(i); }));
}

TEST(ParallelFor, JobsBelowOneMeanOne) {
  const std::thread::id caller = std::this_thread::get_id();
  for (const int jobs : {0, -3, 1}) {
    ASSERT_OK(ParallelFor(jobs, 10, [&](std::size_t) {
      EXPECT_EQ(std::this_thread::get_id(), caller);
      return Ok();
    }));
  }
}

TEST(ParallelFor, RunsAtMostJobsAtOnce) {
  std::atomic<int> running{0};
  std::atomic<int> most{0};
  ASSERT_OK(ParallelFor(3, 60, [&](std::size_t i) {
    const int now = ++running;
    int seen = most;
    while (now > seen && !most.compare_exchange_weak(seen, now)) {
    }
    Jitter(i);
    --running;
    return Ok();
  }));
  EXPECT_LE(most, 3);
}

TEST(ParallelFor, ReturnsTheLowestErrorWhateverTheTiming) {
  for (std::size_t round = 0; round < 50; ++round) {
    std::vector<std::atomic<bool>> visited(200);
    const Result<void> result = ParallelFor(4, visited.size(), [&](std::size_t i) -> Result<void> {
      Jitter(i + round);
      visited[i] = true;
      if (i >= 20 && i % 3 == 0) return ErrorOf(i);  // 21 is the first
      return Ok();
    });
    EXPECT_THAT(result, FailsWith(ErrorCode::kIo, "item 21"));
    EXPECT_THAT(std::vector<bool>(visited.begin(), visited.begin() + 21), Each(true));
    EXPECT_FALSE(visited.back());  // nobody starts the rest
  }
}

TEST(ParallelFor, Nests) {
  std::atomic<int> sum{0};
  ASSERT_OK(ParallelFor(3, 10, [&](std::size_t) {
    return ParallelFor(3, 10, [&](std::size_t) {
      ++sum;
      return Ok();
    });
  }));
  EXPECT_EQ(sum, 100);
}

TEST(ParallelFor, NestedCallsShareTheThreads) {
  std::mutex mutex;
  std::set<std::thread::id> threads;
  ASSERT_OK(ParallelFor(4, 20, [&](std::size_t i) {
    return ParallelFor(4, 20, [&](std::size_t k) {
      Jitter(i * 20 + k);
      const std::lock_guard lock(mutex);
      threads.insert(std::this_thread::get_id());
      return Ok();
    });
  }));
  EXPECT_LE(threads.size(), 8U);  // the largest number that any test of this program asked for
}

/// True if `count` threads are in Meet at once.
class Meeting {
 public:
  explicit Meeting(int count) : count_(count) {}
  bool Meet() {
    std::unique_lock lock(mutex_);
    ++here_;
    all_here_.notify_all();
    return all_here_.wait_for(lock, std::chrono::seconds(20), [&] { return here_ >= count_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable all_here_;
  int count_;
  int here_ = 0;
};

TEST(Threads, CallsSideBySideHaveTheirThreadsEach) {
  // In a process of its own: the pool of this one has grown in other tests.
  ExpectWithThreads(40, [] {
    Meeting meeting(8);
    std::atomic<int> met{0};
    const auto half = [&] {
      static_cast<void>(ParallelFor(4, 4, [&](std::size_t) {
        met += meeting.Meet() ? 1 : 0;
        return Ok();
      }));
    };
    std::thread other(half);
    half();
    other.join();
    return met == 8;
  });
}

TEST(Threads, CallsWithinACallShareTheThreadsOfTheLargest) {
  ExpectWithThreads(40, [] {
    std::mutex mutex;
    std::set<std::thread::id> threads;
    for (int round = 0; round < 3; ++round) {  // what has ended is not counted again
      static_cast<void>(ParallelFor(2, 2, [&](std::size_t) {
        return ParallelFor(4, 20, [&](std::size_t k) {
          Jitter(k);
          const std::lock_guard lock(mutex);
          threads.insert(std::this_thread::get_id());
          return Ok();
        });
      }));
    }
    return threads.size() <= 4;
  });
}

TEST(TaskQueue, TasksMayAddTasks) {
  for (const std::size_t threads : {1U, 4U}) {
    TaskQueue queue;
    std::atomic<int> leaves{0};
    std::function<void(int)> grow = [&](int depth) {
      if (depth == 0) {
        ++leaves;
        return;
      }
      for (int i = 0; i < 3; ++i) queue.Add([&grow, depth] { grow(depth - 1); });
    };
    queue.Add([&grow] { grow(6); });
    queue.Run(threads);
    EXPECT_EQ(leaves, 729);
    queue.Run(threads);  // nothing left
    queue.Add([] { throw std::logic_error("broken"); });
    EXPECT_THROW(queue.Run(threads), std::logic_error);
  }
}

TEST(Threads, WhereTheMachineGivesNoMoreFewerDoTheWork) {
  for (const std::uint64_t threads : {0U, 1U, 12U}) {
    ExpectWithThreads(threads, [] {
      std::atomic<int> sum{0};
      const auto count = [&](std::size_t) {
        ++sum;
        return Ok();
      };
      return ParallelFor(200, 1000, count).has_value() && sum == 1000;
    });
    ExpectWithThreads(threads, [] { return RunNumbers(200, 500, {}, {}, {}).done == Tens(500); });
  }
}

TEST(ParallelFor, BrokenInvariantReachesTheCaller) {
  for (const int jobs : {1, 4}) {
    EXPECT_THROW(static_cast<void>(ParallelFor(jobs, 100,
                                               [](std::size_t i) {
                                                 PTPKG_ASSERT(i != 5);
                                                 return Ok();
                                               })),
                 std::logic_error);
  }
}

TEST(OrderedPipeline, KeepsTheOrder) {
  for (const int jobs : {0, 1, 2, 8}) {
    const PipelineRun run = RunNumbers(jobs, 200, {}, {}, {});
    EXPECT_OK(run.result);
    EXPECT_EQ(run.done, Tens(200));
  }
  const PipelineRun empty = RunNumbers(2, 0, {}, {}, {});
  EXPECT_OK(empty.result);
  EXPECT_TRUE(empty.done.empty());
}

TEST(OrderedPipeline, EachStepCanFailAndEarlierTokensAreConsumed) {
  for (const int jobs : {1, 4}) {
    for (const int at : {0, 1, 50}) {
      const PipelineRun next = RunNumbers(jobs, 200, at, {}, {});
      EXPECT_THAT(next.result, FailsWith(ErrorCode::kIo, "next"));
      EXPECT_EQ(next.done, Tens(at));
      const PipelineRun work = RunNumbers(jobs, 200, {}, at, {});
      EXPECT_THAT(work.result, FailsWith(ErrorCode::kCorrupt, "work"));
      EXPECT_EQ(work.done, Tens(at));
      EXPECT_LT(work.made, 200);  // the input was not read to its end
      const PipelineRun done = RunNumbers(jobs, 200, {}, {}, at);
      EXPECT_THAT(done.result, FailsWith(ErrorCode::kRefused, "done"));
      EXPECT_EQ(done.done, Tens(at));
      EXPECT_LT(done.made, 200);
    }
  }
}

TEST(OrderedPipeline, TheFirstErrorInTokenOrderWins) {
  for (int round = 0; round < 20; ++round) {
    EXPECT_THAT(RunNumbers(4, 200, 33, 32, {}).result, FailsWith(ErrorCode::kCorrupt, "work"));
    EXPECT_THAT(RunNumbers(4, 200, 33, 32, 31).result, FailsWith(ErrorCode::kRefused, "done"));
    EXPECT_THAT(RunNumbers(4, 200, 32, 33, {}).result, FailsWith(ErrorCode::kIo, "next"));
  }
}

TEST(OrderedPipeline, HoldsAtMostTheGivenTokens) {
  std::atomic<int> alive{0};
  std::atomic<int> most{0};
  struct Token {
    std::atomic<int>* alive;
    explicit Token(std::atomic<int>* counter) : alive(counter) { ++*alive; }
    Token(Token&& other) noexcept : alive(std::exchange(other.alive, nullptr)) {}
    Token& operator=(Token&& other) noexcept {
      std::swap(alive, other.alive);
      return *this;
    }
    ~Token() {
      if (alive != nullptr) --*alive;
    }
  };
  int made = 0;
  ASSERT_OK((OrderedPipeline<Token, Token>(
      4, 3,
      [&]() -> Result<std::optional<Token>> {
        if (++made > 100) return std::optional<Token>();
        std::optional<Token> token(std::in_place, &alive);
        most = std::max(most.load(), alive.load());
        return token;
      },
      [](Token token) -> Result<Token> {
        Jitter(3);
        return token;
      },
      [](Token) { return Ok(); })));
  EXPECT_EQ(alive, 0);
  EXPECT_LE(most, 3);
}

}  // namespace
}  // namespace ptpkg::test
