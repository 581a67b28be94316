#include "builder/pip/python_index.h"

#include <gtest/gtest.h>

#include "support/matchers.h"
#include "unit/builder/fixtures/fake_index.h"

namespace ptpkg::builder {
namespace {

using test::FailsWith;
using test::HasHint;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr const char* kNinja = "ninja-1.13.2-py3-none-manylinux2014_x86_64.whl";
constexpr const char* kCmake = "cmake-4.4.4-py3-none-manylinux2014_x86_64.whl";

class WheelIndexTest : public ::testing::Test {
 protected:
  WheelIndexTest() : env_({.process = &process_}), index_(process_, env_) {
    access_.pip.executable = AbsPath::Literal("/v/bin/python");
    access_.pip.version = "3.11.2";
  }

  Result<std::vector<WheelPin>> Ask(const std::string& requirement) {
    return ResolveFromIndex(env_, access_, {.requirements = {requirement}});
  }
  AbsPath Kept(const WheelPin& pin) { return env_->cache_dir / "downloads" / pin.sha256.Hex() / pin.file; }

  test::FakeProcess process_;
  test::TestEnv env_;
  test::FakeIndex index_;
  IndexAccess access_;
};

TEST_F(WheelIndexTest, PinsWhatPipFetches) {
  index_.Has("cmake>=3.27", {kCmake, kNinja});
  ASSERT_OK_AND_ASSIGN(const auto pins, Ask("cmake>=3.27"));
  ASSERT_THAT(pins, SizeIs(2));
  EXPECT_EQ(pins[0].name, "cmake");
  EXPECT_EQ(pins[0].version, "4.4.4");
  EXPECT_EQ(pins[0].sha256, HashText(std::string("content of ") + kCmake));
  EXPECT_TRUE(*Exists(env_->fs, Kept(pins[0])));
  EXPECT_THAT(index_.options, IsEmpty());
}

TEST_F(WheelIndexTest, AsksOnceForOneQuestion) {
  index_.Has("ninja", {kNinja});
  ASSERT_OK_AND_ASSIGN(const auto first, Ask("ninja"));
  index_.Has("ninja", {"ninja-2.0-py3-none-any.whl"});  // the index has a newer one by now
  ASSERT_OK_AND_ASSIGN(const auto second, Ask("ninja"));
  EXPECT_EQ(first, second);
  EXPECT_THAT(index_.asked, SizeIs(1));
  access_.pip.version = "3.12.1";
  ASSERT_OK(Ask("ninja"));
  EXPECT_THAT(index_.asked, SizeIs(2)) << "another Python may get other wheels";
}

TEST_F(WheelIndexTest, SaysWhichVersionsExist) {
  index_.Fails("cuda-toolkit==13.9.*",
               "ERROR: Could not find a version that satisfies the requirement cuda-toolkit==13.9.* (from "
               "versions: 12.9.0, 13.0.0, 13.4.0rc1, 13.5.0)\nERROR: No matching distribution found\n");
  EXPECT_THAT(
      Ask("cuda-toolkit==13.9.*"),
      FailsWith(
          ErrorCode::kNotFound,
          "'cuda-toolkit==13.9.*' is not on the Python index: available versions: 12.9.0, 13.0.0, 13.5.0"));
  EXPECT_THAT(Ask("nope"), FailsWith(ErrorCode::kNotFound, HasSubstr("no package of that name")));
}

TEST_F(WheelIndexTest, TellsAnIndexThatCannotBeReachedFromAPackageThatIsNotThere) {
  index_.Fails(
      "ninja",
      "WARNING: Retrying (Retry(total=1, connect=None)) after connection broken by NewConnectionError\n"
      "WARNING: Retrying (Retry(total=0, connect=None)) after connection broken by NewConnectionError\n"
      "ERROR: Could not find a version that satisfies the requirement ninja (from versions: none)\n");
  EXPECT_THAT(Ask("ninja"), FailsWith(ErrorCode::kNetwork, HasSubstr("cannot reach the Python index")));
  index_.Fails("wheel", "ERROR: Could not install packages due to an OSError: NewConnectionError\n");
  EXPECT_THAT(Ask("wheel"), FailsWith(ErrorCode::kNetwork, HasSubstr("cannot reach the Python index")));
  index_.Fails("a", "ERROR: ResolutionImpossible\nbecause of this\n");
  EXPECT_THAT(Ask("a"), FailsWith(ErrorCode::kCommandFailed, HasSubstr("because of this")));
}

// The words of pip 26 for an index that cut two connections and then answered.
TEST_F(WheelIndexTest, ARetryThatSucceededIsNoNetworkFailure) {
  index_.Fails(
      "toy==2.0",
      "WARNING: Retrying (Retry(total=4, connect=None, read=None, redirect=None, status=None)) after "
      "connection broken by 'ConnectionResetError(104, 'Connection reset by peer')': /simple/toy/\n"
      "WARNING: Retrying (Retry(total=3, connect=None, read=None, redirect=None, status=None)) after "
      "connection broken by 'NewConnectionError('Connection to index timed out')': /simple/toy/\n"
      "ERROR: Could not find a version that satisfies the requirement toy==2.0 (from versions: 1.0)\n"
      "ERROR: No matching distribution found for toy==2.0\n");
  EXPECT_THAT(Ask("toy==2.0"), FailsWith(ErrorCode::kNotFound, HasSubstr("available versions: 1.0")));
}

TEST_F(WheelIndexTest, RefusesWhatIsNoWheel) {
  index_.Has("ninja", {"ninja-1.13.tar.gz"});
  EXPECT_THAT(Ask("ninja"), FailsWith(ErrorCode::kInvalidInput, HasSubstr("is not the name of a wheel")));
  index_.HasBytes("none", "x", "");
  EXPECT_THAT(Ask("none"), FailsWith(ErrorCode::kInvalidInput, HasSubstr("'x'")));
}

TEST_F(WheelIndexTest, AnAnswerThatCannotBeReadIsAskedForAgain) {
  index_.Has("ninja", {kNinja});
  ASSERT_OK_AND_ASSIGN(const auto pins, Ask("ninja"));
  ASSERT_OK_AND_ASSIGN(const auto records, env_->fs.ListDir(env_->cache_dir / "wheels"));
  ASSERT_THAT(records, SizeIs(1));
  const AbsPath record = env_->cache_dir / "wheels" / records[0] / "pins.json";
  for (const char* text :
       {"{", "{}", R"({"wheels": [{"file": "a", "sha256": "b", "use": "c"}]})",
        R"({"wheels": [{"file": "a-1-py3-none-any.whl", "sha256": "bb", "use": "host"}]})"}) {
    ASSERT_OK(WriteFile(env_->fs, record, text));
    ASSERT_OK_AND_ASSIGN(const auto again, Ask("ninja"));
    EXPECT_EQ(again, pins);
  }
  EXPECT_THAT(index_.asked, SizeIs(5));
  EXPECT_THAT(env_.reporter.warnings(), SizeIs(4));
}

TEST_F(WheelIndexTest, OfflineGivesWhatIsKeptAndNamesTheRest) {
  index_.Has("ninja", {kNinja});
  ASSERT_OK_AND_ASSIGN(const auto pins, Ask("ninja"));
  env_->offline = true;
  ASSERT_OK(Ask("ninja"));
  ASSERT_OK(LeaseWheel(env_, access_, pins[0]));
  EXPECT_THAT(Ask("cmake"), FailsWith(ErrorCode::kNotFound, HasSubstr("query the Python index for cmake")));
  EXPECT_THAT(Ask("cmake"), HasHint(HasSubstr("without --offline")));
  ASSERT_OK(RemoveTree(env_->fs, Kept(pins[0]).Parent()));
  EXPECT_THAT(LeaseWheel(env_, access_, pins[0]),
              FailsWith(ErrorCode::kNotFound, HasSubstr("'ninja-1.13.2-py3-none-manylinux2014_x86_64.whl'")));
  EXPECT_THAT(index_.asked, SizeIs(1));
}

TEST_F(WheelIndexTest, ADamagedWheelIsFetchedAgain) {
  index_.Has("ninja", {kNinja});
  ASSERT_OK_AND_ASSIGN(const auto pins, Ask("ninja"));
  ASSERT_OK(WriteFile(env_->fs, Kept(pins[0]), "damaged"));
  index_.Has("ninja==1.13.2", {kNinja});
  {
    ASSERT_OK_AND_ASSIGN(const LeasedWheel wheel, LeaseWheel(env_, access_, pins[0]));
    EXPECT_EQ(HashFile(env_->fs, wheel.file)->sha256, pins[0].sha256);
  }
  EXPECT_THAT(index_.asked, ElementsAre("ninja", "ninja==1.13.2"));
  EXPECT_THAT(index_.options, ElementsAre("--no-deps"));
  EXPECT_THAT(env_.reporter.warnings(), ElementsAre(HasSubstr("is damaged; fetching it again")));
}

TEST_F(WheelIndexTest, RefusesOtherBytesUnderThePinnedName) {
  index_.Has("ninja", {kNinja});
  ASSERT_OK_AND_ASSIGN(const auto pins, Ask("ninja"));
  ASSERT_OK(RemoveTree(env_->fs, Kept(pins[0]).Parent()));
  index_.HasBytes("ninja==1.13.2", kNinja, "other bytes");
  EXPECT_THAT(LeaseWheel(env_, access_, pins[0]),
              FailsWith(ErrorCode::kHashMismatch, HasSubstr(pins[0].sha256.Hex())));
}

TEST_F(WheelIndexTest, StopsWhenInterrupted) {
  env_.cancel.Cancel();
  EXPECT_THAT(Ask("ninja"), FailsWith(ErrorCode::kCancelled, "interrupted"));
  EXPECT_THAT(*env_->fs.ListDir(env_->cache_dir / "wheels"), IsEmpty()) << "no scratch stays";
}

TEST(LockedWheels, ComesBackFromJson) {
  const LockedWheels given{.names = {"cmake"},
                           .pins = {{.use = WheelRole::kHost,
                                     .name = "typing-extensions",
                                     .version = "4.15",
                                     .file = "typing_extensions-4.15-py3-none-any.whl",
                                     .sha256 = HashText("x")}}};
  ASSERT_OK_AND_ASSIGN(const LockedWheels back, LockedWheelsFromJson(LockedWheelsToJson(given), "x"));
  EXPECT_EQ(back.names, given.names);
  EXPECT_EQ(back.pins, given.pins);
  EXPECT_THAT(LockedWheelsFromJson(Json::array(), "the plan"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("the plan")));
}

}  // namespace
}  // namespace ptpkg::builder
