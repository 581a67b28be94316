#include "support/files/lease.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "support/fault_fs.h"
#include "support/files/locked_file.h"
#include "support/files/scratch.h"
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

const AbsPath& Folder() {
  static const AbsPath kFolder = AbsPath::Literal("/r/key");
  return kFolder;
}

/// True if a lease of `kind` could be had just now.
bool CanTake(Fs& fs, LockKind kind, const AbsPath& folder = Folder()) {
  const auto lease = Lease::Try(fs, folder, kind);
  EXPECT_TRUE(lease.has_value()) << FormatError(lease.error());
  return lease && lease->has_value();
}

TEST(Lease, ExclusiveExcludesAllSharedExcludesExclusive) {
  MemFs fs;
  fs.AddDir("/r/key");
  {
    ASSERT_OK_AND_ASSIGN(const auto lease, Lease::Try(fs, Folder(), LockKind::kExclusive));
    ASSERT_TRUE(lease.has_value());
    EXPECT_TRUE(lease->is_locked());
    EXPECT_FALSE(CanTake(fs, LockKind::kExclusive));
    EXPECT_FALSE(CanTake(fs, LockKind::kShared));
  }
  {
    ASSERT_OK_AND_ASSIGN(const auto lease, Lease::Try(fs, Folder(), LockKind::kShared));
    ASSERT_TRUE(lease.has_value());
    EXPECT_FALSE(CanTake(fs, LockKind::kExclusive));
    EXPECT_TRUE(CanTake(fs, LockKind::kShared));
  }
  EXPECT_TRUE(CanTake(fs, LockKind::kExclusive));
  EXPECT_EQ(fs.open_files(), 0);
}

TEST(Lease, GoesWithTheFolderThatIsRenamed) {
  MemFs fs;
  fs.AddDir("/r/key");
  ASSERT_OK_AND_ASSIGN(const auto lease, Lease::Try(fs, Folder(), LockKind::kShared));
  ASSERT_OK(fs.Rename(Folder(), AbsPath::Literal("/r/other")));
  EXPECT_FALSE(CanTake(fs, LockKind::kExclusive, AbsPath::Literal("/r/other")));
  EXPECT_FALSE(CanTake(fs, LockKind::kShared));  // no such directory
}

TEST(Lease, RemoveTakesTheNameFirstAndTheLeaseLast) {
  MemFs fs;
  fs.AddFile("/r/key/tree/a", "x");
  fs.AddFile("/r/key/.hidden", "x");
  ASSERT_OK_AND_ASSIGN(auto lease, Lease::Try(fs, Folder(), LockKind::kExclusive));
  fs.ClearCalls();
  ASSERT_OK(std::move(*lease).Remove());
  EXPECT_THAT(fs.List("/r"), IsEmpty());
  std::vector<std::string> removed;
  for (const FsCall& call : fs.calls()) {
    if (call.operation == "Rename" || call.operation == "Remove") removed.push_back(call.path);
  }
  EXPECT_THAT(removed, ElementsAre("/r/key", HasSubstr("/.hidden"), HasSubstr("/tree/a"), HasSubstr("/tree"),
                                   HasSubstr("/.lease"), MatchesRegex("/r/removed-[0-9a-f]+\\.ptpkg-tmp")));
}

TEST(Lease, RemoveThatFailsOrIsKilledAnywhereLeavesAllOrScratch) {
  for (const FaultAfter after : {FaultAfter::kRecover, FaultAfter::kDead}) {
    const auto run = [](Fs& fs) -> Result<void> {
      PTPKG_TRY(auto lease, Lease::Try(fs, Folder(), LockKind::kExclusive));
      EXPECT_TRUE(lease.has_value());
      return std::move(*lease).Remove();
    };
    RunFaultLoop({.after = after,
                  .setup = [](MemFs& fs) { fs.AddFile("/r/key/tree/a", "x"); },
                  .run = run,
                  .check =
                      [](MemFs& fs, const Error&) {
                        const auto left = fs.List("/r");
                        const bool whole = std::find(left.begin(), left.end(), "key/tree/a") != left.end();
                        ASSERT_OK(RemoveAbandoned(fs, AbsPath::Literal("/r")));
                        EXPECT_EQ(whole, !fs.List("/r").empty());
                      }});
  }
}

