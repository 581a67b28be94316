#include "unit/elf/device_containers.h"

#include <fmt/format.h>

#include "unit/elf/elf_additions.h"

namespace ptpkg::elf::test {

namespace {

/// A function: tests make containers before main().
Codec Little() { return {ElfClass::k64, ByteOrder::kLittle}; }

}  // namespace

std::string Element::Build() const {
  std::string header(header_bytes, '\0');
  PokeU16(header, Little(), 0, kind);
  PokeU16(header, Little(), 2, 0x0101);
  PokeU32(header, Little(), 4, header_bytes);
  PokeWord(header, Little(), 8, payload.size());
  PokeU32(header, Little(), 28, number);
  PokeWord(header, Little(), 40, flags);
  return header + payload;
}

std::string Container(const std::vector<Element>& elements) {
  std::string body;
  for (const Element& element : elements) body += element.Build();
  std::string header(16, '\0');
  PokeU32(header, Little(), 0, 0xba55ed50);
  PokeU16(header, Little(), 4, 1);
  PokeU16(header, Little(), 6, 16);
  PokeWord(header, Little(), 8, body.size());
  return header + body;
}

std::string LibraryWith(const std::vector<std::pair<std::string, std::string>>& sections,
                        std::uint16_t type) {
  SyntheticElf elf;
  elf.type = type;
  elf.needed.clear();
  elf.soname.reset();
  elf.version = "";
  std::string image = elf.Build();
  std::vector<NewSection> added;
  for (const auto& [name, content] : sections) added.push_back({.name = name, .content = content});
  AddSections(image, elf.codec(), added);
  return image;
}

std::string DeviceLibrary(const std::string& embedded, const std::string& relocatable, std::uint16_t type) {
  std::vector<std::pair<std::string, std::string>> sections;
  if (!embedded.empty()) sections.emplace_back(".nv_fatbin", embedded);
  if (!relocatable.empty()) sections.emplace_back("__nv_relfatbin", relocatable);
  return LibraryWith(sections, type);
}

std::string ArchiveMember(const std::string& name, const std::string& content) {
  const std::string padding = content.size() % 2 == 1 ? "\n" : "";
  return fmt::format("{:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", name, 0, 0, 0, "100644", content.size()) +
         content + padding;
}

std::string StaticArchive(const std::vector<std::pair<std::string, std::string>>& members) {
  std::string names;
  std::string body;
  for (const auto& [name, content] : members) {
    const bool is_long = name.size() > 15;
    body += ArchiveMember(is_long ? fmt::format("/{}", names.size()) : name + "/", content);
    if (is_long) names += name + "/\n";
  }
  const std::string table = names.empty() ? "" : ArchiveMember("//", names);
  return "!<arch>\n" + ArchiveMember("/", std::string(4, '\0')) + table + body;
}

}  // namespace ptpkg::elf::test
