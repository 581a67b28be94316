// Files beyond 4 GiB: offsets are 64 bits everywhere, and nothing but the tables is read or written.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "elf/edit/edit.h"
#include "support/matchers.h"
#include "support/temp_dir.h"
#include "unit/elf/fixtures/edits_of.h"
#include "unit/elf/fixtures/synthetic_elf.h"

namespace ptpkg::elf::test {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t kFiveGiB = std::uint64_t{5} << 30U;

TEST(SparseFile, GrowsBeyondFourGiB) {
  const ptpkg::test::TempDir dir;
  SyntheticElf elf;
  elf.runpath = "/build/lib";
  const AbsPath path = dir.WriteFile("big.so", elf.Build());
  const auto fs = MakeOsFs();
  {
    ASSERT_OK_AND_ASSIGN(const auto file, fs->Open(path, OpenMode::kReadWrite));
    ASSERT_OK(file->Truncate(kFiveGiB));  // the bulk of a huge library, without its blocks
  }
  ASSERT_OK_AND_ASSIGN(const EditPlan small, EditFile(*fs, path, SetPath("$ORIGIN")));
  EXPECT_EQ(small.tier, WriteTier::kInPlace);
  ASSERT_OK_AND_ASSIGN(const EditPlan grown,
                       EditFile(*fs, path, SetPath("$ORIGIN/" + std::string(300, 'x'))));
  EXPECT_EQ(grown.tier, WriteTier::kAppend);
  EXPECT_GT(grown.writes.front().offset, kFiveGiB - 1);
  ASSERT_OK_AND_ASSIGN(const auto file, fs->Open(path, OpenMode::kRead));
  ASSERT_OK_AND_ASSIGN(const auto image, ReadImage(*file));
  EXPECT_GT(image->strings.offset, kFiveGiB);
  EXPECT_EQ(*ReadLinkFacts(*file, *image), grown.after);
  ASSERT_OK_AND_ASSIGN(const EditPlan again,
                       EditFile(*fs, path, SetPath("$ORIGIN/" + std::string(310, 'y'))));
  EXPECT_EQ(again.tier, WriteTier::kInPlace) << "strings beyond 4 GiB are edited in place";
}

TEST(SparseFile, ThirtyTwoBitFileMayNotPassFourGiB) {
  const ptpkg::test::TempDir dir;
  SyntheticElf elf;
  elf.elf_class = ElfClass::k32;
  const AbsPath path = dir.WriteFile("big32.so", elf.Build());
  const auto fs = MakeOsFs();
  {
    ASSERT_OK_AND_ASSIGN(const auto file, fs->Open(path, OpenMode::kReadWrite));
    ASSERT_OK(file->Truncate((std::uint64_t{4} << 30U) - 100));
  }
  EXPECT_THAT(EditFile(*fs, path, SetPath("$ORIGIN/lib")),
              ptpkg::test::FailsWith(ErrorCode::kUnsupported, HasSubstr("would grow past 4 GiB")));
  EXPECT_EQ(fs->Lstat(path)->size_bytes, (std::uint64_t{4} << 30U) - 100);
}

}  // namespace
}  // namespace ptpkg::elf::test
