// Library names among constants: what counts as one, chunk borders, and headers that lie.

#include "elf/read/string_scan.h"

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
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Result<std::vector<std::string>> Scan(const std::string& bytes) {
  MemFs fs;
  const AbsPath path = AbsPath::Literal("/lib.so");
  fs.AddFile(path.str(), bytes);
  PTPKG_TRY(const auto file, fs.Open(path, OpenMode::kRead));
  PTPKG_TRY(const auto image, ReadImage(*file));
  return ScanLibraryNames(*file, *image);
}

std::string WithData(const std::string& data, std::string_view section = ".rodata", std::uint64_t flags = 2) {
  SyntheticElf elf;
  std::string image = elf.Build();
  AddSection(image, elf.codec(), section, data, flags);
  return image;
}

template <std::size_t N>
std::string Raw(const char (&text)[N]) {
  return {text, N - 1};
}

TEST(ScanLibraryNames, WholeStringsAndLastComponents) {
  EXPECT_THAT(Scan(WithData(Raw("liba.so\0x\0/opt/libb-1.so.2\0libc++.so.1.0\0liba.so\0plugin_x.so\0"))),
              IsOkAndHolds(ElementsAre("liba.so", "libb-1.so.2", "libc++.so.1.0", "plugin_x.so")));
}

TEST(ScanLibraryNames, BeginningsOfFormats) {
  EXPECT_THAT(Scan(WithData(Raw("libx.so.%d\0liby%s.so.%d\0libz.so%s\0libw.so.\0"))),
              IsOkAndHolds(ElementsAre("libw.so.", "libx.so.")));
}

TEST(ScanLibraryNames, WhatIsNoName) {
  EXPECT_THAT(
      Scan(WithData(Raw("cannot load libcudnn.so.9\0.so\0/.so.1\0libx.so is gone\0libx.sort\0libopen.so"))),
      IsOkAndHolds(IsEmpty()));
}

TEST(ScanLibraryNames, TheFirstByteOpensAString) {
  EXPECT_THAT(Scan(WithData(Raw("libfirst.so.1\0"))), IsOkAndHolds(ElementsAre("libfirst.so.1")));
}

TEST(ScanLibraryNames, NamesAcrossChunks) {
  constexpr std::size_t kChunk = 1U << 20U;
  for (const std::size_t before :
       {kChunk - 1, kChunk - 6, kChunk - 10, kChunk - 14, kChunk, kChunk + 1, kChunk - 600}) {
    std::string data(before, '\0');
    data += Raw("libspan.so.7\0");
    data.resize(data.size() + kChunk);
    EXPECT_THAT(Scan(WithData(data)), IsOkAndHolds(ElementsAre("libspan.so.7"))) << before;
  }
  // No name begins where only the chunk does.
  for (const std::size_t before : {kChunk - 514, kChunk - 100, kChunk}) {
    const std::string data = std::string(before, 'x') + Raw("libtail.so\0") + std::string(kChunk, 'x');
    EXPECT_THAT(Scan(WithData(data)), IsOkAndHolds(IsEmpty())) << before;
  }
}

TEST(ScanLibraryNames, NamesLongerThanAFileNameAreNone) {
  EXPECT_THAT(Scan(WithData(Raw("\0lib") + std::string(249, 'a') + Raw(".so\0"))),
              IsOkAndHolds(testing::SizeIs(1)));
  EXPECT_THAT(Scan(WithData(Raw("\0lib") + std::string(250, 'a') + Raw(".so\0"))), IsOkAndHolds(IsEmpty()));
}

TEST(ScanLibraryNames, OnlyReadOnlyDataSections) {
  const std::string data = Raw("libx.so.1\0");
  EXPECT_THAT(Scan(WithData(data, ".rodata.str1.1")), IsOkAndHolds(ElementsAre("libx.so.1")));
  EXPECT_THAT(Scan(WithData(data, ".nv_fatbin")), IsOkAndHolds(IsEmpty()));
  EXPECT_THAT(Scan(WithData(data, ".rodata", 3)), IsOkAndHolds(IsEmpty()));
  EXPECT_THAT(Scan(WithData(data, ".rodata", 6)), IsOkAndHolds(IsEmpty()));
  EXPECT_THAT(Scan(WithData(data, ".rodata", 0)), IsOkAndHolds(IsEmpty()));
}

TEST(ScanLibraryNames, WithoutSectionHeadersAllReadOnlySegments) {
  SyntheticElf elf;
  elf.sections = false;
  elf.extra_strings = Raw("libdlopened.so.4\0");
  EXPECT_THAT(Scan(elf.Build()), IsOkAndHolds(testing::Contains("libdlopened.so.4")));
}

TEST(ScanLibraryNames, SectionThatLeavesTheFileIsCorrupt) {
  SyntheticElf elf;
  const Codec codec = elf.codec();
  const std::string image = WithData(Raw("libx.so\0"));
  const auto header = codec.DecodeFileHeader(AsBytes(image));
  for (const std::uint64_t size : {std::uint64_t{1} << 40U, ~std::uint64_t{0}}) {
    std::string damaged = image;
    PokeWord(damaged, codec, header.section_headers_offset + 2 * codec.SectionSize() + 32, size);
    EXPECT_THAT(Scan(damaged), FailsWith(ErrorCode::kCorrupt, HasSubstr("read-only data of")));
  }
}

TEST(ScanLibraryNames, WithoutSectionNamesNothingIsFound) {
  const SyntheticElf elf;
  const Codec codec = elf.codec();
  std::string image = WithData(Raw("libx.so\0"));
  FileHeader header = codec.DecodeFileHeader(AsBytes(image));
  header.section_names_index = 77;
  codec.EncodeFileHeader(header, std::as_writable_bytes(std::span(image)));
  EXPECT_THAT(Scan(image), IsOkAndHolds(IsEmpty()));
  // SHN_XINDEX: the index then stands in section 0.
  header.section_names_index = 0xffff;
  codec.EncodeFileHeader(header, std::as_writable_bytes(std::span(image)));
  PokeU32(image, codec, header.section_headers_offset + 40, 1);
  EXPECT_THAT(Scan(image), IsOkAndHolds(ElementsAre("libx.so")));
}

}  // namespace
}  // namespace ptpkg::elf::test
