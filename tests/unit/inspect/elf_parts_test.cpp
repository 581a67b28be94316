// What of an ELF file differs, and files that would make the reader work for ever.

#include "inspect/elf_parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/matchers.h"
#include "support/read_only_file.h"
#include "unit/elf/synthetic_elf.h"

namespace ptpkg::inspect {
namespace {

using elf::test::SyntheticElf;
using testing::ElementsAre;
using testing::IsEmpty;

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
  MemoryFile hostile(AsBytes(bytes));
  const auto content = ReadElfContent(hostile);
  ASSERT_OK(content);
  EXPECT_FALSE(content->has_value());
}

}  // namespace
}  // namespace ptpkg::inspect
