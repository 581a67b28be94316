#include "elf/code_references.h"

#include <algorithm>
#include <array>

#include "elf/section_table.h"

namespace ptpkg::elf {
namespace {

constexpr std::uint64_t kCodeAtOnce = 1U << 20U;
/// Bytes behind a step that an instruction at its end may need: an adrp and the four behind it.
constexpr std::uint64_t kLongestPattern = 32;

/// What a byte is where it stands before a ModRM byte.
enum class Opcode : std::uint8_t {
  kOther,
  kLea,          ///< With REX.W.
  kRead,         ///< mov, cmp, movsxd.
  kCompareByte,  ///< With an immediate byte behind the operand; ModRM says 7.
  kCompareWord,  ///< With four of them.
};

constexpr std::array<Opcode, 256> MakeOpcodes() {
  std::array<Opcode, 256> opcodes{};
  opcodes[0x8d] = Opcode::kLea;
  for (const std::size_t read : {0x8bU, 0x3bU, 0x39U, 0x63U}) opcodes[read] = Opcode::kRead;
  for (const std::size_t compare : {0x80U, 0x83U}) opcodes[compare] = Opcode::kCompareByte;
  opcodes[0x81] = Opcode::kCompareWord;
  return opcodes;
}
constexpr std::array<Opcode, 256> kOpcodes = MakeOpcodes();

/// Behind 0f, or in the map of that number behind a VEX or EVEX prefix: movzx, movsx, vector loads.
constexpr bool IsWideRead(std::uint8_t opcode) {
  constexpr std::array<std::uint8_t, 10> kReads = {0x10, 0x12, 0x16, 0x28, 0x6f,
                                                   0x7e, 0xb6, 0xb7, 0xbe, 0xbf};
  return std::find(kReads.begin(), kReads.end(), opcode) != kReads.end();
}

class ReferenceScan {
 public:
  ReferenceScan(const Image& image, const std::vector<AddressRange>& targets)
      : codec_(image.codec), machine_(image.header.machine), targets_(targets) {}

  /// In `bytes`, which begin at address `vaddr`; instructions that begin in the first `size`.
  [[nodiscard]] std::optional<std::uint64_t> Find(Bytes bytes, std::size_t size, std::uint64_t vaddr) const {
    return machine_ == kMachineX8664 ? FindOperand(bytes, size, vaddr) : FindAdr(bytes, size, vaddr);
  }

 private:
  [[nodiscard]] bool IsTarget(std::uint64_t address) const {
    const auto behind =
        std::upper_bound(targets_.begin(), targets_.end(), address,
                         [](std::uint64_t at, const AddressRange& target) { return at < target.begin; });
    return behind != targets_.begin() && address - std::prev(behind)->begin < std::prev(behind)->size_bytes;
  }

  /// How many bytes follow the distance in an instruction whose ModRM byte is at `mode_at`; nullopt: it is
  /// none that reads or computes an address.
  [[nodiscard]] static std::optional<std::uint64_t> BytesBehind(Bytes bytes, std::size_t mode_at,
                                                                unsigned mode) {
    const auto byte = [&](std::size_t back) {
      return mode_at < back ? std::uint8_t{0} : std::to_integer<std::uint8_t>(bytes[mode_at - back]);
    };
    const bool is_seventh = (mode & 0x38U) == 0x38U;
    switch (kOpcodes[byte(1)]) {
      case Opcode::kLea:
        if ((byte(2) & 0xf8U) == 0x48) return 0;
        break;
      case Opcode::kRead:
        return 0;
      case Opcode::kCompareByte:
        if (is_seventh) return 1;
        break;
      case Opcode::kCompareWord:
        if (is_seventh) return 4;
        break;
      case Opcode::kOther:
        if (!IsWideRead(byte(1))) break;
        if (byte(2) == 0x0f || byte(3) == 0xc5 || byte(4) == 0xc4 || byte(5) == 0x62) return 0;
        break;
    }
    return std::nullopt;
  }

