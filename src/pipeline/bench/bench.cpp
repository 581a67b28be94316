// Comparing two commands. Times of programs have long tails, so medians and ranks are compared, not means.
// The test is exact: among all ways to deal the ranks of both samples out to them, it counts those with a
// rank sum at least as far from the middle. A table of counts by size and sum makes that N * n * N² steps
// instead of 2^N. Equal times share the mean of their ranks, doubled to stay whole. Source: Mann and Whitney,
// On a test of whether one of two random variables is stochastically larger (1947).

#include "pipeline/bench/bench.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <fmt/format.h>

#include "pipeline/bench/stabilize.h"
#include "support/process/shared_variables.h"
#include "support/text/text.h"

namespace ptpkg::pipeline {

namespace {

std::size_t DoubledRank(const std::vector<double>& sorted, double value) {
  const auto [first, last] = std::equal_range(sorted.begin(), sorted.end(), value);
  return static_cast<std::size_t>((first - sorted.begin()) + (last - sorted.begin()) + 1);
}

Result<double> TimeOnce(Env& env, const Command& command, const std::vector<std::string>& shown) {
  const auto start = env.clock.Now();
  PTPKG_TRY(const ExitStatus status, env.process.Run(command));
  const std::chrono::duration<double> elapsed = env.clock.Now() - start;
  if (status.ok()) return elapsed.count();
  const std::string how = status.signal != 0 ? fmt::format("was ended by signal {}", status.signal)
                                             : fmt::format("failed with exit code {}", status.code);
  return Error(ErrorCode::kCommandFailed,
               fmt::format("'{}' {}: {}", ShellQuote(shown), how, LastLine(status.output)));
}

Result<void> TimeCommands(Env& env, const BenchRequest& request, BenchOutcome& outcome) {
  Task task(env.reporter, {.stage = "bench", .subject = ShellQuote(request.commands.front())});
  std::vector<Command> commands;
  for (const std::vector<std::string>& argv : request.commands) {
    outcome.times.push_back({.command = argv, .seconds = {}});
    commands.push_back({.argv = {"taskset", "--cpu-list", fmt::format("{}", fmt::join(outcome.cpus, ","))},
                        .env = SharedVariables(env),
                        .cwd = env.cwd,
                        .on_line = [&task](std::string_view line) { task.ChildOutput(line); },
                        .cancel = &env.cancel});
    commands.back().argv.insert(commands.back().argv.end(), argv.begin(), argv.end());
  }
  const std::uint64_t rounds = request.warmup + request.rounds;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < commands.size(); ++i) {
      // A drift of the machine must not always favour the command that runs first.
      const std::size_t which = round % 2 == 0 ? i : commands.size() - 1 - i;
      PTPKG_TRY(const double seconds, TimeOnce(env, commands[which], outcome.times[which].command));
      if (round >= request.warmup) outcome.times[which].seconds.push_back(seconds);
    }
    task.Steps({.done = round + 1, .total = rounds});
  }
  task.Done();
  for (BenchTimes& times : outcome.times) {
    times.median = MedianOf(times.seconds);
    std::vector<double> distances;
    for (const double seconds : times.seconds) distances.push_back(std::abs(seconds - times.median));
    times.deviation = MedianOf(distances);
  }
  if (outcome.times.size() == 2)
    outcome.p_value = RankTest(outcome.times[0].seconds, outcome.times[1].seconds);
  return Ok();
}

}  // namespace

Result<BenchOutcome> Bench(Env& env, const BenchRequest& request) {
  BenchOutcome outcome;
  PTPKG_TRY(outcome.cpus, ChooseCpus(env, request.cpus));
  outcome.machine = ReadMachineSettings(env, outcome.cpus);
  if (request.commands.empty()) return outcome;
  if (!request.stabilize) {
    PTPKG_CHECK(TimeCommands(env, request, outcome));
    return outcome;
  }
  Result<StableMachine> set = StableMachine::Set(env, outcome.cpus, request.gpu_mhz);
  if (!set) {
    const int number = set.error().sys_errno();
    if (number != EACCES && number != EPERM && number != EROFS) return std::move(set).error();
    return std::move(set).error().WithHint("--stabilize needs root, and a /sys that a container may write");
  }
  StableMachine machine = *std::move(set);
  outcome.changed = machine.changed();
  if (outcome.changed.empty()) env.reporter.Warn("--stabilize found nothing to change on this machine");
  const Result<void> timed = TimeCommands(env, request, outcome);
  Result<void> restored = std::move(machine).Restore();
  if (!restored && !timed) restored = std::move(restored).error().WithContext(timed.error().message());
  PTPKG_CHECK(restored);
  PTPKG_CHECK(timed);
  return outcome;
}

double MedianOf(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

double RankTest(std::span<const double> first, std::span<const double> second) {
  std::vector<double> sorted(first.begin(), first.end());
  sorted.insert(sorted.end(), second.begin(), second.end());
  std::sort(sorted.begin(), sorted.end());
  const std::size_t all = sorted.size();
  const std::size_t most = all * (all + 1);  // the sum of all doubled ranks
  // ways[k][s]: choices of k of the ranks so far with the sum s.
  std::vector<std::vector<double>> ways(first.size() + 1, std::vector<double>(most + 1, 0));
  ways[0][0] = 1;
  std::size_t reached = 0;
  for (const double value : sorted) {
    const std::size_t rank = DoubledRank(sorted, value);
    reached += rank;
    for (std::size_t k = first.size(); k > 0; --k) {
      for (std::size_t sum = reached; sum >= rank; --sum) ways[k][sum] += ways[k - 1][sum - rank];
    }
  }
  const auto distance = [&](std::size_t sum) {  // from the middle, first.size() * (all + 1)
    const std::size_t middle = first.size() * (all + 1);
    return sum > middle ? sum - middle : middle - sum;
  };
  std::size_t observed = 0;
  for (const double value : first) observed += DoubledRank(sorted, value);
  double as_far = 0;
  double total = 0;
  for (std::size_t sum = 0; sum <= most; ++sum) {
    total += ways.back()[sum];
    if (distance(sum) >= distance(observed)) as_far += ways.back()[sum];
  }
  return as_far / total;
}

}  // namespace ptpkg::pipeline