TEST(Lease, EveryFaultOfTryIsAnError) {
  const int faults = RunFaultLoop({.setup = [](MemFs& fs) { fs.AddDir("/r/key"); },
                                   .run = [](Fs& fs) -> Result<void> {
                                     PTPKG_TRY(const auto lease, Lease::Try(fs, Folder(), LockKind::kShared));
                                     EXPECT_TRUE(lease.has_value());
                                     return Ok();
                                   }});
  EXPECT_EQ(faults, 6);  // open (none there), create, open, lock, examine twice
}

TEST(Lease, WhoRemovesAtAnyMomentLeavesNoHalfLease) {
  for (std::uint64_t number = 1; number <= 6; ++number) {
    SCOPED_TRACE(number);
    MemFs mem;
    mem.AddDir("/r/key");
    FaultFs fs(mem, {});
    fs.Before(number, [&] {
      ASSERT_OK_AND_ASSIGN(auto other, Lease::Try(mem, Folder(), LockKind::kExclusive));
      if (other) {
        ASSERT_OK(std::move(*other).Remove());
      }
    });
    ASSERT_OK_AND_ASSIGN(const auto lease, Lease::Try(fs, Folder(), LockKind::kShared));
    EXPECT_EQ(lease.has_value(), *Exists(mem, Folder()));
  }
}

TEST(Lease, AFolderMadeAnewMeanwhileIsNotTheOneThatWasLocked) {
  for (std::uint64_t number = 1; number <= 5; ++number) {
    SCOPED_TRACE(number);
    MemFs mem;
    mem.AddFile("/r/key/.lease", "");
    FaultFs fs(mem, {});
    fs.Before(number, [&] {
      if (auto other = *Lease::Try(mem, Folder(), LockKind::kExclusive)) {
        ASSERT_OK(std::move(*other).Remove());
        mem.AddFile("/r/key/.lease", "");
      }
    });
    ASSERT_OK_AND_ASSIGN(const auto lease, Lease::Try(fs, Folder(), LockKind::kShared));
    // Had it kept the lock of the file that is gone, the new directory would be free to be removed.
    if (lease) {
      EXPECT_FALSE(CanTake(mem, LockKind::kExclusive));
    }
  }
}

TEST(Lease, ReadOnlyFoldersAreReadWithoutLockAndNeverRemoved) {
  MemFs fs;
  fs.AddFile("/r/key/tree", "x");
  fs.AddDir("/r/key", 0555);
  ASSERT_OK_AND_ASSIGN(const auto lease, Lease::Try(fs, Folder(), LockKind::kShared));
  ASSERT_TRUE(lease.has_value());
  EXPECT_FALSE(lease->is_locked());
  EXPECT_FALSE(CanTake(fs, LockKind::kExclusive));
}

TEST(Lease, WithoutLocksIsGrantedAndSaysSo) {
  MemFs fs;
  fs.AddDir("/r/key");
  fs.DisableLocks();
  ASSERT_OK_AND_ASSIGN(const auto first, Lease::Try(fs, Folder(), LockKind::kExclusive));
  ASSERT_OK_AND_ASSIGN(const auto second, Lease::Try(fs, Folder(), LockKind::kExclusive));
  ASSERT_TRUE(first.has_value() && second.has_value());
  EXPECT_FALSE(first->is_locked());
}

TEST(LeaseShared, ProtectsAndRemembersTheUse) {
  MemFs fs;
  TestEnv env({.fs = &fs});
  fs.AddFile("/r/key/.lease", "");
  ASSERT_OK_AND_ASSIGN(const auto lease, LeaseShared(env, Folder()));
  ASSERT_TRUE(lease.has_value());
  EXPECT_FALSE(CanTake(fs, LockKind::kExclusive));
  const auto now =
      std::chrono::duration_cast<std::chrono::nanoseconds>(env.clock.WallNow().time_since_epoch());
  EXPECT_EQ(fs.Lstat(Folder() / kLeaseName)->mtime_ns, now.count());
  ASSERT_OK_AND_ASSIGN(const auto none, LeaseShared(env, AbsPath::Literal("/r/none")));
  EXPECT_FALSE(none.has_value());
}

