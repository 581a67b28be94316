#include "builder/resume/source_sync.h"

#include <functional>
#include <gtest/gtest.h>
#include <map>

#include "builder/resume/work_state.h"
#include "source/walk.h"
#include "support/fault_fs.h"
#include "support/matchers.h"
#include "support/mem_fs.h"
#include "support/test_env.h"

namespace ptpkg::builder {
namespace {

using test::FailsWith;
using test::HasHint;
using test::IsOk;
using test::IsOkAndHolds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::int64_t kSecondNs = 1'000'000'000;

class SourceSyncTest : public ::testing::Test {
 protected:
  SourceSyncTest() {
    EXPECT_THAT(env_->fs.MakeDirs(source_), IsOk());
    EXPECT_THAT(env_->fs.MakeDirs(copy_), IsOk());
    Write("a.c", "int a;");
    Write("lib/b.c", "int b;");
  }

  /// In the source, an hour old.
  void Write(const std::string& name, const std::string& text) {
    PutAt(source_ / name, text, NowNs(env_) - 3600 * kSecondNs);
  }
  void PutAt(const AbsPath& path, const std::string& text, std::int64_t mtime_ns) {
    ASSERT_THAT(env_->fs.MakeDirs(path.Parent()), IsOk());
    ASSERT_THAT(WriteFile(env_->fs, path, text), IsOk());
    ASSERT_THAT(env_->fs.SetMtime(path, mtime_ns), IsOk());
  }
  void Edit(const std::string& name, const std::string& text) {
    PutAt(source_ / name, text, NowNs(env_) - (1800 - ++edits_) * kSecondNs);
  }
  Result<SyncOutcome> Sync(bool first = false) {
    return SyncSources(
        env_, {.origins = {{.folder = source_}}, .copy = copy_, .record_file = file_, .first = first},
        record_);
  }
  void First() { ASSERT_THAT(Sync(true), IsOk()); }
  std::vector<std::string> Copied() {
    const auto outcome = Sync();
    EXPECT_THAT(outcome, IsOk());
    std::vector<std::string> names;
    if (!outcome) return names;
    for (const RelPath& path : outcome->copied) names.push_back(path.str());
    for (const RelPath& path : outcome->removed) names.push_back("-" + path.str());
    return names;
  }
  Result<std::string> Text(const std::string& name) { return ReadFile(env_->fs, copy_ / name); }
  std::int64_t MtimeOf(const AbsPath& path) { return env_->fs.Lstat(path)->mtime_ns; }

