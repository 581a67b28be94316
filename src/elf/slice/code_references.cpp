// Finds host code that refers to an address without a relocation.
//
// Each machine has few forms of such code, and a form gives a target: a distance from the instruction or from
// the global offset table, or the address itself. On machines with instructions of fixed size, the form and
// an exact target suffice. On x86 any byte can begin an instruction, so a four-byte field also needs the vote
// of instruction streams that begin before it: they synchronise within a few instructions.
//
// Data in code (constants of hand-written assembly) can make all streams swallow the instruction behind it.
// Common instructions therefore count without the vote if their target is exact (IsCommon), and so does
// `movabs`, whose eight bytes match by chance too rarely to matter. Sources: code_references.h.

#include "elf/slice/code_references.h"

#include <algorithm>
#include <array>

#include "elf/read/section_kinds.h"
#include "elf/read/section_table.h"
#include "elf/slice/x86_instruction.h"

namespace ptpkg::elf {
namespace {

constexpr std::uint64_t kCodeAtOnce = 1U << 20U;
/// Bytes in front of a step, where streams of instructions begin, and behind it, where one ends.
constexpr std::uint64_t kLeadBytes = 64;
constexpr std::uint64_t kTail = 16;
/// The last stream begins so far before an operand.
constexpr std::uint64_t kSettle = 16;
/// Bytes of an instruction in front of its operand, without prefixes that change nothing.
constexpr std::size_t kBeforeOperand = 5;
constexpr std::uint64_t kCodePage = 4096;
/// Bytes that look like an operand to a place and are looked at more closely, 10 microseconds each: of
/// libtorch_cuda.so 250 are expected. Where there are more, somebody made the file to be slow.
constexpr std::size_t kMostSuspects = 1U << 13U;
/// On Power this register points into the TOC, so many bytes behind the begin of .got.
constexpr std::uint32_t kTocRegister = 2;
constexpr std::uint64_t kTocBias = 0x8000;

bool HasAddress(const std::vector<AddressRange>& ranges, std::uint64_t address) {
  const auto behind =
      std::upper_bound(ranges.begin(), ranges.end(), address,
                       [](std::uint64_t at, const AddressRange& range) { return at < range.begin; });
  return behind != ranges.begin() && address - std::prev(behind)->begin < std::prev(behind)->size_bytes;
}

/// Two's complement of `bits` bits.
std::uint64_t Signed(std::uint64_t value, unsigned bits) {
  const std::uint64_t sign = 1ULL << (bits - 1);
  return (value ^ sign) - sign;
}

/// Searches code of x86-64 and i386. Counts what it looked at more closely, so one serves a whole section.
class X86Search {
 public:
  /// `tables`: addresses that the global offset table may have, ascending.
  X86Search(const Image& image, const ReferencedRanges& targets, const std::vector<std::uint64_t>& tables)
      : codec_(image.codec),
        mode_(image.header.machine == kMachine386 ? X86Mode::k32Bit : X86Mode::k64Bit),
        targets_(targets),
        tables_(tables) {}

  /// By its ModRM byte of "disp32 from the next instruction".
  [[nodiscard]] std::optional<std::uint64_t> FindOperand(Bytes bytes, std::size_t lead, std::size_t end,
                                                         std::uint64_t vaddr) {
    constexpr std::size_t kWithDistance = 5;
    constexpr std::size_t kMostImmediate = 4;
    if (bytes.size() < kWithDistance) return std::nullopt;
    end = std::min(end, bytes.size() - kWithDistance + 1);
    // Nearly all operands lead elsewhere.
    const std::uint64_t first = targets_.places.front().begin;
    const std::uint64_t behind = targets_.places.back().begin + targets_.places.back().size_bytes;
    for (std::size_t at = std::max<std::size_t>(lead, 1); at < end; ++at) {
      if (HoldsWideAddress(bytes, at)) return vaddr + at - 1;
      if (const std::uint64_t word = targets_.are_fixed ? codec_.U32(bytes, at) : 0;
          word >= first && word < behind && IsTarget(word)) {
        if (const auto begin = InstructionThatHolds(bytes, at, word)) return vaddr + *begin;
      }
      const bool is_relative = (std::to_integer<unsigned>(bytes[at]) & 0xc7U) == 0x05;
      if (!is_relative) continue;
      const auto distance = static_cast<std::int32_t>(codec_.U32(bytes, at + 1));
      const std::uint64_t target =
          vaddr + at + kWithDistance + static_cast<std::uint64_t>(static_cast<std::int64_t>(distance));
      if (target + kMostImmediate < first || target >= behind) continue;
      // It counts from the instruction's end, behind an immediate.
      const bool may_be = IsTarget(target) || IsTarget(target + 1) || IsTarget(target + 2) ||
                          IsTarget(target + kMostImmediate);
      if (!may_be) continue;
      if (const auto begin = InstructionWith(bytes, at, target - at - kWithDistance)) return vaddr + *begin;
    }
    return std::nullopt;
  }

