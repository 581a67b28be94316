// Finished files get their names together, or not at all.

#include "pipeline/plan/result_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/fault_fs.h"
#include "support/matchers.h"
#include "support/must.h"
#include "support/test_env.h"

namespace ptpkg::pipeline {
namespace {

using test::FailsWith;
using test::IsOk;
using test::IsOkAndHolds;
using test::Must;
using testing::IsEmpty;

class PlacementTest : public testing::Test {
 protected:
  AbsPath Put(const std::string& path, const std::string& text) {
    AbsPath file = env_.dir() / path;
    Must(env_->fs.MakeDirs(file.Parent()));
    Must(WriteFile(env_->fs, file, text));
    return file;
  }
  std::string Read(const AbsPath& file) { return Must(ReadFile(env_->fs, file)); }

  test::TestEnv env_;
  AbsPath out_ = env_.dir() / "a/b/out";
};

TEST_F(PlacementTest, AllFilesGetTheirNames) {
  AtomicPlacement placement(env_, ExistingFilePolicy::kRefuse);
  ASSERT_THAT(placement.MakeDirs(out_), IsOk());
  placement.Add(Put("staged/one", "1"), out_ / "one");
  placement.Add(Put("staged/two", "2"), out_ / "deep/two");
  EXPECT_THAT(Must(env_->fs.ListDir(out_)), IsEmpty());
  ASSERT_THAT(placement.Place(env_.dir() / "scratch"), IsOk());
  EXPECT_EQ(Read(out_ / "one"), "1");
  EXPECT_EQ(Read(out_ / "deep/two"), "2");
}

TEST_F(PlacementTest, OrNone) {
  const AbsPath taken = Put("a/taken", "another");
  {
    AtomicPlacement placement(env_, ExistingFilePolicy::kRefuse);
    ASSERT_THAT(placement.MakeDirs(out_), IsOk());
    placement.Add(Put("staged/one", "1"), out_ / "sm90/one");
    placement.Add(Put("staged/two", "2"), taken);
    EXPECT_THAT(placement.Place(env_.dir() / "scratch"), FailsWith(ErrorCode::kAlreadyExists, testing::_));
    EXPECT_THAT(Exists(env_->fs, out_ / "sm90/one"), IsOkAndHolds(false));
    EXPECT_EQ(Read(taken), "another");
  }
  // The directories that were made for it go, and no others.
  EXPECT_THAT(Exists(env_->fs, env_.dir() / "a/b"), IsOkAndHolds(false));
  EXPECT_EQ(Read(taken), "another");
}

TEST_F(PlacementTest, WhatVouchedForAReplacedFileGoes) {
  const AbsPath wheel = Put("a/toy-1.0-py3-none-any.whl", "old");
  const AbsPath package = Put("a/toy-1.0-0.conda", "old");
  const AbsPath library = Put("a/libtoy.so", "old");
  Put("a/toy-1.0-py3-none-any.whl.sig", "signature");
  Put("a/toy-1.0-0.conda.sig", "signature");
  const AbsPath other = Put("a/other-1.0-py3-none-any.whl.sig", "signature");
  AtomicPlacement placement(env_, ExistingFilePolicy::kReplace);
  for (const AbsPath& file : {wheel, package, library})
    placement.Add(Put("staged/" + std::string(file.Name()), "new"), file);
  ASSERT_THAT(placement.Place(env_.dir() / "scratch"), IsOk());
  EXPECT_THAT(Must(env_->fs.ListDir(wheel.Parent())),
              testing::UnorderedElementsAre(wheel.Name(), package.Name(), library.Name(), other.Name()));
  for (const AbsPath& file : {wheel, package, library}) EXPECT_EQ(Read(file), "new");
}

TEST_F(PlacementTest, WhatWasReplacedComesBackWithWhatVouchedForIt) {
  const AbsPath old = Put("a/toy-1.0-py3-none-any.whl", "old");
  const AbsPath signature = Put("a/toy-1.0-py3-none-any.whl.sig", "signature");
  const AbsPath last = Put("a/last", "last");
  AtomicPlacement placement(env_, ExistingFilePolicy::kReplace);
  placement.Add(Put("staged/one", "1"), old);
  placement.Add(Put("staged/two", "2"), env_.dir() / "a/two");
  placement.Add(Put("staged/three", "3"), last);
  placement.Add(env_.dir() / "staged/missing", env_.dir() / "a/four");
  EXPECT_THAT(placement.Place(env_.dir() / "scratch"), FailsWith(ErrorCode::kNotFound, testing::_));
  EXPECT_EQ(Read(old), "old");
  EXPECT_EQ(Read(signature), "signature");
  EXPECT_EQ(Read(last), "last");
  EXPECT_THAT(Must(env_->fs.ListDir(old.Parent())),
              testing::UnorderedElementsAre(old.Name(), signature.Name(), last.Name()));
}

TEST_F(PlacementTest, AFolderIsNeverReplaced) {
  const AbsPath folder = env_.dir() / "a/taken";
  Must(env_->fs.MakeDirs(folder));
  AtomicPlacement placement(env_, ExistingFilePolicy::kReplace);
  placement.Add(Put("staged/one", "1"), env_.dir() / "a/one");
  placement.Add(Put("staged/two", "2"), folder);
  EXPECT_FALSE(placement.Place(env_.dir() / "scratch"));
  EXPECT_THAT(Must(env_->fs.ListDir(folder.Parent())), testing::ElementsAre("taken"));
}

/// The last step syncs the directory. If it fails, the file has its name: a warning and no error.
TEST(PlaceFile, AFaultLeavesAWholeFileAndAFailedSyncWarns) {
  const AbsPath staged = AbsPath::Literal("/scratch/toy.whl");
  const AbsPath to = AbsPath::Literal("/out/toy.whl");
  const auto setup = [&](test::MemFs& fs) {
    fs.AddFile(staged.str(), "new");
    fs.AddFile(to.str(), "old");
  };
  int warned = 0;
  const auto run = [&](Fs& fs) -> Result<void> {
    test::TestEnv env({.fs = &fs});
    Result<void> placed = PlaceFile(env, staged, to, ExistingFilePolicy::kReplace);
    if (!env.reporter.warnings().empty()) {
      ++warned;
      EXPECT_THAT(placed, IsOk());
      EXPECT_THAT(env.reporter.warnings(),
                  testing::ElementsAre(testing::HasSubstr("a loss of power may undo that")));
    }
    return placed;
  };
  const auto check = [&](test::MemFs& fs, const Error&) { EXPECT_EQ(Must(ReadFile(fs, to)), "old"); };
  EXPECT_GT(test::RunFaultLoop({.setup = setup, .run = run, .check = check, .may_swallow = true}), 2);
  EXPECT_EQ(warned, 1);
}

}  // namespace
}  // namespace ptpkg::pipeline
