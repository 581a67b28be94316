#include "unit/elf/synthetic_elf.h"

#include <map>

namespace ptpkg::elf::test {
namespace {

MutableBytes Window(std::string& image, std::uint64_t at, std::uint64_t size) {
  return std::as_writable_bytes(std::span(image)).subspan(at, size);
}

/// The hash of vna_hash and vd_hash (gABI "Hash Table Section").
std::uint32_t SysvHash(std::string_view name) {
  std::uint32_t hash = 0;
  for (const char c : name) {
    hash = (hash << 4U) + static_cast<unsigned char>(c);
    const std::uint32_t high = hash & 0xf0000000U;
    hash ^= high >> 24U;
    hash &= ~high;
  }
  return hash;
}

/// Appends and aligns.
class Writer {
 public:
  explicit Writer(const Codec& codec) : codec_(codec) {}

  std::uint64_t Reserve(std::uint64_t size, std::uint64_t align = 8) {
    image.resize((image.size() + align - 1) / align * align);
    const std::uint64_t at = image.size();
    image.resize(at + size);
    return at;
  }
  std::uint64_t Text(const std::string& text) {
    const std::uint64_t at = Reserve(text.size(), 1);
    image.replace(at, text.size(), text);
    return at;
  }
  void Entry(std::uint64_t& at, DynamicEntry entry) {
    codec_.EncodeDynamicEntry(entry, Window(image, at, codec_.DynamicEntrySize()));
    at += codec_.DynamicEntrySize();
  }

  std::string image;

 private:
  const Codec codec_;
};

class Strings {
 public:
  explicit Strings(const std::string& extra) : table_("\0", 1) {
    if (!extra.empty()) table_ += extra;
  }
  std::uint64_t Add(const std::string& text) {
    const auto [it, added] = offsets_.try_emplace(text, table_.size());
    if (added) table_ += text + '\0';
    return it->second;
  }
  [[nodiscard]] const std::string& table() const { return table_; }

