// `ptpkg transmute`: names, checks, and packages that get their names one after the other.

#include "pipeline/transmute/transmute.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/fault_fs.h"
#include "support/matchers.h"
#include "unit/conda/package_builder.h"
#include "unit/pipeline/fixtures/stale_signature.h"

namespace ptpkg::pipeline {
namespace {

using test::FailsWith;
using test::IsOkAndHolds;
using test::RawMember;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::vector<RawMember> kFiles = {{.name = "share/demo.txt", .content = "hello\n"}};

class TransmuteRunTest : public testing::Test {
 protected:
  AbsPath Package(const std::string& path, const std::vector<RawMember>& payload = kFiles) {
    std::vector<RawMember> members = test::DemoInfo(kFiles);
    members.insert(members.end(), payload.begin(), payload.end());
    return env_.dir().WriteFile(path, test::MakeTarBz2(members));
  }
  std::vector<std::string> Names(const std::string& folder) {
    auto names = env_->fs.ListDir(env_.dir() / folder);
    return names ? *names : std::vector<std::string>{"unreadable"};
  }

  test::TestEnv env_;
  const AbsPath output_ = env_.dir().MakeDir("out");
};

TEST_F(TransmuteRunTest, WritesBesideThePackageOrIntoADirectory) {
  const AbsPath package = Package("in/demo-1.0-0.tar.bz2");
  ASSERT_OK_AND_ASSIGN(const TransmuteSummary beside, Transmute(env_, {.packages = {package}}));
  ASSERT_EQ(beside.outcomes.size(), 1U);
  EXPECT_FALSE(beside.failure);
  EXPECT_EQ(beside.outcomes[0].to, env_.dir() / "in/demo-1.0-0.conda");
  EXPECT_THAT(Names("in"), ElementsAre("demo-1.0-0.conda", "demo-1.0-0.tar.bz2"));
  ASSERT_OK(Transmute(env_, {.packages = {package}, .output = env_.dir() / "new/deep"}));
  EXPECT_THAT(Names("new/deep"), ElementsAre("demo-1.0-0.conda"));
}

TEST_F(TransmuteRunTest, ComparesAllNamesBeforeTheFirstPackage) {
  const AbsPath good = Package("in/demo-1.0-0.tar.bz2");
  const AbsPath same = Package("in/other/demo-1.0-0.tar.bz2");
  EXPECT_THAT(Transmute(env_, {.packages = {good, same}, .output = output_}),
              FailsWith(ErrorCode::kUsage, HasSubstr("two files would become")));
  EXPECT_THAT(Transmute(env_, {.packages = {good, env_.dir() / "in/x.zip"}, .output = output_}),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("name-version-build")));
  const std::string longest = std::string(201, 'a') + "-1-0.conda";
  EXPECT_THAT(Transmute(env_, {.packages = {good, env_.dir() / ("in/" + longest)}, .output = output_}),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("longer than 211")));
  const AbsPath taken = env_.dir().WriteFile("out/taken-1.0-0.conda", "old");
  const AbsPath of_taken = Package("in/taken-1.0-0.tar.bz2");
  EXPECT_THAT(Transmute(env_, {.packages = {good, of_taken}, .output = output_}),
              FailsWith(ErrorCode::kAlreadyExists, HasSubstr("taken-1.0-0.conda")));
  EXPECT_THAT(Names("out"), ElementsAre("taken-1.0-0.conda"));
}

TEST_F(TransmuteRunTest, RefusesWhatCheckRefusesAndKeepsThePackagesBefore) {
  const AbsPath good = Package("in/demo-1.0-0.tar.bz2");
  const AbsPath bad = Package("bad/demo-1.0-0.tar.bz2", {{.name = "share/demo.txt", .content = "HELLO\n"}});
  ASSERT_OK_AND_ASSIGN(const TransmuteSummary alone, Transmute(env_, {.packages = {bad}, .output = output_}));
  ASSERT_TRUE(alone.failure);
  EXPECT_THAT(Result<void>(*alone.failure),
              FailsWith(ErrorCode::kInvalidInput,
                        AllOf(HasSubstr("not a sound conda package"), HasSubstr("conda-paths"))));
  EXPECT_THAT(Names("out"), IsEmpty());
  ASSERT_OK_AND_ASSIGN(const TransmuteSummary both, Transmute(env_, {.packages = {good, bad}}));
  EXPECT_TRUE(both.failure);
  ASSERT_EQ(both.outcomes.size(), 1U);
  EXPECT_THAT(Names("in"), ElementsAre("demo-1.0-0.conda", "demo-1.0-0.tar.bz2"));
  EXPECT_THAT(Names("bad"), ElementsAre("demo-1.0-0.tar.bz2"));
}

TEST_F(TransmuteRunTest, ForceReplacesAFileAndRemovesItsSignature) {
  const AbsPath package = Package("in/demo-1.0-0.tar.bz2");
  env_.dir().WriteFile("out/demo-1.0-0.conda", "old");
  env_.dir().WriteFile("out/demo-1.0-0.conda.sig", "of the old file");
  ASSERT_OK_AND_ASSIGN(const TransmuteSummary summary,
                       Transmute(env_, {.packages = {package}, .output = output_, .force = true}));
  EXPECT_FALSE(summary.failure);
  EXPECT_THAT(Names("out"), ElementsAre("demo-1.0-0.conda"));
  EXPECT_NE(env_.dir().ReadFile("out/demo-1.0-0.conda"), "old");
}

TEST_F(TransmuteRunTest, AnOldSignatureIsNeverBesideTheNewPackage) {
  const AbsPath package = Package("in/demo-1.0-0.tar.bz2");
  ExpectNoStaleSignature(env_, output_ / "demo-1.0-0.conda", [&](Env& env) -> Result<void> {
    PTPKG_TRY(TransmuteSummary summary,
              Transmute(env, {.packages = {package}, .output = output_, .force = true}));
    return summary.failure ? Result<void>(*std::move(summary.failure)) : Ok();
  });
}

TEST_F(TransmuteRunTest, NoticesAPackageThatChangesMeanwhile) {
  const AbsPath package = Package("in/demo-1.0-0.tar.bz2");
  int refused = 0;
  bool reached = true;
  for (std::uint64_t number = 1; reached; ++number) {
    reached = false;
    test::FaultFs fs(env_->fs, {});
    fs.Before(number, [&] {
      reached = true;
      EXPECT_OK(env_->fs.SetMtime(package, static_cast<std::int64_t>(number)));
    });
    Env env = WithFs(env_, fs);
    ASSERT_OK_AND_ASSIGN(const TransmuteSummary summary,
                         Transmute(env, {.packages = {package}, .output = output_, .force = true}));
    if (!summary.failure) continue;
    EXPECT_THAT(Result<void>(*summary.failure),
                FailsWith(ErrorCode::kRefused, HasSubstr("changed while it was read")));
    ++refused;
  }
  EXPECT_GT(refused, 0);
}

}  // namespace
}  // namespace ptpkg::pipeline
