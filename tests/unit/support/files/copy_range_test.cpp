#include "support/files/copy_range.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/matchers.h"
#include "support/mem_fs.h"
#include "support/temp_dir.h"

namespace ptpkg {
namespace {

using test::FailsWith;
using test::IsOkAndHolds;
using test::MemFs;
using testing::ElementsAre;
using testing::HasSubstr;

class CopyRangeTest : public testing::Test {
 protected:
  /// "0123456789" into a file that holds "abc", as `range` says; what that file holds then.
  static Result<std::string> Copied(Fs& fs, const AbsPath& folder, const CopiedRange& range) {
    PTPKG_CHECK(WriteFile(fs, folder / "from", "0123456789"));
    PTPKG_CHECK(WriteFile(fs, folder / "to", "abc"));
    PTPKG_TRY(const std::unique_ptr<File> from, fs.Open(folder / "from", OpenMode::kRead));
    PTPKG_TRY(const std::unique_ptr<File> to, fs.Open(folder / "to", OpenMode::kReadWrite));
    std::uint64_t told = 0;
    PTPKG_CHECK(CopyRange(*from, *to, range, [&](std::uint64_t bytes) {
      told += bytes;
      return Ok();
    }));
    EXPECT_EQ(told, range.size_bytes);
    return ReadFile(fs, folder / "to");
  }

  test::TempDir dir_;
  std::unique_ptr<Fs> os_ = MakeOsFs();
};

TEST_F(CopyRangeTest, PutsBytesWhereTheyAreWanted) {
  MemFs memory;
  const AbsPath root = AbsPath::Literal("/");
  for (const CopiedRange& range :
       {CopiedRange{.from = 4, .to = 1, .size_bytes = 3}, CopiedRange{.from = 0, .to = 3, .size_bytes = 10},
        CopiedRange{.from = 9, .to = 0, .size_bytes = 0}}) {
    ASSERT_OK_AND_ASSIGN(const std::string on_disk, Copied(*os_, dir_.path(), range));
    EXPECT_THAT(Copied(memory, root, range), IsOkAndHolds(on_disk));
    std::string expected = "abc";
    expected.replace(range.to, range.size_bytes,
                     std::string("0123456789").substr(range.from, range.size_bytes));
    EXPECT_EQ(on_disk, expected);
  }
}

TEST_F(CopyRangeTest, ASourceThatEndsBeforeIsAnError) {
  MemFs memory;
  const CopiedRange range{.from = 8, .to = 0, .size_bytes = 3};
  const auto ends = FailsWith(ErrorCode::kIo, HasSubstr("has only 10 bytes"));
  EXPECT_THAT(Copied(*os_, dir_.path(), range), ends);
  EXPECT_THAT(Copied(memory, AbsPath::Literal("/"), range), ends);
}

TEST_F(CopyRangeTest, GoesInStepsAndEndsWithTheFirstRefusal) {
  // A hole: it costs no room.
  ASSERT_OK(WriteFile(*os_, dir_ / "from", ""));
  ASSERT_OK(WriteFile(*os_, dir_ / "to", ""));
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<File> from, os_->Open(dir_ / "from", OpenMode::kReadWrite));
  ASSERT_OK(from->Truncate(2 * kCopyStepBytes + 5));
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<File> to, os_->Open(dir_ / "to", OpenMode::kReadWrite));
  const CopiedRange all{.from = 0, .to = 0, .size_bytes = 2 * kCopyStepBytes + 5};
  std::vector<std::uint64_t> steps;
  const auto note = [&](std::uint64_t bytes) -> Result<void> {
    steps.push_back(bytes);
    return Ok();
  };
  ASSERT_OK(CopyRange(*from, *to, all, note));
  EXPECT_THAT(steps, ElementsAre(kCopyStepBytes, kCopyStepBytes, 5));
  const auto refuse = [](std::uint64_t) -> Result<void> { return Error(ErrorCode::kCancelled, "enough"); };
  EXPECT_THAT(CopyRange(*from, *to, all, refuse), FailsWith(ErrorCode::kCancelled, "enough"));
}

}  // namespace
}  // namespace ptpkg
