#include "support/files/atomic_file.h"

#include <cerrno>
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/fault_fs.h"
#include "support/matchers.h"
#include "support/mem_fs.h"
#include "support/temp_dir.h"

namespace ptpkg::test {
namespace {

using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::SizeIs;

const AbsPath& Target() {
  static const AbsPath kTarget = AbsPath::Literal("/out/pkg.conda");
  return kTarget;
}

Result<void> WriteAtomically(Fs& fs, std::string_view text, ExistingFilePolicy on_existing) {
  PTPKG_TRY(AtomicFile file, AtomicFile::Create(fs, Target()));
  PTPKG_CHECK(file.file().WriteAt(0, AsBytes(text)));
  return std::move(file).Commit(on_existing);
}

TEST(AtomicFile, AppearsOnlyAtCommit) {
  MemFs fs;
  fs.AddDir("/out");
  ASSERT_OK_AND_ASSIGN(AtomicFile file, AtomicFile::Create(fs, Target()));
  ASSERT_OK(file.file().WriteAt(0, AsBytes("data")));
  EXPECT_THAT(fs.List("/out"), ElementsAre(MatchesRegex("\\.pkg\\.conda\\.[0-9a-f]+\\.ptpkg-tmp")));
  ASSERT_OK(std::move(file).Commit(ExistingFilePolicy::kRefuse));
  EXPECT_THAT(fs.List("/out"), ElementsAre("pkg.conda"));
  EXPECT_EQ(fs.Content("/out/pkg.conda"), "data");
  EXPECT_EQ(fs.open_files(), 0);
}

TEST(AtomicFile, SyncsTheFileBeforeTheRenameAndTheFolderAfter) {
  MemFs fs;
  fs.AddDir("/out");
  ASSERT_OK(WriteAtomically(fs, "data", ExistingFilePolicy::kReplace));
  std::vector<std::string> operations;
  for (const FsCall& call : fs.calls()) operations.push_back(call.operation);
  EXPECT_THAT(operations,
              ElementsAre("OpenCreateNew", "OpenReadWrite", "Lstat", "Sync", "Rename", "SyncDir"));
}

TEST(AtomicFile, WithoutCommitNothingStays) {
  MemFs fs;
  fs.AddFile("/out/pkg.conda", "old");
  {
    ASSERT_OK_AND_ASSIGN(AtomicFile file, AtomicFile::Create(fs, Target()));
    ASSERT_OK(file.file().WriteAt(0, AsBytes("half")));
    const AtomicFile moved = std::move(file);  // the moved-from one must not remove the file
    EXPECT_THAT(fs.List("/out"), SizeIs(2));
  }
  EXPECT_THAT(fs.List("/out"), ElementsAre("pkg.conda"));
  EXPECT_EQ(fs.Content("/out/pkg.conda"), "old");
}

TEST(AtomicFile, ReplacesOrRefuses) {
  MemFs fs;
  fs.AddFile("/out/pkg.conda", "old");
  EXPECT_THAT(WriteAtomically(fs, "new", ExistingFilePolicy::kRefuse),
              FailsWith(ErrorCode::kAlreadyExists, "'/out/pkg.conda' already exists"));
  EXPECT_EQ(fs.Content("/out/pkg.conda"), "old");
  EXPECT_THAT(fs.List("/out"), ElementsAre("pkg.conda"));
  ASSERT_OK(WriteAtomically(fs, "new", ExistingFilePolicy::kReplace));
  EXPECT_EQ(fs.Content("/out/pkg.conda"), "new");
}

TEST(AtomicFile, ReplacesASymlinkNotWhatItLeadsTo) {
  MemFs fs;
  fs.AddFile("/elsewhere", "kept");
  fs.AddSymlink("../elsewhere", "/out/pkg.conda");
  ASSERT_OK(WriteAtomically(fs, "new", ExistingFilePolicy::kReplace));
  EXPECT_EQ(fs.Content("/elsewhere"), "kept");
  EXPECT_THAT(fs.List("/out"), ElementsAre("pkg.conda"));
}

TEST(AtomicFile, MissingOrReadOnlyFolderIsAnError) {
  MemFs fs;
  EXPECT_THAT(AtomicFile::Create(fs, Target()),
              FailsWith(ErrorCode::kNotFound, HasSubstr("/out/.pkg.conda")));
  fs.AddDir("/out", 0555);
  EXPECT_THAT(AtomicFile::Create(fs, Target()), FailsWith(ErrorCode::kIo, HasSubstr("/out/.pkg.conda")));
}

TEST(AtomicFile, LongestLegalNameWorks) {
  const TempDir dir;
  const auto fs = MakeOsFs();
  const AbsPath target = dir / std::string(255, 'n');
  ASSERT_OK_AND_ASSIGN(AtomicFile file, AtomicFile::Create(*fs, target));
  ASSERT_OK(std::move(file).Commit(ExistingFilePolicy::kRefuse));
  EXPECT_THAT(dir.List(), ElementsAre(std::string(255, 'n')));
}

TEST(AtomicFile, EveryFaultLeavesOldOrNewAndNoTemp) {
  for (const ExistingFilePolicy on_existing : {ExistingFilePolicy::kReplace, ExistingFilePolicy::kRefuse}) {
    const int faults =
        RunFaultLoop({.setup =
                          [&](MemFs& fs) {
                            fs.AddDir("/out");
                            if (on_existing == ExistingFilePolicy::kReplace)
                              fs.AddFile("/out/pkg.conda", "old");
                          },
                      .run = [&](Fs& fs) { return WriteAtomically(fs, "new", on_existing); },
                      .check =
                          [&](MemFs& fs, const Error& error) {
                            EXPECT_THAT(error.message(), HasSubstr("injected fault"));
                            // Writing to file() is the caller's, who gives the context himself.
                            const bool is_write = error.message().find("cannot write") != std::string::npos;
                            EXPECT_EQ(error.context(),
                                      is_write ? std::vector<std::string>{}
                                               : std::vector<std::string>{"while writing '/out/pkg.conda'"});
                            const auto left = fs.List("/out");
                            if (on_existing == ExistingFilePolicy::kReplace) {
                              EXPECT_THAT(left, ElementsAre("pkg.conda"));
                              EXPECT_THAT(fs.Content("/out/pkg.conda"), AnyOf("old", "new"));
                            } else {
                              // Only a failed sync of the directory comes after the name has
                              // appeared.
                              EXPECT_THAT(left, AnyOf(IsEmpty(), ElementsAre("pkg.conda")));
                            }
                          }});
    // create; open, lock and two looks at the lock; write, sync, close, rename, sync of the directory
    EXPECT_EQ(faults, 10);
  }
}

TEST(AtomicFile, CrashAnywhereLeavesTheTargetWholeAndAtMostATemp) {
  const int faults =
      RunFaultLoop({.after = FaultAfter::kDead,
                    .setup = [](MemFs& fs) { fs.AddFile("/out/pkg.conda", "old"); },
                    .run = [](Fs& fs) { return WriteAtomically(fs, "new", ExistingFilePolicy::kReplace); },
                    .check =
                        [](MemFs& fs, const Error&) {
                          EXPECT_THAT(fs.Content("/out/pkg.conda"), AnyOf("old", "new"));
                          for (const std::string& name : fs.List("/out")) {
                            EXPECT_THAT(name, AnyOf("pkg.conda", ::testing::EndsWith(".ptpkg-tmp")));
                          }
                        }});
  EXPECT_EQ(faults, 10);
}

TEST(AtomicFile, KilledProcessLeavesATempThatTheNextRunRemoves) {
  const TempDir dir;
  const auto fs = MakeOsFs();
  const pid_t pid = ::fork();
  if (pid == 0) {
    Result<AtomicFile> file = AtomicFile::Create(*fs, dir / "f");
    if (file) static_cast<void>((*file).file().WriteAt(0, AsBytes("half")));
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_THAT(dir.List(), ElementsAre(HasSubstr(".ptpkg-tmp")));
  ASSERT_OK(RemoveAbandoned(*fs, dir.path()));
  EXPECT_THAT(dir.List(), IsEmpty());
}

TEST(AtomicFile, WhoCleansAtAnyMomentLeavesItAlone) {
  // Create looks at its file 5 times, Commit has 4 operations; the rest is the write.
  for (std::uint64_t number = 1; number <= 10; ++number) {
    SCOPED_TRACE(number);
    MemFs mem;
    mem.AddDir("/out");
    FaultFs fs(mem, {});
    fs.Before(number, [&] { ASSERT_OK(RemoveAbandoned(mem, AbsPath::Literal("/out"))); });
    ASSERT_OK(WriteAtomically(fs, "data", ExistingFilePolicy::kRefuse));
    EXPECT_THAT(mem.List("/out"), ElementsAre("pkg.conda"));
    EXPECT_EQ(mem.Content("/out/pkg.conda"), "data");
  }
}

TEST(AtomicFile, WorksWithoutLocks) {
  MemFs fs;
  fs.AddDir("/out");
  fs.DisableLocks();
  ASSERT_OK(WriteAtomically(fs, "data", ExistingFilePolicy::kReplace));
  EXPECT_THAT(fs.List("/out"), ElementsAre("pkg.conda"));
}

}  // namespace
}  // namespace ptpkg::test
