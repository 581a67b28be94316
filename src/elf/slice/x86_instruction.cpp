// Finds the length, the displacement and the immediate of x86 instructions, without their meaning.
//
// Needed to tell addresses in code from other bytes: a four-byte value counts as an address only where an
// instruction has such a field. The length of an instruction follows from prefixes, the opcode map and
// ModRM alone, so a table of forms for each opcode suffices. VEX and EVEX instructions need only the map,
// since their immediate has one byte or none. Source: Intel's Software Developer's Manual, volume 2,
// appendix A.
//
// Invariant: an instruction that the table does not know is "not decoded", never guessed: a wrong length
// would shift all that follow.

#include "elf/slice/x86_instruction.h"

#include <algorithm>
#include <array>

namespace ptpkg::elf {
namespace {

constexpr std::size_t kLongest = 15;

/// Fields after the opcode.
struct Tail {
  bool is_valid = true;
  bool has_modrm = false;
  std::size_t immediate = 0;
  bool is_distance = false;  ///< The immediate counts from the next instruction.
  bool is_address = false;   ///< The immediate is the address of the operand.
};

/// Fields after an opcode of one byte.
enum class Form : std::uint8_t {
  kAlone,
  kInvalid,
  kByte,
  kTwoBytes,
  kThreeBytes,
  kFourBytes,
  kImmediate,  ///< Has the operand size.
  kWide,       ///< The same, or eight bytes.
  kOffset,     ///< An address.
  kFarAddress,
  kModrm,
  kModrmByte,
  kModrmImmediate,
  kTestByte,       ///< Operations 0 and 1 alone have an immediate.
  kTestImmediate,  ///< The same.
};

using Forms = std::array<Form, 256>;

constexpr void Set(Forms& forms, std::size_t first, std::size_t last, Form form) {
  for (std::size_t opcode = first; opcode <= last; ++opcode) forms[opcode] = form;
}

constexpr Forms MakeForms() {
  Forms forms{};
  for (std::size_t row = 0; row < 0x40; row += 8) {  // add, or, adc, sbb, and, sub, xor, cmp
    Set(forms, row, row + 3, Form::kModrm);
    Set(forms, row + 4, row + 4, Form::kByte);
    Set(forms, row + 5, row + 5, Form::kImmediate);
    Set(forms, row + 6, row + 7, Form::kInvalid);
  }
  Set(forms, 0x60, 0x62, Form::kInvalid);
  Set(forms, 0x63, 0x63, Form::kModrm);
  Set(forms, 0x68, 0x68, Form::kImmediate);
  Set(forms, 0x69, 0x69, Form::kModrmImmediate);
  Set(forms, 0x6a, 0x6a, Form::kByte);
  Set(forms, 0x6b, 0x6b, Form::kModrmByte);
  Set(forms, 0x70, 0x7f, Form::kByte);
  Set(forms, 0x80, 0x83, Form::kModrmByte);
  Set(forms, 0x81, 0x81, Form::kModrmImmediate);
  Set(forms, 0x82, 0x82, Form::kInvalid);
  Set(forms, 0x84, 0x8f, Form::kModrm);
  Set(forms, 0x9a, 0x9a, Form::kInvalid);
  Set(forms, 0xa0, 0xa3, Form::kOffset);
  Set(forms, 0xa8, 0xa8, Form::kByte);
  Set(forms, 0xa9, 0xa9, Form::kImmediate);
  Set(forms, 0xb0, 0xb7, Form::kByte);
  Set(forms, 0xb8, 0xbf, Form::kWide);
  Set(forms, 0xc0, 0xc1, Form::kModrmByte);
  Set(forms, 0xc2, 0xc2, Form::kTwoBytes);
  Set(forms, 0xc6, 0xc6, Form::kModrmByte);
  Set(forms, 0xc7, 0xc7, Form::kModrmImmediate);
  Set(forms, 0xc8, 0xc8, Form::kThreeBytes);
  Set(forms, 0xca, 0xca, Form::kTwoBytes);
  Set(forms, 0xcd, 0xcd, Form::kByte);
  Set(forms, 0xce, 0xce, Form::kInvalid);
  Set(forms, 0xd0, 0xd3, Form::kModrm);
  Set(forms, 0xd4, 0xd6, Form::kInvalid);
  Set(forms, 0xd8, 0xdf, Form::kModrm);
  Set(forms, 0xe0, 0xe7, Form::kByte);
  Set(forms, 0xe8, 0xe9, Form::kFourBytes);
  Set(forms, 0xea, 0xea, Form::kInvalid);
  Set(forms, 0xeb, 0xeb, Form::kByte);
  Set(forms, 0xf6, 0xf6, Form::kTestByte);
  Set(forms, 0xf7, 0xf7, Form::kTestImmediate);
  Set(forms, 0xfe, 0xff, Form::kModrm);
  return forms;
}
constexpr Forms kForms = MakeForms();

/// 32-bit mode: pushes of segments, decimal arithmetic, far calls.
constexpr Forms MakeForms32() {
  Forms forms = kForms;
  for (std::size_t row = 0; row < 0x40; row += 8) Set(forms, row + 6, row + 7, Form::kAlone);
  Set(forms, 0x60, 0x61, Form::kAlone);
  Set(forms, 0x62, 0x62, Form::kModrm);
  Set(forms, 0x82, 0x82, Form::kModrmByte);
  Set(forms, 0x9a, 0x9a, Form::kFarAddress);
  Set(forms, 0xc4, 0xc5, Form::kModrm);
  Set(forms, 0xce, 0xce, Form::kAlone);
  Set(forms, 0xd4, 0xd5, Form::kByte);
  Set(forms, 0xd6, 0xd6, Form::kAlone);
  Set(forms, 0xea, 0xea, Form::kFarAddress);
  return forms;
}
constexpr Forms kForms32 = MakeForms32();

class Decoder {
 public:
  Decoder(Bytes bytes, X86Mode mode)
      : bytes_(bytes.first(std::min(bytes.size(), kLongest))), is_64_bit_(mode == X86Mode::k64Bit) {}

