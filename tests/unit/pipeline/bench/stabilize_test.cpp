#include "pipeline/bench/stabilize.h"

#include <cerrno>

#include "support/fault_fs.h"
#include "support/matchers.h"
#include "unit/pipeline/bench/machine_fixture.h"

namespace ptpkg::pipeline {
namespace {

using test::FailsWith;
using test::HasHint;
using test::IsOk;
using test::IsOkAndHolds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class StabilizeTest : public MachineTest {
 protected:
  [[nodiscard]] bool HasRecord() { return *Exists(fs_, AbsPath::Literal(kRecord)); }
  /// A run that ends as by kill -9: nothing is put back.
  void SetAndDie() { ASSERT_THAT(StableMachine::Set(env_, {1}, {}), IsOk()); }
};

TEST_F(StabilizeTest, SetsAndPutsBackOnlyWhatDiffers) {
  auto machine = StableMachine::Set(env_, {1}, {});
  ASSERT_THAT(machine, IsOk());
  EXPECT_EQ(Values(), kDuring);
  EXPECT_THAT(machine->changed(), SizeIs(3)) << "one governor is 'performance' already";
  EXPECT_EQ(fs_.Content("/sys/devices/system/cpu/cpu1/cpuidle/state1/disable"), "0\n") << "2 us are quick";
  EXPECT_EQ(fs_.Content("/sys/devices/system/cpu/cpu2/cpuidle/state2/disable"), "0\n")
      << "not a CPU of the run";
  EXPECT_TRUE(HasRecord());
  EXPECT_THAT((*std::move(machine)).Restore(), IsOk());
  EXPECT_EQ(Values(), kBefore);
  EXPECT_FALSE(HasRecord());
}

TEST_F(StabilizeTest, AClockThatSomebodyFixedStays) {
  fs_.AddFile(kGovernor0, "userspace\n");
  auto machine = StableMachine::Set(env_, {1}, {});
  ASSERT_THAT(machine, IsOk());
  EXPECT_EQ(fs_.Content(kGovernor0), "userspace\n");
  EXPECT_THAT(machine->changed(), SizeIs(2));
  EXPECT_THAT((*std::move(machine)).Restore(), IsOk());
}

TEST_F(StabilizeTest, WithoutIntelPstateTheBoostSwitchIsUsed) {
  fs_.AddFile("/sys/devices/system/cpu/cpufreq/boost", "1\n");
  ASSERT_OK(RemoveTree(fs_, AbsPath::Literal(kNoTurbo)));
  auto machine = StableMachine::Set(env_, {1}, {});
  ASSERT_THAT(machine, IsOk());
  EXPECT_EQ(fs_.Content("/sys/devices/system/cpu/cpufreq/boost"), "0\n");
  EXPECT_THAT((*std::move(machine)).Restore(), IsOk());
  EXPECT_EQ(fs_.Content("/sys/devices/system/cpu/cpufreq/boost"), "1\n");
}

TEST_F(StabilizeTest, TheRecordIsOnTheDiskBeforeTheFirstChange) {
  fs_.ClearCalls();
  SetAndDie();
  std::vector<std::string> order;
  for (const test::FsCall& call : fs_.calls()) {
    const bool synced = call.operation == "Sync" && call.path.find("bench.json") != std::string::npos;
    if (synced || call.operation == "SyncDir") order.push_back(call.operation);
    if (call.operation == "OpenReadWrite" && call.path.starts_with("/sys")) order.emplace_back("change");
  }
  EXPECT_THAT(order, ElementsAre("Sync", "SyncDir", "change", "change", "change"));
}

TEST_F(StabilizeTest, ASecondRunAndARestoreAreRefusedMeanwhile) {
  auto machine = StableMachine::Set(env_, {1}, {});
  ASSERT_THAT(machine, IsOk());
  EXPECT_THAT(StableMachine::Set(env_, {1}, {}),
              FailsWith(ErrorCode::kRefused, HasSubstr("another 'ptpkg bench")));
  EXPECT_THAT(RestoreMachine(env_), FailsWith(ErrorCode::kRefused, HasSubstr("another 'ptpkg bench")));
  EXPECT_EQ(Values(), kDuring);
  EXPECT_THAT((*std::move(machine)).Restore(), IsOk());
}

TEST_F(StabilizeTest, AKilledRunIsRestoredByHand) {
  SetAndDie();
  const auto second = StableMachine::Set(env_, {1}, {});
  EXPECT_THAT(second, FailsWith(ErrorCode::kRefused, HasSubstr("killed")));
  EXPECT_THAT(second, HasHint(HasSubstr("ptpkg bench --restore")));
  EXPECT_THAT(RestoreMachine(env_), IsOkAndHolds(SizeIs(3)));
  EXPECT_EQ(Values(), kBefore);
  EXPECT_THAT(RestoreMachine(env_), IsOkAndHolds(IsEmpty()));
}

TEST_F(StabilizeTest, ARestoreNeedsRootOnlyIfThereIsARecord) {
  EXPECT_THAT(RestoreMachine(env_), IsOkAndHolds(IsEmpty()));
  EXPECT_FALSE(*Exists(fs_, AbsPath::Literal("/var/lib/ptpkg")));
  SetAndDie();
  test::FaultFs refuses(fs_, {.number = 1, .sys_errno = EACCES, .scope = test::FaultScope::kMutating});
  test::TestEnv env({.fs = &refuses, .process = &process_});
  EXPECT_THAT(RestoreMachine(env), HasHint(HasSubstr("sudo ptpkg bench --restore")));
}

TEST_F(StabilizeTest, ARecordOfAnotherBootCountsForNothing) {
  SetAndDie();
  AddMachine(fs_);
  fs_.AddFile(kGovernor0, "schedutil\n");
  fs_.AddFile(kBootId, "another\n");
  EXPECT_THAT(RestoreMachine(env_), IsOkAndHolds(IsEmpty()));
  EXPECT_EQ(fs_.Content(kGovernor0), "schedutil\n");
  EXPECT_FALSE(HasRecord());
}

TEST_F(StabilizeTest, ADamagedRecordIsNotFollowed) {
  SetAndDie();
  fs_.AddFile(kRecord, "{");
  EXPECT_THAT(RestoreMachine(env_), FailsWith(ErrorCode::kInvalidInput, HasSubstr("")));
  fs_.AddFile(kRecord, R"({"boot_id": "11111111-2222-3333-4444-555555555555", "knobs": [{"name": "x",
                           "place": "/sys/devices/system/cpu/../../../../etc/passwd", "before": "x", "during": "y"}]})");
  fs_.AddFile("/etc/passwd", "root\n");
  EXPECT_THAT(RestoreMachine(env_),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("is not a setting of a CPU")));
  EXPECT_EQ(fs_.Content("/etc/passwd"), "root\n");
}

