#include "support/files/scratch.h"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "support/fault_fs.h"
#include "support/matchers.h"
#include "support/mem_fs.h"
#include "support/temp_dir.h"
#include "support/test_env.h"

namespace ptpkg::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::SizeIs;

const AbsPath& Parent() {
  static const AbsPath kParent = AbsPath::Literal("/w/x");
  return kParent;
}

TEST(TempDirOfSupport, IsLeasedAndRemovedUnlessMoved) {
  MemFs fs;
  {
    ASSERT_OK_AND_ASSIGN(const ptpkg::TempDir first, ptpkg::TempDir::Create(fs, Parent(), "build"));
    ASSERT_OK_AND_ASSIGN(ptpkg::TempDir second, ptpkg::TempDir::Create(fs, Parent(), "build"));
    EXPECT_NE(first.path(), second.path());
    EXPECT_THAT(first.path().str(), MatchesRegex("/w/x/build-[0-9a-f]{12}\\.ptpkg-tmp/d"));
    EXPECT_THAT(fs.List(first.path().str()),
                IsEmpty());  // the lease does not lie in what is scanned and packed
    fs.AddFile(first.path().str() + "/deep/f", "x");
    fs.AddFile(second.path().str() + "/f", "x");
    ASSERT_OK(RemoveAbandoned(fs, Parent()));
    EXPECT_EQ(fs.Content(first.path().str() + "/deep/f"), "x");
    ptpkg::TempDir moved = std::move(second);
    ASSERT_OK(std::move(moved).MoveTo(AbsPath::Literal("/w/kept")));
  }
  EXPECT_THAT(fs.List("/w"), ElementsAre("kept/", "kept/f", "x/"));
  EXPECT_EQ(fs.open_files(), 0);
}

TEST(TempDirOfSupport, PathMayBeRenamedAwayByItsUser) {
  MemFs fs;
  {
    ASSERT_OK_AND_ASSIGN(const ptpkg::TempDir dir, ptpkg::TempDir::Create(fs, Parent(), "attempt"));
    fs.AddFile(dir.path().str() + "/f", "x");
    ASSERT_OK(fs.Rename(dir.path(), AbsPath::Literal("/w/x/key")));
  }
  EXPECT_THAT(fs.List("/w/x"), ElementsAre("key/", "key/f"));
}

TEST(TempDirOfSupport, MoveToWhatIsThereFailsAndRemoves) {
  MemFs fs;
  fs.AddFile("/w/kept/f", "old");
  ASSERT_OK_AND_ASSIGN(ptpkg::TempDir dir, ptpkg::TempDir::Create(fs, Parent(), "t"));
  EXPECT_THAT(std::move(dir).MoveTo(AbsPath::Literal("/w/kept")),
              FailsWith(ErrorCode::kAlreadyExists, HasSubstr("/w/kept")));
  EXPECT_THAT(fs.List("/w"), ElementsAre("kept/", "kept/f", "x/"));
}

TEST(TempDirOfSupport, FailsWhereItCannotBeMade) {
  MemFs fs;
  fs.AddDir("/w", 0555);
  EXPECT_THAT(ptpkg::TempDir::Create(fs, AbsPath::Literal("/w"), "t"),
              FailsWith(ErrorCode::kIo, HasSubstr("/w/t-")));
  fs.AddFile("/f", "");
  EXPECT_THAT(ptpkg::TempDir::Create(fs, AbsPath::Literal("/f"), "t"),
              FailsWith(ErrorCode::kAlreadyExists, HasSubstr("/f")));
}

