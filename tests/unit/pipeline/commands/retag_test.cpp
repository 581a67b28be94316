// What `ptpkg retag` does to several wheels, and what it asks of their files.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/commands/retag_command.h"
#include "support/fault_fs.h"
#include "support/matchers.h"
#include "support/test_env.h"
#include "unit/elf/fixtures/synthetic_elf.h"
#include "unit/pipeline/fixtures/stale_signature.h"
#include "unit/wheel/wheel_fixture.h"

namespace ptpkg::pipeline {
namespace {

using test::FailsWith;
using test::HasHint;
using test::IsOk;
using test::IsOkAndHolds;
using testing::AnyOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kTag = "cp311-cp311-linux_x86_64";

class RetagRunTest : public testing::Test {
 protected:
  AbsPath Wheel(const std::string& name, const std::string& extension = "x.so",
                const std::string& tag = kTag) {
    elf::test::SyntheticElf library;
    library.needed = {};
    auto members = wheel::MinimalMembers();
    members.pop_back();
    members[1].second = "Metadata-Version: 2.1\nName: " + name + "\nVersion: 1.0\n";
    members[2].second = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: false\nTag: " + tag + "\n";
    for (const std::size_t i : {1U, 2U}) members[i].first = name + members[i].first.substr(3);
    if (!extension.empty()) members.emplace_back(name + "/" + extension, library.Build());
    const std::string record = name + "-1.0.dist-info/RECORD";
    members.emplace_back(record, wheel::RecordOf(members, record));
    return wheel::WriteRawZip(env_, env_.dir() / "in" / (name + "-1.0-" + tag + ".whl"), members);
  }
  std::vector<std::string> Names(const std::string& folder) {
    auto names = env_->fs.ListDir(env_.dir() / folder);
    EXPECT_THAT(names, IsOk());
    std::sort(names->begin(), names->end());
    return *names;
  }
  Result<RetagSummary> Platform(const AbsPath& wheel, const std::string& platform) {
    return Retag(env_, {.wheels = {wheel}, .changes = {.platform = platform}, .output = output_});
  }