  /// i386: code has the address of the global offset table in a register and adds the distance from there.
  [[nodiscard]] std::optional<std::uint64_t> FindTableDistance(Bytes bytes, std::size_t lead, std::size_t end,
                                                               std::uint64_t vaddr) {
    const std::uint64_t first = targets_.places.front().begin;
    const std::uint64_t behind = targets_.places.back().begin + targets_.places.back().size_bytes;
    for (std::size_t at = std::max<std::size_t>(lead, 1); at < end && at + 4 <= bytes.size(); ++at) {
      const std::uint32_t word = codec_.U32(bytes, at);
      const auto finds = [&](std::uint64_t table) {
        const std::uint32_t target = static_cast<std::uint32_t>(table) + word;
        return target >= first && target < behind && IsTarget(target) &&
               InstructionThatHolds(bytes, at, target, table != 0);
      };
      if ((targets_.are_fixed && finds(0)) || std::any_of(tables_.begin(), tables_.end(), finds))
        return vaddr + at;
    }
    return std::nullopt;
  }

 private:
  [[nodiscard]] bool IsTarget(std::uint64_t address) const { return HasAddress(targets_.places, address); }

  /// True for a movabs with opcode byte at `at`, behind a prefix: of a distance from the table (medium and
  /// large code models), or of an address.
  [[nodiscard]] bool HoldsWideAddress(Bytes bytes, std::size_t at) const {
    const auto byte_at = [&](std::size_t place) { return std::to_integer<unsigned>(bytes[place]); };
    const bool is_immediate = (byte_at(at) & 0xf8U) == 0xb8 && (byte_at(at - 1) & 0xf8U) == 0x48;
    const bool is_memory = targets_.are_fixed && (byte_at(at) & 0xfcU) == 0xa0;
    if ((!is_immediate && !is_memory) || at + 9 > bytes.size()) return false;
    const std::uint64_t word = codec_.U32(bytes, at + 1) | std::uint64_t{codec_.U32(bytes, at + 5)} << 32U;
    if (targets_.are_fixed && IsTarget(word)) return true;
    return is_immediate && std::any_of(tables_.begin(), tables_.end(),
                                       [&](std::uint64_t table) { return IsTarget(table + word); });
  }

  /// Start of the instruction, as most streams have it, whose immediate or displacement begins at `at`
  /// and leads to `target`. A distance from the table is added to a register.
  [[nodiscard]] std::optional<std::size_t> InstructionThatHolds(Bytes bytes, std::size_t at,
                                                                std::uint64_t target,
                                                                bool is_distance = false) {
    const bool can_start = targets_.starts.empty() || targets_.starts.contains(target);
    return MostStreams(bytes, at, [&](std::size_t place, const X86Instruction& one) {
      const bool is_operand = place + one.displacement == at && (one.has_register || !is_distance);
      const bool holds = is_operand || (place + one.immediate == at && can_start);
      return holds ? std::optional(target) : std::nullopt;
    });
  }

  /// Start of the instruction that has its ModRM byte at `at`, as most streams have it, and leads to a
  /// target: `base` and the place of its end.
  [[nodiscard]] std::optional<std::size_t> InstructionWith(Bytes bytes, std::size_t at, std::uint64_t base) {
    return MostStreams(bytes, at, [&](std::size_t place, const X86Instruction& one) {
      const std::uint64_t target = base + place + one.size;
      return place + one.modrm == at && IsTarget(target) ? std::optional(target) : std::nullopt;
    });
  }

  /// True if one instruction counts even where data in front of it hides it from the streams: a 64-bit lea of
  /// a place, or another common one with a start.
  [[nodiscard]] bool IsCommon(const X86Instruction& one, std::uint64_t target) const {
    return one.use == X86Use::kTakesAddress ||
           (one.use == X86Use::kCommon && targets_.starts.contains(target));
  }

