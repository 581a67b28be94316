#pragma once
// Compares two ELF files part by part. Layer: inspect.

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "inspect/dynamic_symbols.h"
#include "inspect/elf_facts.h"
#include "support/digest/hash.h"

namespace ptpkg::inspect {

/// All sections of one kind.
struct KindContent {
  std::uint64_t size_bytes = 0;
  /// Over names and contents, without their addresses; nullopt where they cannot be read.
  std::optional<Sha256> digest = {};
};

struct ElfContent {
  ElfFacts facts;
  std::array<KindContent, elf::kSectionKinds> kinds = {};  ///< By elf::SectionKind.
  /// Absolute paths among the strings of read-only data and debug information, sorted, each once; the first
  /// 4 MiB of them.
  std::vector<std::string> paths = {};
  DynamicSymbols symbols = {};  ///< Empty where `facts.damage.sections` has a reason.
};

/// nullopt: as ReadElfFacts. Sections that overlap are not read: facts.damage says so. Reads the file once.
/// Errors: kIo.
Result<std::optional<ElfContent>> ReadElfContent(File& file);

/// A part that differs.
struct ElfPart {
  std::string part;  ///< "code", "build id", "embedded paths": docs/json/diff.json has the list.
  std::optional<std::uint64_t> old_bytes = {};  ///< For sections.
  std::optional<std::uint64_t> new_bytes = {};
  std::optional<std::vector<std::string>> old_texts = {};  ///< For other parts.
  std::optional<std::vector<std::string>> new_texts = {};
  std::size_t old_more = 0;  ///< Texts beyond the first 1000, in parts that list only differences.
  std::size_t new_more = 0;
};

/// Compares two files with different contents. The result is never empty: if no part differs, it has the part
/// "headers". Parts that cannot be read in one of the files are not compared, and the part "unreadable" has
/// the reasons. Tables of names, dynamic symbols and the dynamic section are compared by meaning, not by
/// layout. The part "dynamic" lists the entries that are neither names nor addresses. The parts "exported
/// symbols" and "needed symbols" list names that only one file has.
std::vector<ElfPart> CompareElfContents(const ElfContent& before, const ElfContent& after);

}  // namespace ptpkg::inspect
