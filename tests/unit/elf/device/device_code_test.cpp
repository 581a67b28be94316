// Architectures and sizes of GPU code by its containers' headers, and containers that lie.

#include "elf/device/device_code.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/fault_fs.h"
#include "support/matchers.h"
#include "support/mem_fs.h"
#include "unit/elf/fixtures/device_container_bytes.h"
#include "unit/elf/fixtures/elf_additions.h"

namespace ptpkg::elf::test {
namespace {

using ptpkg::test::FailsWith;
using ptpkg::test::IsOkAndHolds;
using ptpkg::test::MemFs;
using ::testing::AllOf;
using ::testing::HasSubstr;

const Codec kLittle(ElfClass::k64, ByteOrder::kLittle);
constexpr std::uint64_t kElementBytes = 64 + 8;  // of the default element

Result<std::optional<DeviceCode>> ReadCode(const std::string& bytes) {
  MemFs fs;
  const AbsPath path = AbsPath::Literal("/lib.so");
  fs.AddFile(path.str(), bytes);
  PTPKG_TRY(const auto file, fs.Open(path, OpenMode::kRead));
  return ReadDeviceCode(*file);
}

/// Of a file that has some.
DeviceCode Code(const std::string& bytes) {
  const auto code = ReadCode(bytes);
  EXPECT_OK(code);
  EXPECT_TRUE(code && *code);
  return code && *code ? **code : DeviceCode();
}

std::vector<std::string> Names(const DeviceCodeStats& share) {
  std::vector<std::string> names;
  for (const auto& [architecture, amount] : share.sass) names.push_back(architecture.SassName());
  for (const auto& [architecture, amount] : share.ptx) names.push_back(architecture.PtxName());
  return names;
}

TEST(DeviceCode, MachineCodeAndPtxApart) {
  const DeviceCode code = Code(DeviceLibrary(Container(
      {{.number = 80}, {.number = 90}, {.kind = 1, .number = 90, .payload = std::string(24, 'x')}})));
  EXPECT_EQ(code.embedded.sass,
            (DeviceAmounts{{{.number = 80}, {1, kElementBytes}}, {{.number = 90}, {1, kElementBytes}}}));
  EXPECT_EQ(code.embedded.ptx, (DeviceAmounts{{{.number = 90}, {1, 64 + 24}}}));
  EXPECT_EQ(code.embedded.containers, 1U);
  EXPECT_EQ(code.relocatable, DeviceCodeStats());
  EXPECT_TRUE(code.is_linked);
}

TEST(DeviceCode, SuffixesAreInTheFlags) {
  const DeviceCode code =
      Code(DeviceLibrary(Container({{.number = 90, .flags = 0x11 | kFlagA},
                                    {.number = 100, .flags = 0x8011 | kFlagF},
                                    {.number = 90},
                                    {.number = 120, .flags = 0x1008011},
                                    {.kind = 1, .number = 100, .flags = 0x2011 | kFlagA}})));
  EXPECT_THAT(Names(code.embedded),
              testing::ElementsAre("sm_90", "sm_90a", "sm_100f", "sm_120", "compute_100a"));
}

TEST(DeviceCode, LaterKindsAndLongerHeaders) {
  const DeviceCode code = Code(DeviceLibrary(Container({{.kind = 16, .number = 100, .header_bytes = 112},
                                                        {.kind = 64, .number = 100, .header_bytes = 80},
                                                        {.kind = 8, .number = 90},
                                                        {.kind = 999, .number = 0}})));
  EXPECT_EQ(code.embedded.sass, (DeviceAmounts{{{.number = 100}, {1, 112 + 8}}}));
  EXPECT_EQ(code.embedded.ptx, (DeviceAmounts{{{.number = 100}, {1, 80 + 8}}}));
  EXPECT_EQ(code.embedded.other_bytes, 2 * kElementBytes);
}

TEST(DeviceCode, ContainersAddUpOverPadding) {
  const std::string one = Container({{.number = 80}});
  const DeviceCode code = Code(DeviceLibrary(one + std::string(24, '\0') + one + Container({}) + one +
                                             std::string(200'000, '\0') + one + std::string(7, '\0')));
  EXPECT_EQ(code.embedded.sass, (DeviceAmounts{{{.number = 80}, {4, 4 * kElementBytes}}}));
  EXPECT_EQ(code.embedded.containers, 5U);
}

TEST(DeviceCode, OfALinkedFileWhatAProcessCanRunCounts) {
  const std::string embedded = Container({{.number = 90}});
  const std::string relocatable = Container({{.number = 75}, {.kind = 1, .number = 121}});
  EXPECT_THAT(Names(Code(DeviceLibrary(embedded, relocatable)).EffectiveCode()),
              testing::ElementsAre("sm_90"));
  EXPECT_THAT(Names(Code(DeviceLibrary("", relocatable)).EffectiveCode()),
              testing::ElementsAre("sm_75", "compute_121"));
  EXPECT_THAT(Names(Code(DeviceLibrary(embedded, relocatable, kTypeRel)).EffectiveCode()),
              testing::ElementsAre("sm_75", "sm_90", "compute_121"));
}

TEST(DeviceCode, PtxThatTheDriverCanLinkCounts) {
  const std::string embedded = Container({{.number = 80}, {.number = 90}});
  const std::string own = Container({{.number = 80}, {.number = 90}, {.kind = 1, .number = 90}});
  const std::string library = Container({{.number = 75}, {.number = 80}, {.kind = 1, .number = 121}});
  const DeviceCode code =
      Code(DeviceLibrary(embedded, own + library + Container({{.kind = 1, .number = 80}})));
  EXPECT_THAT(Names(code.EffectiveCode()),
              testing::ElementsAre("sm_80", "sm_90", "compute_80", "compute_90"));
  EXPECT_THAT(Names(code.relocatable),
              testing::ElementsAre("sm_75", "sm_80", "sm_90", "compute_80", "compute_90", "compute_121"));
}

TEST(DeviceCode, FilesWithoutAny) {
  SyntheticElf bare;
  bare.sections = false;
  std::string companion = SyntheticElf().Build();
  AddSections(companion, kLittle, {{.name = ".nv_fatbin", .content = "junk", .type = kSectionNobits}});
  std::string others = SyntheticElf().Build();
  AddSections(others, kLittle,
              {{.name = ".nv_fatbin.x", .content = "junk"}, {.name = ".nv_fatbi", .content = "junk"}});
  for (const std::string& bytes :
       {std::string(), std::string("text"), SyntheticElf().Build(), bare.Build(), companion, others,
        DeviceLibrary(std::string(32, '\0')), StaticArchive({})}) {
    EXPECT_THAT(ReadCode(bytes), IsOkAndHolds(std::optional<DeviceCode>()));
  }
}

TEST(DeviceCode, OfAnArchiveTheSum) {
  const std::string a = DeviceLibrary(Container({{.number = 80}}), "", kTypeRel);
  const std::string b = DeviceLibrary("", Container({{.number = 80}, {.kind = 1, .number = 80}}), kTypeRel);
  const DeviceCode code =
      Code(StaticArchive({{"a.o", a}, {"a_name_of_many_letters.o", b}, {"notes", "text"}}));
  EXPECT_FALSE(code.is_linked);
  EXPECT_EQ(code.embedded.sass, (DeviceAmounts{{{.number = 80}, {1, kElementBytes}}}));
  EXPECT_EQ(code.relocatable.containers, 1U);
  EXPECT_EQ(code.EffectiveCode().sass, (DeviceAmounts{{{.number = 80}, {2, 2 * kElementBytes}}}));
  EXPECT_THAT(Names(code.EffectiveCode()), testing::ElementsAre("sm_80", "compute_80"));
}

TEST(DeviceCode, ContainersThatLie) {
  struct Row {
    const char* what;
    std::size_t at;  ///< In the section: what is overwritten.
    std::size_t size;
    std::uint64_t value;
    const char* says;
  };
  // Container at 0 (16 bytes), elements at 16 and 88 (72 bytes each), container at 160 with one element.
  const std::string sound = Container({{.number = 80}, {.number = 90}}) + Container({{.number = 80}});
  const std::vector<Row> rows = {
      {"magic", 160, 4, 0x1ee55a01, "byte 160 (file offset"},
      {"magic", 0, 4, 1, "no container of device code begins here (0x00000001)"},
      {"header too small", 6, 2, 15, "a container of 15 + 144 bytes, where 248 are left"},
      {"header too large", 6, 2, 0xffff, "a container of 65535 + 144 bytes"},
      {"size too large", 168, 8, 73, "byte 160"},
      {"size that wraps around", 8, 8, ~std::uint64_t{0} - 8, "where 248 are left"},
      {"size that ends inside an element", 8, 8, 100, "byte 88 (file offset"},
      {"no room for an element", 8, 8, 73, "1 bytes are left, too few for an element"},
      {"element header too small", 20, 4, 63, "an element of 63 + 8 bytes, where 144 are left"},
      {"element header too large", 20, 4, 1000, "an element of 1000 + 8 bytes"},
      {"element header of zero", 92, 4, 0, "byte 88"},
      {"payload too large", 24, 8, 81, "an element of 64 + 81 bytes"},
      {"payload that wraps around", 24, 8, ~std::uint64_t{0}, "byte 16"},
      {"architecture 0", 16 + 28, 4, 0, "an element for architecture 0"},
      {"architecture beyond all", 16 + 28, 4, 10'000, "an element for architecture 10000"},
  };
  for (const Row& row : rows) {
    std::string section = sound;
    for (std::size_t i = 0; i < row.size; ++i) {
      section[row.at + i] = static_cast<char>(row.value >> (8 * i) & 0xffU);
    }
    EXPECT_THAT(
        ReadCode(DeviceLibrary(section)),
        FailsWith(ErrorCode::kInvalidInput, AllOf(HasSubstr("section .nv_fatbin"), HasSubstr(row.says))))
        << row.what;
    const auto in_archive = ReadCode(StaticArchive({{"first.o", ""}, {"second.o", DeviceLibrary(section)}}));
    EXPECT_THAT(in_archive, FailsWith(ErrorCode::kInvalidInput, HasSubstr("member 'second.o': section")))
        << row.what;
  }
  EXPECT_THAT(ReadCode(DeviceLibrary("", Container({}) + "PP")),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("section __nv_relfatbin, byte 16")));
}

TEST(DeviceCode, AVersionThatIsNotKnownIsSaid) {
  std::string section = Container({});
  PokeU16(section, kLittle, 4, 2);
  EXPECT_THAT(ReadCode(DeviceLibrary(section)),
              FailsWith(ErrorCode::kUnsupported, HasSubstr("a container of device code of version 2")));
}

TEST(DeviceCode, SectionsThatLie) {
  const std::string content = Container({{.number = 80}});
  std::string image = SyntheticElf().Build();
  AddSections(image, kLittle,
              {{.name = ".nv_fatbin", .content = content}, {.name = ".nv_fatbin", .content = content}});
  EXPECT_EQ(Code(image).embedded.containers, 2U);
  const std::uint64_t headers = image.size() - 4 * 64;
  const auto with = [&](std::uint64_t at, std::uint64_t value) {
    std::string changed = image;
    PokeWord(changed, kLittle, headers + at, value);
    return changed;
  };
  constexpr std::uint64_t kSecond = std::uint64_t{3} * 64;
  EXPECT_THAT(ReadCode(with(kSecond + 32, image.size())),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("passes the end of the file")));
  EXPECT_THAT(ReadCode(with(kSecond + 24, image.size() + 1)),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("passes the end of the file")));
  EXPECT_THAT(ReadCode(with(64 + 32, 0)), FailsWith(ErrorCode::kCorrupt, HasSubstr("section names")));
  EXPECT_THAT(ReadCode(with(kSecond, 0xffffffff)), ptpkg::test::IsOk()) << "a name that is nowhere";

  // Sections that share their bytes: as many as an honest file cannot hold.
  std::vector<NewSection> same(200, {.name = ".nv_fatbin", .content = ""});
  image = SyntheticElf().Build();
  AddSections(image, kLittle, same);
  const std::uint64_t table = image.size() - 202 * 64;
  std::string large = Container({{.payload = std::string(image.size(), 'x')}});
  const std::uint64_t place = image.size();
  for (std::uint64_t i = 2; i < 202; ++i) {
    PokeWord(image, kLittle, table + i * 64 + 24, place);
    PokeWord(image, kLittle, table + i * 64 + 32, large.size());
  }
  EXPECT_THAT(ReadCode(image + large), FailsWith(ErrorCode::kInvalidInput, HasSubstr("overlaps another")));
}

TEST(DeviceCode, ReadErrorsArePassedOn) {
  MemFs fs;
  const AbsPath path = AbsPath::Literal("/lib.a");
  fs.AddFile(path.str(),
             StaticArchive({{"a_name_of_many_letters.o", DeviceLibrary(Container({{.number = 80}}))}}));
  bool done = false;
  for (std::uint64_t number = 0; !done; ++number) {
    ptpkg::test::FaultFs faulty(fs, {.number = number, .sys_errno = 5});
    const auto file = faulty.Open(path, OpenMode::kRead);
    if (!file) continue;
    const auto code = ReadDeviceCode(**file);
    done = code.has_value();
    if (!done) {
      EXPECT_EQ(code.error().code(), ErrorCode::kIo) << number;
    }
    ASSERT_LT(number, 100U);
  }
}

}  // namespace
}  // namespace ptpkg::elf::test