TEST_F(StabilizeTest, AReadOnlyFileEndsItWithEverythingBack) {
  fs_.AddFile(kNoTurbo, "0\n", 0444);
  const auto machine = StableMachine::Set(env_, {1}, {});
  EXPECT_THAT(machine, FailsWith(ErrorCode::kIo, HasSubstr("no_turbo': Permission denied")));
  EXPECT_EQ(Values(), kBefore);
  EXPECT_FALSE(HasRecord());
}

TEST_F(StabilizeTest, AValueThatDoesNotTakeEndsItWithEverythingBack) {
  bool found = false;
  for (std::uint64_t number = 1; number < 200 && !found; ++number) {
    AddMachine(fs_);
    test::FaultFs faults(fs_, {});
    // The firmware takes the turbo switch back right after the write.
    faults.Before(number, [&] { fs_.AddFile(kNoTurbo, "0\n"); });
    test::TestEnv env({.fs = &faults, .process = &process_});
    auto machine = StableMachine::Set(env, {1}, {});
    if (machine) {
      ASSERT_OK((*std::move(machine)).Restore());
      continue;
    }
    found = true;
    EXPECT_THAT(machine, FailsWith(ErrorCode::kIo, HasSubstr("was set to '1', but reads '0'")));
    EXPECT_EQ(Values(), kBefore);
    EXPECT_FALSE(HasRecord());
  }
  EXPECT_TRUE(found);
}

