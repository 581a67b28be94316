#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <memory>

#include "graph/result_store.h"
#include "support/fault_fs.h"
#include "support/files/lease.h"
#include "support/matchers.h"
#include "support/test_env.h"

namespace ptpkg::graph {
namespace {

using test::FailsWith;
using test::IsOk;
using test::IsOkAndHolds;
using ::testing::Eq;
using ::testing::HasSubstr;

constexpr const char* kKey = "0123456789abcdef";

Result<NodeResult> Make(Env& env, const AbsPath& folder, const std::string& text) {
  PTPKG_CHECK(env.fs.MakeDirs(folder / "lib"));
  PTPKG_CHECK(WriteFile(env.fs, folder / "lib/made", text));
  PTPKG_CHECK(WriteFile(env.fs, folder / "tool", "#!"));
  PTPKG_CHECK(env.fs.SetMode(folder / "tool", 0755));
  NodeResult result{.value = {{"answer", 42}}};
  PTPKG_TRY(result.files, ScanTree(env, folder));
  return result;
}

class StoreTest : public ::testing::Test {
 protected:
  Result<NodeResult> Put(Store& store, const std::string& text = "bytes") {
    return store.Put("build", kKey, [&](const AbsPath& folder) { return Make(env_, folder, text); });
  }

  test::TestEnv env_;
  AbsPath root_ = env_->cache_dir / "stages";
  AbsPath folder_ = root_ / "results/build" / kKey;
};

TEST_F(StoreTest, KeepsAResultUnderItsKey) {
  Store store(env_, root_);
  EXPECT_THAT(store.Holds("build", kKey), IsOkAndHolds(false));
  EXPECT_THAT(Exists(env_->fs, root_), IsOkAndHolds(false)) << "looking writes nothing";
  ASSERT_OK_AND_ASSIGN(const NodeResult put, Put(store));
  EXPECT_EQ(put.files.root.str(), (folder_ / "files").str());
  EXPECT_THAT(store.Holds("build", kKey), IsOkAndHolds(true));
  Store later(env_, root_);
  ASSERT_OK_AND_ASSIGN(const std::optional<NodeResult> taken, later.Take("build", kKey));
  ASSERT_TRUE(taken.has_value());
  EXPECT_EQ(taken->value, put.value);
  EXPECT_EQ(taken->files.entries, put.files.entries);
  EXPECT_EQ(taken->key, kKey);
  EXPECT_THAT(ReadFile(env_->fs, taken->files.root / "lib/made"), IsOkAndHolds(Eq("bytes")));
  ASSERT_OK_AND_ASSIGN(const std::optional<NodeResult> other, later.Take("conda", kKey));
  EXPECT_FALSE(other.has_value());
}

TEST_F(StoreTest, AFailedMakerLeavesNothing) {
  Store store(env_, root_);
  const auto failed = store.Put("build", kKey, [&](const AbsPath& folder) -> Result<NodeResult> {
    PTPKG_TRY([[maybe_unused]] const NodeResult made, Make(env_, folder, "half"));
    return Error(ErrorCode::kCommandFailed, "no");
  });
  EXPECT_THAT(failed, FailsWith(ErrorCode::kCommandFailed, HasSubstr("no")));
  EXPECT_THAT(env_->fs.ListDir(folder_.Parent()), IsOkAndHolds(::testing::IsEmpty()));
}

TEST_F(StoreTest, ASecondMakerOfTheSameResultTakesTheFirsts) {
  Store store(env_, root_);
  const auto outer = store.Put("build", kKey, [&](const AbsPath& folder) -> Result<NodeResult> {
    Store other(env_, root_);
    PTPKG_TRY([[maybe_unused]] const NodeResult inner, Put(other));
    return Make(env_, folder, "bytes");
  });
  ASSERT_THAT(outer, IsOk());
  EXPECT_THAT(env_->fs.ListDir(folder_.Parent()), IsOkAndHolds(::testing::ElementsAre(kKey)));
  // What is held is the first one's result, not the directory of the attempt.
  ASSERT_OK_AND_ASSIGN(const auto cleaner, Lease::Try(env_->fs, folder_, LockKind::kExclusive));
  EXPECT_FALSE(cleaner.has_value());
}

/// One way in which a disk, or somebody, damages a result.
struct Damage {
  const char* name;
  std::function<void(Env&, const AbsPath& folder)> apply;
};

void Must(const Result<void>& result) { EXPECT_THAT(result, IsOk()); }

TEST_F(StoreTest, WhatIsDamagedIsMadeAgainWithAWarning) {
  const std::vector<Damage> damages = {
      {"a flipped byte",
       [](Env& env, const AbsPath& f) { Must(WriteFile(env.fs, f / "files/lib/made", "bytez")); }},
      {"a truncated file",
       [](Env& env, const AbsPath& f) { Must(WriteFile(env.fs, f / "files/lib/made", "b")); }},
      {"a missing file", [](Env& env, const AbsPath& f) { Must(env.fs.Remove(f / "files/tool")); }},
      {"an added file",
       [](Env& env, const AbsPath& f) { Must(WriteFile(env.fs, f / "files/lib/new", "x")); }},
      {"another mode", [](Env& env, const AbsPath& f) { Must(env.fs.SetMode(f / "files/tool", 0644)); }},
      {"a file that became a link",
       [](Env& env, const AbsPath& f) {
         Must(env.fs.Remove(f / "files/tool"));
         Must(env.fs.CreateSymlink("lib/made", f / "files/tool"));
       }},
      {"no manifest", [](Env& env, const AbsPath& f) { Must(env.fs.Remove(f / "result.json")); }},
      {"an empty manifest",
       [](Env& env, const AbsPath& f) { Must(WriteFile(env.fs, f / "result.json", "")); }},
      {"an edited manifest",
       [](Env& env, const AbsPath& f) {
         auto text = ReadFile(env.fs, f / "result.json");
         ASSERT_THAT(text, IsOk());
         text->replace(text->find("42"), 2, "43");
         Must(WriteFile(env.fs, f / "result.json", *text));
       }},
      {"a file instead of the folder",
       [](Env& env, const AbsPath& f) {
         Must(RemoveTree(env.fs, f));
         Must(WriteFile(env.fs, f, ""));
       }},
      {"all files gone", [](Env& env, const AbsPath& f) { Must(RemoveTree(env.fs, f / "files")); }},
  };
  for (const Damage& damage : damages) {
    SCOPED_TRACE(damage.name);
    {
      Store store(env_, root_);
      ASSERT_THAT(Put(store), IsOk());
    }
    damage.apply(env_, folder_);
    const std::size_t warned = env_.reporter.warnings().size();
    Store store(env_, root_);
    ASSERT_OK_AND_ASSIGN(const std::optional<NodeResult> taken, store.Take("build", kKey));
    EXPECT_FALSE(taken.has_value());
    ASSERT_EQ(env_.reporter.warnings().size(), warned + 1);
    EXPECT_THAT(env_.reporter.warnings().back(), HasSubstr("building it again"));
    EXPECT_THAT(Exists(env_->fs, folder_), IsOkAndHolds(false));
    ASSERT_OK_AND_ASSIGN(const NodeResult again, Put(store));
    EXPECT_THAT(ReadFile(env_->fs, again.files.root / "lib/made"), IsOkAndHolds(Eq("bytes")));
  }
}

TEST_F(StoreTest, AResultInUseIsNotDropped) {
  Store reader(env_, root_);
  ASSERT_THAT(Put(reader), IsOk());
  Store other(env_, root_);
  ASSERT_THAT(other.Drop("build", kKey), IsOk());
  EXPECT_THAT(reader.Holds("build", kKey), IsOkAndHolds(true)) << "the reader still holds it";
  ASSERT_THAT(reader.Drop("build", kKey), IsOk());
  EXPECT_THAT(reader.Holds("build", kKey), IsOkAndHolds(false));
}

TEST_F(StoreTest, TextThatJsonCannotHoldIsAnErrorAndLeavesNothing) {
  for (const Json& value : {Json{{"path", "/x\xff"}}, Json{{"list", {1, "\xff"}}}, Json{{"k\xff", 1}}}) {
    Store store(env_, root_);
    const auto put = store.Put("build", kKey, [&](const AbsPath& folder) -> Result<NodeResult> {
      PTPKG_TRY(NodeResult result, Make(env_, folder, "bytes"));
      result.value = value;
      return result;
    });
    EXPECT_THAT(put, FailsWith(ErrorCode::kUsage, HasSubstr("is not UTF-8")));
    EXPECT_THAT(env_->fs.ListDir(folder_.Parent()), IsOkAndHolds(::testing::IsEmpty()));
  }
}

TEST_F(StoreTest, ADamagedResultThatSomebodyReadsMakesWay) {
  auto reader = std::make_unique<Store>(env_, root_);
  ASSERT_THAT(Put(*reader), IsOk());
  ASSERT_THAT(WriteFile(env_->fs, folder_ / "files/tool", "?"), IsOk());
  Store store(env_, root_);
  ASSERT_OK_AND_ASSIGN(const std::optional<NodeResult> taken, store.Take("build", kKey));
  EXPECT_FALSE(taken.has_value());
  ASSERT_OK_AND_ASSIGN(const NodeResult put, Put(store));
  EXPECT_THAT(ReadFile(env_->fs, put.files.root / "tool"), IsOkAndHolds(Eq("#!")));
  // The damaged one stays as long as it is read, and then goes by the rule of all scratch.
  ASSERT_THAT(store.RemoveAbandoned(), IsOk());
  EXPECT_THAT(env_->fs.ListDir(folder_.Parent()), IsOkAndHolds(::testing::SizeIs(2)));
  reader.reset();
  ASSERT_THAT(store.RemoveAbandoned(), IsOk());
  EXPECT_THAT(env_->fs.ListDir(folder_.Parent()), IsOkAndHolds(::testing::ElementsAre(kKey)));
  ASSERT_OK_AND_ASSIGN(const std::optional<NodeResult> again, Store(env_, root_).Take("build", kKey));
  EXPECT_TRUE(again.has_value());
}

TEST(StoreFaults, PutAndTakeSurviveEveryFault) {
  test::FaultLoop loop;
  loop.scope = test::FaultScope::kAny;
  loop.may_swallow = true;  // a damaged result is made again, a leftover is removed by the next run
  loop.run = [](Fs& fs) -> Result<void> {
    test::TestEnv env({.fs = &fs});
    const AbsPath root = AbsPath::Literal("/cache/stages");
    PTPKG_CHECK(fs.MakeDirs(root));
    const auto make = [&](const AbsPath& folder) { return Make(env, folder, "bytes"); };
    {
      Store store(env, root);
      PTPKG_TRY([[maybe_unused]] const NodeResult put, store.Put("build", kKey, make));
    }
    Store store(env, root);
    PTPKG_TRY(const std::optional<NodeResult> taken, store.Take("build", kKey));
    if (taken && taken->files.entries.size() != 2)
      return Error(ErrorCode::kInternal, "a wrong result was taken");
    return Ok();
  };
  loop.check = [](test::MemFs& fs, const Error& error) {
    EXPECT_NE(error.code(), ErrorCode::kInternal) << FormatError(error);
    // Whatever failed: what has the result's name is whole, or is found out.
    test::TestEnv env({.fs = &fs});
    Store store(env, AbsPath::Literal("/cache/stages"));
    const auto taken = store.Take("build", kKey);
    ASSERT_THAT(taken, IsOk());
    if (taken->has_value()) {
      EXPECT_EQ((*taken)->files.entries.size(), 2U);
    }
  };
  EXPECT_GT(test::RunFaultLoop(loop), 20);
}

}  // namespace
}  // namespace ptpkg::graph