  /// Decodes streams of instructions that begin before `at`. Where the instruction with byte `at`, behind its
  /// first one, begins in more than half of them and `fits`, which returns its target.
  template <typename Fits>
  [[nodiscard]] std::optional<std::size_t> MostStreams(Bytes bytes, std::size_t at, Fits fits) {
    if (++suspects_ > kMostSuspects) return at;
    std::optional<std::size_t> begin;
    std::size_t streams = 0;
    std::size_t votes = 0;
    const std::size_t first = at - std::min<std::size_t>(at, kLeadBytes);
    const std::size_t last = at - std::min<std::size_t>(at, kSettle);
    for (std::size_t start = first; start <= std::max(first, last); ++start) {
      std::size_t place = start;
      std::optional<X86Instruction> one;
      while (place < at) {
        one = DecodeX86(bytes.subspan(place), mode_);
        if (!one || place + one->size > at) break;
        place += one->size;
      }
      if (!one) continue;  // it was none from the beginning
      ++streams;
      if (place >= at || !fits(place, *one)) continue;
      ++votes;
      begin = place;
    }
    return 2 * votes > streams ? begin : CommonInstruction(bytes, at, fits);
  }

  /// Start of the instruction around `at` that counts without streams.
  template <typename Fits>
  [[nodiscard]] std::optional<std::size_t> CommonInstruction(Bytes bytes, std::size_t at, Fits fits) const {
    for (std::size_t before = std::min(at, kBeforeOperand); before != 0; --before) {
      const auto one = DecodeX86(bytes.subspan(at - before), mode_);
      const auto target = one ? fits(at - before, *one) : std::nullopt;
      if (target && IsCommon(*one, *target)) return at - before;
    }
    return std::nullopt;
  }

  const Codec& codec_;
  X86Mode mode_;
  const ReferencedRanges& targets_;
  const std::vector<std::uint64_t>& tables_;
  std::size_t suspects_ = 0;
};

/// Searches code of machines that put the upper half of an address into a register first. Remembers the
/// registers, so one serves a whole section.
class RegisterSearch {
 public:
  RegisterSearch(const Image& image, const ReferencedRanges& targets,
                 const std::vector<std::uint64_t>& tables)
      : codec_(image.codec), targets_(targets) {
    if (image.header.machine == kMachinePpc64 && !tables.empty())
      pages_[kTocRegister] = tables.front() + kTocBias;
  }

  [[nodiscard]] std::optional<std::uint64_t> FindAdr(Bytes bytes, std::size_t end, std::uint64_t vaddr) {
    for (std::size_t at = (4 - vaddr % 4) % 4; at < end && at + 4 <= bytes.size(); at += 4) {
      const std::uint32_t word = codec_.U32(bytes, at);
      const std::uint64_t pc = vaddr + at;
      if (LeadsToTarget(word)) return pc;
      const bool is_literal = (word & 0x3b000000U) == 0x18000000U;
      if (is_literal && IsTarget(pc + 4 * Signed(word >> 5U & 0x7ffffU, 19))) return pc;
      if (targets_.are_fixed && CompletesAddress(word)) return pc;
      if ((word & 0x1f000000U) != 0x10000000U) continue;
      // 21 bits, signed: immhi in bits 5 to 23, immlo in 29 and 30.
      const std::uint32_t bits = (word >> 3U & 0x1ffffcU) | (word >> 29U & 3U);
      const std::uint64_t distance = Signed(bits, 21);
      const bool is_page = (word >> 31U) != 0;
      if (!is_page) {
        if (IsTarget(pc + distance)) return pc;
        continue;
      }
      const std::uint64_t page = pc / kCodePage * kCodePage + distance * kCodePage;
      if (IsPageOfTarget(page)) return pc;
      pages_[word & 0x1fU] = page;
    }
    return std::nullopt;
  }

  /// Power: `addis` adds the upper half of a distance to the TOC pointer, the next one the lower half;
  /// without an upper half there is the next one alone.
  [[nodiscard]] std::optional<std::uint64_t> FindTocDistance(Bytes bytes, std::size_t end,
                                                             std::uint64_t vaddr) {
    for (std::size_t at = (4 - vaddr % 4) % 4; at < end && at + 4 <= bytes.size(); at += 4) {
      const std::uint32_t word = codec_.U32(bytes, at);
      const std::uint32_t code = word >> 26U;
      const std::uint64_t distance = Signed(word & 0xffffU, 16);
      const std::optional<std::uint64_t>& base = pages_[word >> 16U & 0x1fU];
      const std::uint32_t result = word >> 21U & 0x1fU;
      if (code == 15 && base && (word >> 16U & 0x1fU) == kTocRegister) {  // addis
        if (result != kTocRegister) pages_[result] = *base + (distance << 16U);
      } else if (const bool is_doubleword = code == 58 || code == 62;
                 base && (code == 14 || (code >= 32 && code <= 55) || is_doubleword) &&
                 IsTarget(*base + (is_doubleword ? distance & ~3ULL : distance))) {
        return vaddr + at;
      }
    }
    return std::nullopt;
  }

