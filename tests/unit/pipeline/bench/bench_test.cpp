#include "pipeline/bench/bench.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "support/matchers.h"
#include "unit/pipeline/bench/machine_fixture.h"

namespace ptpkg::pipeline {
namespace {

using test::FailsWith;
using test::HasHint;
using test::IsOk;
using test::IsOkAndHolds;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::DoubleNear;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class BenchTest : public MachineTest {
 protected:
  /// The program takes these milliseconds, one after the other, again and again.
  void Takes(const std::string& program, const std::vector<int>& milliseconds) {
    times_[program] = milliseconds;
    process_.On("taskset", [this](const Command& command) {
      const std::vector<int>& times = times_.at(command.argv.at(3));
      env_.clock.Advance(std::chrono::milliseconds(times[count_[command.argv[3]]++ % times.size()]));
      return ExitStatus();
    });
  }
  std::vector<std::string> Programs() {
    std::vector<std::string> programs;
    for (const Command& command : process_.commands()) {
      if (command.argv.at(0) == "taskset") programs.push_back(command.argv.at(3));
    }
    return programs;
  }
  MachineSetting Setting(const std::string& name) {
    for (const MachineSetting& setting : ReadMachineSettings(env_, {1, 3})) {
      if (setting.name == name) return setting;
    }
    return {};
  }

  std::map<std::string, std::vector<int>> times_;
  std::map<std::string, std::size_t> count_;
};

// The whole distribution by looking at each choice, as the definition of the test has it.
double RankTestByEnumeration(const std::vector<double>& first, const std::vector<double>& second) {
  std::vector<double> all = first;
  all.insert(all.end(), second.begin(), second.end());
  const auto statistic = [&](const std::vector<bool>& chosen) {
    double above = 0;  // pairs in which the chosen one is the larger; a tie is a half
    for (std::size_t i = 0; i < all.size(); ++i) {
      for (std::size_t j = 0; j < all.size(); ++j) {
        if (chosen[i] && !chosen[j]) above += all[i] > all[j] ? 1 : all[i] == all[j] ? 0.5 : 0;
      }
    }
    return std::abs(above - static_cast<double>(first.size() * second.size()) / 2);
  };
  std::vector<bool> chosen(all.size(), false);
  std::fill(chosen.begin(), chosen.begin() + static_cast<std::ptrdiff_t>(first.size()), true);
  const double observed = statistic(chosen);
  double as_far = 0;
  double total = 0;
  do {
    total += 1;
    if (statistic(chosen) >= observed) as_far += 1;
  } while (std::prev_permutation(chosen.begin(), chosen.end()));
  return as_far / total;
}

TEST(RankTest, KnownValues) {
  const std::vector<double> low = {1, 2, 3, 4, 5};
  const std::vector<double> high = {6, 7, 8, 9, 10};
  EXPECT_NEAR(RankTest(low, high), 2.0 / 252, 1e-12);
  EXPECT_NEAR(RankTest(high, low), 2.0 / 252, 1e-12);
  EXPECT_NEAR(RankTest(low, low), 1, 1e-12);
  EXPECT_NEAR(RankTest(std::vector<double>{7}, std::vector<double>{7}), 1, 1e-12);
}

TEST(RankTest, AgreesWithAllChoices) {
  std::mt19937 random(27);  // NOLINT(bugprone-random-generator-seed): same inputs in each run
  for (int round = 0; round < 50; ++round) {
    std::vector<double> first(1 + random() % 6);
    std::vector<double> second(1 + random() % 6);
    for (double& value : first) value = static_cast<double>(random() % 8);  // with ties
    for (double& value : second) value = static_cast<double>(random() % 8 + random() % 3);
    EXPECT_NEAR(RankTest(first, second), RankTestByEnumeration(first, second), 1e-12);
  }
}

TEST(RankTest, FiftyRoundsEachStayExact) {
  std::vector<double> first(50);
  std::vector<double> second(50);
  for (std::size_t i = 0; i < first.size(); ++i) {
    first[i] = static_cast<double>(i);
    second[i] = static_cast<double>(i) + 1000;
  }
  EXPECT_NEAR(std::log10(RankTest(first, second)), std::log10(2 / 1.0089134454556415e29), 1e-9);
}

TEST(Median, OfOddAndEvenCounts) {
  EXPECT_EQ(MedianOf({3, 1, 2}), 2);
  EXPECT_EQ(MedianOf({4, 1, 2, 3}), 2.5);
}

TEST_F(BenchTest, ASlowerCommandIsFound) {
  Takes("a", {100, 101, 102, 103, 104});
  Takes("b", {110, 111, 112, 113, 114});
  const auto outcome = Bench(env_, {.commands = {{"a", "-x"}, {"b"}}, .warmup = 0, .rounds = 5});
  ASSERT_THAT(outcome, IsOk());
  EXPECT_THAT(outcome->times[0].command, ElementsAre("a", "-x"));
  EXPECT_NEAR(outcome->times[0].median, 0.102, 1e-9);
  EXPECT_NEAR(outcome->times[0].deviation, 0.001, 1e-9);
  EXPECT_NEAR(*outcome->p_value, 2.0 / 252, 1e-12);
  EXPECT_THAT(Programs(), ElementsAre("a", "b", "b", "a", "a", "b", "b", "a", "a", "b")) << "in turns";
  EXPECT_THAT(process_.commands().back().argv, ElementsAre("taskset", "--cpu-list", "1", "b"));
  EXPECT_EQ(Values(), kBefore) << "nothing is set without being asked";
}

TEST_F(BenchTest, EqualCommandsAreNot) {
  Takes("a", {100, 103, 101, 104});
  Takes("b", {101, 102, 100, 105});
  const auto outcome = Bench(env_, {.commands = {{"a"}, {"b"}}, .warmup = 0, .rounds = 4});
  ASSERT_THAT(outcome, IsOk());
  EXPECT_GT(*outcome->p_value, 0.5);
}

TEST_F(BenchTest, WarmUpRoundsDoNotCount) {
  Takes("a", {9000, 9000, 10, 10, 10, 10});
  const auto outcome = Bench(env_, {.commands = {{"a"}}, .warmup = 2, .rounds = 4});
  ASSERT_THAT(outcome, IsOk());
  EXPECT_THAT(outcome->times[0].seconds, AllOf(SizeIs(4), Each(DoubleNear(0.01, 1e-9))));
  EXPECT_FALSE(outcome->p_value.has_value());
}

TEST_F(BenchTest, SettingsAreBackAfterARunAndAfterEachFailure) {
  Takes("a", {10});
  std::vector<std::string> during;
  process_.On("taskset", [&](const Command&) {
    during = Values();
    return ExitStatus();
  });
  const auto outcome = Bench(env_, {.commands = {{"a"}}, .stabilize = true});
  ASSERT_THAT(outcome, IsOk());
  EXPECT_EQ(during, kDuring);
  EXPECT_THAT(outcome->changed, SizeIs(3));
  EXPECT_EQ(Values(), kBefore);

  process_.Answer("taskset", 3, "building\nno such model\n");
  EXPECT_THAT(Bench(env_, {.commands = {{"a"}}, .stabilize = true}),
              FailsWith(ErrorCode::kCommandFailed, "'a' failed with exit code 3: no such model"));
  EXPECT_EQ(Values(), kBefore);

  process_.Answer("taskset", 1, "");
  EXPECT_THAT(Bench(env_, {.commands = {{"a"}}, .stabilize = true}),
              FailsWith(ErrorCode::kCommandFailed, "'a' failed with exit code 1: no output"));
  EXPECT_EQ(Values(), kBefore);

  process_.On("taskset", [&](const Command& command) -> Result<ExitStatus> {
    env_.cancel.Cancel();
    return command.cancel->Check().error();
  });
  EXPECT_THAT(Bench(env_, {.commands = {{"a"}}, .stabilize = true}),
              FailsWith(ErrorCode::kCancelled, "interrupted"));
  EXPECT_EQ(Values(), kBefore);
}

TEST_F(BenchTest, WithoutRightsTheHintNamesRoot) {
  fs_.AddFile(kGovernor0, "powersave\n", 0444);
  EXPECT_THAT(Bench(env_, {.commands = {{"a"}}, .stabilize = true}), HasHint(HasSubstr("needs root")));
}

TEST_F(BenchTest, AMachineWithoutSettingsIsNamed) {
  Takes("a", {10});
  ASSERT_OK(RemoveTree(fs_, AbsPath::Literal("/sys/devices/system/cpu/cpufreq")));
  ASSERT_OK(RemoveTree(fs_, AbsPath::Literal("/sys/devices/system/cpu/intel_pstate")));
  ASSERT_OK(RemoveTree(fs_, AbsPath::Literal("/sys/devices/system/cpu/cpu1/cpuidle")));
  ASSERT_THAT(Bench(env_, {.commands = {{"a"}}, .stabilize = true}), IsOk());
  EXPECT_THAT(env_.reporter.warnings(), ElementsAre("--stabilize found nothing to change on this machine"));
}

TEST_F(BenchTest, ChoosesOneCpuOfEachCoreButTheFirst) {
  EXPECT_THAT(ChooseCpus(env_, {}), IsOkAndHolds(ElementsAre(1)));
  fs_.AddFile("/proc/self/status", "Cpus_allowed_list:\t0,2\n");
  EXPECT_THAT(ChooseCpus(env_, {}), IsOkAndHolds(ElementsAre(0)));
  fs_.AddFile("/proc/self/status", "Cpus_allowed_list:\t2-3\n");
  EXPECT_THAT(ChooseCpus(env_, {}), IsOkAndHolds(ElementsAre(3)));
  fs_.AddFile("/sys/devices/system/cpu/isolated", "2-3\n");
  EXPECT_THAT(ChooseCpus(env_, {}), IsOkAndHolds(ElementsAre(2, 3)));
  EXPECT_THAT(ChooseCpus(env_, "0,2-3"), IsOkAndHolds(ElementsAre(0, 2, 3)));
  fs_.AddFile("/sys/devices/system/cpu/isolated", "\n");
  fs_.AddFile("/proc/self/status", "");
  EXPECT_THAT(ChooseCpus(env_, {}), FailsWith(ErrorCode::kIo, HasSubstr("cannot find the usable CPUs")));
}

TEST_F(BenchTest, RefusesCpusThatAreNone) {
  for (const char* list : {"4", "1-", "a", "3-1", "0,,1", "99999999999", "0-9000"}) {
    const auto chosen = ChooseCpus(env_, list);
    EXPECT_THAT(chosen, FailsWith(ErrorCode::kUsage, HasSubstr("does not list CPUs of this machine")))
        << list;
    EXPECT_THAT(chosen, HasHint("it has the CPUs 0-3"));
  }
}

TEST_F(BenchTest, NamesTheSettingsThatMakeTimesVary) {
  EXPECT_EQ(Setting("governor").value, "performance, powersave");
  EXPECT_THAT(Setting("governor").advice, HasSubstr("follows the load"));
  EXPECT_EQ(Setting("turbo").value, "on");
  EXPECT_EQ(Setting("deep C-states").value, "C6 (133 us)");
  EXPECT_EQ(Setting("hyper-threading").value, "on");
  EXPECT_EQ(Setting("isolated CPUs").value, "");
  EXPECT_EQ(Setting("load").value, "0.12");
  EXPECT_EQ(Setting("load").advice, "");
  EXPECT_EQ(Setting("cgroup limits").value, "none");
  EXPECT_EQ(Setting("ASLR").value, "on");
  EXPECT_EQ(Setting("isolated CPUs").advice, "");
  fs_.AddFile("/sys/devices/system/cpu/isolated", "1-3\n");
  EXPECT_THAT(Setting("isolated CPUs").advice, HasSubstr("all threads of a command on one"));
  fs_.AddFile("/proc/loadavg", "1.02 0 0 1/1 1\n");
  fs_.AddFile(kNoTurbo, "1\n");
  fs_.AddFile(kGovernor0, "performance\n");
  fs_.AddFile("/proc/sys/kernel/randomize_va_space", "0\n");
  EXPECT_EQ(Setting("load").advice, "other programs run");
  EXPECT_EQ(Setting("turbo").value, "off");
  EXPECT_EQ(Setting("turbo").advice, "");
  EXPECT_EQ(Setting("governor").advice, "");
  EXPECT_THAT(Setting("ASLR").advice, HasSubstr("one memory layout"));
}

TEST_F(BenchTest, AMachineThatHidesEverythingIsReadAllTheSame) {
  ASSERT_OK(RemoveTree(fs_, AbsPath::Literal("/sys")));
  ASSERT_OK(RemoveTree(fs_, AbsPath::Literal("/proc")));
  EXPECT_THAT(ReadMachineSettings(env_, {0}), Contains(Field(&MachineSetting::value, "")).Times(7));
}

TEST_F(BenchTest, ReadsGpus) {
  AddGpu("Enabled", "0x0000000000000006");
  EXPECT_EQ(Setting("GPU 0").value,
            "NVIDIA H100, SM clock 345 MHz of 1980 MHz, a clock setting limits it, power limit 700.00 W, ECC "
            "Enabled, "
            "persistence mode Enabled");
  EXPECT_EQ(Setting("GPU 0").advice, "used by 1 other program");
  process_.Answer("nvidia-smi", 9,
                  "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n");
  EXPECT_THAT(Setting("GPU").advice, HasSubstr("couldn't communicate with the NVIDIA driver"));
}

TEST_F(BenchTest, AnOldDriverHasOtherNames) {
  process_.On("nvidia-smi", [](const Command& command) {
    ExitStatus status;
    const bool known = command.argv.at(1).find("clocks_event_reasons") == std::string::npos;
    status.code = known ? 0 : 2;
    status.output =
        known ? "0, GPU-1, Tesla V100, 135 MHz, 1380 MHz, 250.00 W, Enabled, Disabled, 0x0000000000000001"
              : "Field \"clocks_event_reasons.active\" is not a valid field to query.\n";
    return status;
  });
  EXPECT_THAT(Setting("GPU 0").value, HasSubstr("no clock setting limits it now"));
}

}  // namespace
}  // namespace ptpkg::pipeline
