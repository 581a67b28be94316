// Encodes and decodes the records of ELF files: both classes, both byte orders (gABI, chapters 4 and 5).
//
// Fields are read byte by byte at computed offsets, not through structs of <elf.h>: a 64-bit little-endian
// host must edit big-endian and 32-bit files too. Encoding touches only fields that Codec knows, so that
// other bytes of a header, such as e_ident and e_entry, keep their values.

#include "elf/read/format.h"

#include "support/assert.h"

namespace ptpkg::elf {
namespace {

std::uint64_t Get(Bytes bytes, std::size_t at, std::size_t size, ByteOrder order) {
  PTPKG_ASSERT(at <= bytes.size() && size <= bytes.size() - at);
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < size; ++i) {
    const std::size_t index = order == ByteOrder::kBig ? at + i : at + size - 1 - i;
    value = value << 8U | std::to_integer<std::uint64_t>(bytes[index]);
  }
  return value;
}

void Put(MutableBytes bytes, std::size_t at, std::size_t size, std::uint64_t value, ByteOrder order) {
  PTPKG_ASSERT(at <= bytes.size() && size <= bytes.size() - at);
  for (std::size_t i = 0; i < size; ++i) {
    const std::size_t index = order == ByteOrder::kLittle ? at + i : at + size - 1 - i;
    bytes[index] = static_cast<std::byte>(value & 0xffU);
    value >>= 8U;
  }
}

}  // namespace

std::uint16_t Codec::U16(Bytes bytes, std::size_t at) const {
  return static_cast<std::uint16_t>(Get(bytes, at, 2, order_));
}
std::uint32_t Codec::U32(Bytes bytes, std::size_t at) const {
  return static_cast<std::uint32_t>(Get(bytes, at, 4, order_));
}
std::uint64_t Codec::Word(Bytes bytes, std::size_t at) const { return Get(bytes, at, WordSize(), order_); }
void Codec::PutU16(MutableBytes bytes, std::size_t at, std::uint16_t value) const {
  Put(bytes, at, 2, value, order_);
}
void Codec::PutU32(MutableBytes bytes, std::size_t at, std::uint32_t value) const {
  Put(bytes, at, 4, value, order_);
}
void Codec::PutWord(MutableBytes bytes, std::size_t at, std::uint64_t value) const {
  Put(bytes, at, WordSize(), value, order_);
}

// Ehdr: e_ident[16], e_type, e_machine, e_version, then e_entry, e_phoff, e_shoff as words.
FileHeader Codec::DecodeFileHeader(Bytes bytes) const {
  const std::size_t word = WordSize();
  const std::size_t after_words = 24 + 3 * word;
  FileHeader header;
  header.type = U16(bytes, 16);
  header.machine = U16(bytes, 18);
  header.program_headers_offset = Word(bytes, 24 + word);
  header.section_headers_offset = Word(bytes, 24 + 2 * word);
  header.flags = U32(bytes, after_words);
  header.program_header_size = U16(bytes, after_words + 6);
  header.program_header_count = U16(bytes, after_words + 8);
  header.section_header_size = U16(bytes, after_words + 10);
  header.section_header_count = U16(bytes, after_words + 12);
  header.section_names_index = U16(bytes, after_words + 14);
  return header;
}

void Codec::EncodeFileHeader(const FileHeader& header, MutableBytes bytes) const {
  const std::size_t word = WordSize();
  const std::size_t after_words = 24 + 3 * word;
  PutU16(bytes, 16, header.type);
  PutU16(bytes, 18, header.machine);
  PutWord(bytes, 24 + word, header.program_headers_offset);
  PutWord(bytes, 24 + 2 * word, header.section_headers_offset);
  PutU32(bytes, after_words, header.flags);
  PutU16(bytes, after_words + 6, header.program_header_size);
  PutU16(bytes, after_words + 8, header.program_header_count);
  PutU16(bytes, after_words + 10, header.section_header_size);
  PutU16(bytes, after_words + 12, header.section_header_count);
  PutU16(bytes, after_words + 14, header.section_names_index);
}

// Phdr: the 64-bit form moved p_flags up beside p_type, to keep the words aligned.
Segment Codec::DecodeSegment(Bytes bytes) const {
  const std::size_t word = WordSize();
  const std::size_t words = Is64() ? 8 : 4;
  Segment segment;
  segment.type = U32(bytes, 0);
  segment.flags = U32(bytes, Is64() ? 4 : 24);
  segment.offset = Word(bytes, words);
  segment.vaddr = Word(bytes, words + word);
  segment.paddr = Word(bytes, words + 2 * word);
  segment.file_size = Word(bytes, words + 3 * word);
  segment.memory_size = Word(bytes, words + 4 * word);
  segment.align = Word(bytes, Is64() ? 48 : 28);
  return segment;
}

void Codec::EncodeSegment(const Segment& segment, MutableBytes bytes) const {
  const std::size_t word = WordSize();
  const std::size_t words = Is64() ? 8 : 4;
  PutU32(bytes, 0, segment.type);
  PutU32(bytes, Is64() ? 4 : 24, segment.flags);
  PutWord(bytes, words, segment.offset);
  PutWord(bytes, words + word, segment.vaddr);
  PutWord(bytes, words + 2 * word, segment.paddr);
  PutWord(bytes, words + 3 * word, segment.file_size);
  PutWord(bytes, words + 4 * word, segment.memory_size);
  PutWord(bytes, Is64() ? 48 : 28, segment.align);
}

// Shdr: name, type, then flags, addr, offset, size as words, link, info, then align, entsize.
Section Codec::DecodeSection(Bytes bytes) const {
  const std::size_t word = WordSize();
  Section section;
  section.name = U32(bytes, 0);
  section.type = U32(bytes, 4);
  section.flags = Word(bytes, 8);
  section.addr = Word(bytes, 8 + word);
  section.offset = Word(bytes, 8 + 2 * word);
  section.size = Word(bytes, 8 + 3 * word);
  section.link = U32(bytes, 8 + 4 * word);
  section.info = U32(bytes, 12 + 4 * word);
  section.align = Word(bytes, 16 + 4 * word);
  section.entry_size = Word(bytes, 16 + 5 * word);
  return section;
}

void Codec::EncodeSection(const Section& section, MutableBytes bytes) const {
  const std::size_t word = WordSize();
  PutU32(bytes, 0, section.name);
  PutU32(bytes, 4, section.type);
  PutWord(bytes, 8, section.flags);
  PutWord(bytes, 8 + word, section.addr);
  PutWord(bytes, 8 + 2 * word, section.offset);
  PutWord(bytes, 8 + 3 * word, section.size);
  PutU32(bytes, 8 + 4 * word, section.link);
  PutU32(bytes, 12 + 4 * word, section.info);
  PutWord(bytes, 16 + 4 * word, section.align);
  PutWord(bytes, 16 + 5 * word, section.entry_size);
}

DynamicEntry Codec::DecodeDynamicEntry(Bytes bytes) const {
  return {.tag = Word(bytes, 0), .value = Word(bytes, WordSize())};
}

void Codec::EncodeDynamicEntry(const DynamicEntry& entry, MutableBytes bytes) const {
  PutWord(bytes, 0, entry.tag);
  PutWord(bytes, WordSize(), entry.value);
}

}  // namespace ptpkg::elf
