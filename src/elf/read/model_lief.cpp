// The only file that includes LIEF: the second reader that verifies edits, and the other writer. Written
// against the API that 0.12 and later versions share. It uses no tag or note enumerators, which 0.15
// renamed, and tells subclasses apart by their type. LIEF can throw on damaged input, so every call is
// inside a try block.

#include <LIEF/ELF.hpp>
#include <LIEF/logging.hpp>
#include <exception>
#include <fmt/core.h>

#include "elf/edit/string_slots.h"
#include "elf/read/model.h"
#include "elf/symbols/name_tables.h"

namespace ptpkg::elf {
namespace {

void ReadEntries(LIEF::ELF::Binary& binary, LinkFacts& facts) {
  for (const LIEF::ELF::DynamicEntry& entry : binary.dynamic_entries()) {
    if (const auto* library = dynamic_cast<const LIEF::ELF::DynamicEntryLibrary*>(&entry)) {
      facts.needed.push_back(library->name());
    } else if (const auto* soname = dynamic_cast<const LIEF::ELF::DynamicSharedObject*>(&entry)) {
      facts.soname = soname->name();
    } else if (const auto* rpath = dynamic_cast<const LIEF::ELF::DynamicEntryRpath*>(&entry)) {
      facts.rpath = SearchPath{.tag = PathTag::kRpath, .text = rpath->rpath()};
    } else if (const auto* runpath = dynamic_cast<const LIEF::ELF::DynamicEntryRunPath*>(&entry)) {
      facts.runpath = SearchPath{.tag = PathTag::kRunpath, .text = runpath->runpath()};
    }
  }
  for (const LIEF::ELF::SymbolVersionRequirement& need : binary.symbols_version_requirement()) {
    facts.version_files.push_back(need.name());
  }
  if (binary.has_interpreter()) facts.interpreter = binary.interpreter();
}

ModelSymbol ReadSymbol(const LIEF::ELF::Symbol& symbol) {
  ModelSymbol model{.name = symbol.name(),
                    .version = {},
                    .value = symbol.value(),
                    .size = symbol.size(),
                    .type = static_cast<std::uint32_t>(symbol.type()),
                    .binding = static_cast<std::uint32_t>(symbol.binding()),
                    .section = static_cast<std::uint32_t>(symbol.shndx())};
  const LIEF::ELF::SymbolVersion* version = symbol.symbol_version();
  if (version != nullptr && version->has_auxiliary_version())
    model.version = version->symbol_version_auxiliary()->name();
  return model;
}

Model ModelOf(LIEF::ELF::Binary& binary) {
  Model model;
  ReadEntries(binary, model.facts);
  for (const LIEF::ELF::Symbol& symbol : binary.dynamic_symbols())
    model.symbols.push_back(ReadSymbol(symbol));
  for (const LIEF::ELF::Note& note : binary.notes()) {
    std::string text = note.name() + ":";
    for (const std::uint8_t byte : note.description()) text += fmt::format("{:02x}", byte);
    model.notes.push_back(std::move(text));
  }
  return model;
}

/// LIEF's lines would go to stderr; a failure shows in the result. Once, because its logger may not be made
/// by two threads at a time.
void Silence() {
  static const bool kDone = (LIEF::logging::disable(), true);
  static_cast<void>(kDone);
}

/// The model of the binary that `parse` returns. `what` names the file in errors.
template <class Parse>
Result<Model> Judge(std::string_view what, Parse parse) {
  Silence();
  try {
    const auto binary = parse();
    if (binary == nullptr) return Error(ErrorCode::kCorrupt, fmt::format("LIEF cannot read {}", what));
    return ModelOf(*binary);
  } catch (const std::exception& failure) {
    return Error(ErrorCode::kInternal, fmt::format("LIEF failed on {}: {}", what, failure.what()));
  }
}

/// Removes the entry of class `Entry`, if there is one.
template <class Entry>
void Remove(LIEF::ELF::Binary& binary) {
  for (const LIEF::ELF::DynamicEntry& entry : binary.dynamic_entries()) {
    if (dynamic_cast<const Entry*>(&entry) == nullptr) continue;
    binary.remove(entry);
    return;
  }
}

void EditPath(LIEF::ELF::Binary& binary, const LinkFacts& before, const LinkFacts& after) {
  if (before.rpath != after.rpath) {
    Remove<LIEF::ELF::DynamicEntryRpath>(binary);
    if (after.rpath) binary.add(LIEF::ELF::DynamicEntryRpath(after.rpath->text));
  }
  if (before.runpath != after.runpath) {
    Remove<LIEF::ELF::DynamicEntryRunPath>(binary);
    if (after.runpath) binary.add(LIEF::ELF::DynamicEntryRunPath(after.runpath->text));
  }
}

void EditSoname(LIEF::ELF::Binary& binary, const LinkFacts& before, const LinkFacts& after) {
  if (before.soname == after.soname || !after.soname) return;
  Remove<LIEF::ELF::DynamicSharedObject>(binary);
  binary.add(LIEF::ELF::DynamicSharedObject(*after.soname));
}

/// With as many libraries as before, renames them in place. Else takes all out and puts them in again,
/// the last one first, because LIEF puts each before the others.
void EditNeeded(LIEF::ELF::Binary& binary, const LinkFacts& before, const LinkFacts& after) {
  if (before.needed == after.needed) return;
  if (before.needed.size() == after.needed.size()) {
    auto name = after.needed.begin();
    for (LIEF::ELF::DynamicEntry& entry : binary.dynamic_entries()) {
      if (auto* library = dynamic_cast<LIEF::ELF::DynamicEntryLibrary*>(&entry)) library->name(*name++);
    }
    return;
  }
  for (const std::string& name : before.needed) binary.remove_library(name);
  for (auto name = after.needed.rbegin(); name != after.needed.rend(); ++name) binary.add_library(*name);
}

void EditNames(LIEF::ELF::Binary& binary, const LinkFacts& before, const LinkFacts& after) {
  EditPath(binary, before, after);
  EditNeeded(binary, before, after);
  EditSoname(binary, before, after);
  auto file = after.version_files.begin();
  for (LIEF::ELF::SymbolVersionRequirement& need : binary.symbols_version_requirement()) need.name(*file++);
  if (before.interpreter != after.interpreter && after.interpreter) binary.interpreter(*after.interpreter);
}

/// Checks the changes that EditNames, or LIEF, does not make.
Result<void> CheckExported(const LinkFacts& before, const LinkFacts& after) {
  const bool flags = before.stack != after.stack || before.flags_1 != after.flags_1 ||
                     before.has_debug_entry != after.has_debug_entry;
  if (!flags && before.version_files.size() == after.version_files.size()) return Ok();
  return Error(ErrorCode::kUnsupported,
               flags ? "LIEF's writer is not used for flags of the stack and the loader"
                     : "LIEF's writer does not take out the version requirements of a removed library")
      .WithHint("remove --writer lief");
}

/// The number of symbols from the section header: LIEF's guess refuses more than 3,000 without relocations.
std::unique_ptr<LIEF::ELF::Binary> ParseTables(const std::vector<std::uint8_t>& tables) {
#if __has_include(<LIEF/ELF/ParserConfig.hpp>)
  LIEF::ELF::ParserConfig config;
  config.count_mtd = LIEF::ELF::ParserConfig::DYNSYM_COUNT::SECTION;
  return LIEF::ELF::Parser::parse(tables, config);
#else
  return LIEF::ELF::Parser::parse(tables, "tables", LIEF::ELF::DYNSYM_COUNT_METHODS::COUNT_SECTION);
#endif
}

}  // namespace

Result<Model> ReadModel(const AbsPath& path) {
  return Judge(fmt::format("'{}'", path.str()), [&] { return LIEF::ELF::Parser::parse(path.str()); });
}

Result<std::vector<std::uint8_t>> RewriteByLief(const AbsPath& path, const LinkFacts& before,
                                                const LinkFacts& after) {
  PTPKG_CHECK(CheckExported(before, after));
  Silence();
  try {
    const auto binary = LIEF::ELF::Parser::parse(path.str());
    if (binary == nullptr) {
      return Error(ErrorCode::kCorrupt, fmt::format("LIEF cannot read '{}'", path.str()));
    }
    EditNames(*binary, before, after);
    return binary->raw();
  } catch (const std::exception& failure) {
    return Error(ErrorCode::kInternal, fmt::format("LIEF failed on '{}': {}", path.str(), failure.what()));
  }
}

Result<Model> ReadModelOfTables(File& file, const Image& image) {
  if (!image.dynamic) return Model();
  PTPKG_TRY(const std::vector<std::uint8_t> tables, ExtractNameTables(file, image));
  PTPKG_TRY(Model model, Judge("the tables of the file", [&] { return ParseTables(tables); }));
  // A reader that finds no symbols would call every edit right.
  PTPKG_TRY(const auto count, CountDynamicSymbols(file, image));
  if (model.symbols.size() != count.value_or(0)) {
    return Error(ErrorCode::kCorrupt, fmt::format("LIEF reads {} dynamic symbols where the file has {}",
                                                  model.symbols.size(), count.value_or(0)));
  }
  return model;
}

}  // namespace ptpkg::elf
