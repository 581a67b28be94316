#pragma once
// Finds the end of an x86 instruction. Layer: elf, private to it. Source: Intel SDM volume 2, appendix A
// (opcode maps) and chapter 2 (prefixes, ModRM, VEX, EVEX).

#include <cstddef>
#include <cstdint>
#include <optional>

#include "support/digest/stream.h"

namespace ptpkg::elf {

enum class X86Mode : std::uint8_t { k32Bit, k64Bit };

/// Instructions that code uses most to reach data.
enum class X86Use : std::uint8_t {
  kOther,
  kCommon,       ///< Moves an address, or loads or compares memory (mov, movzx, cmp, push, 32-bit lea).
  kTakesAddress  ///< 64-bit lea.
};

struct X86Instruction {
  std::size_t size = 0;   ///< Bytes, at most 15.
  std::size_t modrm = 0;  ///< Position of its ModRM byte; 0: it has none.
  /// Start of its displacement of four bytes (eight in a `mov` of moffs64), unless relative to the next
  /// instruction or to thread-local storage (fs, gs); 0: it has none.
  std::size_t displacement = 0;
  bool has_register = false;  ///< A base or index register is added to the displacement.
  /// Start of its immediate of four or eight bytes, unless a jump distance; 0: it has none.
  std::size_t immediate = 0;
  X86Use use = X86Use::kOther;
};

/// The instruction at the start of `bytes`. nullopt for bytes that are not an instruction in this mode, or
/// not a complete one. Does not support AMD's XOP and 3DNow!, and 16-bit addresses.
std::optional<X86Instruction> DecodeX86(Bytes bytes, X86Mode mode = X86Mode::k64Bit);

}  // namespace ptpkg::elf
