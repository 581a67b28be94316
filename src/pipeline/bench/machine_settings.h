#pragma once
// Reads the machine settings that change benchmark times. Layer: pipeline. Sources: the kernel's cpufreq,
// cpuidle and sysfs-devices-system-cpu documents, nvidia-smi(1). All paths go through Env::fs and nvidia-smi
// through Env::process, so tests replace the machine.

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "support/env.h"

namespace ptpkg::pipeline {

struct MachineSetting {
  std::string name;    ///< "load"
  std::string value;   ///< "" if the machine has no such setting, or hides it.
  std::string advice;  ///< Reason why the value makes times vary; "" if it does not.
};

inline constexpr std::string_view kCpuRoot = "/sys/devices/system/cpu";

/// A setting that `ptpkg bench --stabilize` changes.
struct Knob {
  std::string name;        ///< "governor"
  std::string place;       ///< A file below kCpuRoot, or "nvidia-smi -i UUID".
  std::string before;      ///< The value now; for nvidia-smi, the arguments that restore it.
  std::string during;      ///< The value for a benchmark, in the same form.
  std::string shown = {};  ///< `before` for people.
};

struct Gpu {
  std::string index;
  std::string uuid;
  std::string description;       ///< Name, clocks, power limit, ECC, persistence mode.
  bool has_persistence = false;  ///< Settings survive the last program that uses the GPU.
  bool has_clock_limit = false;  ///< A clock setting of a user limits it.
};

/// Text of a file of /proc or /sys without white space at its ends; "" if it cannot be read.
std::string ReadSysText(Fs& fs, const AbsPath& path);

/// The CPUs in `list` ("0-3,8", as taskset takes it). Without a list: the kernel's isolated CPUs; if there
/// are none, one CPU of each core that this process may use, without the core of CPU 0, which handles most
/// interrupts. Errors: kUsage (not a list, or a CPU that is not online), kIo.
Result<std::set<int>> ChooseCpus(Env& env, const std::optional<std::string>& list);

/// Governors, the turbo switch, and those idle states of `cpus` that take more than 10 µs to leave. Never
/// fails; settings that the machine lacks are left out.
std::vector<Knob> ReadCpuKnobs(Fs& fs, const std::set<int>& cpus);

/// Last line of a program's output for a message; "no output" if there is none.
std::string LastLine(std::string_view output);

/// Output of nvidia-smi with `arguments`. Errors: kNotFound (no such program), kIo with its last line (and
/// ETIMEDOUT if it was ended, so that its work may be done or not), kCancelled.
Result<std::string> RunNvidiaSmi(Env& env, const std::vector<std::string>& arguments,
                                 const CancelToken* cancel);

/// Errors: as for RunNvidiaSmi.
Result<std::vector<Gpu>> ReadGpus(Env& env);

/// Never fails. `cpus`: those that the benchmark uses.
std::vector<MachineSetting> ReadMachineSettings(Env& env, const std::set<int>& cpus);

}  // namespace ptpkg::pipeline