  /// RISC-V: `auipc` adds the upper 20 bits of a distance to its own address, the next one the lower 12. In a
  /// program with fixed addresses, `lui` has the upper bits of the address.
  [[nodiscard]] std::optional<std::uint64_t> FindAuipc(Bytes bytes, std::size_t end, std::uint64_t vaddr) {
    std::uint64_t size = 4;
    for (std::size_t at = vaddr % 2; at < end && at + 4 <= bytes.size(); at += size) {
      const std::uint32_t word = codec_.U32(bytes, at);
      size = (word & 3U) == 3 ? 4 : 2;
      const std::uint32_t code = word & 0x7fU;
      const std::optional<std::uint64_t>& base = pages_[word >> 15U & 0x1fU];
      const bool is_load = code == 0x03 || code == 0x07;
      if (code == 0x17) {
        pages_[word >> 7U & 0x1fU] = vaddr + at + Signed(word & 0xfffff000U, 32);
      } else if (code == 0x37 && targets_.are_fixed) {  // lui
        pages_[word >> 7U & 0x1fU] = Signed(word & 0xfffff000U, 32);
      } else if (base && (is_load || (word & 0x707fU) == 0x13) && IsTarget(*base + Signed(word >> 20U, 12))) {
        return vaddr + at;
      }
    }
    return std::nullopt;
  }

 private:
  [[nodiscard]] bool IsTarget(std::uint64_t address) const { return HasAddress(targets_.places, address); }

  /// True if the page holds nothing but movable content, and a place.
  [[nodiscard]] bool IsPageOfTarget(std::uint64_t page) const {
    if (!HasAddress(targets_.wholes, page) || !HasAddress(targets_.wholes, page + kCodePage - 1))
      return false;
    const auto place =
        std::lower_bound(targets_.places.begin(), targets_.places.end(), page,
                         [](const AddressRange& range, std::uint64_t at) { return range.begin < at; });
    return place != targets_.places.end() && place->begin < page + kCodePage;
  }

  /// True if the instruction adds a target's offset to the page of its register, or loads from there.
  /// The register rarely has another value by now: no other code has such a page.
  [[nodiscard]] bool LeadsToTarget(std::uint32_t word) const {
    const std::optional<std::uint64_t>& page = pages_[word >> 5U & 0x1fU];
    if (!page) return false;
    const std::uint64_t immediate = word >> 10U & 0xfffU;
    if ((word & 0xffc00000U) == 0x91000000U) return IsTarget(*page + immediate);
    if ((word & 0x3b000000U) != 0x39000000U) return false;
    // In units of the size; of a vector register 16 bytes say "size 0, and opc 2 or 3".
    const bool is_whole_vector = (word & 0xc4800000U) == 0x04800000U;
    return IsTarget(*page + (immediate << (is_whole_vector ? 4U : word >> 30U)));
  }

  /// AArch64: movz sets one quarter of a register and clears the others, movk sets one more. True if the
  /// register has a target then.
  [[nodiscard]] bool CompletesAddress(std::uint32_t word) {
    const bool is_first = (word & 0xff800000U) == 0xd2800000U;
    if (!is_first && (word & 0xff800000U) != 0xf2800000U) return false;
    const unsigned shift = 16 * (word >> 21U & 3U);
    std::uint64_t& value = built_[word & 0x1fU];
    value = (is_first ? 0 : value & ~(0xffffULL << shift)) | std::uint64_t{word >> 5U & 0xffffU} << shift;
    return targets_.starts.empty() ? IsTarget(value) : targets_.starts.contains(value);
  }

