// The only file that includes LIEF. Written against the API that 0.12 and later versions share: no tag or
// note enumerators, which 0.15 renamed; subclasses are told apart by their type.

#include <LIEF/ELF.hpp>
#include <LIEF/logging.hpp>
#include <exception>
#include <fmt/format.h>

#include "elf/model.h"

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

Result<Model> Parse(const AbsPath& path) {
  LIEF::logging::disable();  // its lines would go to stderr; a failure shows in the result
  const auto binary = LIEF::ELF::Parser::parse(path.str());
  if (binary == nullptr) {
    return Error(ErrorCode::kCorrupt, fmt::format("LIEF cannot read '{}'", path.str()));
  }
  Model model;
  ReadEntries(*binary, model.facts);
  for (const LIEF::ELF::Symbol& symbol : binary->dynamic_symbols())
    model.symbols.push_back(ReadSymbol(symbol));
  for (const LIEF::ELF::Note& note : binary->notes()) {
    std::string text = note.name() + ":";
    for (const std::uint8_t byte : note.description()) text += fmt::format("{:02x}", byte);
    model.notes.push_back(std::move(text));
  }
  return model;
}

}  // namespace

Result<Model> ReadModel(const AbsPath& path) {
  try {
    return Parse(path);
  } catch (const std::exception& failure) {
    return Error(ErrorCode::kInternal, fmt::format("LIEF failed on '{}': {}", path.str(), failure.what()));
  }
}

}  // namespace ptpkg::elf