 private:
  std::string table_;
  std::map<std::string, std::uint64_t> offsets_;
};

}  // namespace

void PokeU16(std::string& image, const Codec& codec, std::uint64_t at, std::uint16_t value) {
  codec.PutU16(Window(image, at, 2), 0, value);
}
void PokeU32(std::string& image, const Codec& codec, std::uint64_t at, std::uint32_t value) {
  codec.PutU32(Window(image, at, 4), 0, value);
}
void PokeWord(std::string& image, const Codec& codec, std::uint64_t at, std::uint64_t value) {
  codec.PutWord(Window(image, at, codec.WordSize()), 0, value);
}

// One long function on purpose: it reads like the file it makes.
// size-limit: 130 lines, because the parts of the file follow each other as the offsets do
std::string SyntheticElf::Build() {
  const Codec c = codec();
  Strings strings(extra_strings);
  std::vector<DynamicEntry> entries;
  for (const std::string& name : needed) entries.push_back({kDtNeeded, strings.Add(name)});
  if (soname) entries.push_back({kDtSoname, strings.Add(*soname)});
  if (rpath) entries.push_back({kDtRpath, strings.Add(*rpath)});
  if (runpath) entries.push_back({kDtRunpath, strings.Add(*runpath)});
  std::vector<std::uint64_t> symbol_names = {0};
  for (const std::string& name : symbols) symbol_names.push_back(strings.Add(name));
  const bool versions = !version.empty() && !needed.empty();
  const std::uint64_t version_name = versions ? strings.Add(version) : 0;

  Writer out(c);
  out.Reserve(c.FileHeaderSize());
  const std::size_t segment_count =
      2 + (dynamic ? 1U : 0U) + (interpreter ? 2U : 0U) + (stack ? 1U : 0U) + spare_segments;
  places.program_headers = out.Reserve(segment_count * c.SegmentSize());
  if (interpreter) places.interpreter = out.Text(*interpreter + '\0');
  places.symbols = out.Reserve(symbol_names.size() * c.SymbolSize());
  for (std::size_t i = 0; i < symbol_names.size(); ++i) {
    PokeU32(out.image, c, places.symbols + i * c.SymbolSize(), static_cast<std::uint32_t>(symbol_names[i]));
  }
  const std::uint64_t hash_size = 8 + 4 * (1 + symbol_names.size());
  places.hash = out.Reserve(hash_size);
  PokeU32(out.image, c, places.hash, 1);
  PokeU32(out.image, c, places.hash + 4, static_cast<std::uint32_t>(symbol_names.size()));
  const std::uint64_t versym = out.Reserve(2 * symbol_names.size());
  if (versions) {
    places.needs = out.Reserve(32);
    PokeU16(out.image, c, places.needs, 1);
    PokeU16(out.image, c, places.needs + 2, 1);
    PokeU32(out.image, c, places.needs + 4, static_cast<std::uint32_t>(entries[0].value));
    PokeU32(out.image, c, places.needs + 8, 16);
    PokeU32(out.image, c, places.needs + 16, SysvHash(version));
    PokeU16(out.image, c, places.needs + 22, 2);
    PokeU32(out.image, c, places.needs + 24, static_cast<std::uint32_t>(version_name));
    for (std::size_t i = 1; i < symbol_names.size(); ++i) PokeU16(out.image, c, versym + 2 * i, 2);
  }
  places.strings = out.Text(strings.table());
  places.strings_size = strings.table().size();
  const std::uint64_t text_end = out.image.size();

  const std::uint64_t data = out.Reserve(0, align);
  entries.push_back({kDtStrtab, places.strings});
  entries.push_back({kDtStrsz, places.strings_size});
  entries.push_back({kDtSymtab, places.symbols});
  entries.push_back({kDtSyment, c.SymbolSize()});
  entries.push_back({kDtHash, places.hash});
  if (versions) {
    entries.push_back({kDtVersym, versym});
    entries.push_back({kDtVerneed, places.needs});
    entries.push_back({kDtVerneednum, 1});
  }
  const std::uint64_t dynamic_size = (entries.size() + 1 + spare_entries) * c.DynamicEntrySize();
  places.dynamic = out.Reserve(dynamic_size);
  std::uint64_t at = places.dynamic;
  for (const DynamicEntry& entry : entries) out.Entry(at, entry);
  const std::uint64_t data_end = out.image.size();

  std::vector<Segment> segments;
  const std::uint64_t headers_size = segment_count * c.SegmentSize();
  if (interpreter) {
    segments.push_back({kSegmentPhdr, kFlagRead, places.program_headers, places.program_headers,
                        places.program_headers, headers_size, headers_size, 8});
    segments.push_back({kSegmentInterp, kFlagRead, places.interpreter, places.interpreter, places.interpreter,
                        interpreter->size() + 1, interpreter->size() + 1, 1});
  }
  segments.push_back({kSegmentLoad, kFlagRead | kFlagExecute, 0, 0, 0, text_end, text_end, align});
  segments.push_back({kSegmentLoad, kFlagRead | kFlagWrite, data, data, data, data_end - data,
                      data_end - data + 100, align});
  if (dynamic) {
    segments.push_back({kSegmentDynamic, kFlagRead | kFlagWrite, places.dynamic, places.dynamic,
                        places.dynamic, dynamic_size, dynamic_size, 8});
  }
  if (stack) segments.push_back({kSegmentGnuStack, kFlagRead | kFlagWrite, 0, 0, 0, 0, 0, 16});
  for (std::size_t i = 0; i < segments.size(); ++i) {
    c.EncodeSegment(segments[i],
                    Window(out.image, places.program_headers + i * c.SegmentSize(), c.SegmentSize()));
  }

  std::uint16_t section_count = 0;
  if (sections) {
    const std::string names("\0.shstrtab\0.dynsym\0.dynstr\0.dynamic\0.gnu.version_r\0.hash\0", 58);
    const std::uint64_t names_at = out.Text(names);
    std::vector<Section> list(1);
    list.push_back({1, kSectionStrtab, 0, 0, names_at, names.size(), 0, 0, 1, 0});
    list.push_back({11, kSectionDynsym, 2, places.symbols, places.symbols,
                    symbol_names.size() * c.SymbolSize(), 3, 1, 8, c.SymbolSize()});
    list.push_back({19, kSectionStrtab, 2, places.strings, places.strings, places.strings_size, 0, 0, 1, 0});
    list.push_back({27, dynamic ? kSectionDynamic : kSectionProgbits, 3, places.dynamic, places.dynamic,
                    dynamic_size, 3, 0, 8, c.DynamicEntrySize()});
    if (versions) list.push_back({36, kSectionGnuVerneed, 2, places.needs, places.needs, 32, 3, 1, 8, 0});
    list.push_back({51, kSectionHash, 2, places.hash, places.hash, hash_size, 2, 0, 4, 4});
    places.section_headers = out.Reserve(list.size() * c.SectionSize());
    section_count = static_cast<std::uint16_t>(list.size());
    for (std::size_t i = 0; i < list.size(); ++i) {
      c.EncodeSection(list[i],
                      Window(out.image, places.section_headers + i * c.SectionSize(), c.SectionSize()));
    }
  }

  FileHeader header{.type = type,
                    .machine = machine,
                    .program_headers_offset = places.program_headers,
                    .section_headers_offset = places.section_headers,
                    .flags = 0,
                    .program_header_size = static_cast<std::uint16_t>(c.SegmentSize()),
                    .program_header_count = static_cast<std::uint16_t>(segment_count),
                    .section_header_size = static_cast<std::uint16_t>(c.SectionSize()),
                    .section_header_count = section_count,
                    .section_names_index = static_cast<std::uint16_t>(sections ? 1 : 0)};
  out.image.replace(0, 4, "\177ELF");
  out.image[4] = static_cast<char>(elf_class);
  out.image[5] = static_cast<char>(order);
  out.image[6] = 1;
  c.EncodeFileHeader(header, Window(out.image, 0, c.FileHeaderSize()));
  PokeU32(out.image, c, 20, 1);
  PokeU16(out.image, c, c.Is64() ? 52 : 40, static_cast<std::uint16_t>(c.FileHeaderSize()));
  return std::move(out.image);
}

}  // namespace ptpkg::elf::test
