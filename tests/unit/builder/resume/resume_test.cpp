#include "builder/resume/resume.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "builder/resume/clamp_mtimes.h"
#include "builder/script/failed_commands.h"
#include "support/matchers.h"
#include "support/mem_fs.h"
#include "support/test_env.h"

namespace ptpkg::builder {
namespace {

using test::IsOkAndHolds;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr const char* kBoot = "/proc/sys/kernel/random/boot_id";

class ResumeTest : public ::testing::Test {
 protected:
  ResumeTest() : env_({.fs = &fs_}) {
    fs_.AddFile(kBoot, "one");
    fs_.AddDir("/w");
    auto layout = MakeWorkLayout(env_, AbsPath::Literal("/w"));
    EXPECT_THAT(layout, test::IsOk());
    if (layout) layout_ = *std::move(layout);
    Put("a.c", 1000, "int a;");
    auto record = SourceRecord::Take(env_, layout_.source);
    EXPECT_TRUE(record.has_value() && record->Write(fs_, record_).has_value());
    state_ = {.phase = WorkPhase::kScript, .boot_id = "one", .prepared_ns = NowNs(env_) - 900 * kSecond};
    Put("old.txt", 500, "x");
    Put("last.txt", 1, "x");
  }

  void Put(const std::string& name, int seconds_ago, const std::string& text) {
    fs_.AddFile((layout_.source / name).str(), text);
    ASSERT_OK(fs_.SetMtime(layout_.source / name, NowNs(env_) - seconds_ago * kSecond));
  }
  ResumableWorkDir Take() {
    auto left = RecoverSources(env_, layout_, record_, state_);
    EXPECT_THAT(left, test::IsOk());
    return left ? *std::move(left) : ResumableWorkDir{};
  }
  bool There(const std::string& name) { return *Exists(fs_, layout_.source / name); }

