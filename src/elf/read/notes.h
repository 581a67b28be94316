#pragma once
// Reads the notes of an ELF file. Layer: elf. Source: System V gABI chapter 5 "Note Section"; Linux gABI
// extensions for 8-byte alignment.

#include <functional>
#include <optional>
#include <string>

#include "elf/read/image.h"

namespace ptpkg::elf {

/// Larger sections or segments of notes are skipped: property notes and build ids have some 100 bytes.
inline constexpr std::uint64_t kMaxNoteBytes = 1U << 20U;

struct Note {
  std::string_view owner;  ///< "GNU", without the closing NUL.
  std::uint32_t type = 0;
  Bytes content;
};
using OnNote = std::function<Result<void>(const Note& note)>;

/// Calls `visit` for each note of `notes`, the bytes of one note segment or section. `align`: 4 or 8; notes
/// aligned to 4 can follow ones aligned to 8. Errors: kCorrupt for a note that runs past the end, and any
/// error from `visit`.
Result<void> ForEachNote(const Codec& codec, Bytes notes, std::uint64_t align, const OnNote& visit);

/// The same for all note segments of the file. Objects have no segments, so it reads their note sections.
/// Errors: also kIo.
Result<void> ForEachNote(File& file, const Image& image, const OnNote& visit);

/// The build id (ld --build-id) as hexadecimal digits; nullopt if the file has none. Errors: kCorrupt, kIo.
Result<std::optional<std::string>> ReadBuildId(File& file, const Image& image);

}  // namespace ptpkg::elf
