// Property notes: the level that a file states, and notes that lie about their size.

#include "elf/load/isa_level.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/matchers.h"
#include "support/mem_fs.h"
#include "unit/elf/fixtures/elf_additions.h"

namespace ptpkg::elf::test {
namespace {

using ptpkg::test::FailsWith;
using ptpkg::test::IsOkAndHolds;
using ptpkg::test::MemFs;
using ::testing::HasSubstr;

constexpr std::uint32_t kGnuProperty = 0x6474e553;

Result<IsaLevel> ReadLevel(const std::string& bytes) {
  MemFs fs;
  const AbsPath path = AbsPath::Literal("/lib.so");
  fs.AddFile(path.str(), bytes);
  PTPKG_TRY(const auto file, fs.Open(path, OpenMode::kRead));
  PTPKG_TRY(const auto image, ReadImage(*file));
  return ReadNeededIsaLevel(*file, *image);
}

SyntheticElf WithSpare() {
  SyntheticElf elf;
  elf.spare_segments = 1;
  return elf;
}

TEST(IsaLevel, HighestBitCounts) {
  const std::vector<std::pair<std::uint32_t, IsaLevel>> cases = {
      {0, IsaLevel::kUnstated}, {1, IsaLevel::kBaseline}, {3, IsaLevel::kV2},
      {7, IsaLevel::kV3},       {4, IsaLevel::kV3},       {15, IsaLevel::kV4}};
  for (const auto& [bits, level] : cases) {
    SyntheticElf elf = WithSpare();
    std::string image = elf.Build();
    AddIsaNote(image, elf, bits);
    EXPECT_THAT(ReadLevel(image), IsOkAndHolds(level)) << bits;
  }
}

TEST(IsaLevel, PlainNoteSegmentsServeWhereNoPropertySegmentIs) {
  SyntheticElf elf = WithSpare();
  std::string image = elf.Build();
  AddIsaNote(image, elf, 7, kSegmentNote);
  EXPECT_THAT(ReadLevel(image), IsOkAndHolds(IsaLevel::kV3));
}

TEST(IsaLevel, FollowsOtherNotesAndProperties) {
  SyntheticElf elf = WithSpare();
  std::string image = elf.Build();
  std::string notes(20, '\0');  // a build-id of 1 byte, padded
  PokeU32(notes, elf.codec(), 0, 4);
  PokeU32(notes, elf.codec(), 4, 1);
  PokeU32(notes, elf.codec(), 8, 3);
  notes.replace(12, 3, "GNU");
  notes.resize(24);
  AddNote(image, elf, notes + IsaNote(elf.codec(), 3), kSegmentNote);
  EXPECT_THAT(ReadLevel(image), IsOkAndHolds(IsaLevel::kV2));
}

TEST(IsaLevel, NoStatementAndOtherMachines) {
  EXPECT_THAT(ReadLevel(SyntheticElf().Build()), IsOkAndHolds(IsaLevel::kUnstated));
  SyntheticElf arm = WithSpare();
  arm.machine = 183;
  std::string image = arm.Build();
  AddIsaNote(image, arm, 7);
  EXPECT_THAT(ReadLevel(image), IsOkAndHolds(IsaLevel::kUnstated));
}

TEST(IsaLevel, SizesBeyondTheSegmentAreCorrupt) {
  SyntheticElf elf = WithSpare();
  const std::string built = elf.Build();
  std::string note = IsaNote(elf.codec(), 7);
  PokeU32(note, elf.codec(), 4, 1000);
  std::string image = built;
  AddNote(image, elf, note, kGnuProperty);
  EXPECT_THAT(ReadLevel(image), FailsWith(ErrorCode::kCorrupt, HasSubstr("a note of 1004 bytes")));
  note = IsaNote(elf.codec(), 7);
  PokeU32(note, elf.codec(), 20, 0xfffffff0);
  image = built;
  AddNote(image, elf, note, kGnuProperty);
  EXPECT_THAT(ReadLevel(image), FailsWith(ErrorCode::kCorrupt, HasSubstr("a property of 4294967280 bytes")));
  image = built;
  AddIsaNote(image, elf, 7);
  EXPECT_THAT(ReadLevel(image.substr(0, image.size() - 4)),
              FailsWith(ErrorCode::kCorrupt, HasSubstr("a note segment needs")));
}

TEST(IsaLevel, Names) {
  EXPECT_EQ(IsaLevelName(IsaLevel::kUnstated), "x86-64-v1");
  EXPECT_EQ(IsaLevelName(IsaLevel::kV4), "x86-64-v4");
}

}  // namespace
}  // namespace ptpkg::elf::test