TEST_F(StabilizeTest, AFullDiskForTheRecordChangesNothing) {
  fs_.AddFile("/var/lib/ptpkg/bench.lock", "");
  fs_.LimitBytes(0);
  EXPECT_THAT(StableMachine::Set(env_, {1}, {}),
              FailsWith(ErrorCode::kIo, HasSubstr("No space left on device")));
  EXPECT_EQ(Values(), kBefore);
  EXPECT_THAT(fs_.List("/var/lib/ptpkg"), SizeIs(1)) << "the lock";
}

TEST_F(StabilizeTest, ARestoreThatFailsKeepsTheRecordAndTheOthersAreBack) {
  auto machine = StableMachine::Set(env_, {1}, {});
  ASSERT_THAT(machine, IsOk());
  fs_.AddFile(kNoTurbo, "1\n", 0444);
  const auto restored = (*std::move(machine)).Restore();
  EXPECT_THAT(restored, FailsWith(ErrorCode::kIo, HasSubstr("no_turbo")));
  EXPECT_THAT(restored, HasHint(HasSubstr("ptpkg bench --restore")));
  EXPECT_THAT(Values(), ElementsAre("powersave\n", "performance\n", "1\n", "0\n"));
  EXPECT_TRUE(HasRecord());
}

/// What happens when each operation in turn fails, or is the last one of the process.
class StabilizeFaults : public ::testing::TestWithParam<test::FaultAfter> {};

TEST_P(StabilizeFaults, LeavesTheMachineAsItWasOrARecord) {
  for (std::uint64_t number = 1;; ++number) {
    test::MemFs fs;
    AddMachine(fs);
    test::FakeProcess process;
    test::FaultFs faults(fs, {.number = number, .scope = test::FaultScope::kMutating, .after = GetParam()});
    Result<void> done = Ok();
    {
      test::TestEnv env({.fs = &faults, .process = &process});
      auto machine = StableMachine::Set(env, {1}, {});
      done = machine ? (*std::move(machine)).Restore() : Result<void>(machine.error());
    }
    if (!faults.fired()) {
      EXPECT_GT(number, 15U);
      ASSERT_THAT(done, IsOk());
      break;
    }
    test::TestEnv env({.fs = &fs, .process = &process});
    EXPECT_THAT(RestoreMachine(env), IsOk()) << number;
    // Trimmed: a torn "0\n" is a right value, and no file of /sys is torn.
    EXPECT_EQ(ReadSysText(fs, AbsPath::Literal(kGovernor0)), "powersave") << number;
    EXPECT_EQ(ReadSysText(fs, AbsPath::Literal(kNoTurbo)), "0") << number;
    EXPECT_EQ(ReadSysText(fs, AbsPath::Literal(kDeepState)), "0") << number;
    EXPECT_FALSE(*Exists(fs, AbsPath::Literal(kRecord))) << number;
  }
}

INSTANTIATE_TEST_SUITE_P(Each, StabilizeFaults,
                         ::testing::Values(test::FaultAfter::kRecover, test::FaultAfter::kDead));

TEST_F(StabilizeTest, GpuClocksAreLockedAndUnlocked) {
  AddGpu("Disabled", "0x0000000000000001");
  auto machine = StableMachine::Set(env_, {1}, 1200);
  ASSERT_THAT(machine, IsOk());
  EXPECT_THAT(GpuChanges(), ElementsAre("nvidia-smi -i GPU-1 -pm 1", "nvidia-smi -i GPU-1 -lgc 1200,1200"));
  env_.cancel.Cancel();
  EXPECT_THAT((*std::move(machine)).Restore(), IsOk());
  EXPECT_THAT(GpuChanges(), ElementsAre("nvidia-smi -i GPU-1 -pm 1", "nvidia-smi -i GPU-1 -lgc 1200,1200",
                                        "nvidia-smi -i GPU-1 -rgc", "nvidia-smi -i GPU-1 -pm 0"));
}

