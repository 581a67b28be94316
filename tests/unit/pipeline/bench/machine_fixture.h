#pragma once
// A machine of four CPUs on two cores, with all settings that `ptpkg bench` reads, in memory.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>

#include "support/fake_process.h"
#include "support/mem_fs.h"
#include "support/test_env.h"

namespace ptpkg::pipeline {

constexpr const char* kGovernor0 = "/sys/devices/system/cpu/cpufreq/policy0/scaling_governor";
constexpr const char* kGovernor1 = "/sys/devices/system/cpu/cpufreq/policy1/scaling_governor";
constexpr const char* kNoTurbo = "/sys/devices/system/cpu/intel_pstate/no_turbo";
constexpr const char* kDeepState = "/sys/devices/system/cpu/cpu1/cpuidle/state2/disable";
constexpr const char* kBootId = "/proc/sys/kernel/random/boot_id";
constexpr const char* kRecord = "/var/lib/ptpkg/bench.json";

inline void AddMachine(test::MemFs& fs) {
  const std::string root = "/sys/devices/system/cpu/";
  fs.AddFile(root + "online", "0-3\n");
  fs.AddFile(root + "isolated", "\n");
  fs.AddFile(root + "smt/active", "1\n");
  for (int cpu = 0; cpu < 4; ++cpu) {
    const std::string folder = root + "cpu" + std::to_string(cpu) + "/";
    fs.AddFile(folder + "topology/thread_siblings_list", cpu % 2 == 0 ? "0,2\n" : "1,3\n");
    for (const auto& [state, name, latency] :
         {std::tuple("state0", "POLL", "0"), std::tuple("state1", "C1", "2"),
          std::tuple("state2", "C6", "133")}) {
      fs.AddFile(folder + "cpuidle/" + state + "/name", std::string(name) + "\n");
      fs.AddFile(folder + "cpuidle/" + state + "/latency", std::string(latency) + "\n");
      fs.AddFile(folder + "cpuidle/" + state + "/disable", "0\n");
    }
  }
  fs.AddFile(kGovernor0, "powersave\n");
  fs.AddFile(kGovernor1, "performance\n");
  fs.AddFile(kNoTurbo, "0\n");
  fs.AddFile("/proc/self/status",
             "Name:\tptpkg\nCpus_allowed:\tf\nCpus_allowed_list:\t0-3\nMems_allowed:\t1\n");
  fs.AddFile("/proc/loadavg", "0.12 1.50 2.00 1/114 4711\n");
  fs.AddFile("/proc/sys/kernel/randomize_va_space", "2\n");
  fs.AddFile(kBootId, "11111111-2222-3333-4444-555555555555\n");
}

class MachineTest : public ::testing::Test {
 protected:
  MachineTest() : env_({.fs = &fs_, .process = &process_}) { AddMachine(fs_); }

  /// Governor, governor, turbo, deep state.
  [[nodiscard]] std::vector<std::string> Values() {
    return {fs_.Content(kGovernor0), fs_.Content(kGovernor1), fs_.Content(kNoTurbo), fs_.Content(kDeepState)};
  }
  /// nvidia-smi knows one GPU, and accepts each command.
  void AddGpu(const std::string& persistence, const std::string& reasons) {
    process_.On("nvidia-smi", [persistence, reasons](const Command& command) {
      ExitStatus status;
      if (command.argv.at(1).starts_with("--query-gpu"))
        status.output =
            "0, GPU-1, NVIDIA H100, 345 MHz, 1980 MHz, 700.00 W, Enabled, " + persistence + ", " + reasons;
      if (command.argv.at(1).starts_with("--query-compute")) status.output = "GPU-1, 4711\nGPU-2, 1\n";
      return status;
    });
  }
  /// Arguments of nvidia-smi that changed something.
  [[nodiscard]] std::vector<std::string> GpuChanges() const {
    std::vector<std::string> lines;
    for (const Command& command : process_.commands()) {
      if (command.argv.at(1) == "-i") lines.push_back(ShellQuote(command.argv));
    }
    return lines;
  }

  test::MemFs fs_;
  test::FakeProcess process_;
  test::TestEnv env_;
};

inline const std::vector<std::string> kBefore = {"powersave\n", "performance\n", "0\n", "0\n"};
inline const std::vector<std::string> kDuring = {"performance\n", "performance\n", "1\n", "1\n"};

}  // namespace ptpkg::pipeline
