// Code that goes by a distance to a place, on the machines of which it is read. The bytes are what compilers
// and linkers make of a function that returns an address in a note.

#include "elf/slice/code_references.h"

#include <gtest/gtest.h>
#include <set>

#include "support/files/read_only_file.h"
#include "support/matchers.h"
#include "unit/elf/fixtures/elf_additions.h"

namespace ptpkg::elf::test {
namespace {

constexpr std::uint64_t kCode = 0x10000;

struct MachineCode {
  const char* name;
  std::uint16_t machine;
  Codec codec;
  std::string bytes;
  std::uint64_t goes_to;
  std::uint64_t table = 0;  ///< Address of .got.
  bool are_fixed = false;
  std::set<std::uint64_t> starts = {};
};

/// What goes to the 16 bytes from `begin`; an error as text.
std::string ReferenceTo(const MachineCode& code, std::uint64_t begin) {
  SyntheticElf elf;
  elf.elf_class = code.codec.Is64() ? ElfClass::k64 : ElfClass::k32;
  elf.order = code.codec.order();
  elf.machine = code.machine;
  std::string bytes = elf.Build();
  AddSections(bytes, code.codec, {{".text", code.bytes, 6}, {".got", std::string(16, '\0'), 3}});
  MemoryFile file(AsBytes(bytes));
  auto image = ReadImage(file);
  if (!image) return image.error().message();
  (*image)->sections[2].addr = kCode;
  (*image)->sections[3].addr = code.table;
  const auto found = FindCodeReference(
      file, **image,
      {.places = {{.begin = begin, .size_bytes = 16}}, .are_fixed = code.are_fixed, .starts = code.starts});
  if (!found) return found.error().message();
  return *found ? "found" : "none";
}

std::string BytesOf(std::initializer_list<int> bytes) {
  std::string text;
  for (const int byte : bytes) text.push_back(static_cast<char>(byte));
  return text;
}

const Codec kBig(ElfClass::k64, ByteOrder::kBig);
const Codec kSmall(ElfClass::k32, ByteOrder::kLittle);

/// Data in code, 15 bytes: decoding takes eight bytes behind it for the operand of a movabs.
std::string HidingData() {
  return BytesOf({0x98, 0x2f, 0x8a, 0x42, 0x91, 0x44, 0x37, 0x71, 0xcf, 0xfb, 0xc0, 0xb5, 0xa5, 0x48, 0xb8});
}

std::vector<MachineCode> AllCode() {
  return {
      // call get_pc_thunk; add eax, _GLOBAL_OFFSET_TABLE_; lea eax, [eax+place@GOTOFF]; ret
      {"i386, lea", kMachine386, kSmall,
       BytesOf({0xe8, 0x20, 0, 0, 0, 0x05, 0xfb, 0x3f, 0, 0, 0x8d, 0x80, 0x84, 0xc1, 0xfe, 0xff, 0xc3}),
       0x178, 0x13ff4},
      // push ebx; mov eax, [ebx+esi*4+place@GOTOFF]; les: no vector prefix in this mode
      {"i386, mov with an index", kMachine386, kSmall,
       BytesOf({0xc4, 0x43, 0x04, 0x53, 0x8b, 0x84, 0xb3, 0x84, 0xc1, 0xfe, 0xff, 0x5b, 0xc3}), 0x178,
       0x13ff4},
      // addis 3, 2, -3; addi 3, 3, 32232
      {"ppc64le, addi", kMachinePpc64, kHostCodec, BytesOf({0xfd, 0xff, 0x62, 0x3c, 0xe8, 0x7d, 0x63, 0x38}),
       0x270, 0x20488},
      // addis 3, 2, -3; lwz 4, 32108(3)
      {"ppc64, load", kMachinePpc64, kBig, BytesOf({0x3c, 0x62, 0xff, 0xfd, 0x80, 0x83, 0x7d, 0x6c}), 0x270,
       0x20508 - 4},
      // addi 3, 2, -32760: the upper half is nothing
      {"ppc64, without addis", kMachinePpc64, kBig, BytesOf({0x60, 0, 0, 0, 0x38, 0x62, 0x80, 0x08}), 0x270,
       0x268},
      // auipc a0, -16; addi a0, a0, 512
      {"riscv64, addi", kMachineRiscv, kHostCodec, BytesOf({0x17, 0x05, 0xff, 0xff, 0x13, 0x05, 0x05, 0x20}),
       0x200},
      // c.nop; auipc a0, -16; lw a1, 510(a0)
      {"riscv64, load behind a short one", kMachineRiscv, kHostCodec,
       BytesOf({0x01, 0, 0x17, 0x05, 0xff, 0xff, 0x83, 0x25, 0xe5, 0x1f}), 0x200},
      // larl %r1, -0x7f00
      {"s390x, larl", kMachineS390, kBig, BytesOf({0xc0, 0x10, 0xff, 0xff, 0x81, 0x00}), 0x200},
      // bcr 0, %r7; lgrl %r2, -0x7f01
      {"s390x, load", kMachineS390, kBig, BytesOf({0x07, 0x07, 0xc4, 0x28, 0xff, 0xff, 0x80, 0xff}), 0x200},
      // lea rax, [rip+_GLOBAL_OFFSET_TABLE_]; movabs rdx, place@GOTOFF; lea rax, [rax+rdx]
      {"x86-64, medium code model", kMachineX8664, kHostCodec,
       BytesOf({0x48, 0x8d, 0x05, 0xe1, 0x3f, 0,    0,    0x48, 0xba, 0x90, 0xc2,
                0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0x48, 0x8d, 0x04, 0x10}),
       0x278, 0x13fe8},
      // movabs r9, place, in a program far from address 0
      {"x86-64, large code model", kMachineX8664, kHostCodec,
       BytesOf({0x49, 0xb9, 0x78, 0x02, 0, 0, 2, 0, 0, 0, 0xc3}), 0x2'0000'0278, 0, true},
      // movabs eax, [place]
      {"x86-64, large code model, memory", kMachineX8664, kHostCodec,
       BytesOf({0x90, 0xa1, 0x78, 0x02, 0, 0, 2, 0, 0, 0, 0xc3}), 0x2'0000'0278, 0, true},
      // Constants that end like the start of a movabs; lea rax, [rip+place]; ret
      {"x86-64, lea behind data", kMachineX8664, kHostCodec,
       HidingData() + BytesOf({0x48, 0x8d, 0x05, 0x52, 0x02, 0xff, 0xff, 0xc3}), 0x268},
      // ldr w0, place
      {"aarch64, literal", kMachineAarch64, kHostCodec, BytesOf({0xc0, 0x11, 0xf8, 0x18}), 0x238},
      // movz x0, 0x238; movk x0, 0x40, lsl 16
      {"aarch64, large code model", kMachineAarch64, kHostCodec,
       BytesOf({0x00, 0x47, 0x80, 0xd2, 0x00, 0x08, 0xa0, 0xf2}), 0x400238, 0, true},
      // lui a0, 16; addi a0, a0, 568
      {"riscv64, fixed", kMachineRiscv, kHostCodec, BytesOf({0x37, 0x05, 0x01, 0, 0x13, 0x05, 0x85, 0x23}),
       0x10238, 0, true},
      // adrp x0, -16; add x0, x0, 0x238
      {"aarch64, add", kMachineAarch64, kHostCodec, BytesOf({0x80, 0xff, 0xff, 0x90, 0x00, 0xe0, 0x08, 0x91}),
       0x238},
  };
}

TEST(CodeReferences, AreFoundOnEachMachine) {
  for (const MachineCode& code : AllCode()) {
    SCOPED_TRACE(code.name);
    EXPECT_EQ(ReferenceTo(code, code.goes_to), "found");
    EXPECT_EQ(ReferenceTo(code, code.goes_to - 15), "found");
    EXPECT_EQ(ReferenceTo(code, code.goes_to + 1), "none");
    EXPECT_EQ(ReferenceTo(code, code.goes_to - 16), "none");
  }
}

/// Instructions that read a place behind data in the code count if something begins there.
TEST(CodeReferences, AreFoundBehindDataAtAStart) {
  MachineCode code{"mov eax, [rip+place]", kMachineX8664, kHostCodec,
                   HidingData() + BytesOf({0x8b, 0x05, 0x53, 0x02, 0xff, 0xff, 0xc3}), 0x268};
  EXPECT_EQ(ReferenceTo(code, code.goes_to), "none");
  code.starts = {code.goes_to - 8};
  EXPECT_EQ(ReferenceTo(code, code.goes_to - 8), "none");
  code.starts = {code.goes_to};
  EXPECT_EQ(ReferenceTo(code, code.goes_to - 8), "found");
  // cmp dword [rip+place], 4: the distance counts from behind the 4
  code.bytes = HidingData() + BytesOf({0x83, 0x3d, 0x52, 0x02, 0xff, 0xff, 0x04, 0xc3});
  EXPECT_EQ(ReferenceTo(code, code.goes_to), "found");
  // mov eax, place
  code = {"mov eax, imm32",
          kMachineX8664,
          kHostCodec,
          HidingData() + BytesOf({0xb8, 0x78, 0x02, 0x40, 0, 0xc3}),
          0x400278,
          0,
          true,
          {0x400278}};
  EXPECT_EQ(ReferenceTo(code, code.goes_to), "found");
  // lea eax, [ebx+place@GOTOFF]
  code = {
      "i386, lea", kMachine386, kSmall, HidingData() + BytesOf({0x8d, 0x83, 0x84, 0xc1, 0xfe, 0xff, 0xc3}),
      0x178,       0x13ff4,     false,  {0x178}};
  EXPECT_EQ(ReferenceTo(code, code.goes_to), "found");
}

/// Offsets in thread-local storage, and a displacement without a register, are not distances from the table.
TEST(CodeReferences, AreNoThreadLocalOffsets) {
  // mov dword gs:[-4], 9
  MachineCode code{"i386, gs", kMachine386,
                   kSmall,     BytesOf({0x90, 0x65, 0xc7, 0x05, 0xfc, 0xff, 0xff, 0xff, 9, 0, 0, 0, 0xc3}),
                   0x13ff0,    0x13ff4};
  EXPECT_EQ(ReferenceTo(code, code.table - 16), "none");
  // mov dword [-4], 9
  code.bytes = BytesOf({0x90, 0xc7, 0x05, 0xfc, 0xff, 0xff, 0xff, 9, 0, 0, 0, 0xc3});
  EXPECT_EQ(ReferenceTo(code, code.table - 16), "none");
  // mov dword [ebx-4], 9, with four bytes for the distance
  code.bytes = BytesOf({0x90, 0xc7, 0x83, 0xfc, 0xff, 0xff, 0xff, 9, 0, 0, 0, 0xc3});
  EXPECT_EQ(ReferenceTo(code, code.table - 16), "found");
}

/// Jumps with the bytes of an operand, and code of a machine that is not read.
TEST(CodeReferences, AreNoJumpsAndNoCodeOfOtherMachines) {
  const MachineCode jump{"i386, jae", kMachine386,
                         kSmall,      BytesOf({0x90, 0x0f, 0x83, 0x84, 0xc1, 0xfe, 0xff, 0xc3}),
                         0x178,       0x13ff4};
  EXPECT_EQ(ReferenceTo(jump, jump.goes_to), "none");
  const MachineCode call{"s390x, brasl", kMachineS390, kBig, BytesOf({0xc0, 0xe5, 0xff, 0xff, 0x81, 0x00}),
                         0x200};
  EXPECT_EQ(ReferenceTo(call, call.goes_to), "none");
  MachineCode other = AllCode().front();
  other.machine = kMachineArm;
  EXPECT_EQ(ReferenceTo(other, other.goes_to), "none");
}

}  // namespace
}  // namespace ptpkg::elf::test
