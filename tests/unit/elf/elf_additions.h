#pragma once
// What the checks look at and edits leave alone, added to an image that SyntheticElf made: read-only data,
// property notes, more version requirements.

#include <string>
#include <string_view>
#include <vector>

#include "unit/elf/synthetic_elf.h"

namespace ptpkg::elf::test {

/// Of the machines that run the tests, and of those with GPUs.
inline const Codec kHostCodec(ElfClass::k64, ByteOrder::kLittle);

struct NewSection {
  std::string_view name;
  std::string_view content;
  std::uint64_t flags = 2;  ///< 2: read-only data.
  std::uint32_t type = kSectionProgbits;
};

/// Appends sections and gives the image a new table of section headers, which holds nothing else but the
/// names, at index 1; the first of `added` has index 2.
void AddSections(std::string& image, const Codec& codec, const std::vector<NewSection>& added);

/// Appends `content` as a section `name` of `flags` (2: read-only data) and gives the image a new table of
/// section headers, which holds nothing else but the names.
void AddSection(std::string& image, const Codec& codec, std::string_view name, std::string_view content,
                std::uint64_t flags = 2);

/// Appends a note segment "GNU", NT_GNU_PROPERTY_TYPE_0 that states `bits` as GNU_PROPERTY_X86_ISA_1_NEEDED,
/// and points the last program header at it. REQUIRES: the image was built with a spare segment.
/// `segment_type`: PT_NOTE or PT_GNU_PROPERTY.
void AddIsaNote(std::string& image, const SyntheticElf& elf, std::uint32_t bits,
                std::uint32_t segment_type = 0x6474e553);

/// The bytes of that note, for images that damage it.
std::string IsaNote(const Codec& codec, std::uint32_t bits);

/// Puts `content` where AddIsaNote puts its note.
void AddNote(std::string& image, const SyntheticElf& elf, std::string_view content,
             std::uint32_t segment_type);

}  // namespace ptpkg::elf::test
