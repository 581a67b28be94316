// A zip that looks like a directory.

#include "verify/rules/member_fs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/matchers.h"
#include "support/mem_fs.h"
#include "support/test_env.h"
#include "unit/archive/fixtures/builders.h"

namespace ptpkg::verify {
namespace {

using archive::test::ToText;
using test::FailsWith;
using test::IsOkAndHolds;
using testing::ElementsAre;
using testing::HasSubstr;

class MemberFsTest : public testing::Test {
 protected:
  static AbsPath At(const std::string& path) { return AbsPath::Literal("/w/x.zip" + path); }

  bool AddFiles() {
    fs_.AddFile("/w/x.zip", ToText({.members = {{.name = "pkg/a.txt", .content = "0123456789"},
                                                {.name = "pkg/sub/b", .content = "b", .unix_mode = 0100755},
                                                {.name = "link", .content = "pkg", .unix_mode = 0120777}}}));
    fs_.AddFile("/w/beside", "other");
    return true;
  }

  test::MemFs fs_;
  bool added_ = AddFiles();  // before the members below are read
  test::TestEnv env_{{.fs = &fs_}};
  Result<archive::ZipMembers> members_ = archive::ZipMembers::Open(env_, At(""));
  MemberFs zip_{fs_, At(""), *members_};
};

TEST_F(MemberFsTest, ListsAndReads) {
  EXPECT_THAT(zip_.ListDir(At("")), IsOkAndHolds(ElementsAre("link", "pkg")));
  EXPECT_THAT(zip_.ListDir(At("/pkg")), IsOkAndHolds(ElementsAre("a.txt", "sub")));
  EXPECT_EQ(zip_.Lstat(At(""))->kind, FileKind::kDirectory);
  EXPECT_EQ(zip_.Lstat(At("/pkg/sub"))->kind, FileKind::kDirectory);
  EXPECT_EQ(zip_.Stat(At("/pkg/sub/b"))->mode, 0755U);
  EXPECT_EQ(zip_.Lstat(At("/link"))->kind, FileKind::kSymlink);
  EXPECT_NE(zip_.Lstat(At("/pkg/a.txt"))->inode, zip_.Lstat(At("/pkg/sub/b"))->inode);
  EXPECT_THAT(zip_.ReadLink(At("/link")), IsOkAndHolds(std::string("pkg")));
  EXPECT_THAT(ReadFile(zip_, At("/pkg/a.txt")), IsOkAndHolds(std::string("0123456789")));
  EXPECT_THAT(ReadFile(zip_, AbsPath::Literal("/w/beside")), IsOkAndHolds(std::string("other")));
}

TEST_F(MemberFsTest, AHeadIsReadWithoutTheMember) {
  const std::string head = "HEAD";
  zip_.SetHead(0, &head);  // not what the member holds: that shows who answered
  ASSERT_OK_AND_ASSIGN(const auto file, zip_.Open(At("/pkg/a.txt"), OpenMode::kRead));
  std::string text(4, '\0');
  const auto read = [&](std::uint64_t offset) {
    const auto got = file->ReadAt(offset, std::as_writable_bytes(std::span(text)));
    return got ? text.substr(0, *got) : "failed";
  };
  EXPECT_EQ(read(0), "HEAD");
  EXPECT_EQ(read(1), "1234") << "the head ends before";
  EXPECT_EQ(read(8), "89");
  EXPECT_EQ(read(10), "");
}

TEST_F(MemberFsTest, RefusesWhatIsNotThereAndChanges) {
  EXPECT_THAT(zip_.Lstat(At("/pkg/c")), FailsWith(ErrorCode::kNotFound, HasSubstr("no member 'pkg/c'")));
  EXPECT_THAT(zip_.Open(At("/pkg"), OpenMode::kRead),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("regular")));
  EXPECT_THAT(
      zip_.Open(At("/pkg/a.txt"), OpenMode::kReadWrite),
      FailsWith(ErrorCode::kInternal, HasSubstr("pkg/a.txt' is a member of a zip, which is read-only")));
  EXPECT_THAT(zip_.ListDir(At("/link")), FailsWith(ErrorCode::kInvalidInput, HasSubstr("not a directory")));
  EXPECT_THAT(zip_.ReadLink(At("/pkg")), FailsWith(ErrorCode::kInvalidInput, HasSubstr("not a symlink")));
  const AbsPath here = At("/pkg/a.txt");
  const AbsPath there = AbsPath::Literal("/w/new");
  for (const Result<void>& change :
       {zip_.MakeDirs(here), zip_.MakeDir(here), zip_.CreateSymlink("x", here),
        zip_.CreateHardLink(here, there), zip_.Rename(here, there), zip_.RenameNoReplace(there, here),
        zip_.Remove(here), zip_.SetMode(here, 0644), zip_.SetMtime(here, 0), zip_.CopyFile(here, there),
        zip_.SyncDir(here)}) {
    EXPECT_THAT(change, FailsWith(ErrorCode::kInternal, HasSubstr("a zip, which is read-only")));
  }
  EXPECT_OK(zip_.MakeDirs(there));
  EXPECT_OK(zip_.Remove(there));
}

}  // namespace
}  // namespace ptpkg::verify
