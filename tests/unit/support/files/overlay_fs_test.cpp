// Files that are shown among those of another file system.

#include "support/files/overlay_fs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/files/read_only_file.h"
#include "support/matchers.h"
#include "support/mem_fs.h"

namespace ptpkg::test {
namespace {

using ::testing::HasSubstr;

class MadeFiles : public ::testing::Test {
 protected:
  MadeFiles() {
    mem_.AddFile("/w/beside", "other");
    made_.Show(kMade, {.size_bytes = kText.size(), .mode = 0755}, []() -> Result<std::unique_ptr<File>> {
      return std::unique_ptr<File>(std::make_unique<MemoryFile>(AsBytes(kText)));
    });
  }

  static constexpr std::string_view kText = "made";
  const AbsPath kMade = AbsPath::Literal("/w/made");
  const AbsPath kBeside = AbsPath::Literal("/w/beside");
  MemFs mem_;
  VirtualFilesFs made_{mem_};
};

TEST_F(MadeFiles, AreReadLikeOthers) {
  EXPECT_THAT(ReadFile(made_, kMade), IsOkAndHolds(std::string(kText)));
  EXPECT_THAT(ReadFile(made_, kBeside), IsOkAndHolds(std::string("other")));
  EXPECT_EQ(made_.Stat(kMade)->mode, 0755U);
  EXPECT_EQ(made_.Lstat(kMade)->size_bytes, kText.size());
  EXPECT_FALSE(*Exists(mem_, kMade));
  EXPECT_THAT(made_.ReadLink(kMade), FailsWith(ErrorCode::kInvalidInput, HasSubstr("is not a symlink")));
  EXPECT_THAT(made_.ListDir(kMade), FailsWith(ErrorCode::kInvalidInput, HasSubstr("is not a directory")));
}

TEST_F(MadeFiles, CannotBeChanged) {
  const auto refused = [](const auto& result) {
    EXPECT_THAT(result, FailsWith(ErrorCode::kInternal, HasSubstr("a file that is not on disk")));
  };
  const AbsPath other = AbsPath::Literal("/w/new");
  refused(made_.Open(kMade, OpenMode::kReadWrite));
  refused(made_.Open(kMade, OpenMode::kCreateNew));
  refused(made_.MakeDir(kMade));
  refused(made_.MakeDirs(kMade));
  refused(made_.CreateSymlink("x", kMade));
  refused(made_.CreateHardLink(kMade, other));
  refused(made_.Rename(kMade, other));
  refused(made_.Rename(kBeside, kMade));
  refused(made_.RenameNoReplace(kBeside, kMade));
  refused(made_.Remove(kMade));
  refused(made_.SetMode(kMade, 0644));
  refused(made_.SetMtime(kMade, 0));
  refused(made_.CopyFile(kMade, other));
  refused(made_.CopyOwner(kBeside, kMade));
  refused(made_.CopyAttributes(kMade, kBeside));
  refused(made_.SyncDir(kMade));
  EXPECT_THAT(ReadFile(made_, kMade), IsOkAndHolds(std::string(kText)));
}

TEST_F(MadeFiles, AllElseGoesToTheOtherFileSystem) {
  const AbsPath folder = AbsPath::Literal("/w/a/b");
  const AbsPath file = folder / "file";
  ASSERT_OK(made_.MakeDirs(folder));
  ASSERT_OK(WriteFile(made_, file, "text"));
  ASSERT_OK(made_.Rename(file, folder / "moved"));
  EXPECT_THAT(ReadFile(mem_, folder / "moved"), IsOkAndHolds(std::string("text")));
  ASSERT_OK(made_.SetMode(folder / "moved", 0600));
  EXPECT_EQ(mem_.Stat(folder / "moved")->mode, 0600U);
  ASSERT_OK(RemoveTree(made_, AbsPath::Literal("/w/a")));
  EXPECT_FALSE(*Exists(mem_, folder));
}

}  // namespace
}  // namespace ptpkg::test