  test::TestEnv env_;
  const AbsPath output_ = env_.dir().MakeDir("out");
};

TEST_F(RetagRunTest, OneThatIsRefusedKeepsAllFromTheirNames) {
  const AbsPath good = Wheel("aa");
  const AbsPath bad = Wheel("bb", "x.cpython-311-x86_64-linux-gnu.so");
  for (const bool dry_run : {true, false}) {
    EXPECT_THAT(Retag(env_, {.wheels = {good, bad},
                             .changes = {.abi = "abi3"},
                             .output = output_,
                             .remove = true,
                             .dry_run = dry_run}),
                FailsWith(ErrorCode::kCheckFailed, HasSubstr("wheel-extension-tag")));
    EXPECT_THAT(Names("out"), IsEmpty());
    EXPECT_THAT(Names("in"), ElementsAre(good.Name(), bad.Name()));
  }
}

TEST_F(RetagRunTest, ADryRunJudgesAndWritesNothing) {
  const AbsPath wheel = Wheel("aa");
  const RetagRun run = {
      .wheels = {wheel}, .changes = {.abi = "abi3"}, .output = env_.dir() / "new", .dry_run = true};
  ASSERT_OK_AND_ASSIGN(const RetagSummary summary, Retag(env_, run));
  ASSERT_EQ(summary.outcomes.size(), 1U);
  EXPECT_EQ(summary.outcomes[0].to.Name(), "aa-1.0-cp311-abi3-linux_x86_64.whl");
  EXPECT_THAT(Exists(env_->fs, env_.dir() / "new"), IsOkAndHolds(false));
  EXPECT_THAT(Names("in"), ElementsAre(wheel.Name()));
}

// Every operation on files fails once: what has its name is told, and a wheel goes only when all are there.
TEST_F(RetagRunTest, WhatIsWrittenIsToldWhateverFails) {
  bool failed_after_one = false;
  bool failed_after_all = false;
  for (std::uint64_t number = 1;; ++number) {
    const AbsPath first = Wheel("aa");
    const AbsPath second = Wheel("bb");
    env_.dir().WriteFile("in/" + std::string(first.Name()) + ".asc", "signature");
    test::FaultFs fs(env_->fs, {.number = number, .scope = test::FaultScope::kMutating});
    test::TestEnv env({.fs = &fs});
    const auto done =
        Retag(env, {.wheels = {first, second}, .changes = {.build = "1"}, .output = output_, .remove = true});
    if (!fs.fired()) {
      EXPECT_THAT(done, IsOk());
      EXPECT_EQ(done->outcomes.size(), 2U);
      EXPECT_THAT(Names("in"), IsEmpty());
      break;
    }
    std::vector<std::string> told;
    if (done) {
      for (const RetagOutcome& one : done->outcomes) told.emplace_back(one.to.Name());
      failed_after_one = failed_after_one || (done->failure && told.size() == 1);
      failed_after_all = failed_after_all || (done->failure && told.size() == 2);
    }
    std::vector<std::string> there;
    for (const std::string& name : Names("out")) {
      if (name.ends_with(".whl")) there.push_back(name);
    }
    EXPECT_EQ(told, there) << number;
    if (told.size() < 2) {
      EXPECT_THAT(Exists(env_->fs, first), IsOkAndHolds(true)) << number;
      EXPECT_THAT(Exists(env_->fs, second), IsOkAndHolds(true)) << number;
    }
    for (const char* folder : {"in", "out"}) {
      for (const std::string& name : Names(folder))
        static_cast<void>(RemoveTree(env_->fs, env_.dir() / folder / RelPath::Literal(name)));
    }
  }
  EXPECT_TRUE(failed_after_one);
  EXPECT_TRUE(failed_after_all);
}

TEST_F(RetagRunTest, AnOldSignatureIsNeverBesideTheNewWheel) {
  const AbsPath wheel = Wheel("aa");
  const AbsPath to = output_ / "aa-1.0-1-cp311-cp311-linux_x86_64.whl";
  ExpectNoStaleSignature(env_, to, [&](Env& env) -> Result<void> {
    const RetagRun run{.wheels = {wheel}, .changes = {.build = "1"}, .output = output_, .force = true};
    PTPKG_TRY(RetagSummary summary, Retag(env, run));
    return summary.failure ? Result<void>(*std::move(summary.failure)) : Ok();
  });
}

TEST_F(RetagRunTest, ThePlatformIsWhatTheFilesDeserve) {
  const AbsPath wheel = Wheel("aa");
  for (const char* platform :
       {"win_amd64", "macosx_11_0_arm64", "any", "linux_aarch64", "linux_x86_64.win_amd64"}) {
    const auto refused = Platform(wheel, platform);
    EXPECT_THAT(refused, FailsWith(ErrorCode::kCheckFailed,
                                   AnyOf(HasSubstr("does not satisfy"), HasSubstr("platform tag"))))
        << platform;
    EXPECT_THAT(refused, HasHint(HasSubstr("--no-check"))) << platform;
  }
  EXPECT_THAT(Names("out"), IsEmpty());
  ASSERT_OK_AND_ASSIGN(const RetagSummary summary, Platform(wheel, "Manylinux_2_40_x86_64"));
  EXPECT_EQ(summary.outcomes.at(0).to.Name(), "aa-1.0-cp311-cp311-manylinux_2_40_x86_64.whl");
}

TEST_F(RetagRunTest, WhatIsNoPlatformTagIsRefused) {
  const AbsPath wheel = Wheel("aa");
  for (const char* platform : {"auto", "linux", "manylinux_2_17", "musllinux_1_2",
                               "manylinux2014.linux_x86_64", "auto.linux_x86_64"})
    EXPECT_THAT(Platform(wheel, platform), FailsWith(ErrorCode::kUsage, HasSubstr("is not a platform tag")))
        << platform;
  EXPECT_THAT(Platform(wheel, "auto"), HasHint(HasSubstr("ptpkg repair")));
}

TEST_F(RetagRunTest, ModulesAreForThePythonOfTheirNames) {
  const AbsPath wheel = Wheel("aa", "x.cpython-311-x86_64-linux-gnu.so");
  const std::vector<wheel::RetagRequest> refused = {
      {.python = "py3", .abi = "none"}, {.python = "cp312", .abi = "cp312"}, {.abi = "abi3"}};
  for (const wheel::RetagRequest& changes : refused)
    EXPECT_THAT(
        Retag(env_, {.wheels = {wheel}, .changes = changes, .output = output_}),
        FailsWith(ErrorCode::kCheckFailed, HasSubstr("[wheel-extension-tag] has the suffix '.cpython-311-")));
  EXPECT_THAT(Retag(env_, {.wheels = {wheel}, .changes = refused[0], .output = output_, .check = false}),
              IsOk());
}

}  // namespace
}  // namespace ptpkg::pipeline
