// Reads the x86-64 level that a file requires from its property note (GNU_PROPERTY_X86_ISA_1_NEEDED, x86-64
// psABI). glibc's loader refuses a file above the processor's level. PT_GNU_PROPERTY leads to the note
// directly, and without it all note segments are searched. A note of any size may come from a hostile file:
// large segments are skipped.

#include "elf/load/isa_level.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>

#include "elf/read/notes.h"

namespace ptpkg::elf {
namespace {

constexpr std::uint16_t kMachineAmd64 = 62;
constexpr std::uint32_t kNoteProperty = 5;             // NT_GNU_PROPERTY_TYPE_0
constexpr std::uint32_t kPropertyNeeded = 0xc0008002;  // GNU_PROPERTY_X86_ISA_1_NEEDED
constexpr std::size_t kPropertyHeader = 8;             // type, datasz

std::uint64_t AlignUp(std::uint64_t value, std::uint64_t align) {
  return (value + align - 1) / align * align;
}

IsaLevel LevelOf(std::uint32_t bits) {
  if (bits == 0) return IsaLevel::kUnstated;
  if ((bits & ~7U) != 0) return IsaLevel::kV4;
  if ((bits & 4U) != 0) return IsaLevel::kV3;
  return (bits & 2U) != 0 ? IsaLevel::kV2 : IsaLevel::kBaseline;
}

/// The descriptor of a property note: properties one behind the other, each padded to a word.
Result<IsaLevel> ReadProperties(const Codec& codec, Bytes properties) {
  IsaLevel level = IsaLevel::kUnstated;
  std::uint64_t at = 0;
  while (at + kPropertyHeader <= properties.size()) {
    const std::uint32_t type = codec.U32(properties, at);
    const std::uint64_t size = codec.U32(properties, at + 4);
    if (size > properties.size() - at - kPropertyHeader) {
      return Error(ErrorCode::kCorrupt,
                   fmt::format("a property of {} bytes runs past the end of its note segment", size));
    }
    if (type == kPropertyNeeded && size >= 4) {
      level = std::max(level, LevelOf(codec.U32(properties, at + kPropertyHeader)));
    }
    at = AlignUp(at + kPropertyHeader + size, codec.WordSize());
  }
  return level;
}

/// The highest level that the notes of one place state.
Result<IsaLevel> ReadNotes(const Codec& codec, Bytes notes, std::uint64_t align) {
  IsaLevel level = IsaLevel::kUnstated;
  PTPKG_CHECK(ForEachNote(codec, notes, align, [&](const Note& note) -> Result<void> {
    if (note.owner != "GNU" || note.type != kNoteProperty) return Ok();
    PTPKG_TRY(const IsaLevel stated, ReadProperties(codec, note.content));
    level = std::max(level, stated);
    return Ok();
  }));
  return level;
}

}  // namespace

std::string_view IsaLevelName(IsaLevel level) {
  static constexpr std::array<std::string_view, 5> kNames = {"x86-64-v1", "x86-64-v1", "x86-64-v2",
                                                             "x86-64-v3", "x86-64-v4"};
  return kNames.at(static_cast<std::size_t>(level));
}

Result<IsaLevel> ReadNeededIsaLevel(File& file, const Image& image) {
  if (image.header.machine != kMachineAmd64) return IsaLevel::kUnstated;
  IsaLevel level = IsaLevel::kUnstated;
  const bool direct = image.FindSegment(kSegmentGnuProperty) != nullptr;
  for (const Segment& segment : image.segments) {
    if (segment.type != (direct ? kSegmentGnuProperty : kSegmentNote)) continue;
    if (segment.file_size > kMaxNoteBytes) continue;
    PTPKG_TRY(const auto notes, ReadExact(file, segment.offset, segment.file_size, "a note segment"));
    PTPKG_TRY(const IsaLevel stated, ReadNotes(image.codec, notes, segment.align == 8 ? 8 : 4));
    level = std::max(level, stated);
  }
  return level;
}

}  // namespace ptpkg::elf
