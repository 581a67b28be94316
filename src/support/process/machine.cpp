// Memory and cores that this process can use. In a container /proc/meminfo shows the host, so the control
// groups count too, of version 1 and 2.
// Limits nest: each level from the own group up to the mount can be the narrowest, and all are read. In a
// container the levels above its root are not visible, and then the mount itself is the only one.
// Page cache that is inactive counts as free, because the kernel drops it before it kills a process.
// A file that can't be read sets no limit, and is not an error.

#include "support/process/machine.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <sched.h>
#include <vector>

#include "support/files/mounts.h"
#include "support/text/text.h"

namespace ptpkg {

namespace {

/// Text of a small file of /proc or /sys; "" when it cannot be read.
std::string TextOf(Fs& fs, const AbsPath& path) {
  constexpr std::uint64_t kMost = 4U << 20U;
  const Result<std::string> text = ReadFile(fs, path, kMost);
  return text ? *text : std::string();
}

std::optional<std::uint64_t> NumberOf(std::string_view text) {
  text = Trim(text);
  std::uint64_t value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// The number behind `name` in lines "name number" or "name: number kB".
std::optional<std::uint64_t> Field(const std::string& text, std::string_view name) {
  for (const std::string& line : SplitLines(text)) {
    if (!line.starts_with(name)) continue;
    std::string_view rest = std::string_view(line).substr(name.size());
    if (rest.empty() || (rest.front() != ' ' && rest.front() != ':')) continue;
    rest = Trim(rest.substr(1));
    const bool kilo = rest.ends_with(" kB");
    if (kilo) rest.remove_suffix(3);
    const auto number = NumberOf(rest);
    if (number) return kilo ? *number * 1024 : *number;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> FileNumber(Fs& fs, const AbsPath& path) { return NumberOf(TextOf(fs, path)); }

bool Lists(std::string_view list, std::string_view word) {
  const std::vector<std::string> words = Split(list, ',');
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// Directories of the own control group and of all above it, for "memory" or "cpu".
struct Groups {
  std::vector<AbsPath> v1 = {};
  std::vector<AbsPath> v2 = {};
};

/// `root`: what of the tree of groups is mounted at `mount`. A group above the root of its name space
/// ("/../x") is not to be seen: then the mount itself is all that is known.
std::vector<AbsPath> LevelsOf(const std::string& mount, const std::string& root, std::string group) {
  // A whole path: "/ci/12" is not below "/ci/1", and "/a..b" is a name.
  const auto is_below = [&](const std::string& parent) { return (group + "/").starts_with(parent + "/"); };
  if (is_below("/..") || (root != "/" && !is_below(root))) group = "/";
  if (root != "/" && is_below(root)) group.erase(0, root.size());
  auto top = AbsPath::Parse(mount);
  auto folder = AbsPath::Parse(group == "/" || group.empty() ? mount : mount + group);
  std::vector<AbsPath> levels;
  if (!top || !folder) return levels;
  for (AbsPath level = *folder; level.str().size() > top->str().size(); level = level.Parent())
    levels.push_back(level);
  levels.push_back(*top);
  return levels;
}

/// The own group in the tree of `controller`, "" for version 2; "" if /proc does not say.
std::string GroupOf(const std::string& groups, std::string_view controller) {
  for (const std::string& line : SplitLines(groups)) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string_view controllers = std::string_view(line).substr(first + 1, second - first - 1);
    const bool mine = controller.empty() ? controllers.empty() : Lists(controllers, controller);
    if (mine) return line.substr(second + 1);
  }
  return "";
}

Groups GroupsOf(Fs& fs, std::string_view controller) {
  const std::string groups = TextOf(fs, AbsPath::Literal("/proc/self/cgroup"));
  Groups found;
  for (const Mount& mount : ReadMounts(fs)) {
    if (mount.type == "cgroup2") found.v2 = LevelsOf(mount.point, mount.root, GroupOf(groups, ""));
    if (mount.type == "cgroup" && Lists(mount.options, controller))
      found.v1 = LevelsOf(mount.point, mount.root, GroupOf(groups, controller));
  }
  return found;
}

void TakeLess(std::optional<std::uint64_t>& least, std::uint64_t value) {
  least = least ? std::min(*least, value) : value;
}

void ReadGroupMemory(Fs& fs, MachineLimits& limits) {
  struct Names {
    std::vector<std::string_view> limits;
    std::string_view used;
    std::string_view inactive;
  };
  constexpr std::uint64_t kNone = 1ULL << 60U;  // version 1 says "no limit" as 2^63 less a page
  const auto read = [&](const AbsPath& level, const Names& names) {
    std::optional<std::uint64_t> limit;
    // memory.high kills nothing, but it slows a group above it almost to a halt.
    for (const std::string_view name : names.limits) {
      const auto value = FileNumber(fs, level / name);
      if (value && *value < kNone) TakeLess(limit, *value);
    }
    if (!limit) return;
    const std::uint64_t used = FileNumber(fs, level / names.used).value_or(0);
    const std::uint64_t idle = Field(TextOf(fs, level / "memory.stat"), names.inactive).value_or(0);
    const std::uint64_t taken = used - std::min(used, idle);
    TakeLess(limits.group_limit_bytes, *limit);
    TakeLess(limits.group_free_bytes, *limit - std::min(*limit, taken));
  };
  const Groups groups = GroupsOf(fs, "memory");
  for (const AbsPath& level : groups.v2)
    read(level, {{"memory.max", "memory.high"}, "memory.current", "inactive_file"});
  for (const AbsPath& level : groups.v1)
    read(level, {{"memory.limit_in_bytes"}, "memory.usage_in_bytes", "total_inactive_file"});
}

void ReadGroupCores(Fs& fs, MachineLimits& limits) {
  const auto take = [&](std::optional<std::uint64_t> quota, std::optional<std::uint64_t> period) {
    if (!quota || !period || *period == 0) return;
    const double cores = static_cast<double>(*quota) / static_cast<double>(*period);
    limits.group_cores = std::min(limits.group_cores.value_or(cores), cores);
  };
  const Groups groups = GroupsOf(fs, "cpu");
  for (const AbsPath& level : groups.v2) {
    const std::vector<std::string> words = Split(Trim(TextOf(fs, level / "cpu.max")), ' ');
    if (words.size() == 2) take(NumberOf(words[0]), NumberOf(words[1]));  // "max 100000": no number
  }
  for (const AbsPath& level : groups.v1) {
    // -1, no limit, is not a number either.
    take(FileNumber(fs, level / "cpu.cfs_quota_us"), FileNumber(fs, level / "cpu.cfs_period_us"));
  }
}

int CoresOfAffinity() {
  cpu_set_t cores;
  if (::sched_getaffinity(0, sizeof(cores), &cores) != 0) return 1;
  return std::max(1, CPU_COUNT(&cores));
}

}  // namespace

MachineLimits ReadMachineLimits(Fs& fs) {
  MachineLimits limits;
  limits.cores = CoresOfAffinity();
  limits.free_bytes = Field(TextOf(fs, AbsPath::Literal("/proc/meminfo")), "MemAvailable");
  ReadGroupMemory(fs, limits);
  ReadGroupCores(fs, limits);
  return limits;
}

OomKills ReadOomKills(Fs& fs) {
  OomKills kills;
  kills.of_machine = Field(TextOf(fs, AbsPath::Literal("/proc/vmstat")), "oom_kill");
  const Groups groups = GroupsOf(fs, "memory");
  const auto take = [&](const std::vector<AbsPath>& levels, std::string_view file) {
    // The own group's; in a container only one above it may be to be seen.
    for (const AbsPath& level : levels) {
      if (!kills.of_group) kills.of_group = Field(TextOf(fs, level / file), "oom_kill");
    }
  };
  take(groups.v2, "memory.events");
  take(groups.v1, "memory.oom_control");
  return kills;
}

int ReadUsableCores(Fs& fs) {
  MachineLimits limits{.cores = CoresOfAffinity()};
  ReadGroupCores(fs, limits);
  return CoresOf(limits);
}

int CoresOf(const MachineLimits& limits) {
  if (!limits.group_cores) return std::max(1, limits.cores);
  // Rounded up: with a quota of 1.5 cores, one thread would leave a third of it unused.
  const double allowed = std::ceil(*limits.group_cores);
  return std::max(1, allowed < limits.cores ? static_cast<int>(allowed) : limits.cores);
}

}  // namespace ptpkg