  std::optional<X86Instruction> Run() {
    ReadPrefixes();
    if (!is_64_bit_ && has_short_addresses_) return std::nullopt;
    const unsigned opcode = Next();
    Tail tail;
    // In 32-bit mode these opcodes are also les, lds and bound, whose operand is in memory. A vector prefix
    // continues with two set bits there, which would be a register operand.
    const bool is_vector = is_64_bit_ || Peek() >= 0xc0;
    if (opcode == 0xc5 && is_vector) {
      Next();
      tail = OfMap(1, Next());
    } else if (opcode == 0xc4 && is_vector) {
      const unsigned map = Next() & 0x1fU;
      Next();
      tail = OfMap(map, Next());
    } else if (opcode == 0x62 && is_vector) {
      const unsigned map = Next() & 0x07U;
      Next();
      Next();
      tail = OfMap(map, Next());
    } else if (opcode == 0x0f) {
      const unsigned second = Next();
      if (second == 0x38) {
        Next();
        tail = {.has_modrm = true};
      } else if (second == 0x3a) {
        Next();
        tail = {.has_modrm = true, .immediate = 1};
      } else {
        tail = OfTwoBytes(second);
      }
    } else {
      tail = OfOneByte(opcode);
    }
    if (!tail.is_valid) return std::nullopt;
    X86Instruction instruction{.use = use_};
    if (tail.has_modrm) {
      instruction.modrm = at_;
      const std::size_t displacement = ReadOperand();
      instruction.displacement = is_thread_local_ ? 0 : displacement;
      instruction.has_register = has_register_;
    }
    if (tail.is_address) {
      instruction.displacement = is_thread_local_ ? 0 : at_;
    } else if (tail.immediate >= 4 && !tail.is_distance) {
      instruction.immediate = at_;
    }
    at_ += tail.immediate;
    if (at_ > bytes_.size()) return std::nullopt;
    instruction.size = at_;
    return instruction;
  }

 private:
  /// 0 behind the end, which Run finds then.
  unsigned Peek() const { return at_ < bytes_.size() ? std::to_integer<unsigned>(bytes_[at_]) : 0; }
  unsigned Next() {
    const unsigned byte = Peek();
    ++at_;
    return byte;
  }

  void ReadPrefixes() {
    while (true) {
      const unsigned byte = Peek();
      const bool is_prefix = byte == 0x66 || byte == 0x67 || byte == 0xf0 || byte == 0xf2 || byte == 0xf3 ||
                             byte == 0x2e || byte == 0x36 || byte == 0x3e || byte == 0x26 || byte == 0x64 ||
                             byte == 0x65;
      if (!is_prefix) break;
      if (byte == 0x66) is_16_bit_ = true;
      if (byte == 0x67) has_short_addresses_ = true;
      if (byte == 0x64 || byte == 0x65) is_thread_local_ = true;
      ++at_;
    }
    if (is_64_bit_ && (Peek() & 0xf0U) == 0x40) is_wide_ = (Next() & 8U) != 0;
  }

  /// imm16 or imm32, by the operand size.
  std::size_t Immediate() const { return is_16_bit_ && !is_wide_ ? 2 : 4; }

  /// ModRM, SIB and displacement. Returns where a displacement of four bytes begins that is not one from the
  /// next instruction, or 0.
  std::size_t ReadOperand() {
    const unsigned modrm = Next();
    const unsigned mode = modrm >> 6U;
    const unsigned base = modrm & 7U;
    if (mode == 3) return 0;
    bool has_word = mode == 2 || (mode == 0 && base == 5);
    has_register_ = mode != 0 || base != 5;
    if (base == 4) {
      const unsigned sib = Next();
      const bool has_base = mode != 0 || (sib & 7U) != 5;
      has_word |= !has_base;
      has_register_ = has_base || (sib >> 3U & 7U) != 4;
    }
    const bool is_relative = is_64_bit_ && mode == 0 && base == 5;
    const std::size_t displacement = has_word && !is_relative ? at_ : 0;
    if (has_word) at_ += 4;
    if (mode == 1) ++at_;
    return displacement;
  }

