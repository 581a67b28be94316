// Walks the notes of a file: segments first, sections only in objects, which have no segments. Notes are
// aligned to 4 bytes, except those in segments of alignment 8 (GNU properties): the alignment decides where
// the next note begins. A note that passes the end of its place is damage, and places above kMaxNoteBytes
// are skipped. Source: gABI, "Note Section".

#include "elf/read/notes.h"

#include <fmt/core.h>

namespace ptpkg::elf {
namespace {

constexpr std::size_t kNoteHeader = 12;    // namesz, descsz, type
constexpr std::uint32_t kNoteBuildId = 3;  // NT_GNU_BUILD_ID

std::uint64_t PadTo(std::uint64_t value, std::uint64_t align) { return (value + align - 1) / align * align; }

/// A place of notes: segment or section.
struct NotePlace {
  std::uint64_t offset = 0;
  std::uint64_t size_bytes = 0;
  std::uint64_t align = 4;
};

std::vector<NotePlace> PlacesOf(const Image& image) {
  std::vector<NotePlace> places;
  for (const Segment& segment : image.segments) {
    if (segment.type != kSegmentNote) continue;
    places.push_back({.offset = segment.offset, .size_bytes = segment.file_size, .align = segment.align});
  }
  if (!image.segments.empty()) return places;
  for (const Section& section : image.sections) {
    if (section.type != kSectionNote) continue;
    places.push_back({.offset = section.offset, .size_bytes = section.size, .align = section.align});
  }
  return places;
}

std::string HexOf(Bytes bytes) {
  std::string text;
  for (const std::byte byte : bytes) text += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
  return text;
}

}  // namespace

Result<void> ForEachNote(const Codec& codec, Bytes notes, std::uint64_t align, const OnNote& visit) {
  std::uint64_t at = 0;
  while (at + kNoteHeader <= notes.size()) {
    const std::uint64_t name_size = codec.U32(notes, at);
    const std::uint64_t data_size = codec.U32(notes, at + 4);
    const std::uint64_t data = PadTo(at + kNoteHeader + name_size, align);
    if (data > notes.size() || data_size > notes.size() - data) {
      return Error(
          ErrorCode::kCorrupt,
          fmt::format("a note of {} bytes runs past the end of its note segment", name_size + data_size));
    }
    std::string_view owner = AsText(notes.subspan(at + kNoteHeader, name_size));
    owner = owner.substr(0, owner.find('\0'));
    PTPKG_CHECK(
        visit({.owner = owner, .type = codec.U32(notes, at + 8), .content = notes.subspan(data, data_size)}));
    at = PadTo(data + data_size, 4);
    // mold puts notes of both alignments into one segment, the wider ones first. Between two wide ones lie
    // zeros, where a narrow one has the size of its name.
    const bool is_narrow = at + 4 <= notes.size() && codec.U32(notes, at) != 0;
    if (at % align != 0 && is_narrow) align = 4;
    at = PadTo(at, align);
  }
  return Ok();
}

Result<void> ForEachNote(File& file, const Image& image, const OnNote& visit) {
  for (const NotePlace& place : PlacesOf(image)) {
    if (place.size_bytes > kMaxNoteBytes) continue;
    PTPKG_TRY(const auto notes, ReadExact(file, place.offset, place.size_bytes, "a note segment"));
    PTPKG_CHECK(ForEachNote(image.codec, notes, place.align == 8 ? 8 : 4, visit));
  }
  return Ok();
}

Result<std::optional<std::string>> ReadBuildId(File& file, const Image& image) {
  std::optional<std::string> found;
  PTPKG_CHECK(ForEachNote(file, image, [&](const Note& note) -> Result<void> {
    if (!found && note.owner == "GNU" && note.type == kNoteBuildId) found = HexOf(note.content);
    return Ok();
  }));
  return found;
}

}  // namespace ptpkg::elf