TEST(LeaseShared, AReadOnlyResultIsServed) {
  MemFs fs;
  TestEnv env({.fs = &fs});
  fs.AddDir("/r/key", 0555);
  ASSERT_OK_AND_ASSIGN(const auto lease, LeaseShared(env, Folder()));
  EXPECT_TRUE(lease.has_value());
}

TEST(RealLocks, EndWithTheProcessAndWithTheHandle) {
  const TempDir dir;
  const auto fs = MakeOsFs();
  std::array<int, 2> ready{};
  ASSERT_EQ(::pipe(ready.data()), 0);
  const pid_t pid = ::fork();
  if (pid == 0) {
    const auto lease = Lease::Try(*fs, dir.path(), LockKind::kExclusive);
    const char held = lease && lease->has_value() && (*lease)->is_locked() ? 'y' : 'n';
    if (::write(ready[1], &held, 1) == 1) ::pause();
    ::_exit(0);
  }
  char held = 0;
  ASSERT_EQ(::read(ready[0], &held, 1), 1);
  EXPECT_EQ(held, 'y');
  EXPECT_FALSE(CanTake(*fs, LockKind::kShared, dir.path()));
  ::kill(pid, SIGKILL);
  ASSERT_EQ(::waitpid(pid, nullptr, 0), pid);
  EXPECT_TRUE(CanTake(*fs, LockKind::kExclusive, dir.path()));
  EXPECT_TRUE(CanTake(*fs, LockKind::kExclusive, dir.path()));
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST(RealLocks, ChildProcessesDoNotKeepThem) {
  const TempDir dir;
  const auto fs = MakeOsFs();
  const auto process = MakeOsProcess();
  // While this thread takes and lets go, the other one forks: a copy of the handle may live on in the fork.
  std::atomic<bool> stop{false};
  std::thread forker([&] {
    Command command;
    command.argv = {"/bin/true"};
    while (!stop) static_cast<void>(process->Run(command));
  });
  int busy = 0;
  for (int i = 0; i < 2000; ++i) busy += CanTake(*fs, LockKind::kExclusive, dir.path()) ? 0 : 1;
  stop = true;
  forker.join();
  EXPECT_EQ(busy, 0);
}

TEST(RealLocks, AreSharedAndExclusiveBetweenHandles) {
  const TempDir dir;
  const auto fs = MakeOsFs();
  const AbsPath file = dir.WriteFile("f", "");
  ASSERT_OK_AND_ASSIGN(const auto first, fs->Open(file, OpenMode::kRead));
  ASSERT_OK_AND_ASSIGN(const auto second, fs->Open(file, OpenMode::kRead));
  EXPECT_THAT(first->TryLock(LockKind::kShared), IsOkAndHolds(LockOutcome::kHeld));
  EXPECT_THAT(second->TryLock(LockKind::kShared), IsOkAndHolds(LockOutcome::kHeld));
  EXPECT_THAT(second->TryLock(LockKind::kExclusive), IsOkAndHolds(LockOutcome::kBusy));
  ASSERT_OK(first->Close());
  EXPECT_THAT(second->TryLock(LockKind::kExclusive), IsOkAndHolds(LockOutcome::kHeld));
  ASSERT_OK_AND_ASSIGN(const LockedFile busy, TryLockFile(*fs, file, LockKind::kShared));
  EXPECT_EQ(busy.state, LockState::kBusy);
  ASSERT_OK_AND_ASSIGN(const LockedFile none, TryLockFile(*fs, dir / "none", LockKind::kShared));
  EXPECT_EQ(none.state, LockState::kGone);
}

}  // namespace
}  // namespace ptpkg::test
