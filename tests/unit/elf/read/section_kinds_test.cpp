// Kinds of sections, the build id, and names that lie.

#include "elf/read/section_kinds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "elf/read/notes.h"
#include "support/files/read_only_file.h"
#include "support/matchers.h"
#include "unit/elf/fixtures/elf_additions.h"

namespace ptpkg::elf::test {
namespace {

using ptpkg::test::FailsWith;
using ptpkg::test::IsOkAndHolds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <class Value>
Result<Value> WithImage(const std::string& bytes,
                        const std::function<Result<Value>(File& file, const Image& image)>& read) {
  MemoryFile file(AsBytes(bytes));
  PTPKG_TRY(const auto image, ReadImage(file));
  return read(file, *image);
}

Result<std::vector<NamedSection>> Sections(const std::string& bytes) {
  return WithImage<std::vector<NamedSection>>(bytes, ReadNamedSections);
}

std::vector<std::string> KindsOf(const std::vector<NewSection>& added) {
  SyntheticElf elf;
  std::string image = elf.Build();
  AddSections(image, elf.codec(), added);
  const auto sections = Sections(image);
  EXPECT_OK(sections);
  std::vector<std::string> kinds;
  for (const NamedSection& section : *sections) {
    if (section.name != ".shstrtab") kinds.emplace_back(SectionKindName(section.kind));
  }
  return kinds;
}

TEST(SectionKinds, AreToldByNameTypeAndFlags) {
  EXPECT_THAT(KindsOf({{.name = ".text", .content = "x", .flags = 6},
                       {.name = ".rodata", .content = "x", .flags = 2},
                       {.name = ".data", .content = "x", .flags = 3},
                       {.name = ".nv_fatbin", .content = "x", .flags = 2},
                       {.name = ".dynsym", .content = "x", .flags = 2, .type = kSectionDynsym}}),
              ElementsAre("code", "read-only data", "data", "device code", "symbols"));
  EXPECT_THAT(KindsOf({{.name = ".debug_info", .content = "x", .flags = 0},
                       {.name = ".eh_frame", .content = "x", .flags = 2},
                       {.name = ".rela.dyn", .content = "x", .flags = 2, .type = 4},
                       {.name = ".comment", .content = "x", .flags = 0}}),
              ElementsAre("debug", "unwind", "relocations", "other"));
}

TEST(SectionKinds, DebugInformationOrAFullTableIsNotStripped) {
  const NamedSection text{.name = ".text", .kind = SectionKind::kCode};
  EXPECT_TRUE(IsStripped({text}));
  EXPECT_FALSE(IsStripped({text, {.name = ".symtab", .kind = SectionKind::kSymbols}}));
  EXPECT_FALSE(IsStripped({text, {.name = ".debug_info", .kind = SectionKind::kDebug}}));
  EXPECT_FALSE(IsStripped({}));
}

TEST(SectionKinds, ASectionThatLeavesTheFileIsCorrupt) {
  SyntheticElf elf;
  std::string image = elf.Build();
  PokeWord(image, elf.codec(), elf.places.section_headers + 2 * elf.codec().SectionSize() + 32, 1ULL << 40U);
  EXPECT_THAT(Sections(image), FailsWith(ErrorCode::kCorrupt, HasSubstr("leaves the file")));
}

TEST(SectionKinds, LongNamesAreCut) {
  SyntheticElf elf;
  std::string image = elf.Build();
  const std::string name(5000, 'n');
  AddSections(image, elf.codec(), {{.name = name, .content = "x"}});
  const auto sections = Sections(image);
  ASSERT_OK(sections);
  for (const NamedSection& section : *sections) EXPECT_LE(section.name.size(), 256U);
}

std::string BuildIdNote(const Codec& codec, std::uint32_t size_bytes, std::string_view id) {
  std::string note(12, '\0');
  PokeU32(note, codec, 0, 4);
  PokeU32(note, codec, 4, size_bytes);
  PokeU32(note, codec, 8, 3);
  return note + std::string("GNU\0", 4) + std::string(id);
}

Result<std::optional<std::string>> BuildIdOf(std::uint32_t size_bytes) {
  SyntheticElf elf;
  elf.spare_segments = 1;
  std::string image = elf.Build();
  AddNote(image, elf, BuildIdNote(elf.codec(), size_bytes, "\xab\xcd\x01\x02"), kSegmentNote);
  return WithImage<std::optional<std::string>>(image, ReadBuildId);
}

TEST(BuildId, IsHexadecimal) {
  EXPECT_THAT(BuildIdOf(4), IsOkAndHolds(std::optional<std::string>("abcd0102")));
}

TEST(BuildId, OneThatRunsPastItsSegmentIsCorrupt) {
  EXPECT_THAT(BuildIdOf(400), FailsWith(ErrorCode::kCorrupt, HasSubstr("runs past")));
}

TEST(BuildId, AFileWithoutHasNone) {
  SyntheticElf elf;
  EXPECT_THAT(WithImage<std::optional<std::string>>(elf.Build(), ReadBuildId),
              IsOkAndHolds(std::optional<std::string>()));
}

}  // namespace
}  // namespace ptpkg::elf::test
