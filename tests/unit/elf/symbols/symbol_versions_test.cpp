// Required and defined versions, and the symbols bound to them.

#include "elf/symbols/symbol_versions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/matchers.h"
#include "support/mem_fs.h"
#include "unit/elf/fixtures/linked_toys.h"
#include "unit/elf/fixtures/synthetic_elf.h"

namespace ptpkg::elf::test {
namespace {

using ptpkg::test::FailsWith;
using ptpkg::test::MemFs;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// A file in memory with its image.
struct Opened {
  std::unique_ptr<File> file;
  Image image;
};

class SymbolVersions : public ::testing::Test {
 protected:
  Opened Open(const std::string& bytes) {
    const AbsPath path = AbsPath::Literal("/lib.so");
    fs_.AddFile(path.str(), bytes);
    return Open(fs_, path);
  }
  static Opened Open(Fs& fs, const AbsPath& path) {
    auto file = fs.Open(path, OpenMode::kRead);
    EXPECT_OK(file);
    auto image = ReadImage(**file);
    EXPECT_OK(image);
    return {*std::move(file), **image};
  }

 private:
  MemFs fs_;
};

SyntheticElf WithSymbols(std::vector<std::string> names) {
  SyntheticElf elf;
  elf.symbols = std::move(names);
  return elf;
}

TEST_F(SymbolVersions, RequiredOnesInFileOrderForEveryFormat) {
  for (const auto elf_class : {ElfClass::k32, ElfClass::k64}) {
    for (const auto order : {ByteOrder::kLittle, ByteOrder::kBig}) {
      SyntheticElf elf = WithSymbols({"one", "two"});
      elf.elf_class = elf_class;
      elf.order = order;
      const Opened lib = Open(elf.Build());
      ASSERT_OK_AND_ASSIGN(const auto required, ReadRequiredVersions(*lib.file, lib.image));
      EXPECT_THAT(required, ElementsAre(RequiredVersion{"libdeep.so.1", "DEEP_1", 2}));
      ASSERT_OK_AND_ASSIGN(const auto symbols,
                           FindBoundSymbols(*lib.file, lib.image, std::vector<std::uint16_t>{2}, 10));
      EXPECT_THAT(symbols, ElementsAre(BoundSymbol{"one", 2}, BoundSymbol{"two", 2}));
    }
  }
}

TEST_F(SymbolVersions, NoVersionsNoSymbols) {
  SyntheticElf elf;
  elf.version = "";
  const Opened lib = Open(elf.Build());
  ASSERT_OK_AND_ASSIGN(const auto required, ReadRequiredVersions(*lib.file, lib.image));
  EXPECT_THAT(required, IsEmpty());
  ASSERT_OK_AND_ASSIGN(const auto defined, ReadDefinedVersions(*lib.file, lib.image));
  EXPECT_THAT(defined, IsEmpty());
  ASSERT_OK_AND_ASSIGN(const auto symbols,
                       FindBoundSymbols(*lib.file, lib.image, std::vector<std::uint16_t>{2}, 10));
  EXPECT_THAT(symbols, IsEmpty());
}

TEST_F(SymbolVersions, LimitPerIndexAndDefinedSymbolsDoNotCount) {
  std::vector<std::string> names;
  for (int i = 0; i < 5000; ++i) names.push_back("symbol" + std::to_string(i));
  SyntheticElf elf = WithSymbols(names);
  std::string bytes = elf.Build();
  // The first is defined here, in section 1; the second is bound to another version.
  PokeU16(bytes, elf.codec(), elf.places.symbols + 24 + 6, 1);
  const Opened whole = Open(bytes);
  const std::vector<std::uint16_t> indexes = {2, 9};
  ASSERT_OK_AND_ASSIGN(auto symbols, FindBoundSymbols(*whole.file, whole.image, indexes, 2));
  EXPECT_THAT(symbols, ElementsAre(BoundSymbol{"symbol1", 2}, BoundSymbol{"symbol2", 2}));
  ASSERT_OK_AND_ASSIGN(symbols, FindBoundSymbols(*whole.file, whole.image, indexes, 100000));
  EXPECT_EQ(symbols.size(), 4999U);
  EXPECT_EQ(symbols.back().name, "symbol4999");
  ASSERT_OK_AND_ASSIGN(symbols, FindBoundSymbols(*whole.file, whole.image, indexes, 0));
  EXPECT_THAT(symbols, IsEmpty());
}

TEST_F(SymbolVersions, NamesOutsideTheStringTableAreCorrupt) {
  SyntheticElf elf;
  const std::string bytes = elf.Build();
  std::string damaged = bytes;
  PokeU32(damaged, elf.codec(), elf.places.needs + 24, 0x7fffffff);
  const Opened version = Open(damaged);
  EXPECT_THAT(ReadRequiredVersions(*version.file, version.image),
              FailsWith(ErrorCode::kCorrupt, HasSubstr("a required version points to byte 2147483647")));
  damaged = bytes;
  PokeU32(damaged, elf.codec(), elf.places.needs + 4, 0x7fffffff);
  const Opened library = Open(damaged);
  EXPECT_THAT(ReadRequiredVersions(*library.file, library.image),
              FailsWith(ErrorCode::kCorrupt, HasSubstr("a version requirement points to byte 2147483647")));
  damaged = bytes;
  PokeU32(damaged, elf.codec(), elf.places.symbols + 24, 0x7fffffff);
  const Opened symbol = Open(damaged);
  EXPECT_THAT(FindBoundSymbols(*symbol.file, symbol.image, std::vector<std::uint16_t>{2}, 1),
              FailsWith(ErrorCode::kCorrupt, HasSubstr("the name of a symbol points to byte")));
}

TEST_F(SymbolVersions, ChainsThatShareTheirRecordsEnd) {
  // Records 16 bytes apart, each of which claims the following ones as its versions: 65,000 times as many as
  // there are.
  constexpr std::uint32_t kRecords = 6000;
  SyntheticElf elf;
  elf.extra_strings = std::string(16 * (kRecords + 1), '\0');
  std::string bytes = elf.Build();
  const Codec codec = elf.codec();
  const std::uint64_t first = elf.places.strings + 1;
  for (std::uint32_t i = 0; i <= kRecords; ++i) {
    const std::uint64_t at = first + 16 * i;
    PokeU16(bytes, codec, at + 2, static_cast<std::uint16_t>(kRecords - i));
    PokeU32(bytes, codec, at + 8, 16);
    PokeU32(bytes, codec, at + 12, i == kRecords ? 0 : 16);
  }
  const Image honest = Open(bytes).image;
  for (std::size_t i = 0; i < honest.dynamic->entries.size(); ++i) {
    const std::uint64_t value_at = elf.places.dynamic + i * codec.DynamicEntrySize() + 8;
    if (honest.dynamic->entries[i].tag == kDtVerneed) PokeWord(bytes, codec, value_at, first);
    if (honest.dynamic->entries[i].tag == kDtVerneednum) PokeWord(bytes, codec, value_at, kRecords);
  }
  const Opened lib = Open(bytes);
  EXPECT_THAT(ReadRequiredVersions(*lib.file, lib.image),
              FailsWith(ErrorCode::kCorrupt, HasSubstr("chains of symbol versions overlap each other")));
}

TEST_F(SymbolVersions, TablesThatLeaveTheirSegmentAreCorrupt) {
  SyntheticElf elf;
  elf.sections = false;
  std::string bytes = elf.Build();
  PokeU32(bytes, elf.codec(), elf.places.hash + 4, 60);  // the number of symbols
  const Opened lib = Open(bytes);
  EXPECT_THAT(FindBoundSymbols(*lib.file, lib.image, std::vector<std::uint16_t>{2}, 1),
              FailsWith(ErrorCode::kCorrupt, HasSubstr("the symbol table")));
}

TEST_F(SymbolVersions, OfEveryLinker) {
  for (const std::string& linker : InstalledLinkers()) {
    LinkedToys toys(linker);
    const Opened answer = Open(toys.fs(), toys.Path("libanswer.so"));
    ASSERT_OK_AND_ASSIGN(const auto required, ReadRequiredVersions(*answer.file, answer.image));
    const auto deep = std::find_if(required.begin(), required.end(),
                                   [](const RequiredVersion& r) { return r.version == "DEEP_1"; });
    ASSERT_NE(deep, required.end()) << linker;
    const std::vector<std::uint16_t> indexes = {deep->index};
    ASSERT_OK_AND_ASSIGN(const auto symbols, FindBoundSymbols(*answer.file, answer.image, indexes, 4));
    EXPECT_THAT(symbols, ElementsAre(Field(&BoundSymbol::name, HasSubstr("deep")))) << linker;
    const Opened provider = Open(toys.fs(), toys.Path("deps/" + deep->library));
    ASSERT_OK_AND_ASSIGN(const auto defined, ReadDefinedVersions(*provider.file, provider.image));
    EXPECT_THAT(defined, Contains("DEEP_1")) << linker;
  }
}

}  // namespace
}  // namespace ptpkg::elf::test
