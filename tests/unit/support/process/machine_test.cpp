#include "support/process/machine.h"

#include <gtest/gtest.h>

#include "support/mem_fs.h"

namespace ptpkg {
namespace {

using test::MemFs;

constexpr const char* kMounts2 = "31 23 0:28 / /sys/fs/cgroup rw,relatime shared:4 - cgroup2 cgroup2 rw\n";

TEST(MachineLimits, WhatIsNotThereIsNotKnown) {
  MemFs fs;
  const MachineLimits limits = ReadMachineLimits(fs);
  EXPECT_GE(limits.cores, 1);
  EXPECT_EQ(limits.free_bytes, std::nullopt);
  EXPECT_EQ(limits.group_cores, std::nullopt);
  EXPECT_EQ(limits.group_free_bytes, std::nullopt);
  EXPECT_EQ(ReadOomKills(fs).of_machine, std::nullopt);
  EXPECT_EQ(ReadOomKills(fs).of_group, std::nullopt);
}

TEST(MachineLimits, MemAvailableAndTheKernelsCounter) {
  MemFs fs;
  fs.AddFile("/proc/meminfo", "MemTotal:       24684084 kB\nMemAvailable:   1000 kB\n");
  fs.AddFile("/proc/vmstat", "oom_kill_x 9\noom_kill 7\n");
  EXPECT_EQ(ReadMachineLimits(fs).free_bytes, 1'024'000U);
  EXPECT_EQ(ReadOomKills(fs).of_machine, 7U);
}

TEST(MachineLimits, Version2CountsTheParentsToo) {
  MemFs fs;
  fs.AddFile("/proc/self/mountinfo", kMounts2);
  fs.AddFile("/proc/self/cgroup", "0::/ci/job\n");
  fs.AddFile("/sys/fs/cgroup/ci/job/memory.max", "max\n");
  fs.AddFile("/sys/fs/cgroup/ci/job/memory.high", "9000\n");
  fs.AddFile("/sys/fs/cgroup/ci/job/memory.current", "1000\n");
  fs.AddFile("/sys/fs/cgroup/ci/memory.max", "8000\n");
  fs.AddFile("/sys/fs/cgroup/ci/memory.current", "5000\n");
  fs.AddFile("/sys/fs/cgroup/ci/memory.stat", "anon 1\ninactive_file 2000\nactive_file 3\n");
  fs.AddFile("/sys/fs/cgroup/ci/cpu.max", "150000 100000\n");
  fs.AddFile("/sys/fs/cgroup/ci/job/cpu.max", "max 100000\n");
  fs.AddFile("/sys/fs/cgroup/ci/job/memory.events", "oom 2\noom_kill 1\n");
  const MachineLimits limits = ReadMachineLimits(fs);
  EXPECT_EQ(limits.group_limit_bytes, 8000U);
  EXPECT_EQ(limits.group_free_bytes, 5000U) << "8000 less 5000, of which 2000 could be dropped";
  EXPECT_EQ(limits.group_cores, 1.5);
  EXPECT_EQ(ReadOomKills(fs).of_group, 1U);
}

TEST(MachineLimits, Version1) {
  MemFs fs;
  fs.AddFile("/proc/self/mountinfo",
             "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
             "35 31 0:32 /docker/1f /sys/fs/cgroup/my\\040memory rw - cgroup cgroup rw,memory\n");
  fs.AddFile("/proc/self/cgroup", "4:memory:/docker/1f/build\n1:cpu,cpuacct:/\n0::/\n");
  fs.AddFile("/sys/fs/cgroup/my memory/build/memory.limit_in_bytes", "9223372036854771712\n");
  fs.AddFile("/sys/fs/cgroup/my memory/memory.limit_in_bytes", "6000\n");
  fs.AddFile("/sys/fs/cgroup/my memory/memory.usage_in_bytes", "7000\n");
  fs.AddFile("/sys/fs/cgroup/my memory/memory.stat", "inactive_file 6000\ntotal_inactive_file 3000\n");
  fs.AddFile("/sys/fs/cgroup/my memory/build/memory.oom_control",
             "oom_kill_disable 0\nunder_oom 0\noom_kill 4\n");
  fs.AddFile("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
  fs.AddFile("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  const MachineLimits limits = ReadMachineLimits(fs);
  EXPECT_EQ(limits.group_limit_bytes, 6000U);
  EXPECT_EQ(limits.group_free_bytes, 2000U);
  EXPECT_EQ(limits.group_cores, std::nullopt) << "-1 is no limit";
  EXPECT_EQ(ReadOomKills(fs).of_group, 4U);
}

TEST(MachineLimits, AGroupAboveWhatIsMountedLeavesTheMount) {
  MemFs fs;
  fs.AddFile("/proc/self/mountinfo", kMounts2);
  fs.AddFile("/proc/self/cgroup", "0::/../../other\n");
  fs.AddFile("/sys/fs/cgroup/memory.max", "42\n");
  EXPECT_EQ(ReadMachineLimits(fs).group_limit_bytes, 42U);
}

TEST(MachineLimits, AGroupWhoseNameBeginsLikeTheMountedOneIsNotBelowIt) {
  MemFs fs;
  fs.AddFile("/proc/self/mountinfo", "31 23 0:28 /ci/1 /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  fs.AddFile("/sys/fs/cgroup/memory.max", "42\n");
  fs.AddFile("/sys/fs/cgroup2/memory.max", "7\n");
  fs.AddFile("/sys/fs/cgroup/job/memory.max", "40\n");
  const std::pair<const char*, std::uint64_t> limits[] = {{"/ci/12", 42}, {"/ci/1", 42}, {"/ci/1/job", 40}};
  for (const auto& [group, limit] : limits) {
    fs.AddFile("/proc/self/cgroup", std::string("0::") + group + "\n");
    EXPECT_EQ(ReadMachineLimits(fs).group_limit_bytes, limit) << group;
  }
}

TEST(MachineLimits, TwoPointsInAName) {
  MemFs fs;
  fs.AddFile("/proc/self/mountinfo", kMounts2);
  fs.AddFile("/proc/self/cgroup", "0::/a..b\n");
  fs.AddFile("/sys/fs/cgroup/a..b/memory.max", "42\n");
  EXPECT_EQ(ReadMachineLimits(fs).group_limit_bytes, 42U);
}

TEST(MachineLimits, NonsenseIsNotKnown) {
  MemFs fs;
  fs.AddFile("/proc/self/mountinfo", std::string("\n - \nx - cgroup2\n") + kMounts2);
  fs.AddFile("/proc/self/cgroup", "\n:\n0::/\n");
  fs.AddFile("/sys/fs/cgroup/memory.max", "-5\n");
  fs.AddFile("/sys/fs/cgroup/cpu.max", "5 0\n");
  fs.AddFile("/proc/meminfo", "MemAvailable: many kB\n");
  const MachineLimits limits = ReadMachineLimits(fs);
  EXPECT_EQ(limits.group_limit_bytes, std::nullopt);
  EXPECT_EQ(limits.group_cores, std::nullopt);
  EXPECT_EQ(limits.free_bytes, std::nullopt);
}

TEST(CoresOf, IsWhatTheGroupsAllowRoundedUp) {
  EXPECT_EQ(CoresOf({.cores = 8}), 8);
  EXPECT_EQ(CoresOf({.cores = 8, .group_cores = 1.5}), 2);
  EXPECT_EQ(CoresOf({.cores = 8, .group_cores = 0.1}), 1);
  EXPECT_EQ(CoresOf({.cores = 8, .group_cores = 99}), 8);
}

}  // namespace
}  // namespace ptpkg
