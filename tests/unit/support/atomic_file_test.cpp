#include "support/atomic_file.h"

#include <cerrno>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/dead_pid.h"
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

Result<void> WriteAtomically(Fs& fs, std::string_view text, OnExisting on_existing) {
  PTPKG_TRY(AtomicFile file, AtomicFile::Create(fs, Target()));
  PTPKG_CHECK(file.file().WriteAt(0, AsBytes(text)));
  return std::move(file).Commit(on_existing);
}

TEST(AtomicFile, AppearsOnlyAtCommit) {
  MemFs fs;
  fs.AddDir("/out");
  ASSERT_OK_AND_ASSIGN(AtomicFile file, AtomicFile::Create(fs, Target()));
  ASSERT_OK(file.file().WriteAt(0, AsBytes("data")));
  EXPECT_THAT(fs.List("/out"),
              ElementsAre(MatchesRegex(fmt::format("\\.pkg\\.conda\\.{}-[0-9]+\\.ptpkg-tmp", ::getpid()))));
  ASSERT_OK(std::move(file).Commit(OnExisting::kRefuse));
  EXPECT_THAT(fs.List("/out"), ElementsAre("pkg.conda"));
  EXPECT_EQ(fs.Content("/out/pkg.conda"), "data");
  EXPECT_EQ(fs.open_files(), 0);
}

TEST(AtomicFile, SyncsTheFileBeforeTheRenameAndTheFolderAfter) {
  MemFs fs;
  fs.AddDir("/out");
  ASSERT_OK(WriteAtomically(fs, "data", OnExisting::kReplace));
  std::vector<std::string> operations;
  for (const FsCall& call : fs.calls()) operations.push_back(call.operation);
  EXPECT_THAT(operations, ElementsAre("OpenCreateNew", "Sync", "Rename", "SyncDir"));
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
  EXPECT_THAT(WriteAtomically(fs, "new", OnExisting::kRefuse),
              FailsWith(ErrorCode::kAlreadyExists, "'/out/pkg.conda' exists already"));
  EXPECT_EQ(fs.Content("/out/pkg.conda"), "old");
  EXPECT_THAT(fs.List("/out"), ElementsAre("pkg.conda"));
  ASSERT_OK(WriteAtomically(fs, "new", OnExisting::kReplace));
  EXPECT_EQ(fs.Content("/out/pkg.conda"), "new");
}

TEST(AtomicFile, ReplacesASymlinkNotWhatItLeadsTo) {
  MemFs fs;
  fs.AddFile("/elsewhere", "kept");
  fs.AddSymlink("../elsewhere", "/out/pkg.conda");
  ASSERT_OK(WriteAtomically(fs, "new", OnExisting::kReplace));
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
  ASSERT_OK(std::move(file).Commit(OnExisting::kRefuse));
  EXPECT_THAT(dir.List(), ElementsAre(std::string(255, 'n')));
}

TEST(AtomicFile, EveryFaultLeavesOldOrNewAndNoTemp) {
  for (const OnExisting on_existing : {OnExisting::kReplace, OnExisting::kRefuse}) {
    const int faults =
        RunFaultLoop({.setup =
                          [&](MemFs& fs) {
                            fs.AddDir("/out");
                            if (on_existing == OnExisting::kReplace) fs.AddFile("/out/pkg.conda", "old");
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
                            if (on_existing == OnExisting::kReplace) {
                              EXPECT_THAT(left, ElementsAre("pkg.conda"));
                              EXPECT_THAT(fs.Content("/out/pkg.conda"), AnyOf("old", "new"));
                            } else {
                              // Only a failed sync of the folder comes after the name has
                              // appeared.
                              EXPECT_THAT(left, AnyOf(IsEmpty(), ElementsAre("pkg.conda")));
                            }
                          }});
    EXPECT_EQ(faults, 6);  // create, write, sync, close, rename, sync of the folder
  }
}

TEST(AtomicFile, CrashAnywhereLeavesTheTargetWholeAndAtMostATemp) {
  const int faults =
      RunFaultLoop({.after = FaultAfter::kDead,
                    .setup = [](MemFs& fs) { fs.AddFile("/out/pkg.conda", "old"); },
                    .run = [](Fs& fs) { return WriteAtomically(fs, "new", OnExisting::kReplace); },
                    .check =
                        [](MemFs& fs, const Error&) {
                          EXPECT_THAT(fs.Content("/out/pkg.conda"), AnyOf("old", "new"));
                          for (const std::string& name : fs.List("/out")) {
                            EXPECT_THAT(name, AnyOf("pkg.conda", ::testing::EndsWith(".ptpkg-tmp")));
                          }
                        }});
  EXPECT_EQ(faults, 6);
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
  EXPECT_THAT(dir.List(), ElementsAre(HasSubstr(fmt::format(".f.{}-", pid))));
  ASSERT_OK(RemoveStaleTemps(*fs, dir.path()));
  EXPECT_THAT(dir.List(), IsEmpty());
}

