// Instructions of x86 end where the manual says, and bytes that are none are none.

#include "elf/slice/x86_instruction.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ptpkg::elf::test {
namespace {

struct Row {
  const char* name;
  std::string bytes;
  std::size_t modrm = 0;
};

std::string Of(std::initializer_list<int> bytes) {
  std::string text;
  for (const int byte : bytes) text.push_back(static_cast<char>(byte));
  return text;
}

TEST(DecodeX86, FindsTheEndAndTheModRmByte) {
  const std::vector<Row> rows = {
      {"ret", Of({0xc3})},
      {"push r12", Of({0x41, 0x54})},
      {"mov rax, [rip+4]", Of({0x48, 0x8b, 0x05, 4, 0, 0, 0}), 2},
      {"mov eax, [rax+rcx*4+8]", Of({0x8b, 0x44, 0x88, 8}), 1},
      {"mov eax, [rsp+256]", Of({0x8b, 0x84, 0x24, 0, 1, 0, 0}), 1},
      {"mov eax, [rcx*4+disp32]", Of({0x8b, 0x04, 0x8d, 0, 1, 0, 0}), 1},
      {"mov eax, ebx", Of({0x89, 0xd8}), 1},
      {"mov rax, imm64", Of({0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8})},
      {"mov ax, imm16", Of({0x66, 0xb8, 1, 2})},
      {"mov [moffs64], eax", Of({0xa3, 1, 2, 3, 4, 5, 6, 7, 8})},
      {"cmp word [rip], imm16", Of({0x66, 0x81, 0x3d, 0, 0, 0, 0, 1, 2}), 2},
      {"cmp qword [rip], imm32", Of({0x48, 0x81, 0x3d, 0, 0, 0, 0, 1, 2, 3, 4}), 2},
      {"test byte [rip], imm8", Of({0xf6, 0x05, 0, 0, 0, 0, 1}), 1},
      {"not dword [rip]", Of({0xf7, 0x15, 0, 0, 0, 0}), 1},
      {"test dword [rip], imm32", Of({0xf7, 0x05, 0, 0, 0, 0, 1, 2, 3, 4}), 1},
      {"enter", Of({0xc8, 1, 0, 0})},
      {"call", Of({0xe8, 0, 0, 0, 0})},
      {"je near", Of({0x0f, 0x84, 0, 0, 0, 0})},
      {"syscall", Of({0x0f, 0x05})},
      {"bt, imm8", Of({0x0f, 0xba, 0xe0, 3}), 2},
      {"pshufb", Of({0x66, 0x0f, 0x38, 0x00, 0xc1}), 4},
      {"palignr, imm8", Of({0x66, 0x0f, 0x3a, 0x0f, 0xc1, 4}), 4},
      {"vzeroupper", Of({0xc5, 0xf8, 0x77})},
      {"vpaddq ymm0, ymm0, [rip]", Of({0xc5, 0xfd, 0xd4, 0x05, 0, 0, 0, 0}), 3},
      {"vpshufd, imm8", Of({0xc5, 0xf9, 0x70, 0xc1, 1}), 3},
      {"vpalignr, imm8", Of({0xc4, 0xe3, 0x71, 0x0f, 0xc2, 4}), 4},
      {"vmovdqu64 zmm0, [rip]", Of({0x62, 0xf1, 0xfe, 0x48, 0x6f, 0x05, 0, 0, 0, 0}), 5},
      {"vpternlogd, imm8", Of({0x62, 0xf3, 0x7d, 0x48, 0x25, 0xc1, 7}), 5},
      {"nop of 15 bytes", Of({0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0x00, 0, 0, 0, 0}),
       9},
  };
  for (const Row& row : rows) {
    const auto found = DecodeX86(AsBytes(row.bytes + "\xcc\xcc"));
    ASSERT_TRUE(found) << row.name;
    EXPECT_EQ(found->size, row.bytes.size()) << row.name;
    EXPECT_EQ(found->modrm, row.modrm) << row.name;
    EXPECT_FALSE(DecodeX86(AsBytes(row.bytes).first(row.bytes.size() - 1))) << row.name << ", cut";
  }
}

TEST(DecodeX86, SaysWhereAnAddressCouldStand) {
  struct Place {
    std::string bytes;
    std::size_t displacement = 0;
    std::size_t immediate = 0;
  };
  const std::vector<Place> rows = {
      {.bytes = Of({0xb8, 1, 2, 3, 4}), .immediate = 1},                    // mov eax, imm32
      {.bytes = Of({0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8}), .immediate = 2},  // mov rax, imm64
      {.bytes = Of({0x8b, 0x04, 0x25, 1, 2, 3, 4}), .displacement = 3},     // mov eax, [disp32]
      {.bytes = Of({0xc7, 0x80, 1, 2, 3, 4, 5, 6, 7, 8}), .displacement = 2, .immediate = 6},
      {.bytes = Of({0xc7, 0x45, 0xfc, 1, 2, 3, 4}), .immediate = 3},  // mov [rbp-4], imm32
      {.bytes = Of({0x8b, 0x05, 1, 2, 3, 4})},                        // mov eax, [rip+disp32]
      {.bytes = Of({0x64, 0x8b, 0x04, 0x25, 1, 2, 3, 4})},            // mov eax, fs:[disp32]
      {.bytes = Of({0xe9, 1, 2, 3, 4})},                              // jmp
      {.bytes = Of({0x0f, 0x84, 1, 2, 3, 4})},                        // je
      {.bytes = Of({0x83, 0xc0, 1})},                                 // add eax, imm8
  };
  for (const Place& row : rows) {
    const auto found = DecodeX86(AsBytes(row.bytes));
    ASSERT_TRUE(found);
    EXPECT_EQ(found->displacement, row.displacement) << row.bytes.size();
    EXPECT_EQ(found->immediate, row.immediate) << row.bytes.size();
  }
}

TEST(DecodeX86, KnowsThe32BitMode) {
  struct Row32 {
    const char* name;
    std::string bytes;
    std::size_t displacement = 0;
    std::size_t immediate = 0;
  };
  const std::vector<Row32> rows = {
      {"inc eax", Of({0x40})},
      {"push es", Of({0x06})},
      {"lea eax, [ebx+disp32]", Of({0x8d, 0x83, 1, 2, 3, 4}), 2},
      {"mov eax, [disp32]", Of({0x8b, 0x05, 1, 2, 3, 4}), 2},
      {"mov eax, moffs32", Of({0xa1, 1, 2, 3, 4}), 1, 0},
      {"mov eax, gs:moffs32", Of({0x65, 0xa1, 1, 2, 3, 4})},
      {"mov eax, imm32", Of({0xb8, 1, 2, 3, 4}), 0, 1},
      {"add ebx, imm32", Of({0x81, 0xc3, 1, 2, 3, 4}), 0, 2},
      {"call far", Of({0x9a, 1, 2, 3, 4, 5, 6})},
      {"les eax, [ebx+4]", Of({0xc4, 0x43, 4})},
      {"bound eax, [ebx+disp32]", Of({0x62, 0x83, 1, 2, 3, 4}), 2},
      {"vpaddq xmm0, xmm0, xmm1", Of({0xc5, 0xf9, 0xd4, 0xc1})},
      {"aam", Of({0xd4, 10})},
  };
  for (const Row32& row : rows) {
    const auto found = DecodeX86(AsBytes(row.bytes + "\xcc\xcc"), X86Mode::k32Bit);
    ASSERT_TRUE(found) << row.name;
    EXPECT_EQ(found->size, row.bytes.size()) << row.name;
    EXPECT_EQ(found->displacement, row.displacement) << row.name;
    EXPECT_EQ(found->immediate, row.immediate) << row.name;
  }
  EXPECT_FALSE(DecodeX86(AsBytes(Of({0x67, 0x8b, 0x07, 1, 2})), X86Mode::k32Bit)) << "16-bit addresses";
}

TEST(DecodeX86, KnowsWhatIsNoInstruction) {
  for (const int opcode : {0x06, 0x60, 0x82, 0x9a, 0xce, 0xd4, 0xd6, 0xea})
    EXPECT_FALSE(DecodeX86(AsBytes(Of({opcode, 0, 0, 0, 0, 0, 0, 0})))) << opcode;
  EXPECT_FALSE(DecodeX86(AsBytes(Of({0xc4, 0xe0, 0x71, 0x0f, 0xc2, 4})))) << "no map 0";
  EXPECT_FALSE(DecodeX86(AsBytes(std::string(16, '\x66')))) << "prefixes alone";
  EXPECT_FALSE(DecodeX86({}));
}

}  // namespace
}  // namespace ptpkg::elf::test
