// What the next call makes of an edit that was killed: its record at the end of the file, whole, damaged, or
// only alike.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "elf/edit/edit.h"
#include "support/fault_fs.h"
#include "support/matchers.h"
#include "support/mem_fs.h"
#include "unit/elf/fixtures/synthetic_elf.h"

namespace ptpkg::elf::test {
namespace {

using ptpkg::test::FailsWith;
using ptpkg::test::FaultAfter;
using ptpkg::test::FaultFs;
using ptpkg::test::FaultScope;
using ptpkg::test::HasHint;
using ptpkg::test::MemFs;
using ::testing::_;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const AbsPath kRecovered = AbsPath::Literal("/tree/libanswer.so");

/// A file whose edit was killed with its record complete, some bytes new and some old.
struct KilledEdit {
  KilledEdit() {
    SyntheticElf elf;
    elf.runpath = "/build/prefix/lib";
    elf.interpreter = "/lib/ld.so.1";
    before = elf.Build();
    fs.AddFile(kRecovered.str(), before);
    Edits edits;
    edits.search_path = SearchPath{.text = "$ORIGIN/" + std::string(500, 'g')};
    FaultFs faulty(fs,
                   {.number = 6, .sys_errno = 5, .scope = FaultScope::kMutating, .after = FaultAfter::kDead});
    EXPECT_THAT(EditFile(faulty, kRecovered, edits), Not(ptpkg::test::IsOk()));
    killed = Content();
    EXPECT_GT(killed.size(), before.size());
  }
  void Put(const std::string& content) { fs.AddFile(kRecovered.str(), content); }
  std::string Content() { return fs.Content(kRecovered.str()); }

  MemFs fs;
  std::string before;
  std::string killed;
};

TEST(RecoverEdit, PutsTheOldFileBack) {
  KilledEdit edit;
  EXPECT_THAT(RecoverEdit(edit.fs, kRecovered), ptpkg::test::IsOkAndHolds(true));
  EXPECT_EQ(edit.Content(), edit.before);
  EXPECT_THAT(RecoverEdit(edit.fs, kRecovered), ptpkg::test::IsOkAndHolds(false));
}

TEST(RecoverEdit, RefusesAFileThatWasWrittenSince) {
  KilledEdit edit;
  std::string other = edit.killed;
  other.replace(0, edit.before.size(), std::string(edit.before.size(), '\x5a'));
  edit.Put(other);
  const auto refused = AllOf(FailsWith(ErrorCode::kRefused, HasSubstr("something else wrote the file since")),
                             HasHint(HasSubstr("fetch or build the file again")));
  EXPECT_THAT(RecoverEdit(edit.fs, kRecovered), refused);
  EXPECT_EQ(OpenRecovered(edit.fs, kRecovered).error().code(), ErrorCode::kRefused);
  EXPECT_EQ(edit.Content(), other);
}

TEST(RecoverEdit, DamagedRecordIsAnError) {
  const KilledEdit edit;
  const std::size_t block = edit.killed.rfind("ptpkg-undo 3");
  ASSERT_EQ(block % 4096, 0U);
  const std::size_t ranges = edit.killed.find_last_not_of('\0', block - 1);
  for (const std::size_t at : {block + 14, block + 100, ranges - 1}) {
    SCOPED_TRACE(at);
    KilledEdit damaged;
    std::string content = edit.killed;
    content[at] = content[at] == '1' ? '2' : '1';
    damaged.Put(content);
    EXPECT_THAT(RecoverEdit(damaged.fs, kRecovered),
                FailsWith(ErrorCode::kCorrupt, HasSubstr("undo record at the end of the file is damaged")));
    EXPECT_EQ(damaged.Content(), content);
  }
}

TEST(RecoverEdit, WhatOnlyLooksLikeARecordIsNone) {
  KilledEdit edit;
  for (const std::string& content :
       {edit.before, std::string(), edit.killed + "x", edit.killed.substr(0, edit.killed.size() - 257),
        std::string(4096, 'a') + "ptpkg-undo 2\n" + std::string(499, '\0')}) {
    edit.Put(content);
    EXPECT_THAT(RecoverEdit(edit.fs, kRecovered), ptpkg::test::IsOkAndHolds(false));
    EXPECT_EQ(edit.Content(), content);
  }
}

TEST(OpenRecovered, HoldsTheLockWhileTheFileIsRead) {
  KilledEdit edit;
  for (const std::string& content : {edit.before, edit.killed}) {
    edit.Put(content);
    ASSERT_OK_AND_ASSIGN(RecoveredFile seen, OpenRecovered(edit.fs, kRecovered));
    ASSERT_OK_AND_ASSIGN(const auto writer, edit.fs.Open(kRecovered, OpenMode::kReadWrite));
    EXPECT_THAT(writer->TryLock(LockKind::kExclusive), ptpkg::test::IsOkAndHolds(LockOutcome::kBusy));
    seen.file.reset();
    EXPECT_THAT(writer->TryLock(LockKind::kExclusive), ptpkg::test::IsOkAndHolds(LockOutcome::kHeld));
  }
}

TEST(OpenRecovered, ReadsTheOldFileAndWritesNothing) {
  KilledEdit edit;
  ASSERT_OK_AND_ASSIGN(const RecoveredFile seen, OpenRecovered(edit.fs, kRecovered));
  EXPECT_TRUE(seen.interrupted);
  EXPECT_EQ(seen.file->Stat()->size_bytes, edit.before.size());
  for (const std::size_t piece : {1U, 7U, 4096U, 1U << 20U}) {
    std::string read;
    std::string buffer(piece, '\0');
    for (std::size_t got = 1; got != 0; read += buffer.substr(0, got)) {
      ASSERT_OK_AND_ASSIGN(got, seen.file->ReadAt(read.size(), std::as_writable_bytes(std::span(buffer))));
    }
    EXPECT_TRUE(read == edit.before) << piece;
  }
  EXPECT_THAT(seen.file->WriteAt(0, AsBytes("x")), FailsWith(ErrorCode::kInternal, _));
  EXPECT_THAT(seen.file->Truncate(0), FailsWith(ErrorCode::kInternal, _));
  EXPECT_THAT(seen.file->Sync(), FailsWith(ErrorCode::kInternal, _));
  EXPECT_OK(seen.file->Close());
  EXPECT_TRUE(edit.Content() == edit.killed);
}

}  // namespace
}  // namespace ptpkg::elf::test