  test::TestEnv env_;
  AbsPath source_ = env_.dir().path() / "source";
  AbsPath copy_ = env_.dir().path() / "copy";
  AbsPath file_ = env_.dir().path() / "record";
  SyncRecord record_;
  int edits_ = 0;
};

TEST_F(SourceSyncTest, TheFirstCopyKeepsTimesAndASecondCopiesNothing) {
  First();
  EXPECT_EQ(MtimeOf(copy_ / "a.c"), MtimeOf(source_ / "a.c"));
  EXPECT_THAT(Text("lib/b.c"), IsOkAndHolds("int b;"));
  EXPECT_THAT(Copied(), IsEmpty());
  ASSERT_OK_AND_ASSIGN(const SyncRecord read, SyncRecord::Read(env_, file_));
  EXPECT_EQ(read.files.size(), 2U);
  EXPECT_EQ(read.files.at(RelPath::Literal("a.c")).mtime_ns, MtimeOf(source_ / "a.c"));
}

TEST_F(SourceSyncTest, EmptyFoldersAreMade) {
  ASSERT_THAT(env_->fs.MakeDirs(source_ / "m4/deep"), IsOk());
  First();
  EXPECT_THAT(env_->fs.ListDir(copy_ / "m4/deep"), IsOkAndHolds(IsEmpty()));
  ASSERT_THAT(env_->fs.MakeDirs(source_ / "later"), IsOk());
  EXPECT_THAT(Copied(), IsEmpty());
  EXPECT_THAT(env_->fs.ListDir(copy_ / "later"), IsOkAndHolds(IsEmpty()));
}

TEST_F(SourceSyncTest, NewAndChangedFilesAreCopiedWithTheTimeOfNow) {
  First();
  Edit("a.c", "int a2;");
  Edit("new/c.c", "int c;");
  EXPECT_THAT(Copied(), ElementsAre("a.c", "new/c.c"));
  EXPECT_EQ(MtimeOf(copy_ / "a.c"), NowNs(env_));
  EXPECT_THAT(Text("new/c.c"), IsOkAndHolds("int c;"));
  EXPECT_THAT(Copied(), IsEmpty());
}

TEST_F(SourceSyncTest, AFileThatOnlyHasANewTimeIsNotCopied) {
  First();
  Edit("a.c", "int a;");
  EXPECT_THAT(Copied(), IsEmpty());
  // The new time is remembered: the file is not read again.
  ASSERT_OK_AND_ASSIGN(const SyncRecord read, SyncRecord::Read(env_, file_));
  EXPECT_EQ(read.files.at(RelPath::Literal("a.c")).mtime_ns, MtimeOf(source_ / "a.c"));
}

TEST_F(SourceSyncTest, AnEditWithinTheTickOfTheClockIsSeen) {
  // As if the editor had written it twice in one tick: same size, same time.
  PutAt(source_ / "a.c", "int a;", NowNs(env_));
  First();
  PutAt(source_ / "a.c", "int z;", NowNs(env_));
  EXPECT_THAT(Copied(), ElementsAre("a.c"));
  EXPECT_THAT(Text("a.c"), IsOkAndHolds("int z;"));
}

TEST_F(SourceSyncTest, ASetBackTimeIsSeenBySizeAlone) {
  First();
  const std::int64_t before = MtimeOf(source_ / "a.c");
  PutAt(source_ / "a.c", "int z;", before);
  EXPECT_THAT(Copied(), IsEmpty());  // as the header says
  PutAt(source_ / "a.c", "int longer;", before);
  EXPECT_THAT(Copied(), ElementsAre("a.c"));
}

TEST_F(SourceSyncTest, AnExecutableBitCounts) {
  First();
  ASSERT_OK(env_->fs.SetMode(source_ / "a.c", 0755));
  EXPECT_THAT(Copied(), ElementsAre("a.c"));
  EXPECT_EQ(env_->fs.Lstat(copy_ / "a.c")->mode & 0100U, 0100U);
}

TEST_F(SourceSyncTest, AReadOnlyFileBecomesWritable) {
  ASSERT_OK(env_->fs.SetMode(source_ / "a.c", 0444));
  First();
  EXPECT_EQ(env_->fs.Lstat(copy_ / "a.c")->mode & 0200U, 0200U);
  EXPECT_THAT(Copied(), IsEmpty());
}

TEST_F(SourceSyncTest, RemovedFilesGoWithFoldersThatAreEmptyThen) {
  First();
  ASSERT_OK(RemoveTree(env_->fs, source_ / "lib"));
  EXPECT_THAT(Copied(), ElementsAre("-lib/b.c"));
  EXPECT_THAT(Exists(env_->fs, copy_ / "lib"), IsOkAndHolds(false));
}

TEST_F(SourceSyncTest, WhatTheBuildMadeOrChangedStays) {
  First();
  PutAt(copy_ / "lib/b.o", "object", NowNs(env_));
  PutAt(copy_ / "a.c", "int a; // by sed", NowNs(env_));
  EXPECT_THAT(Copied(), IsEmpty());
  EXPECT_THAT(Text("a.c"), IsOkAndHolds("int a; // by sed"));
  ASSERT_OK(RemoveTree(env_->fs, source_ / "lib"));
  EXPECT_THAT(Copied(), ElementsAre("-lib/b.c"));
  EXPECT_THAT(Text("lib/b.o"), IsOkAndHolds("object"));
  Edit("a.c", "int a3;");
  EXPECT_THAT(Copied(), ElementsAre("a.c"));
  EXPECT_THAT(Text("a.c"), IsOkAndHolds("int a3;"));
}

TEST_F(SourceSyncTest, AFileThatTheBuildMadeGivesWayToTheSourcesOwn) {
  First();
  PutAt(copy_ / "version.h", "generated", NowNs(env_));
  Edit("version.h", "written");
  EXPECT_THAT(Copied(), ElementsAre("version.h"));
  EXPECT_THAT(Text("version.h"), IsOkAndHolds("written"));
}

TEST_F(SourceSyncTest, SymlinksAreCopiedAndNeverFollowed) {
  ASSERT_OK(env_->fs.CreateSymlink("a.c", source_ / "link.c"));
  First();
  EXPECT_THAT(env_->fs.ReadLink(copy_ / "link.c"), IsOkAndHolds("a.c"));
  EXPECT_THAT(Copied(), IsEmpty());
  ASSERT_OK(env_->fs.Remove(source_ / "link.c"));
  ASSERT_OK(env_->fs.CreateSymlink("lib/b.c", source_ / "link.c"));
  EXPECT_THAT(Copied(), ElementsAre("link.c"));
  EXPECT_THAT(env_->fs.ReadLink(copy_ / "link.c"), IsOkAndHolds("lib/b.c"));
  ASSERT_OK(env_->fs.Remove(source_ / "link.c"));
  ASSERT_OK(env_->fs.CreateSymlink("/etc/passwd", source_ / "link.c"));
  EXPECT_THAT(Sync(), FailsWith(ErrorCode::kInvalidInput, HasSubstr("points outside the source directory")));
}

TEST_F(SourceSyncTest, AFileBecomesAFolderAndBack) {
  First();
  ASSERT_OK(env_->fs.Remove(source_ / "a.c"));
  Edit("a.c/x", "x");
  EXPECT_THAT(Copied(), ElementsAre("a.c/x", "-a.c"));
  ASSERT_OK(RemoveTree(env_->fs, source_ / "a.c"));
  Edit("a.c", "int a;");
  EXPECT_THAT(Copied(), ElementsAre("a.c", "-a.c/x"));
  EXPECT_THAT(Text("a.c"), IsOkAndHolds("int a;"));
}

TEST_F(SourceSyncTest, NothingIsWrittenOrRemovedBehindALinkThatTheBuildMade) {
  Write("third/x.c", "mine");
  First();
  const AbsPath outside = env_.dir().path() / "outside";
  PutAt(outside / "x.c", "theirs", NowNs(env_));
  ASSERT_OK(RemoveTree(env_->fs, copy_ / "third"));
  ASSERT_OK(env_->fs.CreateSymlink(outside.str(), copy_ / "third"));
  Edit("third/y.c", "new");
  EXPECT_THAT(Sync(), FailsWith(ErrorCode::kRefused, HasSubstr("now has 'third/y.c', but the build created "
                                                               "something else at 'third'")));
  EXPECT_THAT(Sync(), HasHint(HasSubstr("--fresh")));
  ASSERT_OK(RemoveTree(env_->fs, source_ / "third"));
  // y.c was recorded before it was to be copied.
  EXPECT_THAT(Copied(), ElementsAre("-third/x.c", "-third/y.c"));
  EXPECT_THAT(ReadFile(env_->fs, outside / "x.c"), IsOkAndHolds("theirs"));
}

TEST_F(SourceSyncTest, AFolderThatTheBuildMadeInTheWayIsRefused) {
  First();
  PutAt(copy_ / "build/x.o", "object", NowNs(env_));
  Edit("build", "a file");
  EXPECT_THAT(Sync(), FailsWith(ErrorCode::kRefused, HasSubstr("'build'")));
  EXPECT_THAT(Text("build/x.o"), IsOkAndHolds("object"));
}

TEST_F(SourceSyncTest, ARunThatWasKilledIsMadeGood) {
  First();
  Edit("a.c", "int changed;");
  const SyncRecord before = record_;
  EXPECT_THAT(Copied(), ElementsAre("a.c"));
  // As if it had been killed in the midst of copying: the record on disk is that from before the copy,
  // without the file, and the source is put back to what it was.
  record_ = before;
  record_.files.erase(RelPath::Literal("a.c"));
  Write("a.c", "int a;");
  EXPECT_THAT(Copied(), ElementsAre("a.c"));
  EXPECT_THAT(Text("a.c"), IsOkAndHolds("int a;"));
}

TEST_F(SourceSyncTest, AFileMoreOrLessIsToldBeforeTheCopyChanges) {
  First();
  int told = 0;
  const auto sync = [&] {
    return SyncSources(env_,
                       {.origins = {{.folder = source_}},
                        .copy = copy_,
                        .record_file = file_,
                        .before_other_files = [&]() -> Result<void> {
                          ++told;
                          return Error(ErrorCode::kIo, "no");
                        }},
                       record_);
  };
  Edit("a.c", "int a2;");
  ASSERT_THAT(sync(), IsOk());
  EXPECT_EQ(told, 0);
  Edit("c.c", "int c;");
  EXPECT_THAT(sync(), FailsWith(ErrorCode::kIo, HasSubstr("no")));
  EXPECT_THAT(Exists(env_->fs, copy_ / "c.c"), IsOkAndHolds(false));
  ASSERT_OK(env_->fs.Remove(source_ / "c.c"));
  ASSERT_OK(RemoveTree(env_->fs, source_ / "lib"));
  EXPECT_THAT(sync(), FailsWith(ErrorCode::kIo, HasSubstr("no")));
  EXPECT_THAT(Text("lib/b.c"), IsOkAndHolds("int b;"));
  EXPECT_EQ(told, 2);
}

TEST_F(SourceSyncTest, WhatWasBeingWrittenIsCopiedAgain) {
  First();
  const std::int64_t since = NowNs(env_) - 10 * kSecondNs;
  PutAt(copy_ / "a.c", "in", since);                      // cut off while it was written
  PutAt(copy_ / "lib/b.c", "by sed", since - kSecondNs);  // long before
  PutAt(copy_ / "other", "object", NowNs(env_));
  const auto distrusted = [&]() -> Result<std::size_t> {
    PTPKG_TRY(const std::vector<source::WalkEntry> files, source::Walk(env_, copy_));
    return DistrustFilesWrittenSince(env_, copy_, files, since, record_);
  };
  EXPECT_THAT(distrusted(), IsOkAndHolds(1U));
  EXPECT_THAT(Copied(), ElementsAre("a.c"));
  EXPECT_THAT(Text("a.c"), IsOkAndHolds("int a;"));
  EXPECT_THAT(Text("lib/b.c"), IsOkAndHolds("by sed"));
  EXPECT_THAT(distrusted(), IsOkAndHolds(0U));  // it is late, and as it was copied
}

TEST_F(SourceSyncTest, TwoSourcesInTwoFoldersOfTheCopy) {
  const AbsPath other = env_.dir().path() / "other";
  PutAt(other / "a.c", "other", NowNs(env_) - 3600 * kSecondNs);
  const auto sync = [&](const std::string& below, bool first) {
    return SyncSources(env_,
                       {.origins = {{.folder = source_}, {.folder = other, .below = below}},
                        .copy = copy_,
                        .record_file = file_,
                        .first = first},
                       record_);
  };
  EXPECT_THAT(sync("", true),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("two sources of the recipe contain 'a.c'")));
  ASSERT_THAT(sync("sub", true), IsOk());
  EXPECT_THAT(Text("sub/a.c"), IsOkAndHolds("other"));
  EXPECT_THAT(Text("a.c"), IsOkAndHolds("int a;"));
}

TEST_F(SourceSyncTest, AFileOfAnotherSourceIsNotReplacedInTheFirstCopy) {
  PutAt(copy_ / "a.c", "unpacked", NowNs(env_));
  EXPECT_THAT(Sync(true), FailsWith(ErrorCode::kInvalidInput, HasSubstr("two sources")));
}

TEST_F(SourceSyncTest, ADamagedRecordIsToldApartFromAMissingOne) {
  EXPECT_THAT(SyncRecord::Read(env_, file_), FailsWith(ErrorCode::kNotFound, HasSubstr("record")));
  First();
  ASSERT_OK_AND_ASSIGN(std::string text, ReadFile(env_->fs, file_));
  text.back() = 'x';
  ASSERT_OK(WriteFile(env_->fs, file_, text));
  EXPECT_THAT(SyncRecord::Read(env_, file_), FailsWith(ErrorCode::kCorrupt, HasSubstr("damaged")));
}

/// A source and its copy in memory, so that each operation can be made to fail.
class SourceSyncFaults : public ::testing::Test {
 protected:
  static void PutAt(test::MemFs& fs, const std::string& path, const std::string& text, int seconds) {
    fs.AddFile(path, text);
    ASSERT_OK(fs.SetMtime(AbsPath::Literal(path), seconds * kSecondNs));
  }
  static Result<void> Sync(Fs& fs, bool first = false) {
    test::TestEnv env({.fs = &fs, .jobs = 1});
    SyncRecord record;
    if (!first) {
      PTPKG_TRY(record, SyncRecord::Read(env, AbsPath::Literal("/w/record")));
    }
    const SyncRequest request{.origins = {{.folder = AbsPath::Literal("/source")}},
                              .copy = AbsPath::Literal("/w/copy"),
                              .record_file = AbsPath::Literal("/w/record"),
                              .first = first};
    PTPKG_TRY([[maybe_unused]] const SyncOutcome outcome, SyncSources(env, request, record));
    return Ok();
  }
  /// A first copy, and then edits of all kinds.
  static void SetUpEdited(test::MemFs& fs) {
    fs.AddDir("/w/copy");
    PutAt(fs, "/source/a.c", "int a;", 1);
    PutAt(fs, "/source/lib/b.c", "int b;", 1);
    PutAt(fs, "/source/same.c", "same", 1);
    ASSERT_THAT(Sync(fs, true), IsOk());
    PutAt(fs, "/source/a.c", "int a2;", 2);
    PutAt(fs, "/source/new/c.c", "int c;", 2);
    ASSERT_OK(RemoveTree(fs, AbsPath::Literal("/source/lib")));
  }
  static std::map<std::string, std::string> Files(test::MemFs& fs, const std::string& root) {
    test::TestEnv env({.fs = &fs});
    std::map<std::string, std::string> files;
    const auto entries = source::Walk(env, AbsPath::Literal(root));
    EXPECT_THAT(entries, IsOk());
    if (!entries) return files;
    for (const source::WalkEntry& entry : *entries) {
      files.emplace(entry.path.str(), fs.Content(root + "/" + entry.path.str()));
    }
    return files;
  }
};

TEST_F(SourceSyncFaults, ARunThatEndsAtAnyPointIsMadeGoodWhateverTheSourceIsThen) {
  const auto taken_back = [](test::MemFs& fs) { PutAt(fs, "/source/a.c", "int a;", 1); };
  const auto gone = [](test::MemFs& fs) {
    ASSERT_OK(fs.Remove(AbsPath::Literal("/source/a.c")));
    ASSERT_OK(RemoveTree(fs, AbsPath::Literal("/source/new")));
  };
  const std::vector<std::function<void(test::MemFs&)>> edits = {[](test::MemFs&) {}, taken_back, gone};
  for (const auto& edit : edits) {
    const int faults = test::RunFaultLoop({.scope = test::FaultScope::kMutating,
                                           .after = test::FaultAfter::kDead,
                                           .setup = SetUpEdited,
                                           .run = [](Fs& fs) { return Sync(fs); },
                                           .check =
                                               [&](test::MemFs& fs, const Error&) {
                                                 edit(fs);
                                                 ASSERT_THAT(Sync(fs), IsOk());
                                                 EXPECT_EQ(Files(fs, "/w/copy"), Files(fs, "/source"));
                                               }});
    EXPECT_GT(faults, 5);
  }
}

TEST_F(SourceSyncFaults, AnEditDuringTheCopyIsTakenNowOrInTheNextRun) {
  std::uint64_t edits = 0;
  for (bool edited = true; edited; edits += edited ? 1 : 0) {
    edited = false;
    test::MemFs memory;
    SetUpEdited(memory);
    test::FaultFs fs(memory, {});
    const std::uint64_t n = edits + 1;
    fs.Before(n, [&] {
      edited = true;
      PutAt(memory, "/source/a.c", "int later;", 3);
    });
    const auto first = Sync(fs);
    if (!first) {
      EXPECT_EQ(first.error().code(), ErrorCode::kRefused) << n;
    }
    PutAt(memory, "/source/a.c", "int later;", 3);
    ASSERT_THAT(Sync(memory), IsOk());
    EXPECT_EQ(Files(memory, "/w/copy"), Files(memory, "/source")) << n;
  }
  EXPECT_GT(edits, 20U);  // before each operation of a run there was one
}

TEST_F(SourceSyncFaults, AFileThatNeverStandsStillIsRefused) {
  test::MemFs memory;
  SetUpEdited(memory);
  test::FaultFs fs(memory, {});
  int writes = 0;
  std::uint64_t next = 1;
  std::function<void()> write = [&] {
    ++writes;
    PutAt(memory, "/source/a.c", std::string(static_cast<std::size_t>(writes), 'x'), 10 + writes);
    fs.Before(++next, [&write] { write(); });
  };
  fs.Before(next, [&write] { write(); });
  EXPECT_THAT(Sync(fs),
              FailsWith(ErrorCode::kRefused, HasSubstr("'/source/a.c' changed while it was copied")));
}

}  // namespace
}  // namespace ptpkg::builder
