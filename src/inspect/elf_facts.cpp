// Collects the facts of one ELF file, part by part. Damage in one part is noted there and does not hide the
// others: `ptpkg inspect` exists for files that are broken, too. Long section lists are shortened, with one
// sum for each kind of section.

#include "inspect/elf_facts.h"

#include <map>

#include "elf/read/notes.h"
#include "inspect/dynamic_entries.h"
#include "inspect/unless_damaged.h"
#include "verify/wheel/platform_policies.h"

namespace ptpkg::inspect {
namespace {

Result<ElfFacts> ReadFacts(File& file, const elf::Image& image) {
  ElfFacts facts{.size_bytes = image.file_size,
                 .machine = std::string(verify::MachineName(image.header.machine, image.codec.order()))};
  PTPKG_TRY(auto build_id, UnlessDamaged(elf::ReadBuildId(file, image), facts.damage.notes));
  if (build_id) facts.build_id = *std::move(build_id);
  PTPKG_TRY(auto links, UnlessDamaged(elf::ReadLinkFacts(file, image), facts.damage.links));
  if (links) facts.links = *std::move(links);
  PTPKG_TRY(auto dynamic, UnlessDamaged(DynamicEntryTexts(file, image), facts.damage.links));
  if (dynamic) facts.dynamic = *std::move(dynamic);
  PTPKG_TRY(auto sections, UnlessDamaged(elf::ReadNamedSections(file, image), facts.damage.sections));
  if (sections) facts.sections = *std::move(sections);
  facts.stripped = elf::IsStripped(facts.sections);
  return facts;
}

}  // namespace

std::vector<std::string> ElfDamage::Texts() const {
  std::vector<std::string> texts;
  for (const std::string* text : {&notes, &links, &sections}) {
    if (!text->empty()) texts.push_back(*text);
  }
  return texts;
}

Result<std::optional<ElfFacts>> ReadElfFacts(File& file) {
  PTPKG_TRY(const auto image, UnlessDamaged(elf::ReadImage(file)));
  if (!image || !*image) return std::optional<ElfFacts>();
  PTPKG_TRY(ElfFacts facts, ReadFacts(file, **image));
  return std::optional(std::move(facts));
}

std::vector<elf::NamedSection> ShownSections(const std::vector<elf::NamedSection>& sections) {
  constexpr std::size_t kMost = 1000;
  if (sections.size() <= kMost) return sections;
  std::vector<elf::NamedSection> shown(sections.begin(), sections.begin() + kMost);
  // One nameless sum for each kind keeps the total right.
  std::map<elf::SectionKind, elf::NamedSection> rest;
  for (std::size_t i = kMost; i < sections.size(); ++i) {
    const auto [place, fresh] = rest.try_emplace(sections[i].kind, sections[i]);
    if (fresh) {
      place->second.name.clear();
    } else {
      place->second.size_bytes += sections[i].size_bytes;
    }
  }
  for (const auto& [kind, section] : rest) shown.push_back(section);
  return shown;
}

}  // namespace ptpkg::inspect
