#include "pipeline/commands/cache.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "support/fault_fs.h"
#include "support/files/lease.h"
#include "support/files/scratch.h"
#include "support/matchers.h"
#include "support/mem_fs.h"
#include "support/test_env.h"

namespace ptpkg::pipeline {
namespace {

using test::FailsWith;
using test::IsOkAndHolds;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr std::int64_t kDay = 86'400'000'000'000;

class CacheTest : public ::testing::Test {
 protected:
  CacheTest() : env_({.fs = &fs_}) { env_->cache_dir = AbsPath::Literal("/c"); }

  /// A result of `size` bytes that was last used so many days ago.
  void AddResult(const std::string& key, std::size_t size, int days_ago) {
    const std::string folder = "/c/stages/results/build/" + key;
    fs_.AddFile(folder + "/tree/f", std::string(size, 'x'));
    fs_.AddFile(folder + "/.lease", "");
    Use(folder + "/.lease", days_ago);
  }
  void Use(const std::string& path, int days_ago) {
    const auto now = env_.clock.WallNow().time_since_epoch().count();
    ASSERT_OK(fs_.SetMtime(AbsPath::Literal(path), now - days_ago * kDay));
  }
  /// Names of what a cleaning removes, in its order.
  std::vector<std::string> Clean(const CacheCleanRequest& request) {
    const auto outcome = CleanCache(env_, request);
    EXPECT_TRUE(outcome.has_value()) << FormatError(outcome.error());
    if (!outcome) return {};
    EXPECT_THAT(outcome->failures, IsEmpty());
    std::vector<std::string> names;
    for (const CacheItem& item : outcome->removed) names.emplace_back(item.path.Name());
    return names;
  }

