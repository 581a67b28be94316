#include "unit/elf/device_objects.h"

namespace ptpkg::elf::test {
namespace {

/// Not a constant: fuzzers make objects before main().
Codec ObjectCodec() { return {ElfClass::k64, ByteOrder::kLittle}; }

constexpr std::uint64_t kSymbolBytes = 24;
constexpr std::uint64_t kRelaBytes = 24;
constexpr std::uint64_t kSectionHeaderBytes = 64;
constexpr std::uint64_t kWrapperSize = 24;

class ObjectBuilder {
 public:
  explicit ObjectBuilder(DeviceObject& object) : object_(object), image_(64, '\0') {}

  std::string Run() {
    Name("");
    Add(".shstrtab", {.type = kSectionStrtab, .align = 1}, "");  // filled at the end
    std::string code;
    for (const std::string& container : object_.containers) {
      code.resize((code.size() + 7) / 8 * 8);
      starts_.push_back(code.size());
      code += container;
    }
    object_.places.code = Add(".nv_fatbin", {.type = kSectionProgbits, .flags = 2, .align = 8}, code);
    object_.places.relocatable =
        Add("__nv_relfatbin", {.type = kSectionProgbits, .flags = 2, .align = 8}, object_.relocatable);
    Add(".tail", {.type = kSectionProgbits, .flags = 2, .align = object_.tail_align}, "what stands behind");
    Add(".nvFatBinSegment", {.type = kSectionProgbits, .flags = 3, .align = 8},
        std::string(kWrapperSize * (starts_.size() + 2), '\0'));
    object_.places.relocations = Add(
        ".rela.nvFatBinSegment",
        {.type = kSectionRela, .link = 7, .info = 5, .align = 8, .entry_size = kRelaBytes}, Relocations());
    object_.places.symbols =
        Add(".symtab", {.type = kSectionSymtab, .link = 8, .info = 3, .align = 8, .entry_size = kSymbolBytes},
            Symbols());
    Add(".strtab", {.type = kSectionStrtab, .align = 1}, std::string("\0tail\0", 6));
    Add(".bss", {.type = kSectionNobits, .flags = 3, .size = 4096, .align = 32}, "");
    Finish();
    return image_;
  }

 private:
  std::uint32_t Name(const std::string& name) {
    const auto at = static_cast<std::uint32_t>(names_.size());
    names_ += name;
    names_ += '\0';
    return at;
  }

  std::uint64_t Add(const std::string& name, Section header, const std::string& content) {
    while (image_.size() % header.align != 0) image_ += '\0';
    header.name = Name(name);
    header.offset = image_.size();
    if (header.type != kSectionNobits) header.size = content.size();
    image_ += content;
    sections_.push_back(header);
    return header.offset;
  }

  std::string Relocations() {
    std::string bytes;
    const auto add = [&](std::uint64_t symbol, std::uint64_t addend) {
      std::string one(kRelaBytes, '\0');
      PokeWord(one, ObjectCodec(), 0, bytes.size() + 8);
      PokeWord(one, ObjectCodec(), 8, symbol << 32U | object_.pointer_type);
      PokeWord(one, ObjectCodec(), 16, addend);
      bytes += one;
    };
    for (std::size_t i = 0; i < starts_.size(); ++i)
      add(object_.named ? 4 + i : 1, object_.named ? 0 : starts_[i]);
    add(3, 7);
    add(2, 0);
    return bytes;
  }

  std::string Symbols() {
    std::string bytes(kSymbolBytes, '\0');
    const auto add = [&](std::uint32_t name, std::uint8_t type, std::size_t section, std::uint64_t value,
                         std::uint64_t size) {
      std::string one(kSymbolBytes, '\0');
      PokeU32(one, ObjectCodec(), 0, name);
      one[4] = static_cast<char>(type);
      PokeU16(one, ObjectCodec(), 6, static_cast<std::uint16_t>(section));
      PokeWord(one, ObjectCodec(), 8, value);
      PokeWord(one, ObjectCodec(), 16, size);
      bytes += one;
    };
    add(0, 3, kObjectCode, 0, 0);
    add(0, 3, kObjectRelocatable, 0, 0);
    add(1, 0x10, kObjectTail, 2, 4);
    if (!object_.named) return bytes;
    for (std::size_t i = 0; i < starts_.size(); ++i)
      add(0, 1, kObjectCode, starts_[i], i % 2 == 0 ? object_.containers[i].size() : 0);
    return bytes;
  }

  void Finish() {
    sections_[0].offset = image_.size();
    sections_[0].size = names_.size();
    image_ += names_;
    while (image_.size() % 8 != 0) image_ += '\0';
    object_.places.section_headers = image_.size();
    image_ += std::string(kSectionHeaderBytes * (sections_.size() + 1), '\0');
    for (std::size_t i = 0; i < sections_.size(); ++i) {
      const std::size_t at = object_.places.section_headers + kSectionHeaderBytes * (i + 1);
      ObjectCodec().EncodeSection(sections_[i], std::as_writable_bytes(std::span(image_)).subspan(at));
    }
    image_.replace(0, 7,
                   std::string("\x7f"
                               "ELF\x02\x01\x01",
                               7));
    PokeU16(image_, ObjectCodec(), 16, kTypeRel);
    PokeU16(image_, ObjectCodec(), 18, object_.machine);
    PokeU32(image_, ObjectCodec(), 20, 1);
    PokeWord(image_, ObjectCodec(), 40, object_.places.section_headers);
    PokeU16(image_, ObjectCodec(), 52, 64);
    PokeU16(image_, ObjectCodec(), 58, kSectionHeaderBytes);
    PokeU16(image_, ObjectCodec(), 60, static_cast<std::uint16_t>(sections_.size() + 1));
    PokeU16(image_, ObjectCodec(), 62, 1);
  }

  DeviceObject& object_;
  std::string image_;
  std::string names_;
  std::vector<Section> sections_;      // from 1
  std::vector<std::uint64_t> starts_;  // of containers, in their section
};

std::string BigEndian(std::uint64_t value, std::size_t bytes) {
  std::string text;
  while (bytes-- > 0) text += static_cast<char>(value >> (8 * bytes));
  return text;
}

}  // namespace

std::string DeviceObject::Build() { return ObjectBuilder(*this).Run(); }

std::string ArchiveWithSymbols(const std::vector<std::pair<std::string, std::string>>& members,
                               const std::vector<std::pair<std::string, std::size_t>>& symbols, bool wide) {
  const std::size_t width = wide ? 8 : 4;
  std::string names;
  for (const auto& [name, member] : symbols) names += name + '\0';
  const std::size_t table_bytes = width * (1 + symbols.size()) + names.size();
  std::uint64_t at = 8 + 60 + (table_bytes + 1) / 2 * 2;
  std::vector<std::uint64_t> places;
  std::string body;
  for (const auto& [name, content] : members) {
    places.push_back(at + body.size());
    body += ArchiveMember(name + "/", content);
  }
  std::string table = BigEndian(symbols.size(), width);
  for (const auto& [name, member] : symbols) table += BigEndian(places[member], width);
  return "!<arch>\n" + ArchiveMember(wide ? "/SYM64/" : "/", table + names) + body;
}

}  // namespace ptpkg::elf::test