  test::MemFs fs_;
  test::TestEnv env_;
  WorkLayout layout_;
  AbsPath record_ = AbsPath::Literal("/w/sources");
  WorkState state_;
};

TEST_F(ResumeTest, AKilledScriptLeavesAllButWhatWasInFlight) {
  const ResumableWorkDir left = Take();
  ASSERT_TRUE(left.sources.has_value()) << left.why_not;
  EXPECT_TRUE(left.sources->script_ran);
  EXPECT_EQ(left.sources->removed_outputs, 1U);
  EXPECT_TRUE(There("old.txt"));
  EXPECT_FALSE(There("last.txt"));
}

TEST_F(ResumeTest, WhatAFailedCommandWasToMakeGoesToo) {
  Put("sub/half.txt", 300, "x");
  fs_.AddFile(FailedCommandsFile(layout_).str(),
              fmt::format("{}\nsub/half.txt{}   ", NowNs(env_) - 490 * kSecond, '\0'));
  EXPECT_EQ(Take().sources->removed_outputs, 3U);
  EXPECT_FALSE(There("old.txt"));  // written 10 s before the first failure
  EXPECT_FALSE(There("sub/half.txt"));
}

TEST_F(ResumeTest, AScriptThatEndedWellLeavesNothingInFlightUnlessTheMachineWentDown) {
  state_.phase = WorkPhase::kInstalled;
  EXPECT_EQ(Take().sources->removed_outputs, 0U);
  fs_.AddFile(kBoot, "two");
  EXPECT_EQ(Take().sources->removed_outputs, 1U);
}

TEST_F(ResumeTest, AfterAPowerLossTheWindowIsAMinute) {
  Put("near.txt", 55, "x");
  for (const char* boot : {"two", ""}) {
    fs_.AddFile(kBoot, boot);
    state_.boot_id = boot[0] == '\0' ? "" : "one";  // an unknown one is never the same
    Put("near.txt", 55, "x");
    Put("last.txt", 1, "x");
    EXPECT_EQ(Take().sources->removed_outputs, 2U);
    EXPECT_TRUE(There("old.txt"));
  }
}

TEST_F(ResumeTest, SourcesThatMayNotHaveReachedTheDiskAreNotTrusted) {
  fs_.AddFile(kBoot, "two");
  state_.prepared_ns = NowNs(env_) - 30 * kSecond;
  EXPECT_THAT(Take().why_not, HasSubstr("the machine went down"));
  fs_.AddFile(kBoot, "one");
  EXPECT_TRUE(Take().sources.has_value());
}

TEST_F(ResumeTest, WithoutAScriptTheSourcesMustBeAsPrepared) {
  state_.phase = WorkPhase::kPrepared;
  const ResumableWorkDir good = Take();
  ASSERT_TRUE(good.sources.has_value());
  EXPECT_FALSE(good.sources->script_ran);
  EXPECT_TRUE(There("last.txt"));
  Put("a.c", 1000, "int a");
  EXPECT_THAT(Take().why_not, HasSubstr("'a.c' of its sources is damaged"));
}

TEST_F(ResumeTest, WhatIsMissingOrDamagedStartsAnew) {
  fs_.AddFile("/w/sources", "what?");
  EXPECT_THAT(Take().why_not, HasSubstr("'/w/sources' is damaged"));
  ASSERT_OK(fs_.Remove(record_));
  EXPECT_THAT(Take().why_not, HasSubstr("/w/sources"));
  ASSERT_OK(RemoveTree(fs_, layout_.source));
  EXPECT_THAT(Take().why_not, HasSubstr("sources are missing"));
  state_.phase = WorkPhase::kStarted;
  EXPECT_THAT(Take().why_not, IsEmpty());
}

TEST_F(ResumeTest, ASourceInFlightStartsAnew) {
  Put("a.c", 1, "int b");
  EXPECT_THAT(Take().why_not, HasSubstr("'a.c' of its sources was being changed"));
}

TEST_F(ResumeTest, AScriptMustChangeTheSourcesInTheSameWayAgain) {
  Put("a.c", 100, "int a; // edited");
  const ResumableWorkDir left = Take();
  ASSERT_TRUE(left.sources.has_value());
  EXPECT_THAT(FirstConflictingChange(env_, layout_.source, *left.sources),
              IsOkAndHolds(std::optional<RelPath>()));
  Put("a.c", 0, "int a; // edited");
  EXPECT_THAT(FirstConflictingChange(env_, layout_.source, *left.sources),
              IsOkAndHolds(std::optional<RelPath>()));
  Put("a.c", 0, "int a; // edited // edited");
  EXPECT_THAT(FirstConflictingChange(env_, layout_.source, *left.sources),
              IsOkAndHolds(std::optional(RelPath::Literal("a.c"))));
}

TEST_F(ResumeTest, ProcessesOfAnEarlierScriptAreWaitedFor) {
  const auto environ_of = [&](const std::string& source) {
    std::string text = "PATH=/bin";
    text += '\0';
    text += "SRC_DIR=" + source;
    text += '\0';
    return text;
  };
  fs_.AddFile("/proc/77/environ", environ_of(layout_.source.str()));
  fs_.AddFile("/proc/78/environ", environ_of("/elsewhere"));
  fs_.AddFile("/proc/self/environ", environ_of(layout_.source.str()));
  int sleeps = 0;
  env_.clock.OnSleep([&] {
    if (++sleeps < 20) return;
    EXPECT_TRUE(RemoveTree(fs_, AbsPath::Literal("/proc/77")).has_value());
  });
  ASSERT_OK(WaitForEarlierScript(env_, layout_));
  EXPECT_EQ(sleeps, 20);
  EXPECT_THAT(env_.reporter.notes(), ::testing::ElementsAre(HasSubstr("waiting for process 77")));
  fs_.AddFile("/proc/79/environ", environ_of(layout_.source.str()));
  env_.cancel.Cancel();
  EXPECT_THAT(WaitForEarlierScript(env_, layout_), test::FailsWith(ErrorCode::kCancelled, "interrupted"));
}

TEST_F(ResumeTest, EverythingButTheSourcesIsMadeAnew) {
  for (const AbsPath& folder : {layout_.prefix, layout_.build_prefix, layout_.home, layout_.temp,
                                layout_.recipe_copy, layout_.root / "script"}) {
    fs_.AddFile((folder / "left").str(), "x");
  }
  ASSERT_OK(EmptyAllExceptSource(env_, layout_));
  for (const std::string& path : fs_.List("/w")) EXPECT_FALSE(path.ends_with("/left")) << path;
  EXPECT_TRUE(There("a.c"));
  EXPECT_THAT(Exists(fs_, layout_.prefix), IsOkAndHolds(true));
}

TEST_F(ResumeTest, WhatIsMadeAnewHasTheSameTimesEachTime) {
  const std::int64_t now = NowNs(env_);
  const std::int64_t stable = kStableTime * kSecond;
  const auto put = [&](const AbsPath& path, std::int64_t time) {
    fs_.AddFile(path.str(), "x");
    EXPECT_THAT(fs_.SetMtime(path, time), test::IsOk());
  };
  const auto time = [&](const AbsPath& path) { return fs_.Lstat(path)->mtime_ns; };
  put(layout_.prefix / "include/new.h", now);
  put(layout_.prefix / "include/old.h", now - 5);
  put(layout_.build_prefix / "bin/tool", now);
  put(layout_.recipe_copy / "patch", now - 5);
  put(layout_.source / "a.c", now);
  put(AbsPath::Literal("/pkgs/cached"), now);
  ASSERT_OK(fs_.CreateHardLink(AbsPath::Literal("/pkgs/cached"), layout_.prefix / "cached"));
  fs_.AddSymlink("new.h", (layout_.prefix / "include/link.h").str());
  ASSERT_OK(ClampMtimes(env_, layout_, now));
  EXPECT_EQ(time(layout_.prefix / "include/new.h"), stable);
  EXPECT_EQ(time(layout_.prefix / "include/old.h"), now - 5);
  EXPECT_EQ(time(layout_.build_prefix / "bin/tool"), stable);
  EXPECT_EQ(time(layout_.recipe_copy / "patch"), stable);
  EXPECT_EQ(time(layout_.source / "a.c"), now);
  EXPECT_EQ(time(layout_.prefix / "cached"), now);
}

}  // namespace
}  // namespace ptpkg::builder
