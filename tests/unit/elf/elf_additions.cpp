// Additions to synthetic images (declared in elf_additions.h).
#include "unit/elf/elf_additions.h"

namespace ptpkg::elf::test {
namespace {

std::uint64_t Append(std::string& image, std::string_view bytes) {
  image.resize((image.size() + 7) / 8 * 8);
  const std::uint64_t at = image.size();
  image += bytes;
  return at;
}

MutableBytes From(std::string& image, std::uint64_t at) {
  return std::as_writable_bytes(std::span(image)).subspan(at);
}

FileHeader HeaderOf(const std::string& image, const Codec& codec) {
  return codec.DecodeFileHeader(AsBytes(image));
}

}  // namespace

void AddSection(std::string& image, const Codec& codec, std::string_view name, std::string_view content,
                std::uint64_t flags) {
  const std::uint64_t data = Append(image, content);
  std::string names("\0.shstrtab\0", 11);
  const auto name_at = static_cast<std::uint32_t>(names.size());
  names += std::string(name) + '\0';
  const std::uint64_t names_at = Append(image, names);
  Section table{.name = 1, .type = kSectionStrtab};
  table.offset = names_at;
  table.size = names.size();
  Section section{.name = name_at, .type = kSectionProgbits, .flags = flags};
  section.offset = data;
  section.size = content.size();
  const std::uint64_t headers = Append(image, std::string(3 * codec.SectionSize(), '\0'));
  codec.EncodeSection(table, From(image, headers + codec.SectionSize()));
  codec.EncodeSection(section, From(image, headers + 2 * codec.SectionSize()));
  FileHeader header = HeaderOf(image, codec);
  header.section_headers_offset = headers;
  header.section_header_size = static_cast<std::uint16_t>(codec.SectionSize());
  header.section_header_count = 3;
  header.section_names_index = 1;
  codec.EncodeFileHeader(header, From(image, 0));
}

std::string IsaNote(const Codec& codec, std::uint32_t bits) {
  const std::size_t property = codec.Is64() ? 16 : 12;
  std::string note(16 + property, '\0');
  PokeU32(note, codec, 0, 4);
  PokeU32(note, codec, 4, static_cast<std::uint32_t>(property));
  PokeU32(note, codec, 8, 5);
  note.replace(12, 3, "GNU");
  PokeU32(note, codec, 16, 0xc0008002);
  PokeU32(note, codec, 20, 4);
  PokeU32(note, codec, 24, bits);
  return note;
}

void AddNote(std::string& image, const SyntheticElf& elf, std::string_view content,
             std::uint32_t segment_type) {
  const Codec codec = elf.codec();
  const std::uint64_t at = Append(image, content);
  const Segment segment{.type = segment_type,
                        .flags = kFlagRead,
                        .offset = at,
                        .vaddr = at,
                        .paddr = at,
                        .file_size = content.size(),
                        .memory_size = content.size(),
                        .align = 8};
  const std::uint64_t last = HeaderOf(image, codec).program_header_count - 1U;
  codec.EncodeSegment(segment, From(image, elf.places.program_headers + last * codec.SegmentSize()));
}

void AddIsaNote(std::string& image, const SyntheticElf& elf, std::uint32_t bits, std::uint32_t segment_type) {
  AddNote(image, elf, IsaNote(elf.codec(), bits), segment_type);
}

}  // namespace ptpkg::elf::test