TEST(TempDirOfSupport, EveryFaultIsAnErrorAndLeavesNothing) {
  const auto run = [](Fs& fs) -> Result<void> {
    PTPKG_TRY(ptpkg::TempDir dir, ptpkg::TempDir::Create(fs, Parent(), "t"));
    return std::move(dir).MoveTo(AbsPath::Literal("/w/kept"));
  };
  const auto check = [](MemFs& fs, const Error&) {
    // A fault of the clean-up itself is the next run's to mend.
    ASSERT_OK(RemoveAbandoned(fs, Parent()));
    EXPECT_THAT(fs.List("/w"), ::testing::Each(::testing::StartsWith("x/")));
    EXPECT_THAT(fs.List("/w/x"), IsEmpty());
  };
  for (const FaultAfter after : {FaultAfter::kRecover, FaultAfter::kDead}) {
    const int faults = RunFaultLoop({.after = after, .run = run, .check = check, .may_swallow = true});
    EXPECT_GT(faults, 12);
  }
}

/// Calls `other` before each operation of `run` in turn, on a new file system each time.
void WithOtherAtEachStep(const std::function<void(MemFs&)>& other,
                         const std::function<void(Fs&, MemFs&)>& run) {
  bool reached = true;
  for (std::uint64_t number = 1; reached; ++number) {
    SCOPED_TRACE(fmt::format("the other comes before operation {}", number));
    MemFs mem;
    reached = false;
    FaultFs fs(mem, {});
    fs.Before(number, [&] {
      reached = true;
      other(mem);
    });
    run(fs, mem);
  }
}

TEST(TempDirOfSupport, WhoCleansAtAnyMomentOfItsMakingLeavesItWhole) {
  WithOtherAtEachStep([](MemFs& mem) { ASSERT_OK(RemoveAbandoned(mem, Parent())); },
                      [](Fs& fs, MemFs& mem) {
                        ASSERT_OK_AND_ASSIGN(const ptpkg::TempDir dir,
                                             ptpkg::TempDir::Create(fs, Parent(), "t"));
                        mem.AddFile(dir.path().str() + "/f", "x");
                        ASSERT_OK(RemoveAbandoned(mem, Parent()));
                        EXPECT_EQ(mem.Content(dir.path().str() + "/f"), "x");
                      });
}

TEST(RemoveAbandoned, TwoAtOnceFromAnyMomentOn) {
  WithOtherAtEachStep([](MemFs& mem) { ASSERT_OK(RemoveAbandoned(mem, Parent())); },
                      [](Fs& fs, MemFs& mem) {
                        mem.AddFile("/w/x/t-0123456789ab.ptpkg-tmp/.lease", "");
                        mem.AddFile("/w/x/t-0123456789ab.ptpkg-tmp/d/deep/f", "x");
                        mem.AddFile("/w/x/check-1-0/f", "x");
                        mem.AddFile("/w/x/.f.0123456789ab.ptpkg-tmp", "x");
                        ASSERT_OK(RemoveAbandoned(fs, Parent()));
                        ASSERT_OK(RemoveAbandoned(mem, Parent()));
                        EXPECT_THAT(mem.List("/w/x"), IsEmpty());
                      });
}

TEST(RemoveAbandoned, KilledAtAnyMomentTheNextOneFinishes) {
  for (const FaultAfter after : {FaultAfter::kRecover, FaultAfter::kDead}) {
    RunFaultLoop({.after = after,
                  .setup =
                      [](MemFs& fs) {
                        fs.AddFile("/w/x/t-0123456789ab.ptpkg-tmp/.lease", "");
                        fs.AddFile("/w/x/t-0123456789ab.ptpkg-tmp/d/f", "x");
                        fs.AddFile("/w/x/tree-4711-0/home/f", "x");
                        fs.AddFile("/w/x/.f.4711-0.ptpkg-tmp", "x");
                      },
                  .run = [](Fs& fs) { return RemoveAbandoned(fs, Parent()); },
                  .check =
                      [](MemFs& fs, const Error&) {
                        ASSERT_OK(RemoveAbandoned(fs, Parent()));
                        EXPECT_THAT(fs.List("/w/x"), IsEmpty());
                      }});
  }
}

