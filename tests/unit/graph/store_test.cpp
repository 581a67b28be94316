#include "graph/store.h"

#include "support/fault_fs.h"
#include "support/json.h"
#include "support/matchers.h"
#include "support/test_env.h"

namespace ptpkg::graph {
namespace {

using test::FailsWith;
using test::IsOkAndHolds;
using ::testing::Eq;
using ::testing::HasSubstr;
using ::testing::Optional;

StageInputs Inputs(const std::string& source) {
  StageInputs inputs("build", "toy-1.0-0", 1);
  inputs.Add("source", source).Add("script", "make");
  return inputs;
}

TEST(StageInputs, KeyDependsOnEveryPart) {
  EXPECT_EQ(Inputs("a").Key(), Inputs("a").Key());
  EXPECT_NE(Inputs("a").Key(), Inputs("b").Key());
  StageInputs other_version("build", "toy-1.0-0", 2);
  other_version.Add("source", "a").Add("script", "make");
  EXPECT_NE(other_version.Key(), Inputs("a").Key());
  StageInputs other_subject("build", "toy-2.0-0", 1);
  other_subject.Add("source", "a").Add("script", "make");
  EXPECT_EQ(other_subject.Key(), Inputs("a").Key()) << "equal inputs, equal result, whoever asks";
}

class StoreTest : public ::testing::Test {
 protected:
  StageStore Open() {
    auto store = StageStore::Open(env_, env_->cache_dir / "stages");
    EXPECT_THAT(store, test::IsOk());
    return *std::move(store);
  }
  Result<void> Make(const AbsPath& folder) { return WriteFile(env_->fs, folder / "made", "bytes"); }

  test::TestEnv env_;
};

TEST_F(StoreTest, KeepsAResultUnderItsKey) {
  StageStore store = Open();
  EXPECT_THAT(store.Find(Inputs("a")), IsOkAndHolds(Eq(std::nullopt)));
  const auto folder = store.Put(Inputs("a"), [&](const AbsPath& path) { return Make(path); });
  ASSERT_THAT(folder, test::IsOk());
  EXPECT_THAT(ReadFile(env_->fs, *folder / "made"), IsOkAndHolds(Eq("bytes")));
  EXPECT_THAT(store.Find(Inputs("a")), IsOkAndHolds(Optional(*folder)));
  EXPECT_THAT(store.Find(Inputs("b")), IsOkAndHolds(Eq(std::nullopt)));
}

TEST_F(StoreTest, AFailedStageLeavesNothing) {
  StageStore store = Open();
  const auto failed = store.Put(Inputs("a"), [&](const AbsPath& path) -> Result<void> {
    PTPKG_CHECK(Make(path));
    return Error(ErrorCode::kCommandFailed, "no");
  });
  EXPECT_THAT(failed, FailsWith(ErrorCode::kCommandFailed, HasSubstr("no")));
  EXPECT_THAT(store.Find(Inputs("a")), IsOkAndHolds(Eq(std::nullopt)));
  EXPECT_THAT(env_->fs.ListDir(env_->cache_dir / "stages/results/build"), IsOkAndHolds(::testing::IsEmpty()));
}

TEST_F(StoreTest, ASecondMakerOfTheSameResultIsHarmless) {
  StageStore store = Open();
  const auto outer = store.Put(Inputs("a"), [&](const AbsPath& path) -> Result<void> {
    PTPKG_TRY([[maybe_unused]] const AbsPath inner,
              store.Put(Inputs("a"), [&](const AbsPath& inner_path) { return Make(inner_path); }));
    return Make(path);
  });
  ASSERT_THAT(outer, test::IsOk());
  EXPECT_THAT(env_->fs.ListDir(outer->Parent()), IsOkAndHolds(::testing::SizeIs(1)));
}

TEST_F(StoreTest, SaysWhichInputChanged) {
  StageStore store = Open();
  EXPECT_THAT(store.WhyChanged(Inputs("a")), IsOkAndHolds(Eq("first run")));
  ASSERT_THAT(store.Record(Inputs("a"), Json::array({1})), test::IsOk());
  EXPECT_THAT(store.WhyChanged(Inputs("b")), IsOkAndHolds(Eq("'source' changed")));
  EXPECT_THAT(store.WhyChanged(Inputs("a")), IsOkAndHolds(HasSubstr("unchanged")));
  StageInputs fewer("build", "toy-1.0-0", 1);
  fewer.Add("source", "a");
  EXPECT_THAT(store.WhyChanged(fewer), IsOkAndHolds(Eq("'script' changed")));
}

TEST_F(StoreTest, RecallsAnOutcomeOnlyForEqualInputs) {
  StageStore store = Open();
  ASSERT_THAT(store.Record(Inputs("a"), Json::array({1})), test::IsOk());
  EXPECT_THAT(store.Recall(Inputs("a")), IsOkAndHolds(Optional(Eq(Json::array({1})))));
  EXPECT_THAT(store.Recall(Inputs("b")), IsOkAndHolds(Eq(std::nullopt)));
}

TEST_F(StoreTest, ADamagedRecordCountsAsNone) {
  StageStore store = Open();
  ASSERT_THAT(store.Record(Inputs("a"), Json::array()), test::IsOk());
  ASSERT_THAT(WriteFile(env_->fs, env_->cache_dir / "stages/records/toy-1.0-0/build.json", "{\"inputs\": 3"),
              test::IsOk());
  EXPECT_THAT(store.WhyChanged(Inputs("a")), IsOkAndHolds(Eq("first run")));
  EXPECT_THAT(store.Recall(Inputs("a")), IsOkAndHolds(Eq(std::nullopt)));
}

TEST_F(StoreTest, OpeningRemovesAttemptsOfDeadProcesses) {
  const AbsPath stage = env_->cache_dir / "stages/results/build";
  ASSERT_THAT(env_->fs.MakeDirs(stage / "attempt-999999999-0/half"), test::IsOk());
  Open();
  EXPECT_THAT(env_->fs.ListDir(stage), IsOkAndHolds(::testing::IsEmpty()));
}

}  // namespace
}  // namespace ptpkg::graph