TEST_F(StabilizeTest, AGpuOfAKilledRunIsUnlocked) {
  AddGpu("Enabled", "0x0000000000000000");
  ASSERT_THAT(StableMachine::Set(env_, {1}, 1200), IsOk());
  EXPECT_THAT(RestoreMachine(env_), IsOkAndHolds(SizeIs(4)));
  EXPECT_THAT(GpuChanges(), ElementsAre("nvidia-smi -i GPU-1 -lgc 1200,1200", "nvidia-smi -i GPU-1 -rgc"));
  EXPECT_EQ(Values(), kBefore);
}

TEST_F(StabilizeTest, AGpuWithALimitOfSomebodyElseIsRefused) {
  AddGpu("Enabled", "0x0000000000000002");
  EXPECT_THAT(StableMachine::Set(env_, {1}, 1200),
              FailsWith(ErrorCode::kRefused, HasSubstr("GPU 0 has a clock limit")));
  EXPECT_THAT(GpuChanges(), IsEmpty());
  EXPECT_EQ(Values(), kBefore);
}

TEST_F(StabilizeTest, AGpuThatRefusesEndsItWithEverythingBack) {
  process_.On("nvidia-smi", [](const Command& command) {
    ExitStatus status;
    if (command.argv.at(1).starts_with("--query")) {
      status.output = "0, GPU-1, NVIDIA H100, 345 MHz, 1980 MHz, 700.00 W, Enabled, Enabled, 0x0";
    } else {
      status.code = 4;
      status.output =
          "The current user does not have permission to change clocks for GPU 0.\nTerminating early.\n";
    }
    return status;
  });
  EXPECT_THAT(StableMachine::Set(env_, {1}, 1200),
              FailsWith(ErrorCode::kIo, HasSubstr("-lgc 1200,1200' failed: ")));
  EXPECT_EQ(Values(), kBefore);
  EXPECT_FALSE(HasRecord()) << "a command that failed changed nothing";
}

TEST_F(StabilizeTest, AGpuWithoutLockedClocksEndsItWithEverythingBack) {
  process_.On("nvidia-smi", [](const Command& command) {
    ExitStatus status;
    status.output = command.argv.at(1).starts_with("--query")
                        ? "0, GPU-1, NVIDIA TITAN, 345 MHz, 1980 MHz, 700.00 W, N/A, Enabled, 0x0"
                        : "Setting locked GPU clocks is not supported for GPU 00000000:01:00.0.\n"
                          "Treating as warning and moving on.\nAll done.\n";
    return status;
  });
  EXPECT_THAT(StableMachine::Set(env_, {1}, 1200),
              FailsWith(ErrorCode::kIo, HasSubstr("changed nothing: Setting locked GPU clocks")));
  EXPECT_EQ(Values(), kBefore);
  EXPECT_FALSE(HasRecord());
}

TEST_F(StabilizeTest, AGpuWhoseLockTookTooLongIsUnlocked) {
  process_.On("nvidia-smi", [](const Command& command) {
    ExitStatus status;
    status.timed_out = command.argv.size() > 3 && command.argv[3] == "-lgc";
    if (command.argv.at(1).starts_with("--query"))
      status.output = "0, GPU-1, NVIDIA H100, 345 MHz, 1980 MHz, 700.00 W, Enabled, Enabled, 0x0";
    return status;
  });
  EXPECT_THAT(StableMachine::Set(env_, {1}, 1200), FailsWith(ErrorCode::kIo, HasSubstr("no answer in 60 s")));
  EXPECT_THAT(GpuChanges(), ElementsAre("nvidia-smi -i GPU-1 -lgc 1200,1200", "nvidia-smi -i GPU-1 -rgc"));
  EXPECT_EQ(Values(), kBefore);
  EXPECT_FALSE(HasRecord());
}

TEST_F(StabilizeTest, WithoutNvidiaSmiNoGpuClock) {
  EXPECT_THAT(StableMachine::Set(env_, {1}, 1200), FailsWith(ErrorCode::kNotFound, HasSubstr("nvidia-smi")));
  process_.Answer("nvidia-smi", 0, "No devices were found\n");
  EXPECT_THAT(StableMachine::Set(env_, {1}, 1200), FailsWith(ErrorCode::kNotFound, HasSubstr("no GPU")));
  EXPECT_EQ(Values(), kBefore);
}

}  // namespace
}  // namespace ptpkg::pipeline
