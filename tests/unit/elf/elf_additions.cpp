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

void AddSections(std::string& image, const Codec& codec, const std::vector<NewSection>& added) {
  std::string names("\0.shstrtab\0", 11);
  std::vector<Section> sections(2);
  for (const NewSection& one : added) {
    Section section{.name = static_cast<std::uint32_t>(names.size()), .type = one.type, .flags = one.flags};
    names += std::string(one.name) + '\0';
    section.offset = Append(image, one.content);
    section.size = one.content.size();
    sections.push_back(section);
  }
  sections[1] = {.name = 1, .type = kSectionStrtab};
  sections[1].offset = Append(image, names);
  sections[1].size = names.size();
  const std::size_t record = codec.SectionSize();
  const std::uint64_t headers = Append(image, std::string(sections.size() * record, '\0'));
  for (std::size_t i = 0; i < sections.size(); ++i) {
    codec.EncodeSection(sections[i], From(image, headers + i * record));
  }
  FileHeader header = HeaderOf(image, codec);
  header.section_headers_offset = headers;
  header.section_header_size = static_cast<std::uint16_t>(record);
  header.section_header_count = static_cast<std::uint16_t>(sections.size());
  header.section_names_index = 1;
  codec.EncodeFileHeader(header, From(image, 0));
}

void AddSection(std::string& image, const Codec& codec, std::string_view name, std::string_view content,
                std::uint64_t flags) {
  AddSections(image, codec, {{.name = name, .content = content, .flags = flags}});
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
