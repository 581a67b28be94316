#include "pipeline/bench/machine_settings.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fmt/format.h>

#include "support/process/machine.h"
#include "support/process/shared_variables.h"
#include "support/text/plural.h"
#include "support/text/text.h"

namespace ptpkg::pipeline {

namespace {

AbsPath CpuPath(std::string_view tail) { return AbsPath::Literal(kCpuRoot) / tail; }

/// -1 for anything that is not a number.
int SysNumber(std::string_view text) {
  int value = -1;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  return status == std::errc() && end == text.data() + text.size() ? value : -1;
}

/// Empty for a text that is not a list.
std::set<int> ParseCpuList(std::string_view text) {
  constexpr int kMostCpus = 8192;  // the kernel's limit of NR_CPUS
  std::set<int> cpus;
  for (const std::string& part : Split(text, ',')) {
    const std::size_t dash = part.find('-');
    const int first = SysNumber(part.substr(0, dash));
    const int last = dash == std::string::npos ? first : SysNumber(part.substr(dash + 1));
    if (first < 0 || last < first || last >= kMostCpus) return {};
    for (int cpu = first; cpu <= last; ++cpu) cpus.insert(cpu);
  }
  return cpus;
}

std::set<int> SysCpus(Fs& fs, std::string_view tail) { return ParseCpuList(ReadSysText(fs, CpuPath(tail))); }

/// One of each core of `allowed`; CPU 0 and its siblings only if there is nothing else.
std::set<int> OneCpuPerCore(Fs& fs, const std::set<int>& allowed) {
  std::set<int> chosen;
  std::set<int> siblings_seen;
  std::set<int> first_core;
  for (const int cpu : allowed) {
    std::set<int> siblings = SysCpus(fs, fmt::format("cpu{}/topology/thread_siblings_list", cpu));
    siblings.insert(cpu);
    // The kernel prefers CPU 0 for interrupts and its own work.
    if (siblings.contains(0)) {
      first_core.insert(cpu);
    } else if (!siblings_seen.contains(cpu)) {
      chosen.insert(cpu);
    }
    siblings_seen.merge(siblings);
  }
  if (chosen.empty() && !first_core.empty()) chosen.insert(*first_core.begin());
  return chosen;
}

std::set<int> AllowedCpus(Fs& fs) {
  constexpr std::string_view kLine = "Cpus_allowed_list:";
  const std::string status = ReadSysText(fs, AbsPath::Literal("/proc/self/status"));
  const std::size_t found = status.find(kLine);
  if (found == std::string::npos) return {};
  const std::string rest = status.substr(found + kLine.size());
  return ParseCpuList(Trim(rest.substr(0, rest.find('\n'))));
}

/// Full paths of the entries of a directory whose names begin with `prefix`; none if it cannot be read.
std::vector<AbsPath> Entries(Fs& fs, const AbsPath& folder, std::string_view prefix) {
  std::vector<AbsPath> paths;
  const Result<std::vector<std::string>> names = fs.ListDir(folder);
  if (!names) return paths;
  for (const std::string& name : *names) {
    if (name.starts_with(prefix)) paths.push_back(folder / name);
  }
  return paths;
}

/// The knobs called `name` as one setting: "performance, powersave".
MachineSetting SettingOf(const std::vector<Knob>& knobs, std::string name, std::string advice) {
  std::set<std::string> shown;
  bool steady = true;
  for (const Knob& knob : knobs) {
    if (knob.name != name) continue;
    shown.insert(knob.shown);
    steady = steady && knob.before == knob.during;
  }
  return {.name = std::move(name),
          .value = fmt::format("{}", fmt::join(shown, ", ")),
          .advice = steady ? "" : std::move(advice)};
}

MachineSetting LimitsSetting(Fs& fs) {
  const MachineLimits limits = ReadMachineLimits(fs);
  std::vector<std::string> parts;
  if (limits.group_cores) parts.push_back(fmt::format("{:.1f} cores", *limits.group_cores));
  if (limits.group_limit_bytes) parts.push_back(HumanBytes(*limits.group_limit_bytes) + " of memory");
  return {.name = "cgroup limits",
          .value = parts.empty() ? "none" : Join(parts, ", "),
          .advice = limits.group_cores ? "the kernel stops a command that has used up its share" : ""};
}

void AddGpuSettings(Env& env, std::vector<MachineSetting>& settings) {
  const Result<std::vector<Gpu>> gpus = ReadGpus(env);
  if (!gpus) {
    if (gpus.error().code() != ErrorCode::kNotFound) settings.push_back({"GPU", "", gpus.error().message()});
    return;
  }
  const Result<std::string> used =
      RunNvidiaSmi(env, {"--query-compute-apps=gpu_uuid,pid", "--format=csv,noheader"}, &env.cancel);
  for (const Gpu& gpu : *gpus) {
    std::size_t others = 0;
    for (const std::string& line : SplitLines(used ? *used : std::string()))
      others += line.starts_with(gpu.uuid);
    settings.push_back({"GPU " + gpu.index, gpu.description,
                        others == 0 ? "" : "used by " + Plural(others, "other program")});
  }
}

}  // namespace

std::string ReadSysText(Fs& fs, const AbsPath& path) {
  constexpr std::uint64_t kMostBytes = 1U << 16U;
  const Result<std::string> text = ReadFile(fs, path, kMostBytes);
  return text ? std::string(Trim(*text)) : std::string();
}

Result<std::set<int>> ChooseCpus(Env& env, const std::optional<std::string>& list) {
  const std::set<int> online = SysCpus(env.fs, "online");
  std::set<int> cpus = list ? ParseCpuList(*list) : SysCpus(env.fs, "isolated");
  if (!list && cpus.empty()) cpus = OneCpuPerCore(env.fs, AllowedCpus(env.fs));
  if (!list && cpus.empty()) {
    return Error(ErrorCode::kIo, "cannot find the usable CPUs in '/proc/self/status'")
        .WithHint("use --cpus 0");
  }
  const bool exist = std::includes(online.begin(), online.end(), cpus.begin(), cpus.end());
  if (list && (cpus.empty() || (!online.empty() && !exist))) {
    return Error(ErrorCode::kUsage, fmt::format("--cpus '{}' does not list CPUs of this machine", *list))
        .WithHint(fmt::format("it has the CPUs {}", ReadSysText(env.fs, CpuPath("online"))));
  }
  return cpus;
}

std::vector<Knob> ReadCpuKnobs(Fs& fs, const std::set<int>& cpus) {
  constexpr int kDeepLatencyUs = 10;
  std::vector<Knob> knobs;
  const auto add = [&](std::string name, const AbsPath& path, std::string during) {
    const std::string before = ReadSysText(fs, path);
    if (!before.empty()) knobs.push_back({std::move(name), path.str(), before, std::move(during), before});
    return !before.empty();
  };
  for (const AbsPath& policy : Entries(fs, CpuPath("cpufreq"), "policy")) {
    // "userspace" is a clock that somebody fixed. It stays, because the kernel forgets its value
    // (scaling_setspeed) when another governor comes.
    if (add("governor", policy / "scaling_governor", "performance") && knobs.back().before == "userspace")
      knobs.back().during = "userspace";
  }
  // Opposite meanings: no_turbo is 1 without turbo, boost is 0.
  if (add("turbo", CpuPath("intel_pstate/no_turbo"), "1") || add("turbo", CpuPath("cpufreq/boost"), "0"))
    knobs.back().shown = knobs.back().before == knobs.back().during ? "off" : "on";
  for (const int cpu : cpus) {
    for (const AbsPath& state : Entries(fs, CpuPath(fmt::format("cpu{}/cpuidle", cpu)), "state")) {
      const int latency_us = SysNumber(ReadSysText(fs, state / "latency"));
      // Shallow states cost less time than a measurement can show.
      if (latency_us <= kDeepLatencyUs || !add("deep C-states", state / "disable", "1")) continue;
      const std::string name = fmt::format("{} ({} us)", ReadSysText(fs, state / "name"), latency_us);
      knobs.back().shown = knobs.back().before == "0" ? name : "off";
    }
  }
  return knobs;
}

std::string LastLine(std::string_view output) {
  const std::vector<std::string> lines = SplitLines(Trim(output));
  return lines.empty() || lines.back().empty() ? "no output" : lines.back();
}

Result<std::string> RunNvidiaSmi(Env& env, const std::vector<std::string>& arguments,
                                 const CancelToken* cancel) {
  Command command{.argv = {"nvidia-smi"}, .env = SharedVariables(env), .timeout = std::chrono::seconds(60)};
  command.argv.insert(command.argv.end(), arguments.begin(), arguments.end());
  command.cancel = cancel;
  PTPKG_TRY(const ExitStatus status, env.process.Run(command));
  if (status.ok()) return status.output;
  const std::string last = status.timed_out ? "no answer in 60 s" : LastLine(status.output);
  Error error(ErrorCode::kIo, fmt::format("'{}' failed: {}", ShellQuote(command.argv), last));
  if (status.timed_out || status.signal != 0) return std::move(error).WithErrno(ETIMEDOUT);
  return error;
}

Result<std::vector<Gpu>> ReadGpus(Env& env) {
  constexpr std::size_t kFields = 9;
  const auto query = [&](std::string_view reasons) {
    return RunNvidiaSmi(env,
                        {fmt::format("--query-gpu=index,uuid,name,clocks.sm,clocks.max.sm,power.limit,"
                                     "ecc.mode.current,persistence_mode,{}.active",
                                     reasons),
                         "--format=csv,noheader"},
                        &env.cancel);
  };
  Result<std::string> text = query("clocks_event_reasons");
  if (!text && text.error().code() == ErrorCode::kIo)
    text = query("clocks_throttle_reasons");  // before driver 535
  if (!text) return std::move(text).error();
  std::vector<Gpu> gpus;
  for (const std::string& line : SplitLines(*text)) {
    const std::vector<std::string> fields = Split(ReplaceAll(line, ", ", ","), ',');
    if (fields.size() != kFields) continue;  // "No devices were found"
    // nvmlClocksEventReasonApplicationsClocksSetting is bit 1 of the mask "0x0000000000000002".
    const bool limited =
        fields[8].starts_with("0x") && fields[8].find_last_of("2367ABEFabef") + 1 == fields[8].size();
    gpus.push_back(
        {.index = fields[0],
         .uuid = fields[1],
         .description = fmt::format("{}, SM clock {} of {}, {}, power limit {}, ECC {}, persistence mode {}",
                                    fields[2], fields[3], fields[4],
                                    limited ? "a clock setting limits it" : "no clock setting limits it now",
                                    fields[5], fields[6], fields[7]),
         .has_persistence = fields[7] == "Enabled",
         .has_clock_limit = limited});
  }
  return gpus;
}

std::vector<MachineSetting> ReadMachineSettings(Env& env, const std::set<int>& cpus) {
  const std::vector<Knob> knobs = ReadCpuKnobs(env.fs, cpus);
  const std::string smt = ReadSysText(env.fs, CpuPath("smt/active"));
  const std::string aslr = ReadSysText(env.fs, AbsPath::Literal("/proc/sys/kernel/randomize_va_space"));
  const std::string load = Split(ReadSysText(env.fs, AbsPath::Literal("/proc/loadavg")), ' ').front();
  const bool busy = !load.empty() && (!load.starts_with("0.") || load > "0.49");  // "0.50": two digits
  const std::set<int> isolated = SysCpus(env.fs, "isolated");
  const auto used = std::count_if(cpus.begin(), cpus.end(), [&](int cpu) { return isolated.contains(cpu); });
  std::vector<MachineSetting> settings = {
      SettingOf(knobs, "governor", "the clock follows the load"),
      SettingOf(knobs, "turbo", "the clock depends on temperature and on the other cores"),
      SettingOf(knobs, "deep C-states", "a CPU that was idle starts late"),
      {"hyper-threading",
       smt == "1"    ? "on"
       : smt.empty() ? ""
                     : "off",
       smt == "1" ? "two CPUs share a core" : ""},
      {"isolated CPUs", ReadSysText(env.fs, CpuPath("isolated")),
       used > 1 ? "the kernel leaves all threads of a command on one of them" : ""},
      {"load", load, busy ? "other programs run" : ""},
      LimitsSetting(env.fs),
      {"ASLR",
       aslr == "0"    ? "off"
       : aslr.empty() ? ""
                      : "on",
       aslr == "0" ? "all rounds have one memory layout, which may favour one command" : ""}};
  AddGpuSettings(env, settings);
  return settings;
}

}  // namespace ptpkg::pipeline