TEST(RemoveStaleTemps, KeepsLiveOnesAndForeignNames) {
  const pid_t dead = test::DeadPid();
  MemFs fs;
  const std::vector<std::string> kept = {
      fmt::format(".a.{}-0.ptpkg-tmp", ::getpid()),  // ours
      ".a.1-0.ptpkg-tmp",                            // alive, though not ours to signal
      fmt::format("a.{}-0.ptpkg-tmp", dead),         // not hidden: not one of ours
      fmt::format(".a.{}-0.tmp", dead),
      fmt::format(".a.{}-x.ptpkg-tmp", dead),
      fmt::format(".{}-0.ptpkg-tmp", dead),
      ".a.0-0.ptpkg-tmp",  // kill(0, …) would ask about our own group
      ".a.-5-0.ptpkg-tmp",
      ".a.99999999999999999999-0.ptpkg-tmp",
      ".ptpkg-tmp",
  };
  for (const std::string& name : kept) fs.AddFile("/d/" + name, "");
  fs.AddFile(fmt::format("/d/.pkg.conda.{}-0.ptpkg-tmp", dead), "");
  fs.AddFile(fmt::format("/d/.we-ird.name.{}-17.ptpkg-tmp", dead), "");
  fs.AddFile(fmt::format("/d/sub/.x.{}-0.ptpkg-tmp", dead), "");  // not directly in the folder
  ASSERT_OK(RemoveStaleTemps(fs, AbsPath::Literal("/d")));
  ASSERT_OK_AND_ASSIGN(const auto left, fs.ListDir(AbsPath::Literal("/d")));
  std::vector<std::string> expected = kept;
  expected.emplace_back("sub");
  EXPECT_THAT(left, ::testing::UnorderedElementsAreArray(expected));
  EXPECT_THAT(fs.List("/d/sub"), SizeIs(1));
}

TEST(RemoveStaleTemps, MissingFolderIsNoErrorOthersAre) {
  MemFs fs;
  fs.AddFile("/file", "");
  EXPECT_OK(RemoveStaleTemps(fs, AbsPath::Literal("/none")));
  EXPECT_THAT(RemoveStaleTemps(fs, AbsPath::Literal("/file")),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("/file")));
  const pid_t dead = test::DeadPid();
  fs.AddFile(fmt::format("/d/.f.{}-0.ptpkg-tmp", dead), "");
  fs.AddDir("/d", 0555);
  EXPECT_THAT(RemoveStaleTemps(fs, AbsPath::Literal("/d")), FailsWith(ErrorCode::kIo, HasSubstr("/d/.f.")));
}

TEST(TempDirOfSupport, IsRemovedUnlessReleased) {
  MemFs fs;
  AbsPath kept = AbsPath::Literal("/");
  {
    ASSERT_OK_AND_ASSIGN(ptpkg::TempDir first, ptpkg::TempDir::Create(fs, AbsPath::Literal("/w/x"), "build"));
    ASSERT_OK_AND_ASSIGN(ptpkg::TempDir second,
                         ptpkg::TempDir::Create(fs, AbsPath::Literal("/w/x"), "build"));
    EXPECT_NE(first.path(), second.path());
    EXPECT_THAT(first.path().str(), HasSubstr(fmt::format("/w/x/build-{}-", ::getpid())));
    fs.AddFile(first.path().str() + "/deep/f", "x");
    fs.AddFile(second.path().str() + "/f", "x");
    ptpkg::TempDir moved = std::move(second);
    kept = std::move(moved).Release();
  }
  EXPECT_THAT(fs.List("/w/x"), ElementsAre(std::string(kept.Name()) + "/", std::string(kept.Name()) + "/f"));
}

TEST(TempDirOfSupport, NeverAdoptsAnExistingFolder) {
  MemFs fs;
  // Leftovers of an earlier process with our id, on all the numbers that come next.
  ASSERT_OK_AND_ASSIGN(ptpkg::TempDir probe, ptpkg::TempDir::Create(fs, AbsPath::Literal("/w"), "t"));
  const std::string name(probe.path().Name());
  const int number = std::stoi(name.substr(name.rfind('-') + 1));
  for (int i = 1; i <= 5; ++i) fs.AddFile(fmt::format("/w/t-{}-{}/foreign", ::getpid(), number + i), "");
  ASSERT_OK_AND_ASSIGN(const ptpkg::TempDir fresh, ptpkg::TempDir::Create(fs, AbsPath::Literal("/w"), "t"));
  EXPECT_THAT(fs.List(fresh.path().str()), IsEmpty());
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

}  // namespace
}  // namespace ptpkg::test
