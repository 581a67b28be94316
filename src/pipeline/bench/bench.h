#pragma once
// Times one command, or compares two. Layer: pipeline.

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "pipeline/bench/machine_settings.h"

namespace ptpkg::pipeline {

struct BenchRequest {
  std::vector<std::vector<std::string>>
      commands;                          ///< None: only the machine's settings are read. At most two.
  std::optional<std::string> cpus = {};  ///< See ChooseCpus.
  std::uint64_t warmup = 1;              ///< Rounds that don't count.
  std::uint64_t rounds = 10;             ///< 4 to 100.
  bool stabilize = false;
  std::optional<std::uint64_t> gpu_mhz = {};  ///< Used only with `stabilize`.
};

struct BenchTimes {
  std::vector<std::string> command;
  std::vector<double> seconds;  ///< One for each round, in their order.
  double median = 0;
  double deviation = 0;  ///< The median distance from the median (MAD).
};

struct BenchOutcome {
  std::set<int> cpus;
  std::vector<MachineSetting> machine;  ///< Before anything was set.
  std::vector<Knob> changed;            ///< Set for the run; they are back.
  std::vector<BenchTimes> times;
  std::optional<double> p_value;  ///< Only with two commands.
};

/// Runs the commands in turns on the chosen CPUs (taskset), in the caller's directory and environment; the
/// order within a round alternates. Errors: kCommandFailed (a command ended with anything but 0), and as for
/// ChooseCpus, StableMachine and Process::Run. The machine's settings are back also then.
Result<BenchOutcome> Bench(Env& env, const BenchRequest& request);

/// REQUIRES: not empty.
double MedianOf(std::vector<double> values);

/// Probability that two samples of one distribution differ at least this much: the exact two-sided
/// Mann-Whitney test. REQUIRES: 1 to 100 values each.
double RankTest(std::span<const double> first, std::span<const double> second);

}  // namespace ptpkg::pipeline
