// Visits all dynamic relocations: REL, RELA, the PLT's table, and packed RELR words.
//
// A relative relocation holds an address. With RELA the address is in the entry, and with REL and RELR it
// is the word that is relocated. Both forms are shown alike, with the file offset of the value, so that an
// edit can change it. The PLT's table can also lie inside the main table, and is then visited once.
//
// Packed relocations of Android are refused: a reader that overlooked them would miss references. Places of
// RELR must ascend. Source: gABI, "Relocation".

#include "elf/symbols/relocations.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>

#include "elf/read/corrupt.h"

namespace ptpkg::elf {
namespace {

struct MachineRelative {
  std::uint16_t machine = 0;
  std::uint32_t type = 0;
};
constexpr std::array<MachineRelative, 7> kRelatives = {{
    {.machine = kMachine386, .type = 8},
    {.machine = kMachinePpc64, .type = 22},
    {.machine = kMachineS390, .type = 12},
    {.machine = kMachineArm, .type = 23},
    {.machine = kMachineX8664, .type = 8},
    {.machine = kMachineAarch64, .type = 1027},
    {.machine = kMachineRiscv, .type = 3},
}};

constexpr std::uint64_t kTableStep = 40'000 * kRelaSize;  // under 1 MiB; a multiple of all records
constexpr std::uint64_t kWindowBytes = 64U << 10U;

/// Tables that say the same in other forms.
constexpr std::array<std::pair<std::uint64_t, std::string_view>, 3> kOtherTables = {{
    {0x6000000f, "DT_ANDROID_REL"},
    {0x60000011, "DT_ANDROID_RELA"},
    {0x6fffe000, "DT_ANDROID_RELR"},
}};

/// Visits a table with addends. Bytes behind the last whole record are passed over.
Result<void> ForEachRela(File& file, const Image& image, std::uint64_t offset, std::uint64_t size_bytes,
                         const std::function<Result<void>(const Relocation&)>& take) {
  const std::uint64_t word = image.codec.WordSize();
  const std::uint64_t whole = size_bytes / (3 * word) * (3 * word);
  for (std::uint64_t at = 0; at < whole; at += kTableStep) {
    const std::uint64_t step = std::min(kTableStep, whole - at);
    PTPKG_TRY(const auto bytes, ReadExact(file, offset + at, step, "the relocation table"));
    for (std::uint64_t entry = 0; entry < step; entry += 3 * word) {
      Relocation relocation = DecodeRelocation(image.codec, bytes, entry);
      relocation.addend = image.codec.Word(bytes, entry + 2 * word);
      relocation.addend_offset = offset + at + entry + 2 * word;
      PTPKG_CHECK(take(relocation));
    }
  }
  return Ok();
}

class RelocationWalk {
 public:
  using Take = std::function<Result<void>(const Relocation&)>;

  RelocationWalk(File& file, const Image& image, const Take& take)
      : file_(file), image_(image), word_(image.codec.WordSize()), take_(take), words_(file, image) {}

  Result<void> Run() {
    const DynamicTable& dynamic = *image_.dynamic;
    for (const auto& [tag, name] : kOtherTables) {
      if (dynamic.Find(tag))
        return Error(ErrorCode::kUnsupported, fmt::format("relocations of kind {}", name));
    }
    PTPKG_CHECK(CheckEntry(kDtRelent, 2 * word_, "DT_RELENT"));
    PTPKG_CHECK(CheckEntry(kDtRelaent, 3 * word_, "DT_RELAENT"));
    PTPKG_CHECK(CheckEntry(kDtRelrent, word_, "DT_RELRENT"));
    const auto jmprel = dynamic.Find(kDtJmprel);
    const auto jmprel_size = dynamic.Find(kDtPltrelsz);
    const std::uint64_t jmprel_kind = dynamic.Find(kDtPltrel).value_or(kDtRela);
    bool is_counted = false;  // some linkers count the PLT's relocations in DT_RELASZ or DT_RELSZ too
    for (const auto& [tag, size_tag] : {std::pair(kDtRel, kDtRelsz), std::pair(kDtRela, kDtRelasz)}) {
      const auto table = dynamic.Find(tag);
      const auto size = dynamic.Find(size_tag);
      if (!table || !size) continue;
      PTPKG_CHECK(ReadTable(*table, *size, tag == kDtRela));
      is_counted |= jmprel && *jmprel >= *table && *jmprel - *table < *size;
    }
    if (jmprel && jmprel_size && !is_counted)
      PTPKG_CHECK(ReadTable(*jmprel, *jmprel_size, jmprel_kind == kDtRela));
    const auto relr = dynamic.Find(kDtRelr);
    const auto relr_size = dynamic.Find(kDtRelrsz);
    if (relr && relr_size) PTPKG_CHECK(ReadRelr(*relr, *relr_size));
    return Ok();
  }

 private:
  Result<void> CheckEntry(std::uint64_t tag, std::uint64_t size, std::string_view name) const {
    const auto value = image_.dynamic->Find(tag);
    if (!value || *value == size) return Ok();
    return Corrupt(fmt::format("{} is {}, expected {}", name, *value, size));
  }

