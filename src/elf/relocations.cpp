#include "elf/relocations.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>

#include "elf/corrupt.h"

namespace ptpkg::elf {
namespace {

constexpr std::uint32_t kRelativeX8664 = 8;
constexpr std::uint32_t kRelativeAarch64 = 1027;

constexpr std::uint64_t kTableStep = 40'000 * kRelaSize;  // under 1 MiB; a multiple of 8 too
constexpr std::uint64_t kWindowBytes = 64U << 10U;
constexpr std::uint64_t kWord = 8;

/// Tables that say the same in other forms.
constexpr std::array<std::pair<std::uint64_t, std::string_view>, 4> kOtherTables = {{
    {kDtRel, "DT_REL"},
    {0x6000000f, "DT_ANDROID_REL"},
    {0x60000011, "DT_ANDROID_RELA"},
    {0x6fffe000, "DT_ANDROID_RELR"},
}};

class RelocationWalk {
 public:
  using Take = std::function<Result<void>(const Relocation&)>;

  RelocationWalk(File& file, const Image& image, const Take& take)
      : file_(file), image_(image), take_(take), words_(file, image) {}

  Result<void> Run() {
    const DynamicTable& dynamic = *image_.dynamic;
    for (const auto& [tag, name] : kOtherTables) {
      if (dynamic.Find(tag))
        return Error(ErrorCode::kUnsupported, fmt::format("relocations of kind {}", name));
    }
    PTPKG_CHECK(CheckEntry(kDtRelaent, kRelaSize, "DT_RELAENT"));
    PTPKG_CHECK(CheckEntry(kDtRelrent, kWord, "DT_RELRENT"));
    const auto plt = dynamic.Find(kDtPltrel);
    if (plt && *plt != kDtRela)
      return Error(ErrorCode::kUnsupported, "relocations of kind DT_REL for the PLT");
    const auto rela = dynamic.Find(kDtRela);
    const auto rela_size = dynamic.Find(kDtRelasz);
    if (rela && rela_size) PTPKG_CHECK(ReadRela(*rela, *rela_size));
    const auto jmprel = dynamic.Find(kDtJmprel);
    const auto jmprel_size = dynamic.Find(kDtPltrelsz);
    // Some linkers count the PLT's relocations in DT_RELASZ too.
    const bool is_counted = rela && rela_size && jmprel && *jmprel >= *rela && *jmprel - *rela < *rela_size;
    if (jmprel && jmprel_size && !is_counted) PTPKG_CHECK(ReadRela(*jmprel, *jmprel_size));
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

  Result<void> ReadRela(std::uint64_t vaddr, std::uint64_t size) {
    PTPKG_TRY(const std::uint64_t begin, image_.OffsetOf(vaddr, size, "the relocation table"));
    return ForEachRela(file_, image_, begin, size, take_);
  }

  /// An even entry is an address; the bits of an odd one, but the lowest, say which of the next 63 words are
  /// relocated too.
  Result<void> ReadRelr(std::uint64_t vaddr, std::uint64_t size) {
    PTPKG_TRY(const std::uint64_t begin, image_.OffsetOf(vaddr, size, "the table of packed relocations"));
    const std::uint64_t whole = size / kWord * kWord;
    std::uint64_t next = 0;
    for (std::uint64_t at = 0; at < whole; at += kTableStep) {
      const std::uint64_t step = std::min(kTableStep, whole - at);
      PTPKG_TRY(const auto bytes, ReadExact(file_, begin + at, step, "the table of packed relocations"));
      for (std::uint64_t entry = 0; entry < step; entry += kWord) {
        std::uint64_t bits = image_.codec.Word(bytes, entry);
        if (bits % 2 == 0) {
          PTPKG_CHECK(TakeWord(bits));
          next = bits + kWord;
          continue;
        }
        std::uint64_t place = next;
        for (bits >>= 1U; bits != 0; bits >>= 1U, place += kWord) {
          if (bits % 2 == 1) PTPKG_CHECK(TakeWord(place));
        }
        next += 63 * kWord;
      }
    }
    return Ok();
  }

  Result<void> TakeWord(std::uint64_t place) {
    if (place < least_) return Error(ErrorCode::kUnsupported, "packed relocations that do not ascend");
    least_ = place + kWord;
    PTPKG_TRY(const WordReader::Word word, words_.Read(place));
    return take_({.place = place,
                  .type = RelativeType(image_).value_or(0),
                  .addend = word.value,
                  .addend_offset = word.offset,
                  .is_relr = true});
  }

  File& file_;
  const Image& image_;
  const Take& take_;
  WordReader words_;
  std::uint64_t least_ = 0;  ///< Address that the next packed place has at least.
};

}  // namespace

Result<void> ForEachRela(File& file, const Image& image, std::uint64_t offset, std::uint64_t size_bytes,
                         const std::function<Result<void>(const Relocation&)>& take) {
  const std::uint64_t whole = size_bytes / kRelaSize * kRelaSize;
  for (std::uint64_t at = 0; at < whole; at += kTableStep) {
    const std::uint64_t step = std::min(kTableStep, whole - at);
    PTPKG_TRY(const auto bytes, ReadExact(file, offset + at, step, "the relocation table"));
    for (std::uint64_t entry = 0; entry < step; entry += kRelaSize) {
      PTPKG_CHECK(take({.place = image.codec.Word(bytes, entry),
                        .type = image.codec.U32(bytes, entry + 8),
                        .symbol = image.codec.U32(bytes, entry + 12),
                        .addend = image.codec.Word(bytes, entry + 16),
                        .addend_offset = offset + at + entry + 16}));
    }
  }
  return Ok();
}

std::optional<std::uint32_t> RelativeType(const Image& image) {
  if (image.header.machine == kMachineX8664) return kRelativeX8664;
  if (image.header.machine == kMachineAarch64) return kRelativeAarch64;
  return std::nullopt;
}

Result<WordReader::Word> WordReader::Read(std::uint64_t vaddr) {
  const auto is_in = [&](const Segment& segment) {
    return segment.type == kSegmentLoad && vaddr >= segment.vaddr && segment.file_size >= kWord &&
           vaddr - segment.vaddr <= segment.file_size - kWord;
  };
  if (segment_ == nullptr || !is_in(*segment_)) {
    const auto found = std::find_if(image_.segments.begin(), image_.segments.end(), is_in);
    if (found == image_.segments.end()) {
      return Corrupt(fmt::format("a relocated word at address {:#x} lies in no loadable segment", vaddr));
    }
    segment_ = &*found;
  }
  const std::uint64_t offset = segment_->offset + (vaddr - segment_->vaddr);
  if (offset < begin_ || offset - begin_ + kWord > window_.size()) {
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