  /// ModRM of "disp32 from the next instruction", and 4 bytes of distance.
  [[nodiscard]] std::optional<std::uint64_t> FindOperand(Bytes bytes, std::size_t size,
                                                         std::uint64_t vaddr) const {
    constexpr std::size_t kWithDistance = 5;
    if (bytes.size() < kWithDistance) return std::nullopt;
    // An instruction that begins in the first `size` bytes has its ModRM byte up to five behind them.
    const std::size_t end = std::min(size + 6, bytes.size() - kWithDistance + 1);
    for (std::size_t at = 1; at < end; ++at) {
      const auto mode = std::to_integer<unsigned>(bytes[at]);
      if ((mode & 0xc7U) != 0x05) continue;
      const std::optional<std::uint64_t> behind = BytesBehind(bytes, at, mode);
      if (!behind) continue;
      const auto distance = static_cast<std::int32_t>(codec_.U32(bytes, at + 1));
      const std::uint64_t next = vaddr + at + kWithDistance + *behind;
      if (!IsTarget(next + static_cast<std::uint64_t>(static_cast<std::int64_t>(distance)))) continue;
      const bool has_rex = at >= 2 && (bytes[at - 2] & std::byte{0xf0}) == std::byte{0x40};
      return vaddr + at - (has_rex ? 2 : 1);
    }
    return std::nullopt;
  }

  [[nodiscard]] std::optional<std::uint64_t> FindAdr(Bytes bytes, std::size_t size,
                                                     std::uint64_t vaddr) const {
    constexpr std::uint64_t kPage = 4096;
    for (std::size_t at = (4 - vaddr % 4) % 4; at < size && at + 4 <= bytes.size(); at += 4) {
      const std::uint32_t word = codec_.U32(bytes, at);
      if ((word & 0x1f000000U) != 0x10000000U) continue;
      // 21 bits, signed: immhi in bits 5 to 23, immlo in 29 and 30.
      const std::uint32_t bits = (word >> 3U & 0x1ffffcU) | (word >> 29U & 3U);
      const auto signed_bits = static_cast<std::int64_t>((bits ^ 0x100000U)) - 0x100000;
      const std::uint64_t pc = vaddr + at;
      const bool is_page = (word >> 31U) != 0;
      if (!is_page) {
        if (IsTarget(pc + static_cast<std::uint64_t>(signed_bits))) return pc;
        continue;
      }
      const std::uint64_t page = pc / kPage * kPage + static_cast<std::uint64_t>(signed_bits) * kPage;
      if (LeadsToTarget(bytes, at, word & 0x1fU, page)) return pc;
    }
    return std::nullopt;
  }

  /// Whether one of the next instructions adds to `page`, which is in `reg`, what makes it a target, or loads
  /// from there.
  [[nodiscard]] bool LeadsToTarget(Bytes bytes, std::size_t at, std::uint32_t reg, std::uint64_t page) const {
    for (std::size_t next = at + 4; next <= at + 16 && next + 4 <= bytes.size(); next += 4) {
      const std::uint32_t word = codec_.U32(bytes, next);
      if ((word >> 5U & 0x1fU) != reg) continue;
      const std::uint64_t immediate = word >> 10U & 0xfffU;
      if ((word & 0xffc00000U) == 0x91000000U && IsTarget(page + immediate)) return true;
      if ((word & 0x3b000000U) != 0x39000000U) continue;
      // In units of the size; of a vector register 16 bytes say "size 0, and opc 2 or 3".
      const bool is_whole_vector = (word & 0xc4800000U) == 0x04800000U;
      if (IsTarget(page + (immediate << (is_whole_vector ? 4U : word >> 30U)))) return true;
    }
    return false;
  }

  const Codec& codec_;
  std::uint16_t machine_;
  const std::vector<AddressRange>& targets_;
};

}  // namespace

Result<std::optional<std::uint64_t>> FindCodeReference(File& file, const Image& image,
                                                       const std::vector<AddressRange>& targets) {
  if (targets.empty()) return std::optional<std::uint64_t>();
  const ReferenceScan scan(image, targets);
  for (const Section& section : image.sections) {
    if ((section.flags & kSectionExecute) == 0 || section.type == kSectionNobits || section.type == 0)
      continue;
    for (std::uint64_t at = 0; at < section.size; at += kCodeAtOnce) {
      const std::uint64_t size = std::min(kCodeAtOnce + kLongestPattern, section.size - at);
      PTPKG_TRY(const auto bytes, ReadExact(file, section.offset + at, size, "a section of code"));
      const auto found = scan.Find(bytes, std::min(kCodeAtOnce, size), section.addr + at);
      if (found) return found;
    }
  }
  return std::optional<std::uint64_t>();
}

}  // namespace ptpkg::elf