  Result<void> ReadTable(std::uint64_t vaddr, std::uint64_t size, bool has_addends) {
    PTPKG_TRY(const std::uint64_t begin, image_.OffsetOf(vaddr, size, "the relocation table"));
    if (has_addends) return ForEachRela(file_, image_, begin, size, take_);
    const std::uint64_t whole = size / (2 * word_) * (2 * word_);
    for (std::uint64_t at = 0; at < whole; at += kTableStep) {
      PTPKG_TRY(const auto bytes,
                ReadExact(file_, begin + at, std::min(kTableStep, whole - at), "the relocation table"));
      for (std::uint64_t entry = 0; entry < bytes.size(); entry += 2 * word_) {
        Relocation relocation = DecodeRelocation(image_.codec, bytes, entry);
        if (relocation.type == RelativeType(image_)) {
          PTPKG_TRY(const WordReader::Word word, words_.Read(relocation.place));
          relocation.addend = word.value;
          relocation.addend_offset = word.offset;
        }
        PTPKG_CHECK(take_(relocation));
      }
    }
    return Ok();
  }

  /// An even entry is an address; the bits of an odd one, but the lowest, say which of the next 63 words, or
  /// 31, are relocated too.
  Result<void> ReadRelr(std::uint64_t vaddr, std::uint64_t size) {
    PTPKG_TRY(const std::uint64_t begin, image_.OffsetOf(vaddr, size, "the table of packed relocations"));
    const std::uint64_t whole = size / word_ * word_;
    std::uint64_t next = 0;
    for (std::uint64_t at = 0; at < whole; at += kTableStep) {
      const std::uint64_t step = std::min(kTableStep, whole - at);
      PTPKG_TRY(const auto bytes, ReadExact(file_, begin + at, step, "the table of packed relocations"));
      for (std::uint64_t entry = 0; entry < step; entry += word_) {
        std::uint64_t bits = image_.codec.Word(bytes, entry);
        if (bits % 2 == 0) {
          PTPKG_CHECK(TakeWord(bits));
          next = bits + word_;
          continue;
        }
        std::uint64_t place = next;
        for (bits >>= 1U; bits != 0; bits >>= 1U, place += word_) {
          if (bits % 2 == 1) PTPKG_CHECK(TakeWord(place));
        }
        // A bitmap covers one word fewer than it has bits, since the lowest bit marks it as a bitmap.
        next += (8 * word_ - 1) * word_;
      }
    }
    return Ok();
  }

  Result<void> TakeWord(std::uint64_t place) {
    if (place < least_) return Error(ErrorCode::kUnsupported, "packed relocations that do not ascend");
    least_ = place + word_;
    PTPKG_TRY(const WordReader::Word word, words_.Read(place));
    return take_({.place = place,
                  .type = RelativeType(image_).value_or(0),
                  .addend = word.value,
                  .addend_offset = word.offset,
                  .is_relr = true});
  }

  File& file_;
  const Image& image_;
  std::uint64_t word_;  ///< Bytes of a word.
  const Take& take_;
  WordReader words_;
  std::uint64_t least_ = 0;  ///< Address that the next packed place has at least.
};

}  // namespace

Relocation DecodeRelocation(const Codec& codec, Bytes bytes, std::uint64_t at) {
  const std::uint64_t info = codec.Word(bytes, at + codec.WordSize());
  return {.place = codec.Word(bytes, at),
          .type = static_cast<std::uint32_t>(codec.Is64() ? info : info & 0xffU),
          .symbol = static_cast<std::uint32_t>(codec.Is64() ? info >> 32U : info >> 8U)};
}

std::optional<std::uint32_t> RelativeType(const Image& image) {
  for (const MachineRelative& relative : kRelatives) {
    if (relative.machine == image.header.machine) return relative.type;
  }
  return std::nullopt;
}

Result<WordReader::Word> WordReader::Read(std::uint64_t vaddr) {
  const std::uint64_t word_size = image_.codec.WordSize();
  const auto is_in = [&](const Segment& segment) {
    return segment.type == kSegmentLoad && vaddr >= segment.vaddr && segment.file_size >= word_size &&
           vaddr - segment.vaddr <= segment.file_size - word_size;
  };
  if (segment_ == nullptr || !is_in(*segment_)) {
    const auto found = std::find_if(image_.segments.begin(), image_.segments.end(), is_in);
    if (found == image_.segments.end()) {
      return Corrupt(fmt::format("a relocated word at address {:#x} lies in no loadable segment", vaddr));
    }
    segment_ = &*found;
  }
  const std::uint64_t offset = segment_->offset + (vaddr - segment_->vaddr);
  if (offset < begin_ || offset - begin_ + word_size > window_.size()) {
    const std::uint64_t size = std::min(kWindowBytes, image_.file_size - offset);
    PTPKG_TRY(window_, ReadExact(file_, offset, size, "a relocated word"));
    begin_ = offset;
  }
  return Word{.offset = offset, .value = image_.codec.Word(window_, offset - begin_)};
}

Result<void> ForEachRelocation(File& file, const Image& image,
                               const std::function<Result<void>(const Relocation&)>& take) {
  return image.dynamic ? RelocationWalk(file, image, take).Run() : Ok();
}

}  // namespace ptpkg::elf
