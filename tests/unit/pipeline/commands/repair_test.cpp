// What `ptpkg repair` says of several wheels when one of them fails.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/commands/repair_command.h"
#include "support/matchers.h"
#include "support/test_env.h"
#include "unit/elf/fixtures/synthetic_elf.h"
#include "unit/pipeline/fixtures/stale_signature.h"
#include "unit/wheel/wheel_fixture.h"

namespace ptpkg::pipeline {
namespace {

using test::FailsWith;
using test::IsOkAndHolds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class RepairTest : public testing::Test {
 protected:
  /// A wheel with a library whose search path is to go.
  AbsPath Sick(const std::string& folder) {
    elf::test::SyntheticElf library;
    library.needed = {};
    library.rpath = "/opt/build/lib";
    return Wheel(folder, library.Build());
  }
  /// One with a library; RECORD has the digests of `listed`, if that is not "".
  AbsPath Wheel(const std::string& folder, const std::string& library,
                const std::string& platform = "linux_x86_64", const std::string& listed = "") {
    auto members = wheel::MinimalMembers();
    members.pop_back();
    members[2].second =
        "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: false\nTag: py3-none-" + platform + "\n";
    members.emplace_back("toy/a.so", listed.empty() ? library : listed);
    const std::string record = "toy-1.0.dist-info/RECORD";
    const std::string text = wheel::RecordOf(members, record);
    members.back().second = library;
    members.emplace_back(record, text);
    return wheel::WriteRawZip(env_, env_.dir() / folder / ("toy-1.0-py3-none-" + platform + ".whl"), members);
  }
  static elf::test::SyntheticElf Needing(const std::string& library, const std::string& version = "") {
    elf::test::SyntheticElf elf;
    elf.needed = {library};
    elf.version = version;
    elf.symbols = {"used"};
    elf.soname.reset();
    return elf;
  }
  /// What the one wheel is refused for; "" if it is not.
  std::string RefusalOf(const RepairRun& run) {
    const auto summary = Repair(env_, run);
    EXPECT_OK(summary);
    if (!summary || !summary->failure) return "";
    EXPECT_EQ(summary->failure->code(), ErrorCode::kCheckFailed) << summary->failure->message();
    EXPECT_THAT(summary->outcomes, IsEmpty());
    return summary->failure->message();
  }
  AbsPath Junk(const std::string& folder) {
    return env_.dir().WriteFile(folder + "/toy-1.0-py3-none-any.whl", "no zip");
  }
  /// Of the summary's outcomes, what they have written.
  static std::vector<std::string> Written(const RepairSummary& summary) {
    std::vector<std::string> written;
    for (const RepairOutcome& one : summary.outcomes) written.push_back(one.to.str());
    return written;
  }

  test::TestEnv env_;
  const AbsPath output_ = env_.dir() / "out";
  const AbsPath new_wheel_ = output_ / "toy-1.0-py3-none-manylinux_2_5_x86_64.whl";
};

TEST_F(RepairTest, WhatWasWrittenBeforeOneThatFailsIsTold) {
  const AbsPath bad = Junk("b");
  ASSERT_OK_AND_ASSIGN(const RepairSummary summary,
                       Repair(env_, {.wheels = {Sick("a"), bad, Sick("c")}, .output = output_}));
  EXPECT_THAT(Written(summary), ElementsAre(new_wheel_.str()));
  EXPECT_THAT(Exists(env_->fs, new_wheel_), IsOkAndHolds(true));
  ASSERT_TRUE(summary.failure);
  EXPECT_EQ(summary.failure->code(), ErrorCode::kCorrupt);
  EXPECT_THAT(summary.failure->context().back(), HasSubstr("while repairing '" + bad.str() + "'"));
}

TEST_F(RepairTest, AWheelThatNeedsNoChangeIsJudgedToo) {
  const std::string platform = "manylinux_2_17_x86_64";
  const AbsPath high = Wheel("high", Needing("libc.so.6", "GLIBC_2.25").Build(), platform);
  std::string damaged = Needing("libc.so.6").Build();
  damaged.back() = static_cast<char>(damaged.back() ^ 1);
  const AbsPath changed = Wheel("changed", damaged, "manylinux_2_5_x86_64", Needing("libc.so.6").Build());
  for (const bool in_place : {false, true}) {
    const auto output = in_place ? std::nullopt : std::optional(output_);
    for (const bool dry_run : {false, true}) {
      const RepairRun run{.wheels = {high}, .platform = platform, .output = output, .dry_run = dry_run};
      EXPECT_THAT(RefusalOf(run), HasSubstr("elf-glibc-floor"));
      EXPECT_THAT(RefusalOf({.wheels = {changed}, .output = output, .dry_run = dry_run}),
                  HasSubstr("wheel-record-digest"));
    }
  }
  EXPECT_THAT(env_->fs.ListDir(output_), IsOkAndHolds(IsEmpty()));
  EXPECT_EQ(RefusalOf({.wheels = {high}, .platform = platform, .output = output_, .check = false}), "");
  EXPECT_THAT(Exists(env_->fs, output_ / high.Name()), IsOkAndHolds(true));
}

TEST_F(RepairTest, ADryRunRefusesWhatTheRunRefuses) {
  const AbsPath high = Wheel("high", Needing("libc.so.6", "GLIBC_2.25").Build());
  const RepairRun run{
      .wheels = {high}, .platform = "manylinux_2_17_x86_64", .output = output_, .dry_run = true};
  EXPECT_THAT(RefusalOf(run), HasSubstr("elf-glibc-floor"));
  EXPECT_EQ(
      RefusalOf({.wheels = {high}, .platform = "manylinux_2_28_x86_64", .output = output_, .dry_run = true}),
      "");
  EXPECT_THAT(Exists(env_->fs, output_), IsOkAndHolds(false));
  EXPECT_THAT(env_->fs.ListDir(high.Parent()), IsOkAndHolds(ElementsAre(std::string(high.Name()))));
  EXPECT_THAT(env_->fs.ListDir(env_->cache_dir), IsOkAndHolds(IsEmpty()));
}

TEST_F(RepairTest, WhatIsExcludedByItsPathIsAllowedByItsName) {
  const AbsPath wheel = Wheel("in", Needing("libleft.so.1").Build());
  const AbsPath library = env_.dir().WriteFile("lib/libleft.so.1", Needing("libc.so.6").Build());
  const RepairRun run{.wheels = {wheel},
                      .exclude = {library.str(), "libnone.*"},
                      .search = {library.Parent()},
                      .output = output_};
  EXPECT_EQ(RefusalOf(run), "");
  EXPECT_THAT(Exists(env_->fs, new_wheel_), IsOkAndHolds(true));
  EXPECT_THAT(env_.reporter.warnings(), ElementsAre(HasSubstr("--exclude 'libnone.*' has no effect")));
}

TEST_F(RepairTest, TwoWheelsOfOneNewNameAreNotBothWritten) {
  ASSERT_OK_AND_ASSIGN(const RepairSummary summary,
                       Repair(env_, {.wheels = {Sick("a"), Sick("b")}, .output = output_}));
  EXPECT_THAT(Written(summary), ElementsAre(new_wheel_.str()));
  ASSERT_TRUE(summary.failure);
  EXPECT_THAT(Result<void>(*summary.failure),
              FailsWith(ErrorCode::kUsage, HasSubstr("two files would become")));
}

TEST_F(RepairTest, ANameThatIsTakenStopsTheRunBeforeAnythingIsWritten) {
  env_.dir().WriteFile("out/" + std::string(new_wheel_.Name()), "in the way");
  for (const bool dry_run : {true, false}) {
    ASSERT_OK_AND_ASSIGN(
        const RepairSummary summary,
        Repair(env_, {.wheels = {Sick(dry_run ? "a" : "b")}, .output = output_, .dry_run = dry_run}));
    EXPECT_THAT(summary.outcomes, IsEmpty());
    ASSERT_TRUE(summary.failure);
    EXPECT_EQ(summary.failure->code(), ErrorCode::kAlreadyExists);
    EXPECT_EQ(env_.dir().ReadFile("out/" + std::string(new_wheel_.Name())), "in the way");
  }
}

TEST_F(RepairTest, AnOldSignatureIsNeverBesideTheNewWheel) {
  const AbsPath changed = Sick("a");
  const AbsPath unchanged = Wheel("b", Needing("libc.so.6").Build(), "manylinux_2_5_x86_64");
  for (const AbsPath& wheel : {changed, unchanged})
    ExpectNoStaleSignature(env_, new_wheel_, [&](Env& env) -> Result<void> {
      const RepairRun run{.wheels = {wheel}, .output = output_, .force = true};
      PTPKG_TRY(RepairSummary summary, Repair(env, run));
      for (const RepairOutcome& one : summary.outcomes) EXPECT_EQ(one.changed, wheel == changed);
      return summary.failure ? Result<void>(*std::move(summary.failure)) : Ok();
    });
}

TEST_F(RepairTest, AnInterruptionIsAFailureOfTheNextWheel) {
  const RepairRun run = {.wheels = {Sick("a")}, .output = output_};
  env_.cancel.Cancel();
  ASSERT_OK_AND_ASSIGN(const RepairSummary summary, Repair(env_, run));
  EXPECT_THAT(summary.outcomes, IsEmpty());
  ASSERT_TRUE(summary.failure);
  EXPECT_EQ(summary.failure->code(), ErrorCode::kCancelled);
}

TEST_F(RepairTest, WhatIsWrongBeforeTheFirstWheelIsNoFailureOfOne) {
  EXPECT_THAT(Repair(env_, {.wheels = {Sick("a")}, .backend = "pytorch-cuda99", .output = output_}),
              FailsWith(ErrorCode::kUsage, HasSubstr("pytorch-cuda99")));
  EXPECT_THAT(Repair(env_, {.wheels = {Sick("b")}, .platform = "many linux", .output = output_}),
              FailsWith(ErrorCode::kUsage, HasSubstr("is not a platform tag")));
  EXPECT_THAT(Repair(env_, {.wheels = {Sick("c")}, .rename = "sha", .output = output_}),
              FailsWith(ErrorCode::kUsage, HasSubstr("'sha'")));
  EXPECT_THAT(Exists(env_->fs, output_), IsOkAndHolds(false));
}

}  // namespace
}  // namespace ptpkg::pipeline
