#pragma once
// Reads the names that ld.so finds through a file's hash table. Layer: elf, private to it. Source: gABI
// chapter 5 "Hash Table"; glibc elf/dl-lookup.c for DT_GNU_HASH.

#include <optional>
#include <string_view>
#include <vector>

#include "elf/read/image.h"
#include "elf/symbols/symbol_table.h"

namespace ptpkg::elf {

/// The hash of a name in a GNU hash table.
std::uint32_t SymbolKey(std::string_view name);

/// False for types that ld.so passes over: STT_SECTION, STT_FILE, unknown ones.
bool IsCodeOrData(std::uint32_t type);

struct ExportedNames {
  std::vector<std::uint32_t> keys = {};  ///< SymbolKey of each name, sorted.
  std::vector<bool> is_offered = {};     ///< For each symbol: whether ld.so finds it under its name.
};

/// `symbols`: number of symbols in .dynsym. Without a hash table, no names. REQUIRES: image.dynamic. Errors:
/// kCorrupt for a table through which ld.so would not find its symbols, kIo. Cost: reads the table, the
/// symbols and their names.
Result<ExportedNames> ReadExportedNames(File& file, const Image& image, std::uint64_t symbols);

/// The symbol that dlsym finds under `name`; nullopt if there is none. A hidden version ("name@V1") does not
/// count, and neither do two default ones. REQUIRES: as ReadExportedNames. Errors: kCorrupt where ld.so would
/// read outside of the tables, kIo. Cost: one chain.
Result<std::optional<SymbolRecord>> FindExportedSymbol(File& file, const Image& image, std::string_view name,
                                                       std::uint64_t symbols);

}  // namespace ptpkg::elf