  test::MemFs fs_;
  test::TestEnv env_;
};

TEST_F(CacheTest, AMissingCacheIsEmpty) {
  EXPECT_THAT(ListCache(env_), IsOkAndHolds(IsEmpty()));
  EXPECT_THAT(Clean({}), IsEmpty());
}

TEST_F(CacheTest, ListsEveryKindWithItsSizeUseAndState) {
  AddResult("aaa", 100, 3);
  fs_.AddFile("/c/stages/records/toy-1.0-0/build.json", R"({"key": "aaa", "inputs": {}})");
  fs_.AddFile("/c/stages/records/toy-1.0-0/torn.json", "{");
  fs_.AddFile("/c/downloads/d1/toy-1.0.tar.gz", "12345");
  fs_.AddFile("/c/kept/toy-1.0-0/source/f", "1234");
  fs_.AddFile("/c/check-4711-0/f", "123");
  fs_.AddFile("/c/envs/python", "12");
  ASSERT_OK_AND_ASSIGN(const TempDir live, TempDir::Create(fs_, AbsPath::Literal("/c/work"), "tree"));
  ASSERT_OK_AND_ASSIGN(const auto reader, LeaseShared(env_, AbsPath::Literal("/c/downloads/d1")));

  ASSERT_OK_AND_ASSIGN(const std::vector<CacheItem> items, ListCache(env_));
  std::vector<std::string> lines;
  for (const CacheItem& item : items) {
    lines.push_back(fmt::format("{} {} {} {} {} {}", CacheKindName(item.kind), CacheStateName(item.state),
                                item.path.Name() == live.path().Parent().Name() ? "live" : item.path.Name(),
                                item.stage, item.subject, item.size_bytes));
  }
  EXPECT_THAT(lines, ElementsAre("result free aaa build toy-1.0-0 100",
                                 "download in_use d1  toy-1.0.tar.gz 5", "kept free toy-1.0-0   4",
                                 "scratch free check-4711-0   3", "scratch in_use live   0",
                                 "other foreign envs   2", HasSubstr("other foreign records")));
  EXPECT_EQ(items[0].last_use_ns, env_.clock.WallNow().time_since_epoch().count() - 3 * kDay);
  // To look is not to touch.
  EXPECT_THAT(fs_.List("/c/kept"), Not(Contains(HasSubstr(".lease"))));
}

TEST_F(CacheTest, ArtifactsThatWaitForTheirPublicationAreResults) {
  const std::string waiting = "/c/waiting/0123456789abcdef/results/conda";
  fs_.AddFile(waiting + "/aaa/files/toy-1.0-0.conda", "12345");
  fs_.AddFile(waiting + "/attempt-4711-0/files/toy-1.0-0.conda", "1");
  fs_.AddFile("/c/stages/records/toy-1.0-0/conda.json", R"({"key": "aaa", "inputs": {}})");
  ASSERT_OK_AND_ASSIGN(const auto items, ListCache(env_));
  std::vector<std::string> shown;
  for (const CacheItem& item : items)
    shown.push_back(
        fmt::format("{} {} {} {}", CacheKindName(item.kind), item.path.Name(), item.stage, item.subject));
  EXPECT_THAT(shown,
              ElementsAre("result aaa conda toy-1.0-0", "scratch attempt-4711-0  ", "other records  "));
  EXPECT_THAT(Clean({}), ::testing::UnorderedElementsAre("aaa", "attempt-4711-0"));
}

TEST_F(CacheTest, PartialDownloadsAndMirrorsAreShownAndCleaned) {
  for (const char* name : {".lease", ".fetch-lock", ".partial-0011", ".partial-0011.version"})
    fs_.AddFile(std::string("/c/downloads/aa/") + name, "x");
  for (const char* name : {".lease", ".partial-0011", "whole.tar"})
    fs_.AddFile(std::string("/c/downloads/bb/") + name, "");
  fs_.AddFile("/c/git/cc/.lease", "");
  fs_.AddFile("/c/git/cc/url", "https://h/a.git\n");
  fs_.AddFile("/c/git/cc/repo.git/HEAD", "ref: x");
  ASSERT_OK_AND_ASSIGN(const auto items, ListCache(env_));
  std::vector<std::string> shown;
  for (const CacheItem& item : items) {
    shown.push_back(fmt::format("{} {} {} {}", CacheKindName(item.kind), CacheStateName(item.state),
                                item.path.Name(), item.subject));
  }
  EXPECT_THAT(shown,
              ElementsAre("download free bb whole.tar", "partial free aa ", "git free cc https://h/a.git"));
  EXPECT_THAT(Clean({}), ::testing::UnorderedElementsAre("aa", "bb", "cc"));
  EXPECT_THAT(ListCache(env_), IsOkAndHolds(IsEmpty()));
}

TEST_F(CacheTest, CleanWithoutLimitsTakesAllThatNobodyHolds) {
  AddResult("aaa", 100, 3);
  AddResult("bbb", 100, 1);
  fs_.AddFile("/c/downloads/d1/toy-1.0.tar.gz", "12345");
  fs_.AddFile("/c/kept/old/f", "x");
  fs_.AddFile("/c/check-4711-0/f", "x");
  fs_.AddFile("/c/stages/records/toy-1.0-0/.build.json.4711-0.ptpkg-tmp", "x");
  fs_.AddFile("/c/stages/records/toy-1.0-0/build.json", "{}");
  fs_.AddFile("/c/envs/python", "12");
  ASSERT_OK_AND_ASSIGN(const auto reader, LeaseShared(env_, AbsPath::Literal("/c/stages/results/build/bbb")));
  ASSERT_OK_AND_ASSIGN(const CacheCleanOutcome outcome, CleanCache(env_, {}));
  EXPECT_THAT(outcome.failures, IsEmpty());
  EXPECT_EQ(outcome.removed.size(), 5U);
  ASSERT_EQ(outcome.in_use.size(), 1U);
  EXPECT_EQ(outcome.in_use[0].key, "bbb");
  EXPECT_EQ(outcome.freed_bytes, 108U);
  EXPECT_EQ(outcome.left_bytes, 104U);
  EXPECT_THAT(
      fs_.List("/c"),
      ElementsAre("downloads/", "envs/", "envs/python", "kept/", "stages/", "stages/records/",
                  "stages/records/toy-1.0-0/", "stages/records/toy-1.0-0/build.json", "stages/results/",
                  "stages/results/build/", "stages/results/build/bbb/", "stages/results/build/bbb/.lease",
                  "stages/results/build/bbb/tree/", "stages/results/build/bbb/tree/f"));
}

TEST_F(CacheTest, OlderThanTakesOnlyWhatWasLastUsedBefore) {
  AddResult("aaa", 1, 31);
  AddResult("bbb", 1, 29);
  EXPECT_THAT(Clean({.older_than = std::chrono::hours(30 * 24)}), ElementsAre("aaa"));
  EXPECT_THAT(Clean({.older_than = std::chrono::hours(30 * 24)}), IsEmpty());
  env_.clock.Advance(std::chrono::hours(48));
  // A use makes it young again.
  { ASSERT_OK(LeaseShared(env_, AbsPath::Literal("/c/stages/results/build/bbb"))); }
  EXPECT_THAT(Clean({.older_than = std::chrono::hours(30 * 24)}), IsEmpty());
}

TEST_F(CacheTest, MaxSizeTakesTheOldestUseFirstAndNoMoreThanNeeded) {
  AddResult("aaa", 100, 1);
  AddResult("bbb", 100, 9);
  AddResult("ccc", 100, 5);
  fs_.AddFile("/c/envs/python", std::string(1000, 'x'));  // not ours: counts nothing
  EXPECT_THAT(Clean({.max_size_bytes = 300}), IsEmpty());
  EXPECT_THAT(Clean({.max_size_bytes = 299, .dry_run = true}), ElementsAre("bbb"));
  EXPECT_THAT(Clean({.max_size_bytes = 150}), ElementsAre("bbb", "ccc"));
  EXPECT_THAT(Clean({.max_size_bytes = 0}), ElementsAre("aaa"));
}

TEST_F(CacheTest, MaxSizeTakesYoungerOnesWhereTheOldestIsInUse) {
  AddResult("aaa", 100, 9);
  AddResult("bbb", 100, 1);
  ASSERT_OK_AND_ASSIGN(const auto reader,
                       Lease::Try(fs_, AbsPath::Literal("/c/stages/results/build/aaa"), LockKind::kShared));
  EXPECT_THAT(Clean({.max_size_bytes = 100}), ElementsAre("bbb"));
}

TEST_F(CacheTest, DryRunChangesNothing) {
  AddResult("aaa", 100, 1);
  fs_.AddFile("/c/check-4711-0/f", "x");
  const std::vector<std::string> before = fs_.List("/");
  EXPECT_THAT(Clean({.dry_run = true}), ElementsAre("check-4711-0", "aaa"));
  EXPECT_EQ(fs_.List("/"), before);
}

TEST_F(CacheTest, WhatCannotBeRemovedIsTold) {
  AddResult("aaa", 100, 2);
  AddResult("bbb", 100, 1);
  fs_.AddDir("/c/stages/results/build", 0555);
  ASSERT_OK_AND_ASSIGN(const CacheCleanOutcome outcome, CleanCache(env_, {}));
  EXPECT_THAT(outcome.removed, IsEmpty());
  EXPECT_THAT(outcome.failures, ElementsAre(HasSubstr("/aaa"), HasSubstr("/bbb")));
  EXPECT_EQ(outcome.left_bytes, 200U);
  EXPECT_TRUE(*Exists(fs_, AbsPath::Literal("/c/stages/results/build/aaa/tree/f")));
}

TEST_F(CacheTest, WithoutLocksNothingIsRemoved) {
  AddResult("aaa", 100, 2);
  fs_.DisableLocks();
  ASSERT_OK_AND_ASSIGN(const CacheCleanOutcome outcome, CleanCache(env_, {}));
  EXPECT_THAT(outcome.removed, IsEmpty());
  ASSERT_EQ(outcome.in_use.size(), 1U);
  EXPECT_EQ(outcome.in_use[0].state, CacheState::kUnknown);
}

TEST_F(CacheTest, AReaderAtAnyMomentHasTheWholeResultOrNone) {
  bool reached = true;
  for (std::uint64_t number = 1; reached; ++number) {
    SCOPED_TRACE(number);
    reached = false;
    AddResult("aaa", 1, 2);
    test::FaultFs fs(fs_, {});
    test::TestEnv env({.fs = &fs});
    env->cache_dir = AbsPath::Literal("/c");
    std::optional<Lease> reader;
    fs.Before(number, [&] {
      reached = true;
      auto taken = LeaseShared(env_, AbsPath::Literal("/c/stages/results/build/aaa"));
      ASSERT_OK(taken);
      if (*taken) reader.emplace(**std::move(taken));
    });
    ASSERT_OK_AND_ASSIGN(const CacheCleanOutcome outcome, CleanCache(env, {}));
    EXPECT_EQ(outcome.removed.size(), reader ? 0U : 1U);
    EXPECT_EQ(*Exists(fs_, AbsPath::Literal("/c/stages/results/build/aaa/tree/f")), reader.has_value());
  }
}

TEST_F(CacheTest, EveryFaultIsAnErrorOrAFailureAndLeavesAllOrNothing) {
  const auto setup = [](test::MemFs& fs) {
    fs.AddFile("/c/stages/results/build/aaa/tree/f", "x");
    fs.AddFile("/c/stages/results/build/aaa/.lease", "");
    fs.AddFile("/c/downloads/d1/toy-1.0.tar.gz", "12345");
  };
  const auto run = [](Fs& fs) -> Result<void> {
    test::TestEnv env({.fs = &fs});
    env->cache_dir = AbsPath::Literal("/c");
    PTPKG_TRY(const CacheCleanOutcome outcome, CleanCache(env, {}));
    if (outcome.failures.empty()) return Ok();
    return Error(ErrorCode::kIo, outcome.failures.front());
  };
  const auto check = [](test::MemFs& fs, const Error&) {
    ASSERT_OK(RemoveAbandoned(fs, AbsPath::Literal("/c/stages/results/build")));
    const auto left = fs.List("/c/stages/results/build");
    EXPECT_TRUE(left.empty() || std::find(left.begin(), left.end(), "aaa/tree/f") != left.end());
  };
  for (const test::FaultAfter after : {test::FaultAfter::kRecover, test::FaultAfter::kDead}) {
    EXPECT_GT(test::RunFaultLoop({.after = after, .setup = setup, .run = run, .check = check}), 30);
  }
}

TEST_F(CacheTest, AnswersOfThePythonIndexAreListedAndCleaned) {
  fs_.AddFile("/c/wheels/0abc/pins.json", "{}");
  fs_.AddFile("/c/wheels/ask-0123456789ab.ptpkg-tmp/d/x", "left behind");
  ASSERT_OK_AND_ASSIGN(const auto items, ListCache(env_));
  ASSERT_FALSE(items.empty());
  EXPECT_EQ(items[0].kind, CacheKind::kAnswer);
  EXPECT_EQ(CacheKindName(items[0].kind), "answer");
  EXPECT_EQ(items[0].key, "0abc");
  EXPECT_THAT(Clean({}), Contains("0abc"));
  EXPECT_FALSE(*Exists(fs_, AbsPath::Literal("/c/wheels/0abc")));
}

}  // namespace
}  // namespace ptpkg::pipeline
