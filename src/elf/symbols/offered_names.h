#pragma once
// Reads the names that ld.so finds through a file's hash table. Layer: elf, private to it. Source: gABI
// chapter 5 "Hash Table"; glibc elf/dl-lookup.c for DT_GNU_HASH.

#include <optional>
#include <string_view>
#include <vector>

#include "elf/read/image.h"
#include "elf/symbols/symbol_table.h"
#include "elf/symbols/symbol_versions.h"

namespace ptpkg::elf {

/// Version of a definition that every look-up takes: the file has no versions, or it is the base version.
inline constexpr std::uint32_t kAnyVersion = 0;
/// Version that only a look-up without a version takes.
inline constexpr std::uint32_t kNoVersion = 1;

/// The GNU hash of a symbol's name, then `version`: one of these two, or the hash of a version's name.
std::uint64_t SymbolKey(std::string_view name, std::uint32_t version);

/// False for types that ld.so passes over: STT_SECTION, STT_FILE, unknown ones.
bool IsCodeOrData(std::uint32_t type);

struct ExportedNames {
  std::vector<std::uint64_t> keys = {};      ///< SymbolKey for each look-up that finds a symbol, sorted.
  std::vector<std::uint64_t> tls_keys = {};  ///< In place of `keys`, for thread-local variables.
  std::vector<bool> is_offered = {};         ///< For each symbol: whether ld.so finds it under its name.
};

/// `symbols`: number of symbols in .dynsym. `versions`: of the file. Without a hash table, no names.
/// REQUIRES: image.dynamic. Errors: kCorrupt for a table through which ld.so would not find its symbols, kIo.
/// Cost: reads the table, the symbols and their names.
Result<ExportedNames> ReadExportedNames(File& file, const Image& image, std::uint64_t symbols,
                                        const VersionHashes& versions);

/// The symbol that dlsym finds under `name`; nullopt if there is none. A hidden version ("name@V1") does not
/// count, and neither do two default ones. REQUIRES: as ReadExportedNames. Errors: kCorrupt where ld.so would
/// read outside of the tables, kIo. Cost: one chain.
Result<std::optional<SymbolRecord>> FindExportedSymbol(File& file, const Image& image, std::string_view name,
                                                       std::uint64_t symbols);

}  // namespace ptpkg::elf
