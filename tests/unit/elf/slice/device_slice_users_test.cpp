// Who uses what a compact slice moves, other than by a pointer that follows: such files stay in place.

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/matchers.h"
#include "unit/elf/fixtures/device_libraries.h"
#include "unit/elf/fixtures/elf_additions.h"
#include "unit/elf/fixtures/slice_of.h"

namespace ptpkg::elf::test {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t kNote = 64 + 5 * 56;  // behind the program headers
constexpr std::uint64_t kFirstSize = 16 + 64 + 4096 + 64 + 40;

Element CodeFor(std::uint32_t number, std::size_t size = 8) {
  return {.number = number, .payload = std::string(size, static_cast<char>(number))};
}

/// The second container moves; without a spare segment the note does, too.
struct UsedLibrary {
  explicit UsedLibrary(bool spare, std::uint16_t machine = kMachineX8664)
      : library{.containers = {Container({CodeFor(80, 4096), CodeFor(90, 40)}),
                               Container({CodeFor(80, 5000), CodeFor(90)})},
                .spare_segment = spare,
                .machine = machine},
        bytes(library.Build()) {
    // .tail holds code.
    PokeWord(bytes, kHostCodec, library.places.section_headers + 64 * (library.code_section + 1) + 8, 6);
  }

  [[nodiscard]] std::uint64_t Second() const { return library.places.code + kFirstSize; }
  [[nodiscard]] std::uint64_t End() const { return Second() + 16 + 64 + 5000 + 64 + 8; }

  /// Writes an instruction of x86-64 into .tail, whose distance of 4 bytes leads to `target`; `behind` it.
  void Put(std::string_view opcode, std::uint64_t target, std::string_view behind = "") {
    std::uint64_t at = library.places.tail + 4;
    bytes.replace(at, opcode.size(), opcode);
    at += opcode.size();
    bytes.replace(at + 4, behind.size(), behind);
    PokeU32(bytes, kHostCodec, at, static_cast<std::uint32_t>(target - (at + 4 + behind.size())));
  }

  /// Why the slice is not compact.
  [[nodiscard]] std::string WhyNot() const {
    const auto sliced = SliceAndVerify(bytes, CompactFor({90}));
    EXPECT_OK(sliced);
    if (!sliced) return "it is none";
    EXPECT_EQ(sliced->plan.form == SliceForm::kCompact, sliced->plan.not_compact.empty());
    return sliced->plan.not_compact;
  }

