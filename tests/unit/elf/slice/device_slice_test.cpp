// Slices of assembled libraries, objects and archives, byte by byte; files that lie.

#include "elf/slice/device_slice.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "elf/edit/edit.h"
#include "elf/slice/slice_verify.h"
#include "support/fault_fs.h"
#include "support/matchers.h"
#include "unit/elf/fixtures/device_libraries.h"
#include "unit/elf/fixtures/elf_additions.h"
#include "unit/elf/fixtures/slice_of.h"

namespace ptpkg::elf::test {
namespace {

using ptpkg::test::FailsWith;
using ptpkg::test::FaultFs;
using ptpkg::test::FaultScope;
using ptpkg::test::MemFs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

const SliceRequest kInPlaceFor90 = {.gpus = {90}, .form = SliceForm::kInPlace};

Result<SlicePlan> PlanOf(const std::string& bytes, const SliceRequest& request = CompactFor({90})) {
  MemFs fs;
  fs.AddFile(kSliced.str(), bytes);
  PTPKG_TRY(const auto file, fs.Open(kSliced, OpenMode::kRead));
  return PlanSlice(*file, request);
}

Element Sass(std::uint32_t number, std::size_t size = 8) {
  return {.number = number, .payload = std::string(size, static_cast<char>(number))};
}
Element Ptx(std::uint32_t number) { return {.kind = 1, .number = number, .payload = "ptx text"}; }

/// `container` with zeros instead of what it lost against `whole`.
std::string Padded(const std::string& container, const std::string& whole) {
  return container + std::string(whole.size() - container.size(), '\0');
}

TEST(DeviceSlice, InPlaceTheRestIsZerosAndNothingMoves) {
  const std::string a = Container({Sass(80), Sass(90), Ptx(90)});
  const std::string b = Container({Sass(80, 24), Sass(86, 40), Sass(90, 16)});
  const std::string c = Container({Sass(90)});
  const std::string relocatable = Container({Sass(90), Sass(80)});
  ASSERT_OK_AND_ASSIGN(
      const Sliced sliced,
      SliceAndVerify(DeviceLibrary(a + std::string(8, '\0') + b + c, relocatable), kInPlaceFor90));
  EXPECT_EQ(sliced.bytes, DeviceLibrary(Padded(Container({Sass(90)}), a) + std::string(8, '\0') +
                                            Padded(Container({Sass(90, 16)}), b) + c,
                                        Padded(Container({Sass(90)}), relocatable)));
  EXPECT_TRUE(sliced.plan.Changes());
  EXPECT_EQ(sliced.plan.form, SliceForm::kInPlace);
  EXPECT_EQ(sliced.plan.not_compact, "");
  EXPECT_EQ(sliced.plan.new_size, sliced.plan.old_size);
  EXPECT_EQ(sliced.plan.kept.containers, 4U);
  EXPECT_EQ(sliced.plan.dropped.containers, 3U);
  EXPECT_EQ(sliced.plan.kept.sass, (DeviceAmounts{{{90}, {4, 4 * 64 + 8 + 16 + 8 + 8}}}));
  EXPECT_EQ(sliced.plan.dropped.sass,
            (DeviceAmounts{{{80}, {3, 3 * 64 + 8 + 24 + 8}}, {{86}, {1, 64 + 40}}}));
  EXPECT_EQ(sliced.plan.dropped.ptx, (DeviceAmounts{{{90}, {1, 72}}}));
  EXPECT_THAT(sliced.plan.untouched, IsEmpty());
}

TEST(DeviceSlice, ForTwoGpusBoth) {
  const std::string whole = Container({Sass(80), Sass(86), Sass(90), Ptx(90)});
  ASSERT_OK_AND_ASSIGN(const Sliced sliced,
                       SliceAndVerify(DeviceLibrary(whole),
                                      {.gpus = {90, 80}, .form = SliceForm::kInPlace, .keep_ptx = true}));
  EXPECT_EQ(sliced.bytes, DeviceLibrary(Padded(Container({Sass(80), Sass(90), Ptx(90)}), whole)));
}

TEST(DeviceSlice, ContainersWithoutCodeForAGpuAreNamedAndKept) {
  const std::string gap = Container({Sass(75), Sass(86)});
  const std::string whole = Container({Sass(80), Sass(90)});
  const std::string library = DeviceLibrary(whole + gap);
  ASSERT_OK_AND_ASSIGN(const Sliced sliced, SliceAndVerify(library, kInPlaceFor90));
  EXPECT_EQ(sliced.bytes, DeviceLibrary(Padded(Container({Sass(90)}), whole) + gap));
  ASSERT_EQ(sliced.plan.untouched.size(), 1U);
  const UntouchedContainer& untouched = sliced.plan.untouched[0];
  EXPECT_EQ(untouched.section, ".nv_fatbin");
  EXPECT_EQ(untouched.member, "");
  EXPECT_EQ(library.substr(untouched.offset, gap.size()), gap);
  EXPECT_THAT(untouched.gaps, ElementsAre(90));
  EXPECT_EQ(untouched.code.sass, (DeviceAmounts{{{75}, {1, 72}}, {{86}, {1, 72}}}));
  EXPECT_THAT(sliced.plan.Gaps(), ElementsAre(Pair(90, 1)));
}

TEST(DeviceSlice, NoGpuIsLeftWithoutCode) {
  const std::string library = DeviceLibrary(Container({Sass(80), Ptx(90)}), Container({Sass(70)}));
  EXPECT_THAT(PlanOf(library, CompactFor({80, 75})),
              FailsWith(ErrorCode::kRefused, AllOf(HasSubstr("no code for GPU 7.5"),
                                                   HasSubstr("the file has sm_80, compute_90"))));
  EXPECT_OK(PlanOf(library, CompactFor({80, 120})));
  // Without embedded code, and in objects, what the device linker works on counts.
  EXPECT_OK(PlanOf(DeviceLibrary("", Container({Sass(70)})), CompactFor({75})));
  EXPECT_OK(PlanOf(DeviceLibrary(Container({Sass(80)}), Container({Sass(70)}), kTypeRel), CompactFor({75})));
  EXPECT_THAT(PlanOf(DeviceLibrary(Container({{.kind = 8}})), CompactFor({90})),
              FailsWith(ErrorCode::kRefused, HasSubstr("none for any GPU")));
}

TEST(DeviceSlice, WhatCannotBeSlicedIsSaid) {
  EXPECT_THAT(PlanOf(DeviceLibrary(Container({Sass(90)})), {}),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("no GPU is named")));
  for (const std::string& bytes :
       {std::string("text"), SyntheticElf().Build(), StaticArchive({{"a.o", "x"}})}) {
    EXPECT_THAT(PlanOf(bytes), FailsWith(ErrorCode::kInvalidInput, HasSubstr("the file has no device code")));
  }
}

TEST(DeviceSlice, NothingToDropIsTheSameFile) {
  const std::string library = DeviceLibrary(Container({Sass(90), Sass(90)}));
  ASSERT_OK_AND_ASSIGN(const Sliced sliced, SliceAndVerify(library, CompactFor({90})));
  EXPECT_FALSE(sliced.plan.Changes());
  EXPECT_EQ(sliced.plan.not_compact, "nothing is dropped");
  EXPECT_EQ(sliced.bytes, library);
}

TEST(DeviceSlice, InPlaceObjectsAndArchivesKeepTheirLayout) {
  const std::string whole = Container({Sass(80), Sass(90), {.kind = 8, .payload = "for later"}});
  const std::string kept = Padded(Container({Sass(90), {.kind = 8, .payload = "for later"}}), whole);
  const std::string object = DeviceLibrary(whole, whole, kTypeRel);
  const std::string slice = DeviceLibrary(kept, kept, kTypeRel);
  ASSERT_OK_AND_ASSIGN(const Sliced one, SliceAndVerify(object, kInPlaceFor90));
  EXPECT_EQ(one.bytes, slice);
  const std::string gap = DeviceLibrary(Container({Sass(75)}), "", kTypeRel);
  ASSERT_OK_AND_ASSIGN(
      const Sliced all,
      SliceAndVerify(
          StaticArchive(
              {{"a.o", object}, {"notes", "odd"}, {"name_of_many_letters.o", object}, {"gap.o", gap}}),
          kInPlaceFor90));
  EXPECT_EQ(all.plan.form, SliceForm::kInPlace);
  EXPECT_EQ(
      all.bytes,
      StaticArchive({{"a.o", slice}, {"notes", "odd"}, {"name_of_many_letters.o", slice}, {"gap.o", gap}}));
  ASSERT_EQ(all.plan.untouched.size(), 1U);
  EXPECT_EQ(all.plan.untouched[0].member, "gap.o");
  EXPECT_EQ(all.bytes.substr(all.plan.untouched[0].offset, 4), "\x50\xed\x55\xba");
}

TEST(DeviceSlice, CompactMovesContainersTogether) {
  for (const bool packed : {false, true}) {
    for (const bool spare : {false, true}) {
      WrappedLibrary library{.containers = {Container({Sass(80, 4096), Sass(90, 40)}), Container({Sass(75)}),
                                            Container({Sass(80, 5000), Sass(90, 16)}), Container({Sass(90)})},
                             .relocatable = {Container({Sass(80), Sass(90)})},
                             .packed_relocations = packed,
                             .spare_segment = spare};
      const std::string bytes = library.Build();
      ASSERT_OK_AND_ASSIGN(const Sliced sliced, SliceAndVerify(bytes, CompactFor({90})));
      ASSERT_EQ(sliced.plan.not_compact, "");
      EXPECT_EQ(sliced.plan.form, SliceForm::kCompact);
      EXPECT_EQ(sliced.bytes.size(), bytes.size() - 8192) << "whole pages";
      const std::vector<std::string> kept = {Container({Sass(90, 40)}), Container({Sass(75)}),
                                             Container({Sass(90, 16)}), Container({Sass(90)})};
      std::uint64_t at = library.places.code;
      const std::uint64_t wrappers = library.places.wrappers - 8192;
      const std::uint64_t symbols = library.places.symbols - 8192;
      for (std::size_t i = 0; i < kept.size(); ++i) {
        EXPECT_EQ(sliced.bytes.substr(at, kept[i].size()), kept[i]);
        const std::uint64_t pointer =
            packed ? wrappers + 24 * i + 8 : library.places.relocations + 24 * i + 16;
        EXPECT_EQ(kHostCodec.Word(AsBytes(sliced.bytes), pointer), at) << i;
        EXPECT_EQ(kHostCodec.Word(AsBytes(sliced.bytes), symbols + 24 * (i + 1) + 8), at) << i;
        EXPECT_EQ(kHostCodec.Word(AsBytes(sliced.bytes), symbols + 24 * (i + 1) + 16),
                  i % 2 == 0 ? kept[i].size() : 0);
        at += kept[i].size();
      }
      EXPECT_EQ(sliced.bytes.substr(library.places.tail - 8192, 40), std::string(40, 't'));
    }
  }
}

TEST(DeviceSlice, WhatIsInTheWayOfTheCompactFormIsNamed) {
  WrappedLibrary library{
      .containers = {Container({Sass(80, 4096), Sass(90, 40)}), Container({Sass(80), Sass(90)})}};
  const std::string sound = library.Build();
  ASSERT_OK_AND_ASSIGN(const Sliced compact, SliceAndVerify(sound, CompactFor({90})));
  ASSERT_EQ(compact.plan.not_compact, "");
  const WrappedLibrary::Places& places = library.places;
  const std::uint64_t code_header = places.section_headers + 64 * library.code_section;
  struct Row {
    std::uint64_t at;
    std::size_t size;
    std::uint64_t value;
    const char* says;
  };
  const std::vector<Row> rows = {
      {16, 2, kTypeExec, "fixed addresses"},
      {18, 2, kMachineMips, "relocations of machine 8 are not known"},
      {places.relocations + 24 + 16, 8, places.code + 64, "a pointer leads into the middle of .nv_fatbin"},
      {places.relocations + 24 + 8, 4, 0, "a relocation of type 0 points into .nv_fatbin"},
      {places.relocations + 24 + 16, 8, 0, "no relocation points to the container at file offset"},
      {places.relocations, 8, places.code + 8, "the loader writes into .nv_fatbin"},
      {places.symbols + 48 + 8, 8, places.code + 24, "a symbol of .symtab lies in the midst of .nv_fatbin"},
      {places.symbols + 24 + 16, 8, 77, "a symbol of .symtab has 77 bytes of .nv_fatbin"},
      {places.dynamic_symbols + 24 + 8, 8, places.code, "a symbol of .dynsym lies in .nv_fatbin"},
      {code_header + 16, 8, places.code + 8, ".nv_fatbin lies in no loadable segment"},
      {code_header + 64 * 2 + 8, 8, 0, "is not to be loaded by its flags, and lies in a load segment"},
      {places.dynamic + 16 * 3 + 8, 8, places.code + 8,
       "an entry of .dynamic (tag 0x5) leads into .nv_fatbin"},
      {places.dynamic + 16 * 4 + 8, 8, 600, "the dynamic string table reaches into .nv_fatbin"},
      {places.dynamic + 16 * 6 + 8, 8, 24 * 40, "relocations lie in .nv_fatbin"},
      {places.section_headers + 4, 4, kSectionSymtab, "the file has 2 tables of symbols"},
      {64 + 48, 8, 0x1800, "is aligned to 0x1800, no power of 2"},
      {64 + 48, 8, 0x10000, "less than a page of 65536"},
      {64 + 4 * 56, 4, kSegmentGnuStack, ""},  // then the note makes room
      {code_header + 64 + 16, 8, 0, ""},
      {places.section_headers + 64 * (library.code_section - 1) + 16, 8, 0,
       "keeps the relocations of its link"},
  };
  for (const Row& row : rows) {
    std::string bytes = sound;
    if (row.size == 2) PokeU16(bytes, kHostCodec, row.at, static_cast<std::uint16_t>(row.value));
    if (row.size == 4) PokeU32(bytes, kHostCodec, row.at, static_cast<std::uint32_t>(row.value));
    if (row.size == 8) PokeWord(bytes, kHostCodec, row.at, row.value);
    const auto sliced = SliceAndVerify(bytes, CompactFor({90}));
    ASSERT_OK(sliced) << row.says;
    EXPECT_THAT(sliced->plan.not_compact, HasSubstr(row.says));
    const bool is_compact = std::string_view(row.says).empty();
    EXPECT_EQ(sliced->plan.not_compact.empty(), is_compact) << sliced->plan.not_compact;
    EXPECT_EQ(sliced->plan.form, is_compact ? SliceForm::kCompact : SliceForm::kInPlace);
    EXPECT_TRUE(sliced->plan.Changes());
  }
}

TEST(DeviceSlice, HostCodeThatComputesThePlaceOfAContainerKeepsTheFormInPlace) {
  WrappedLibrary library{
      .containers = {Container({Sass(80, 4096), Sass(90, 40)}), Container({Sass(80), Sass(90)})}};
  std::string bytes = library.Build();
  const std::uint64_t flags = library.places.section_headers + 64 * (library.code_section + 1) + 8;
  PokeWord(bytes, kHostCodec, flags, 6);  // .tail holds code
  const std::uint64_t second = library.places.code + 16 + 64 + 4096 + 64 + 40;
  const std::uint64_t at = library.places.tail + 4;
  bytes.replace(at, 3, "\x48\x8d\x05");
  PokeU32(bytes, kHostCodec, at + 3, static_cast<std::uint32_t>(second - (at + 7)));
  ASSERT_OK_AND_ASSIGN(const Sliced sliced, SliceAndVerify(bytes, CompactFor({90})));
  EXPECT_EQ(sliced.plan.form, SliceForm::kInPlace);
  EXPECT_EQ(sliced.plan.not_compact,
            fmt::format("code at address {:#x} depends on its distance to bytes that would move", at));
  // The first one stays where it is.
  PokeU32(bytes, kHostCodec, at + 3, static_cast<std::uint32_t>(library.places.code - (at + 7)));
  ASSERT_OK_AND_ASSIGN(const Sliced compact, SliceAndVerify(bytes, CompactFor({90})));
  EXPECT_EQ(compact.plan.form, SliceForm::kCompact) << compact.plan.not_compact;
}

WrappedLibrary WithLargeRelocatable(bool spare) {
  return {.containers = {Container({Sass(80, 9000), Sass(90, 40)}), Container({Sass(80), Sass(90)})},
          .relocatable = {Container({Sass(80, 6000), Sass(90, 40)}), Container({Sass(75, 80), Sass(90, 16)})},
          .spare_segment = spare};
}

TEST(DeviceSlice, BothKindsOfSectionsGetSmaller) {
  for (const bool spare : {false, true}) {
    WrappedLibrary library = WithLargeRelocatable(spare);
    const std::string bytes = library.Build();
    ASSERT_OK_AND_ASSIGN(const Sliced sliced, SliceAndVerify(bytes, CompactFor({90})));
    EXPECT_EQ(sliced.plan.not_compact, "");
    EXPECT_EQ(sliced.bytes.size(), bytes.size() - 8192 - 4096) << "whole pages of each";
    EXPECT_EQ(sliced.bytes.substr(library.places.relocatable - 8192, 16 + 64 + 40),
              Container({Sass(90, 40)}));
    EXPECT_EQ(sliced.bytes.substr(library.places.tail - 8192 - 4096, 40), std::string(40, 't'));
    // Its containers keep their addresses' begin, and the pointer to the second one follows.
    const std::uint64_t pointer = library.places.relocations + 24 * 3 + 16;
    EXPECT_EQ(kHostCodec.Word(AsBytes(sliced.bytes), pointer), library.places.relocatable + 16 + 64 + 40);
  }
}

TEST(DeviceSlice, WhatIsInTheWayOfOneSectionLeavesTheLargerOneCompact) {
  WrappedLibrary library = WithLargeRelocatable(true);
  const std::string sound = library.Build();
  const std::uint64_t end =
      library.places.relocatable + (16 + 64 + 6000 + 64 + 40) + (16 + 64 + 80 + 64 + 16);
  const std::uint64_t pointer = library.places.relocations + 24 * 2;
  struct Row {
    std::uint64_t at;
    std::uint64_t value;
    const char* says;
  };
  const std::vector<Row> rows = {
      {pointer + 16, library.places.relocatable + 64, "a pointer leads into the middle of __nv_relfatbin"},
      {pointer + 16, end, "a pointer leads to the end of __nv_relfatbin"},
      {pointer + 24 + 16, 0, "no relocation points to the container at file offset"},
      {pointer, library.places.relocatable + 8, "the loader writes into __nv_relfatbin"},
      {library.places.dynamic_symbols + 24 + 8, library.places.relocatable,
       "a symbol of .dynsym lies in __nv_relfatbin"},
      // The PT_NULL is for one; .hash, as plain bytes to be loaded, makes no room for another.
      {library.places.section_headers + 64 * 2 + 4, kSectionProgbits | 2ULL << 32U,
       "there is no room for another program header"},
  };
  for (const Row& row : rows) {
    std::string bytes = sound;
    PokeWord(bytes, kHostCodec, row.at, row.value);
    ASSERT_OK_AND_ASSIGN(const Sliced sliced, SliceAndVerify(bytes, CompactFor({90})));
    EXPECT_EQ(sliced.plan.form, SliceForm::kCompact) << row.says;
    EXPECT_THAT(sliced.plan.not_compact, HasSubstr(row.says));
    EXPECT_EQ(sliced.bytes.size(), bytes.size() - 8192) << row.says;
    EXPECT_EQ(sliced.bytes.substr(library.places.relocatable - 8192, 16 + 64 + 40), Container({Sass(90, 40)}))
        << row.says;
  }
}

TEST(DeviceSlice, ASectionThatCodeWalksToItsEndStaysInPlace) {
  WrappedLibrary library = WithLargeRelocatable(true);
  std::string bytes = library.Build();
  PokeWord(bytes, kHostCodec, library.places.section_headers + 64 * (library.code_section + 2) + 8, 6);
  const std::uint64_t end =
      library.places.relocatable + (16 + 64 + 6000 + 64 + 40) + (16 + 64 + 80 + 64 + 16);
  const std::uint64_t at =
      library.places.tail + 4;  // .tail holds code: lea __stop___nv_relfatbin(%rip), %rax
  bytes.replace(at, 3, "\x48\x8d\x05");
  PokeU32(bytes, kHostCodec, at + 3, static_cast<std::uint32_t>(end - (at + 7)));
  ASSERT_OK_AND_ASSIGN(const Sliced sliced, SliceAndVerify(bytes, CompactFor({90})));
  EXPECT_EQ(sliced.plan.form, SliceForm::kCompact);
  EXPECT_EQ(sliced.plan.not_compact,
            fmt::format("code at address {:#x} depends on its distance to bytes that would move", at));
  EXPECT_EQ(sliced.bytes.size(), bytes.size() - 8192);
}

TEST(DeviceSlice, RelocatableCodeOfTheDeviceLinkersLibraryDoesNotCount) {
  // As with libcudadevrt.a: machine code for others, beside what was linked.
  const std::string library =
      DeviceLibrary(Container({Sass(80), Sass(90)}), Container({Sass(50), Sass(80), Ptx(100)}));
  EXPECT_THAT(PlanOf(library, CompactFor({50})),
              FailsWith(ErrorCode::kRefused, HasSubstr("the file has sm_80, sm_90")));
  EXPECT_THAT(PlanOf(library, CompactFor({120})), FailsWith(ErrorCode::kRefused, HasSubstr("GPU 12.0")));
  // The PTX that nvcc -rdc left beside the embedded code can be linked by the driver.
  EXPECT_OK(PlanOf(DeviceLibrary(Container({Sass(80)}), Container({Sass(80), Ptx(80)})), CompactFor({90})));
}

TEST(DeviceSlice, PtxForLaterGpusHasNoSuffix) {
  const Element for_one = {.kind = 1, .number = 90, .flags = 0x11 | kFlagA, .payload = "ptx text"};
  const std::string whole = Container({Sass(80), Sass(90), Ptx(80), for_one});
  ASSERT_OK_AND_ASSIGN(
      const Sliced sliced,
      SliceAndVerify(DeviceLibrary(whole), {.gpus = {90}, .form = SliceForm::kInPlace, .keep_ptx = true}));
  EXPECT_EQ(sliced.bytes, DeviceLibrary(Padded(Container({Sass(90), Ptx(80)}), whole)));
}

TEST(DeviceSlice, ContainersThatLie) {
  const std::string sound = Container({Sass(80), Sass(90)}) + Container({Sass(80), Sass(90)});
  struct Row {
    std::size_t at;
    std::uint64_t value;
    const char* says;
  };
  // Container at 0 (16 bytes), elements at 16 and 88 (72 bytes each); the second at 160.
  const std::vector<Row> rows = {
      {8, 1ULL << 63U, "a container of 16 + 9223372036854775808 bytes"},
      {8, ~0ULL, "a container of 16 +"},
      {8, 144 + 8, "bytes are left, too few for an element of the container"},
      {8, 72, "no container of device code begins here"},  // the second element stands alone
      {16 + 8, 1ULL << 63U, "an element of 64 + 9223372036854775808 bytes"},
      {16 + 8, 0, "an element"},  // its payload is taken for an element
      {88 + 8, 16, "an element of 64 + 16 bytes"},
      {160 + 8, 1000, "a container of 16 + 1000 bytes"},
      {160, 0x0010000112345678, "no container of device code begins here"},
  };
  for (const Row& row : rows) {
    std::string bytes = sound;
    PokeWord(bytes, kHostCodec, row.at, row.value);
    EXPECT_THAT(PlanOf(DeviceLibrary(bytes)), FailsWith(ErrorCode::kInvalidInput, HasSubstr(row.says)))
        << row.at;
    EXPECT_THAT(PlanOf(StaticArchive({{"a.o", DeviceLibrary(bytes, "", kTypeRel)}})),
                FailsWith(ErrorCode::kInvalidInput, AllOf(HasSubstr("member 'a.o': "), HasSubstr(row.says))));
  }
}

TEST(DeviceSlice, AMagicNumberInsideAPayloadIsNoContainer) {
  const std::string nested = Container({Sass(80), Sass(70)});
  const std::string whole = Container({Sass(80), {.number = 90, .payload = nested}, Ptx(90)});
  ASSERT_OK_AND_ASSIGN(const Sliced sliced, SliceAndVerify(DeviceLibrary(whole), kInPlaceFor90));
  EXPECT_EQ(sliced.bytes, DeviceLibrary(Padded(Container({{.number = 90, .payload = nested}}), whole)));
}

TEST(DeviceSlice, AnEmptyContainerStays) {
  const std::string whole = Container({}) + Container({Sass(80), Sass(90)});
  ASSERT_OK_AND_ASSIGN(const Sliced sliced, SliceAndVerify(DeviceLibrary(whole), kInPlaceFor90));
  EXPECT_EQ(sliced.bytes, DeviceLibrary(Padded(Container({}) + Container({Sass(90)}), whole)));
  EXPECT_THAT(sliced.plan.untouched, IsEmpty());
}

TEST(DeviceSlice, SectionsThatShareBytesAreRefused) {
  WrappedLibrary library{.containers = {Container({Sass(80, 4096), Sass(90, 40)})}};
  const std::string sound = library.Build();
  const std::uint64_t tail = library.places.section_headers + 64 * (library.code_section + 1);
  std::string bytes = sound;
  PokeWord(bytes, kHostCodec, tail + 24, library.places.code + 100);
  EXPECT_THAT(PlanOf(bytes), FailsWith(ErrorCode::kInvalidInput,
                                       HasSubstr("a section of device code overlaps something else")));
  // The section headers themselves: 64 of them begin inside the code.
  bytes = sound;
  PokeWord(bytes, kHostCodec, 40, library.places.code + 200);
  bytes.replace(library.places.code + 200, 64 * 13, sound.substr(library.places.section_headers, 64 * 13));
  EXPECT_THAT(PlanOf(bytes), FailsWith(ErrorCode::kInvalidInput, HasSubstr("overlaps something else")));
}

TEST(DeviceSlice, EveryReadThatFailsIsReported) {
  WrappedLibrary library{
      .containers = {Container({Sass(80, 4096), Sass(90, 40)}), Container({Sass(80), Sass(90)})},
      .spare_segment = false};
  MemFs fs;
  fs.AddFile(kSliced.str(), library.Build());
  std::uint64_t number = 1;
  for (bool done = false; !done; ++number) {
    ASSERT_LT(number, 1000U);
    FaultFs faulty(fs, {.number = number, .scope = FaultScope::kReading});
    const auto run = [&]() -> Result<void> {
      const SliceRequest request = CompactFor({90});
      PTPKG_TRY(const auto file, faulty.Open(kSliced, OpenMode::kRead));
      PTPKG_TRY(const SlicePlan plan, PlanSlice(*file, request));
      PTPKG_TRY(const auto sliced, MakeSlicedFile(*file, plan));
      PTPKG_CHECK(VerifySlice(*file, *sliced, request));
      EXPECT_EQ(plan.form, SliceForm::kCompact);
      return Ok();
    };
    const Result<void> result = run();
    done = result.has_value();
    EXPECT_TRUE(done || result.error().code() == ErrorCode::kIo) << FormatError(result.error());
  }
  EXPECT_GT(number, 30U);
}

}  // namespace
}  // namespace ptpkg::elf::test