TEST(RemoveAbandoned, TakesEveryKindAndNothingElse) {
  MemFs fs;
  const std::vector<std::string> foreign = {"conda/noarch/repodata.json",
                                            "check/f",
                                            "check-me/f",
                                            "attempt-1/f",
                                            "tree-1-2-3/f",
                                            "mine-1-0/f",
                                            "x-0123.ptpkg-tmp/f",
                                            "a.ptpkg-tmp",
                                            ".a.0123.ptpkg-tmp",
                                            ".ptpkg-tmp",
                                            ".0123456789ab.ptpkg-tmp",
                                            "x.0123456789ab.ptpkg-tmp"};
  for (const std::string& name : foreign) fs.AddFile("/w/x/" + name, "kept");
  fs.AddFile("/elsewhere/check-1-0/f", "kept");
  fs.AddSymlink("/elsewhere/check-1-0", "/w/x/check-1-0");  // never through a symlink
  fs.AddDir("/w/x/.dir.0123456789ab.ptpkg-tmp");            // a name of files
  const std::vector<std::string> before = fs.List("/");

  for (const std::string prefix :
       {"check", "tree", "attempt", ".sources", ".ptpkg-pack", ".ptpkg-edit", "new"}) {
    fs.AddFile(fmt::format("/w/x/{}-0123456789ab.ptpkg-tmp/d/f", prefix), "");
    fs.AddFile(fmt::format("/w/x/{}-0123456789ab.ptpkg-tmp/.lease", prefix), "");
    if (prefix != "new") fs.AddFile(fmt::format("/w/x/{}-4711-12/f", prefix), "");
  }
  fs.AddFile("/w/x/tree-4711-13/locked/f", "");
  fs.AddDir("/w/x/tree-4711-13/locked", 0555);
  fs.AddDir("/w/x/tree-4711-13", 0555);
  fs.AddDir("/w/x/tree-4711-14");
  fs.AddDir("/w/x/t-ba9876543210.ptpkg-tmp");  // its maker was killed before it took the lease
  fs.AddFile("/w/x/.repodata.json.0123456789ab.ptpkg-tmp", "");
  fs.AddFile("/w/x/.we-ird.name.4711-17.ptpkg-tmp", "");
  ASSERT_OK(RemoveAbandoned(fs, Parent()));
  EXPECT_EQ(fs.List("/"), before);
  EXPECT_EQ(fs.open_files(), 0);
}

TEST(RemoveAbandoned, MissingFolderIsNoErrorAFileIs) {
  MemFs fs;
  fs.AddFile("/file", "");
  EXPECT_OK(RemoveAbandoned(fs, AbsPath::Literal("/none")));
  EXPECT_THAT(RemoveAbandoned(fs, AbsPath::Literal("/file")),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("/file")));
}

TEST(RemoveAbandoned, WhatIsNotOursStopsNobody) {
  MemFs fs;
  fs.AddFile("/w/x/.f.4711-0.ptpkg-tmp", "");
  fs.AddFile("/w/x/check-4711-0/f", "");
  fs.AddDir("/w/x/tree-4711-0/.lease");  // hostile
  fs.AddDir("/w/x", 0555);
  EXPECT_OK(RemoveAbandoned(fs, Parent()));
  EXPECT_THAT(fs.List("/w/x"),
              ElementsAre(".f.4711-0.ptpkg-tmp", "check-4711-0/", "tree-4711-0/", "tree-4711-0/.lease/"));
}

TEST(RemoveAbandoned, LeavesFoldersAloneThatEverybodyMayWriteTo) {
  MemFs fs;
  fs.AddFile("/tmp/check-4711-0/f", "");
  fs.AddDir("/tmp", 01777);
  ASSERT_OK(RemoveAbandoned(fs, AbsPath::Literal("/tmp")));
  EXPECT_EQ(fs.Content("/tmp/check-4711-0/f"), "");
}