  const Codec& codec_;
  const ReferencedRanges& targets_;
  /// The address that the last adrp, addis, auipc or lui put into each register.
  std::array<std::optional<std::uint64_t>, 32> pages_ = {};
  std::array<std::uint64_t, 32> built_ = {};  ///< By movz and movk.
};

/// z/Architecture: instructions of six bytes that count half-words from themselves.
std::optional<std::uint64_t> FindLarl(const Codec& codec, const ReferencedRanges& targets, Bytes bytes,
                                      std::size_t end, std::uint64_t vaddr) {
  for (std::size_t at = vaddr % 2; at < end && at + 6 <= bytes.size(); at += 2) {
    const unsigned code = codec.U16(bytes, at);
    const bool is_relative = (code & 0xff0fU) == 0xc000 || (code >> 8U) == 0xc4 || (code >> 8U) == 0xc6;
    if (!is_relative) continue;
    const std::uint64_t target = vaddr + at + 2 * Signed(codec.U32(bytes, at + 2), 32);
    if (HasAddress(targets.places, target)) return vaddr + at;
  }
  return std::nullopt;
}

/// Searches one section in pieces, in the way of its machine.
class SectionSearch {
 public:
  SectionSearch(const Image& image, const ReferencedRanges& targets, const std::vector<std::uint64_t>& tables)
      : image_(image), targets_(targets), x86_(image, targets, tables), registers_(image, targets, tables) {}

  /// In `bytes`, which begin at address `vaddr`; `lead` of them were searched before, and the last ones that
  /// are searched are those before `end`.
  [[nodiscard]] std::optional<std::uint64_t> Find(Bytes bytes, std::size_t lead, std::size_t end,
                                                  std::uint64_t vaddr) {
    switch (image_.header.machine) {
      case kMachineX8664:
        return x86_.FindOperand(bytes, lead, end, vaddr);
      case kMachine386:
        return x86_.FindTableDistance(bytes, lead, end, vaddr);
      case kMachineAarch64:
        return registers_.FindAdr(bytes, end, vaddr);
      case kMachineS390:
        return FindLarl(image_.codec, targets_, bytes, end, vaddr);
      case kMachinePpc64:
        return registers_.FindTocDistance(bytes, end, vaddr);
      case kMachineRiscv:
        return registers_.FindAuipc(bytes, end, vaddr);
      default:
        return std::nullopt;
    }
  }

 private:
  const Image& image_;
  const ReferencedRanges& targets_;
  X86Search x86_;
  RegisterSearch registers_;
};

/// Distances on x86 count from the start of .got.plt, or of .got in files without .got.plt. DT_PLTGOT has the
/// same address.
Result<std::vector<std::uint64_t>> TablesOf(File& file, const Image& image) {
  std::vector<std::uint64_t> tables;
  if (!IsX86(image) && image.header.machine != kMachinePpc64) return tables;
  PTPKG_TRY(const std::vector<NamedSection> named, ReadNamedSections(file, image));
  for (const std::string_view name : {".got.plt", ".got"}) {
    const auto section =
        std::find_if(named.begin(), named.end(), [&](const NamedSection& one) { return one.name == name; });
    if (section == named.end()) continue;
    tables.push_back(section->address);
    break;
  }
  if (const auto table = image.dynamic ? image.dynamic->Find(kDtPltgot) : std::nullopt; table && IsX86(image))
    tables.push_back(*table);
  std::sort(tables.begin(), tables.end());
  tables.erase(std::unique(tables.begin(), tables.end()), tables.end());
  return tables;
}

}  // namespace

bool IsX86(const Image& image) {
  return image.header.machine == kMachineX8664 || image.header.machine == kMachine386;
}

Result<std::optional<std::uint64_t>> FindCodeReference(File& file, const Image& image,
                                                       const ReferencedRanges& targets) {
  if (targets.places.empty()) return std::optional<std::uint64_t>();
  PTPKG_TRY(const std::vector<std::uint64_t> tables, TablesOf(file, image));
  for (const Section& section : image.sections) {
    if ((section.flags & kSectionExecute) == 0 || !HasBytes(section)) continue;
    SectionSearch search(image, targets, tables);
    for (std::uint64_t at = 0; at < section.size; at += kCodeAtOnce) {
      const std::uint64_t lead = std::min(at, kLeadBytes);
      const std::uint64_t size = std::min(lead + kCodeAtOnce + kTail, section.size - (at - lead));
      PTPKG_TRY(const auto bytes, ReadExact(file, section.offset + at - lead, size, "a section of code"));
      const auto found = search.Find(bytes, lead, lead + kCodeAtOnce, section.addr + at - lead);
      if (found) return found;
    }
  }
  return std::optional<std::uint64_t>();
}

}  // namespace ptpkg::elf
