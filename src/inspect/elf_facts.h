#pragma once
// Summary of one ELF file. Layer: inspect.

#include <optional>
#include <string>
#include <vector>

#include "elf/read/image.h"
#include "elf/read/section_kinds.h"
#include "support/files/fs.h"

namespace ptpkg::inspect {

/// Why parts of a file cannot be read; "": it can.
struct ElfDamage {
  std::string notes = {};
  std::string links = {};
  std::string sections = {};

  /// The reasons, in this order.
  [[nodiscard]] std::vector<std::string> Texts() const;
};

/// Facts about an ELF file. Unreadable ones are empty, and `damage` has the reason.
struct ElfFacts {
  std::uint64_t size_bytes = 0;
  std::string machine = {};  ///< "x86_64"; "" for machines without a name in wheels' tags.
  std::optional<std::string> build_id = {};
  elf::LinkFacts links = {};
  std::vector<std::string> dynamic = {};         ///< DynamicEntryTexts
  std::vector<elf::NamedSection> sections = {};  ///< All, in file order.
  bool stripped = false;                         ///< False also for a file whose sections cannot be read.
  ElfDamage damage = {};
};

/// nullopt: not an ELF file, or an ELF file with damaged headers or a damaged dynamic section, which the
/// checks report (elf-damaged). Errors: kIo. Cost: a few pages and the name tables.
Result<std::optional<ElfFacts>> ReadElfFacts(File& file);

/// The sections that reports show: beyond 1000, the rest is summed up by kind, without names.
std::vector<elf::NamedSection> ShownSections(const std::vector<elf::NamedSection>& sections);

}  // namespace ptpkg::inspect
