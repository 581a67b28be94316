// What of an ELF file differs, and files that would make the reader work for ever.

#include "inspect/elf_parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/files/read_only_file.h"
#include "support/matchers.h"
#include "unit/elf/fixtures/synthetic_elf.h"

namespace ptpkg::inspect {
namespace {

using elf::test::SyntheticElf;
using testing::ElementsAre;

ElfContent ContentOf(const std::string& bytes) {
  MemoryFile file(AsBytes(bytes));
  auto content = ReadElfContent(file);
  EXPECT_OK(content);
  EXPECT_TRUE(*content);
  return **std::move(content);
}

std::vector<std::string> Parts(const std::string& before, const std::string& after) {
  std::vector<std::string> names;
  for (const ElfPart& part : CompareElfContents(ContentOf(before), ContentOf(after)))
    names.push_back(part.part);
  return names;
}

TEST(ElfParts, TellsNamesFromTables) {
  SyntheticElf one;
  one.runpath = "$ORIGIN";
  SyntheticElf other = one;
  other.runpath = "$ORIGIN/../lib";
  EXPECT_THAT(Parts(one.Build(), other.Build()), ElementsAre("search path"));
  other = one;
  other.soname = "libother.so";
  EXPECT_THAT(Parts(one.Build(), other.Build()), ElementsAre("soname"));
  other = one;
  other.needed.push_back("libm.so.6");
  EXPECT_THAT(Parts(one.Build(), other.Build()), testing::Contains("needed"));
}

TEST(ElfParts, WhatIsInNoPartIsHeaders) {
  SyntheticElf elf;
  const std::string one = elf.Build();
  const auto parts = CompareElfContents(ContentOf(one), ContentOf(one + "tail"));
  ASSERT_EQ(parts.size(), 1U);
  EXPECT_EQ(parts.front().part, "headers");
}

TEST(ElfParts, FlagsOfTheDynamicSectionAreAPart) {
  SyntheticElf elf;
  const std::string before = elf.Build();
  std::string after = before;
  const elf::Codec codec = elf.codec();
  MemoryFile file(AsBytes(before));
  const auto image = elf::ReadImage(file);
  ASSERT_OK(image);
  const std::uint64_t spare =
      elf.places.dynamic + (*image)->dynamic->entries.size() * codec.DynamicEntrySize();
  elf::test::PokeWord(after, codec, spare, elf::kDtFlags1);
  elf::test::PokeWord(after, codec, spare + codec.WordSize(), 8);  // DF_1_NODELETE
  const auto parts = CompareElfContents(ContentOf(before), ContentOf(after));
  ASSERT_EQ(parts.size(), 1U);
  EXPECT_EQ(parts.front().part, "dynamic");
  EXPECT_THAT(*parts.front().old_texts, testing::IsEmpty());
  EXPECT_THAT(*parts.front().new_texts, ElementsAre("FLAGS_1 0x8"));
  std::string filter = before;
  elf::test::PokeWord(filter, codec, spare, elf::kDtFilter);
  elf::test::PokeWord(filter, codec, spare + codec.WordSize(), (*image)->dynamic->entries.front().value);
  EXPECT_THAT(*CompareElfContents(ContentOf(before), ContentOf(filter)).front().new_texts,
              ElementsAre("FILTER libdeep.so.1"));
}

TEST(ElfParts, AddressesAreNoPart) {
  SyntheticElf elf;
  const std::string before = elf.Build();
  std::string after = before;
  MemoryFile file(AsBytes(before));
  const auto image = elf::ReadImage(file);
  ASSERT_OK(image);
  const auto& entries = (*image)->dynamic->entries;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (entries[i].tag != elf::kDtHash) continue;
    elf::test::PokeWord(after, elf.codec(),
                        elf.places.dynamic + i * elf.codec().DynamicEntrySize() + elf.codec().WordSize(),
                        entries[i].value + 4);
  }
  ASSERT_NE(before, after);
  EXPECT_THAT(Parts(before, after), ElementsAre("headers"));
}

/// The texts of one part, those of the old file with a '-'.
std::vector<std::string> TextsOf(const std::string& name, const std::string& before,
                                 const std::string& after) {
  std::vector<std::string> texts;
  for (const ElfPart& part : CompareElfContents(ContentOf(before), ContentOf(after))) {
    if (part.part != name) continue;
    for (const std::string& text : *part.old_texts) texts.push_back("-" + text);
    for (const std::string& text : *part.new_texts) texts.push_back("+" + text);
  }
  return texts;
}

/// The image with global symbols, the first of them defined in section 1.
std::string WithDefined(SyntheticElf& elf, std::size_t count) {
  std::string image = elf.Build();
  const elf::Codec codec = elf.codec();
  for (std::size_t i = 1; i <= elf.symbols.size(); ++i) {
    const std::uint64_t record = elf.places.symbols + i * codec.SymbolSize();
    image[record + (codec.Is64() ? 4 : 12)] = 0x10;  // STB_GLOBAL
    elf::test::PokeU16(image, codec, record + (codec.Is64() ? 6 : 14), i <= count ? 1 : 0);
  }
  return image;
}

TEST(ElfParts, SymbolsThatOneFileHas) {
  for (const elf::ElfClass elf_class : {elf::ElfClass::k32, elf::ElfClass::k64}) {
    SyntheticElf one;
    one.elf_class = elf_class;
    one.symbols = {"mine", "gone", "asked"};
    SyntheticElf other = one;
    other.symbols = {"mine", "fresh", "asked", "wanted"};
    EXPECT_THAT(TextsOf("exported symbols", WithDefined(one, 2), WithDefined(other, 2)),
                ElementsAre("-gone", "+fresh"));
    EXPECT_THAT(TextsOf("needed symbols", WithDefined(one, 2), WithDefined(other, 2)),
                ElementsAre("+wanted@DEEP_1"));
    EXPECT_THAT(TextsOf("needed symbols", WithDefined(one, 2), WithDefined(other, 3)),
                ElementsAre("-asked@DEEP_1", "+wanted@DEEP_1"));
    other.symbols = one.symbols;
    other.version = "DEEP_2";
    EXPECT_THAT(TextsOf("needed symbols", WithDefined(one, 2), WithDefined(other, 2)),
                ElementsAre("-asked@DEEP_1", "+asked@DEEP_2"));
  }
}

TEST(ElfParts, AThousandSymbolsAreListed) {
  SyntheticElf one;
  SyntheticElf other = one;
  for (int i = 0; i < 1200; ++i) other.symbols.push_back("symbol_" + std::to_string(i));
  const auto parts = CompareElfContents(ContentOf(WithDefined(one, 0)), ContentOf(WithDefined(other, 0)));
  ASSERT_EQ(parts.back().part, "needed symbols");
  EXPECT_EQ(parts.back().new_texts->size(), 1000U);
  EXPECT_EQ(parts.back().new_more, 200U);
  EXPECT_EQ(parts.back().old_more, 0U);
}

TEST(ElfParts, NamesWithoutEndAreNotListed) {
  // Each of 2000 symbols has the same name of 60,000 bytes: 120 MB in a list, 100 kB in the file.
  SyntheticElf elf;
  elf.symbols = {std::string(60000, 'x')};
  for (int i = 0; i < 2000; ++i) elf.symbols.emplace_back("s");
  std::string image = WithDefined(elf, 0);
  const elf::Codec codec = elf.codec();
  const std::string first = image.substr(elf.places.symbols + codec.SymbolSize(), 4);
  for (std::size_t i = 2; i <= 2001; ++i) {
    image.replace(elf.places.symbols + i * codec.SymbolSize(), 4, first);
  }
  const ElfContent content = ContentOf(image);
  EXPECT_FALSE(content.symbols.complete);
  EXPECT_THAT(content.symbols.needed, testing::IsEmpty());
}

TEST(ElfParts, NoElfFileHasNone) {
  MemoryFile text(AsBytes("#!/bin/sh\n"));
  const auto content = ReadElfContent(text);
  ASSERT_OK(content);
  EXPECT_FALSE(content->has_value());
}

TEST(ElfParts, ADamagedFileHasNone) {
  SyntheticElf elf;
  const std::string bytes = elf.Build().substr(0, 100);
  MemoryFile file(AsBytes(bytes));
  const auto content = ReadElfContent(file);
  ASSERT_OK(content);
  EXPECT_FALSE(content->has_value());
}

TEST(ElfParts, SectionsThatOverlapAreNotReadAgainAndAgain) {
  SyntheticElf elf;
  std::string bytes = elf.Build();
  const elf::Codec codec = elf.codec();
  MemoryFile file(AsBytes(bytes));
  const auto image = elf::ReadImage(file);
  ASSERT_OK(image);
  ASSERT_GT((*image)->sections.size(), 2U);
  for (std::size_t i = 1; i < (*image)->sections.size(); ++i) {
    const std::uint64_t header = elf.places.section_headers + i * codec.SectionSize();
    if ((*image)->sections[i].type == elf::kSectionStrtab) continue;
    elf::test::PokeWord(bytes, codec, header + 24, 0);             // offset
    elf::test::PokeWord(bytes, codec, header + 32, bytes.size());  // size
  }
  const ElfContent content = ContentOf(bytes);
  EXPECT_THAT(content.facts.damage.Texts(), ElementsAre(testing::HasSubstr("the sections overlap")));
  EXPECT_EQ(content.kinds.front().digest, std::nullopt);
  EXPECT_THAT(content.facts.links.needed, ElementsAre("libdeep.so.1", "libc.so.6"));
}

/// The image with a table of dynamic symbols, its second section, of one tebibyte.
std::string WithHugeSection(SyntheticElf elf) {
  std::string bytes = elf.Build();
  const elf::Codec codec = elf.codec();
  elf::test::PokeWord(bytes, codec, elf.places.section_headers + 2 * codec.SectionSize() + 32, 1ULL << 40U);
  return bytes;
}

/// The image with a note that is said to be longer than its segment.
std::string WithBadNote(SyntheticElf elf) {
  elf.spare_segments = 1;
  std::string bytes = elf.Build();
  const elf::Codec codec = elf.codec();
  MemoryFile file(AsBytes(bytes));
  const auto image = elf::ReadImage(file);
  EXPECT_OK(image);
  const std::uint64_t header =
      elf.places.program_headers + ((*image)->segments.size() - 1) * codec.SegmentSize();
  const std::uint64_t note = bytes.size();
  bytes += std::string(16, '\x7f');
  elf::test::PokeU32(bytes, codec, header, elf::kSegmentNote);
  elf::test::PokeWord(bytes, codec, header + 8, note);  // offset
  elf::test::PokeWord(bytes, codec, header + 32, 16);   // size in the file
  return bytes;
}

TEST(ElfParts, OneDamagedDetailHidesNothingElse) {
  SyntheticElf sound;
  sound.runpath = "$ORIGIN";
  const ElfContent huge = ContentOf(WithHugeSection(sound));
  EXPECT_THAT(huge.facts.damage.sections, testing::HasSubstr("1099511627776 bytes"));
  EXPECT_THAT(huge.facts.links.needed, ElementsAre("libdeep.so.1", "libc.so.6"));
  EXPECT_EQ(huge.facts.links.runpath->text, "$ORIGIN");
  const ElfContent noted = ContentOf(WithBadNote(sound));
  EXPECT_THAT(noted.facts.damage.notes, testing::HasSubstr("runs past the end"));
  EXPECT_FALSE(noted.facts.sections.empty());
  EXPECT_THAT(noted.facts.links.needed, ElementsAre("libdeep.so.1", "libc.so.6"));
}

TEST(ElfParts, WhatIsDamagedIsNotCompared) {
  SyntheticElf sound;
  sound.runpath = "$ORIGIN";
  SyntheticElf moved = sound;
  moved.runpath = "$ORIGIN/lib";
  const auto parts = CompareElfContents(ContentOf(sound.Build()), ContentOf(WithHugeSection(moved)));
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(parts[0].part, "search path");
  EXPECT_EQ(parts[1].part, "unreadable");
  EXPECT_EQ(parts[1].old_texts, std::vector<std::string>());
  EXPECT_THAT(*parts[1].new_texts, ElementsAre(testing::HasSubstr("leaves the file")));
}

}  // namespace
}  // namespace ptpkg::inspect
