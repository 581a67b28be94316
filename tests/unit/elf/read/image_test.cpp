// Damaged and hostile headers: each is one precise error, none is a crash.

#include "elf/read/image.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>

#include "elf/edit/edit.h"
#include "support/matchers.h"
#include "support/mem_fs.h"
#include "unit/elf/fixtures/synthetic_elf.h"

namespace ptpkg::elf::test {
namespace {

using ptpkg::test::FailsWith;
using ptpkg::test::MemFs;
using ::testing::HasSubstr;

const AbsPath kImageFile = AbsPath::Literal("/lib.so");

Result<std::optional<Image>> ReadBytes(const std::string& bytes) {
  MemFs fs;
  fs.AddFile(kImageFile.str(), bytes);
  PTPKG_TRY(const auto file, fs.Open(kImageFile, OpenMode::kRead));
  return ReadImage(*file);
}

/// Reads everything an edit would read, and plans one.
Result<void> ReadAll(const std::string& bytes) {
  MemFs fs;
  fs.AddFile(kImageFile.str(), bytes);
  PTPKG_TRY(const auto file, fs.Open(kImageFile, OpenMode::kRead));
  PTPKG_TRY(const auto image, ReadImage(*file));
  if (!image) return Ok();
  PTPKG_TRY(const LinkFacts facts, ReadLinkFacts(*file, *image));
  if (!image->dynamic) return Ok();
  Edits edits;
  edits.search_path = SearchPath{.tag = PathTag::kRpath, .text = "$ORIGIN/" + std::string(200, 'x')};
  edits.soname = "other.so";
  edits.remove_needed = {"libdeep.so.1"};
  PTPKG_TRY(const EditPlan plan, PlanEdit(*file, *image, edits));
  return ApplyEdit(fs, kImageFile, plan);
}

TEST(ReadImage, WhatIsNotElfIsNoError) {
  for (const char* text : {"", "\177EL", "INPUT(libm.so.6)\n", "#!/bin/sh\n", "ELF"}) {
    const auto image = ReadBytes(text);
    ASSERT_OK(image);
    EXPECT_FALSE(image->has_value()) << text;
  }
}

TEST(ReadImage, ObjectsStaticProgramsAndDebugCompanionsHaveNoDynamicSection) {
  SyntheticElf elf;
  elf.dynamic = false;
  ASSERT_OK_AND_ASSIGN(const auto image, ReadBytes(elf.Build()));
  EXPECT_FALSE(image->dynamic.has_value());
  SyntheticElf companion;
  std::string bytes = companion.Build();
  // objcopy --only-keep-debug: the program header stays, the section has no bytes.
  PokeU32(bytes, companion.codec(), companion.places.section_headers + 4 * 64 + 4, kSectionNobits);
  ASSERT_OK_AND_ASSIGN(const auto debug, ReadBytes(bytes));
  EXPECT_FALSE(debug->dynamic.has_value());
}

struct Damage {
  std::string name;
  std::function<void(SyntheticElf&, std::string&)> apply;
  std::string message;
};

class DamagedImage : public ::testing::TestWithParam<Damage> {};

constexpr std::uint64_t kPhdr = 56;
constexpr std::uint64_t kDyn = 16;

void PokeDynamic(SyntheticElf& elf, std::string& bytes, std::uint64_t index, DynamicEntry entry) {
  PokeWord(bytes, elf.codec(), elf.places.dynamic + index * kDyn, entry.tag);
  PokeWord(bytes, elf.codec(), elf.places.dynamic + index * kDyn + 8, entry.value);
}

// size-limit: 90 lines, because it is a table of one line per damage
// size-limit: 90 lines, because it is one table
std::vector<Damage> Damages() {
  return {
      {"ident", [](auto&, auto& b) { b.resize(10); }, "identification is truncated"},
      {"class", [](auto&, auto& b) { b[4] = 7; }, "ELF class 7 is neither"},
      {"order", [](auto&, auto& b) { b[5] = 0; }, "ELF byte order 0 is neither"},
      {"header", [](auto&, auto& b) { b.resize(40); }, "the ELF header is truncated"},
      {"phentsize", [](auto& e, auto& b) { PokeU16(b, e.codec(), 54, 55); },
       "program headers of 55 bytes each"},
      {"phoff", [](auto& e, auto& b) { PokeWord(b, e.codec(), 32, 1U << 30U); },
       "the program header table needs"},
      {"phoff wraps", [](auto& e, auto& b) { PokeWord(b, e.codec(), 32, ~std::uint64_t{8}); },
       "the program header table needs"},
      {"shentsize", [](auto& e, auto& b) { PokeU16(b, e.codec(), 58, 63); },
       "section headers of 63 bytes each"},
      {"shoff", [](auto& e, auto& b) { PokeWord(b, e.codec(), 40, b.size() - 8); },
       "the section header table needs"},
      {"shnum escape",
       [](auto& e, auto& b) {
         PokeU16(b, e.codec(), 60, 0);
         PokeWord(b, e.codec(), e.places.section_headers + 32, ~std::uint64_t{0});
       },
       "18446744073709551615 section headers"},
      {"load past end", [](auto& e, auto& b) { PokeWord(b, e.codec(), 64 + kPhdr + 32, 1U << 20U); },
       "loadable segment 1 needs bytes"},
      {"load wraps", [](auto& e, auto& b) { PokeWord(b, e.codec(), 64 + kPhdr + 8, ~std::uint64_t{0}); },
       "loadable segment 1 needs bytes"},
      {"load sizes", [](auto& e, auto& b) { PokeWord(b, e.codec(), 64 + kPhdr + 40, 1); },
       "sizes or addresses that contradict"},
      {"dynamic elsewhere", [](auto& e, auto& b) { PokeWord(b, e.codec(), 64 + 2 * kPhdr + 8, 8); },
       "declared to be at file offset 8, but its address maps to"},
      {"dynamic unmapped", [](auto& e, auto& b) { PokeWord(b, e.codec(), 64 + 2 * kPhdr + 16, 0x7fff0000); },
       "lies in no loadable segment"},
      {"dynamic huge", [](auto& e, auto& b) { PokeWord(b, e.codec(), 64 + 2 * kPhdr + 32, 1U << 30U); },
       "a dynamic section of 1073741824 bytes"},
      {"no DT_NULL", [](auto& e, auto& b) { PokeWord(b, e.codec(), 64 + 2 * kPhdr + 32, 5 * kDyn); },
       "not closed by DT_NULL"},
      {"no strings",
       [](auto& e, auto& b) {
         PokeDynamic(e, b, 3, {0x7000, 0});
       },
       "names no string table"},
      {"strings unmapped",
       [](auto& e, auto& b) {
         PokeDynamic(e, b, 3, {kDtStrtab, 0x7fff0000});
       },
       "the dynamic string table"},
      {"strings too long",
       [](auto& e, auto& b) {
         PokeDynamic(e, b, 4, {kDtStrsz, 1U << 30U});
       },
       "the dynamic string table (1073741824 bytes"},
      {"name outside",
       [](auto& e, auto& b) {
         PokeDynamic(e, b, 0, {kDtNeeded, 1U << 20U});
       },
       "DT_NEEDED points to byte 1048576 of a string table"},
      {"name open", [](auto& e, auto& b) { b[e.places.strings + e.places.strings_size - 1] = 'x'; },
       "is not closed by a NUL"},
      {"verneed loop",
       [](auto& e, auto& b) {
         PokeDynamic(e, b, 10, {kDtVerneednum, 2});
         PokeU32(b, e.codec(), e.places.needs + 12, 0);
       },
       "a chain of symbol versions overlaps itself or ends early"},
      {"verneed count",
       [](auto& e, auto& b) {
         PokeDynamic(e, b, 10, {kDtVerneednum, 1U << 30U});
       },
       "1073741824 symbol version records"},
      {"verneed far", [](auto& e, auto& b) { PokeU32(b, e.codec(), e.places.needs + 8, 1U << 30U); },
       "a required version needs"},
      {"symbols", [](auto& e, auto& b) { PokeU32(b, e.codec(), e.places.hash + 4, 1U << 30U); },
       "1073741824 dynamic symbols in a file"},
      {"loads overlap", [](auto& e, auto& b) { PokeWord(b, e.codec(), 64 + 40, 0x10000); },
       "overlap or are out of order"},
      {"loads incongruent",
       [](auto& e, auto& b) {
         PokeWord(b, e.codec(), 64 + kPhdr + 16, e.places.dynamic + 8);
         PokeWord(b, e.codec(), 64 + 2 * kPhdr + 16, e.places.dynamic + 8);
       },
       "modulo its alignment"},
  };
}

INSTANTIATE_TEST_SUITE_P(All, DamagedImage, ::testing::ValuesIn(Damages()), [](const auto& tested) {
  std::string name = tested.param.name;
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
});

TEST_P(DamagedImage, IsOnePreciseError) {
  SyntheticElf elf;
  std::string bytes = elf.Build();
  GetParam().apply(elf, bytes);
  EXPECT_THAT(ReadAll(bytes), FailsWith(ErrorCode::kCorrupt, HasSubstr(GetParam().message)));
}

TEST(ReadImage, TooManySegmentsAreUnsupported) {
  SyntheticElf elf;
  std::string bytes = elf.Build();
  PokeU16(bytes, elf.codec(), 56, 0xffff);
  EXPECT_THAT(ReadBytes(bytes),
              FailsWith(ErrorCode::kUnsupported, HasSubstr("65,535 or more program headers")));
}

TEST(ReadImage, ExtendedSectionCountIsRead) {
  SyntheticElf elf;
  std::string bytes = elf.Build();
  PokeU16(bytes, elf.codec(), 60, 0);
  PokeWord(bytes, elf.codec(), elf.places.section_headers + 32, 6);
  ASSERT_OK_AND_ASSIGN(const auto image, ReadBytes(bytes));
  EXPECT_EQ(image->sections.size(), 6U);
}

TEST(ReadImage, EveryTruncationIsAnErrorOrHarmless) {
  for (const ElfClass elf_class : {ElfClass::k32, ElfClass::k64}) {
    SyntheticElf elf;
    elf.elf_class = elf_class;
    elf.runpath = "/a/b";
    const std::string bytes = elf.Build();
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      const auto result = ReadAll(bytes.substr(0, size));
      if (size >= 4) {
        EXPECT_THAT(result, FailsWith(ErrorCode::kCorrupt, HasSubstr(""))) << size;
      }
    }
  }
}

TEST(ReadImage, RandomDamageNeverCrashes) {
  std::mt19937 random(20240607);  // NOLINT(cert-msc51-cpp): repeatable on purpose
  SyntheticElf elf;
  elf.runpath = "/opt/build";
  elf.interpreter = "/lib/ld.so";
  const std::string original = elf.Build();
  int refused = 0;
  for (int round = 0; round < 2000; ++round) {
    std::string bytes = original;
    const auto flips = 1 + random() % 4;
    for (unsigned i = 0; i < flips; ++i) {
      // Headers and tables are where damage has consequences.
      const std::size_t at = random() % 3 == 0 ? elf.places.dynamic + random() % 300 : random() % 1200;
      bytes[at % bytes.size()] = static_cast<char>(random() % 5 == 0 ? 0xff : random());
    }
    if (const auto result = ReadAll(bytes); !result) {
      ++refused;
      EXPECT_NE(result.error().code(), ErrorCode::kInternal) << FormatError(result.error());
    }
  }
  EXPECT_GT(refused, 200);
}

}  // namespace
}  // namespace ptpkg::elf::test
