#include "elf/code_references.h"

#include <algorithm>
#include <cstring>

#include "elf/section_table.h"

namespace ptpkg::elf {
namespace {

constexpr std::uint64_t kCodeAtOnce = 1U << 20U;
/// Bytes behind a step that an instruction at its end may need: an adrp and the four behind it.
constexpr std::uint64_t kLongestPattern = 32;

class ReferenceScan {
 public:
  ReferenceScan(const Image& image, const std::vector<std::uint64_t>& targets)
      : codec_(image.codec), machine_(image.header.machine), targets_(targets) {}

  /// In `bytes`, which begin at address `vaddr`; instructions that begin in the first `size`.
  [[nodiscard]] std::optional<std::uint64_t> Find(Bytes bytes, std::size_t size, std::uint64_t vaddr) const {
    return machine_ == kMachineX8664 ? FindLea(bytes, size, vaddr) : FindAdr(bytes, size, vaddr);
  }

 private:
  [[nodiscard]] bool IsTarget(std::uint64_t address) const {
    return address >= targets_.front() && address <= targets_.back() &&
           std::binary_search(targets_.begin(), targets_.end(), address);
  }

  /// REX.W, 8d, ModRM of "disp32 from the next instruction", 4 bytes of distance.
  [[nodiscard]] std::optional<std::uint64_t> FindLea(Bytes bytes, std::size_t size,
                                                     std::uint64_t vaddr) const {
    constexpr std::size_t kLength = 7;
    if (bytes.size() < kLength) return std::nullopt;
    const std::size_t end = std::min(size, bytes.size() - kLength + 1);
    const auto* const begin = bytes.data();
    for (std::size_t at = 0; at < end; ++at) {
      // At the opcode, which is rarer than its prefix.
      const void* found = std::memchr(begin + at + 1, 0x8d, end - at);
      if (found == nullptr) break;
      at = static_cast<std::size_t>(static_cast<const std::byte*>(found) - begin) - 1;
      const auto prefix = std::to_integer<unsigned>(bytes[at]);
      const auto mode = std::to_integer<unsigned>(bytes[at + 2]);
      if ((prefix & 0xf8U) != 0x48 || (mode & 0xc7U) != 0x05) continue;
      const auto distance = static_cast<std::int32_t>(codec_.U32(bytes, at + 3));
      const std::uint64_t next = vaddr + at + kLength;
      if (IsTarget(next + static_cast<std::uint64_t>(static_cast<std::int64_t>(distance)))) return vaddr + at;
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
      if (AddsUpToTarget(bytes, at, word & 0x1fU, page)) return pc;
    }
    return std::nullopt;
  }

  /// Whether one of the next instructions adds to `page`, which is in `reg`, what makes it a target.
  [[nodiscard]] bool AddsUpToTarget(Bytes bytes, std::size_t at, std::uint32_t reg,
                                    std::uint64_t page) const {
    for (std::size_t next = at + 4; next <= at + 16 && next + 4 <= bytes.size(); next += 4) {
      const std::uint32_t word = codec_.U32(bytes, next);
      const bool is_add = (word & 0xffc00000U) == 0x91000000U && (word >> 5U & 0x1fU) == reg;
      if (is_add && IsTarget(page + (word >> 10U & 0xfffU))) return true;
    }
    return false;
  }

  const Codec& codec_;
  std::uint16_t machine_;
  const std::vector<std::uint64_t>& targets_;
};

}  // namespace

Result<std::optional<std::uint64_t>> FindCodeReference(File& file, const Image& image,
                                                       const std::vector<std::uint64_t>& targets) {
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