  /// Operation in the ModRM byte that follows, for opcodes that have several.
  unsigned Selector() const { return Peek() >> 3U & 7U; }

  Tail OfOneByte(unsigned opcode) {
    // Comparisons with memory, mov, push of an immediate.
    const bool is_common = (opcode >= 0x38 && opcode <= 0x3b) || opcode == 0x68 || opcode == 0x80 ||
                           opcode == 0x81 || opcode == 0x83 || opcode == 0x8a || opcode == 0x8b ||
                           opcode == 0x8d || (opcode >= 0xb8 && opcode <= 0xbf) || opcode == 0xc7;
    use_ = opcode == 0x8d && is_wide_ ? X86Use::kTakesAddress : is_common ? X86Use::kCommon : X86Use::kOther;
    switch ((is_64_bit_ ? kForms : kForms32)[opcode]) {
      case Form::kAlone:
        return {};
      case Form::kInvalid:
        return {.is_valid = false};
      case Form::kByte:
        return {.immediate = 1};
      case Form::kTwoBytes:
        return {.immediate = 2};
      case Form::kThreeBytes:
        return {.immediate = 3};
      case Form::kFourBytes:
        return {.immediate = 4, .is_distance = true};
      case Form::kImmediate:
        return {.immediate = Immediate()};
      case Form::kWide:
        return {.immediate = is_wide_ ? 8 : Immediate()};
      case Form::kOffset:
        return {.immediate = has_short_addresses_ || !is_64_bit_ ? 4U : 8U, .is_address = true};
      case Form::kFarAddress:
        return {.immediate = Immediate() + 2, .is_distance = true};
      case Form::kModrm:
        return {.has_modrm = true};
      case Form::kModrmByte:
        return {.has_modrm = true, .immediate = 1};
      case Form::kModrmImmediate:
        return {.has_modrm = true, .immediate = Immediate()};
      case Form::kTestByte:
        return {.has_modrm = true, .immediate = Selector() < 2 ? 1U : 0U};
      case Form::kTestImmediate:
        return {.has_modrm = true, .immediate = Selector() < 2 ? Immediate() : 0};
    }
    return {.is_valid = false};
  }

  /// Behind 0f.
  Tail OfTwoBytes(unsigned opcode) {
    const auto is_in = [&](unsigned first, unsigned last) { return opcode >= first && opcode <= last; };
    // movups, movaps, movdqu and movdqa; movzx and movsx.
    if (opcode == 0x10 || opcode == 0x28 || opcode == 0x6f || is_in(0xb6, 0xb7) || is_in(0xbe, 0xbf))
      use_ = X86Use::kCommon;
    if (is_in(0x80, 0x8f)) return {.immediate = 4, .is_distance = true};
    if (opcode == 0x04 || opcode == 0x0a || opcode == 0x0c || opcode == 0x0f) return {.is_valid = false};
    const bool is_alone = is_in(0x05, 0x09) || opcode == 0x0b || opcode == 0x0e || is_in(0x30, 0x37) ||
                          opcode == 0x77 || is_in(0xa0, 0xa2) || is_in(0xa8, 0xaa) || is_in(0xc8, 0xcf);
    if (is_alone) return {};
    return {.has_modrm = true,
            .immediate = HasByte(opcode) || opcode == 0xa4 || opcode == 0xac || opcode == 0xba ? 1U : 0U};
  }

  /// Shuffles, shifts and comparisons of vectors.
  static bool HasByte(unsigned opcode) {
    return (opcode >= 0x70 && opcode <= 0x73) || opcode == 0xc2 || (opcode >= 0xc4 && opcode <= 0xc6);
  }

  /// Form of an opcode behind a VEX or EVEX prefix.
  static Tail OfMap(unsigned map, unsigned opcode) {
    if (map == 0 || map > 6) return {.is_valid = false};
    if (map == 1 && opcode == 0x77) return {};  // vzeroupper
    return {.has_modrm = true, .immediate = map == 3 || (map == 1 && HasByte(opcode)) ? 1U : 0U};
  }

  Bytes bytes_;
  bool is_64_bit_;
  std::size_t at_ = 0;
  bool is_16_bit_ = false;
  bool is_wide_ = false;
  bool has_short_addresses_ = false;
  bool is_thread_local_ = false;
  bool has_register_ = false;
  X86Use use_ = X86Use::kOther;
};

}  // namespace

std::optional<X86Instruction> DecodeX86(Bytes bytes, X86Mode mode) { return Decoder(bytes, mode).Run(); }

}  // namespace ptpkg::elf