TEST(RemoveAbandoned, WithoutLocksNothingIsRemovedAndThatIsSaidOnce) {
  MemFs fs;
  fs.DisableLocks();
  TestEnv env({.fs = &fs});
  fs.AddFile("/w/x/check-4711-0/f", "");
  fs.AddFile("/w/x/.f.4711-0.ptpkg-tmp", "");
  ASSERT_OK_AND_ASSIGN(const ptpkg::TempDir mine, ptpkg::TempDir::Create(fs, Parent(), "t"));
  ASSERT_OK(RemoveAbandoned(env, Parent()));
  ASSERT_OK(RemoveAbandoned(env, Parent()));
  EXPECT_EQ(fs.Lstat(AbsPath::Literal("/w/x/check-4711-0/f"))->size_bytes, 0U);
  EXPECT_TRUE(fs.Lstat(AbsPath::Literal("/w/x/.f.4711-0.ptpkg-tmp")).has_value());
  EXPECT_THAT(env.reporter.warnings(), ElementsAre(HasSubstr("'/w/x' is on a file system without locks")));
}

TEST(ListScratch, SaysWhatIsInUse) {
  MemFs fs;
  fs.AddFile("/w/x/check-4711-0/f", "");
  fs.AddFile("/w/x/other", "");
  ASSERT_OK_AND_ASSIGN(const ptpkg::TempDir mine, ptpkg::TempDir::Create(fs, AbsPath::Literal("/w/y"), "t"));
  ASSERT_OK_AND_ASSIGN(const auto dead, ListScratch(fs, Parent()));
  ASSERT_THAT(dead, SizeIs(1));
  EXPECT_EQ(dead[0].path.str(), "/w/x/check-4711-0");
  EXPECT_EQ(dead[0].state, ScratchState::kAbandoned);
  ASSERT_OK_AND_ASSIGN(const auto live, ListScratch(fs, AbsPath::Literal("/w/y")));
  ASSERT_THAT(live, SizeIs(1));
  EXPECT_EQ(live[0].path, mine.path().Parent());
  EXPECT_EQ(live[0].state, ScratchState::kInUse);
  EXPECT_THAT(ListScratch(fs, AbsPath::Literal("/none")), IsOkAndHolds(IsEmpty()));
  fs.DisableLocks();
  EXPECT_EQ(ListScratch(fs, AbsPath::Literal("/w/y"))->at(0).state, ScratchState::kUnknown);
}

/// Makes scratch directories, uses them and cleans beside others, `rounds` times; what it holds must stay.
void UseAndClean(const AbsPath& parent, int rounds) {
  const auto fs = MakeOsFs();
  for (int i = 0; i < rounds; ++i) {
    Result<ptpkg::TempDir> dir = ptpkg::TempDir::Create(*fs, parent, "t");
    if (!dir) ::_exit(10);
    if (!WriteFile(*fs, dir->path() / "f", "x")) ::_exit(11);
    if (!RemoveAbandoned(*fs, parent)) ::_exit(12);
    if (!ReadFile(*fs, dir->path() / "f")) ::_exit(13);
    if (!WriteFile(*fs, parent / "shared", "x")) ::_exit(14);
  }
  ::_exit(0);
}

TEST(RemoveAbandoned, ManyProcessesOneFolderSomeKilled) {
  const TempDir dir;
  constexpr int kProcesses = 6;
  std::vector<pid_t> pids;
  for (int i = 0; i < kProcesses; ++i) {
    const pid_t pid = ::fork();
    if (pid == 0) UseAndClean(dir.path(), 150);
    pids.push_back(pid);
  }
  for (int i = 0; i < kProcesses; i += 2) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    ::kill(pids[static_cast<std::size_t>(i)], SIGKILL);
  }
  for (const pid_t pid : pids) {
    int status = 0;
    ASSERT_EQ(::waitpid(pid, &status, 0), pid);
    EXPECT_TRUE(WIFSIGNALED(status) || WEXITSTATUS(status) == 0) << "exit " << WEXITSTATUS(status);
  }
  ASSERT_OK(RemoveAbandoned(*MakeOsFs(), dir.path()));
  EXPECT_THAT(dir.List(), ElementsAre("shared"));
}

}  // namespace
}  // namespace ptpkg::test