  WrappedLibrary library;
  std::string bytes;
};

constexpr const char* kGoesByDistance = "depends on its distance to bytes that would move";

struct Instruction {
  const char* name;
  std::string_view opcode;
  std::string_view behind = "";
};
constexpr Instruction kReads[] = {
    {"lea rax", "\x48\x8d\x05"},
    {"lea r15", "\x4c\x8d\x3d"},
    {"mov eax", "\x8b\x05"},
    {"mov rax", "\x48\x8b\x05"},
    {"movsxd", "\x48\x63\x05"},
    {"cmp byte", "\x40\x38\x3d"},
    {"sub rax", "\x48\x2b\x05"},
    {"or eax", "\x0b\x05"},
    {"imul rax", "\x48\x0f\xaf\x05"},
    {"cmp word, imm16", "\x66\x81\x3d", "\x50\xed"},
    {"add dword, imm8", "\x83\x05", "\x01"},
    {"movbe", "\x0f\x38\xf0\x05"},
    {"vpaddq", "\xc5\xfd\xd4\x05"},
    {"palignr, imm8", "\x66\x0f\x3a\x0f\x05", "\x04"},
    {"movzx eax, word", "\x0f\xb7\x05"},
    {"cmp eax", "\x3b\x05"},
    {"cmp dword, imm32", "\x81\x3d", "\x50\xed\x55\xba"},
    {"cmp qword, imm8", "\x48\x83\x3d", "\x01"},
    {"movdqu", "\xf3\x0f\x6f\x05"},
    {"vmovdqu", "\xc5\xfa\x6f\x05"},
    {"vmovdqu, 3 bytes", "\xc4\xc1\x7a\x6f\x05"},
    {"vmovdqu64", "\x62\xf1\xfe\x08\x6f\x05"},
};

TEST(DeviceSliceUsers, CodeThatReadsAContainerItselfKeepsTheFormInPlace) {
  for (const Instruction& one : kReads) {
    for (const std::uint64_t field : {0U, 4U, 6U, 8U, 16U, 20U, 24U, 79U}) {
      UsedLibrary used(true);
      used.Put(one.opcode, used.Second() + field, one.behind);
      EXPECT_THAT(used.WhyNot(), HasSubstr(kGoesByDistance)) << one.name << " at " << field;
    }
    // The first container stays where it is.
    UsedLibrary used(true);
    used.Put(one.opcode, used.library.places.code, one.behind);
    EXPECT_EQ(used.WhyNot(), "") << one.name;
  }
  // The same bytes in the midst of another instruction: mov rax, imm64.
  UsedLibrary other(true);
  other.Put("\x48\xb8\x8b\x05", other.Second(), "\x11\x11");
  EXPECT_EQ(other.WhyNot(), "");
}

TEST(DeviceSliceUsers, CodeThatIsMadeToBeSlowKeepsTheFormInPlace) {
  // The first container is code by its flags, and full of mov rax, imm64 with bytes as of a mov from a place.
  constexpr std::size_t kUnit = 10;
  WrappedLibrary library{.containers = {Container({CodeFor(80, 5000), CodeFor(90, 9000 * kUnit)}),
                                        Container({CodeFor(80, 5000), CodeFor(90)})}};
  const auto why = [&](std::size_t units) {
    std::string bytes = library.Build();
    PokeWord(bytes, kHostCodec, library.places.section_headers + 64 * library.code_section + 8, 6);
    const std::uint64_t begin = library.places.code + 16 + 64 + 5000 + 64;
    const std::uint64_t second = begin + 9000 * kUnit;
    // The first ones stay pop rdx, of one byte, by which streams fall into step.
    for (std::size_t i = 10; i < units; ++i) {
      const std::uint64_t at = begin + i * kUnit;
      bytes.replace(at, kUnit, "\x48\xb8\x8b\x05\0\0\0\0\x90\x90", kUnit);
      PokeU32(bytes, kHostCodec, at + 4, static_cast<std::uint32_t>(second - (at + 8)));
    }
    const auto sliced = SliceAndVerify(bytes, CompactFor({90}));
    EXPECT_OK(sliced);
    return sliced ? sliced->plan.not_compact : "it is none";
  };
  EXPECT_EQ(why(100), "");
  EXPECT_THAT(why(9000), HasSubstr(kGoesByDistance));
}

TEST(DeviceSliceUsers, CodeOfAarch64LoadsFromAPageAndADistance) {
  const auto put = [](UsedLibrary& used, std::uint32_t second, std::uint64_t target) {
    const std::uint64_t at = used.library.places.tail / 4 * 4 + 4;
    const std::uint64_t pages = target / 4096 - at / 4096;
    // adrp x0, target
    PokeU32(used.bytes, kHostCodec, at,
            0x90000000U | static_cast<std::uint32_t>((pages & 3U) << 29U | (pages >> 2U & 0x7ffffU) << 5U));
    PokeU32(used.bytes, kHostCodec, at + 4, second);
  };
  struct Row {
    const char* name;
    std::uint32_t word;
    std::uint64_t unit;
  };
  for (const Row& row :
       {Row{"add", 0x91000000U, 1}, Row{"ldr w0", 0xb9400000U, 4}, Row{"ldr x0", 0xf9400000U, 8},
        Row{"ldrh w0", 0x79400000U, 2}, Row{"ldr q0", 0x3dc00000U, 16}}) {
    UsedLibrary used(true, kMachineAarch64);
    // On 16 bytes: what a vector is loaded from.
    const std::uint64_t target = used.Second() % 16 == 0 ? used.Second() : used.Second() + 8;
    const auto immediate = static_cast<std::uint32_t>(target % 4096 / row.unit);
    put(used, row.word | immediate << 10U, target);
    EXPECT_THAT(used.WhyNot(), HasSubstr(kGoesByDistance)) << row.name;
  }
  // The section's last page has other things too: there the register is followed.
  for (const std::uint32_t other : {0U, 1U << 5U}) {
    UsedLibrary used(true, kMachineAarch64);
    const std::uint64_t target = used.library.places.tail;
    put(used, 0x91000000U | static_cast<std::uint32_t>(target % 4096) << 10U | other, target);
    EXPECT_EQ(used.WhyNot(), "") << "not the container, which is on that page or the one before";
  }
}

TEST(DeviceSliceUsers, TheEndOfASectionIsMeantWhereASymbolStandsThere) {
  for (const bool named : {false, true}) {
    UsedLibrary used(true);
    ASSERT_EQ(used.library.places.tail, used.End()) << "the address has another meaning";
    if (named) {
      const std::uint64_t symbol = used.library.places.symbols + 24 * 2;
      PokeWord(used.bytes, kHostCodec, symbol + 8, used.End());
      PokeWord(used.bytes, kHostCodec, symbol + 16, 0);
    }
    EXPECT_EQ(used.WhyNot(), "") << "nobody uses it";
    used.Put("\x48\x8d\x05", used.End());
    if (named) {
      EXPECT_THAT(used.WhyNot(), HasSubstr(kGoesByDistance));
    } else {
      EXPECT_EQ(used.WhyNot(), "");
    }
  }
}

TEST(DeviceSliceUsers, WhatStandsBehindTheProgramHeadersMovesUnlessItIsUsed) {
  EXPECT_EQ(UsedLibrary(false).WhyNot(), "");
  const std::uint64_t note = kNote + 12;
  {
    UsedLibrary used(false);
    used.Put("\x48\x8d\x05", note);
    EXPECT_THAT(used.WhyNot(), HasSubstr(kGoesByDistance));
  }
  {
    UsedLibrary used(false);
    const std::uint64_t symbol = used.library.places.dynamic_symbols + 24;
    PokeU16(used.bytes, kHostCodec, symbol + 6, 1);
    PokeWord(used.bytes, kHostCodec, symbol + 8, note);
    EXPECT_THAT(used.WhyNot(), HasSubstr("a symbol of .dynsym lies in the bytes behind"));
  }
  const std::uint64_t relocation = UsedLibrary(false).library.places.relocations;
  struct Row {
    std::uint64_t at;
    std::uint64_t value;
  };
  // The loader writes there, or is led there by a relocation of any type.
  for (const Row& row : {Row{relocation, note}, Row{relocation + 16, note}}) {
    UsedLibrary used(false);
    PokeWord(used.bytes, kHostCodec, row.at, row.value);
    EXPECT_THAT(used.WhyNot(), testing::AnyOf(HasSubstr("no room for another program header"),
                                              HasSubstr("no relocation points to the container")));
  }
}

}  // namespace
}  // namespace ptpkg::elf::test
