#pragma once
// Reads symbol records and updates .symtab after edits. Layer: elf, private to it. Source: gABI "Symbol
// Table".

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "elf/edit/edit.h"

namespace ptpkg::elf {

/// From this number on, a symbol does not name its section itself (SHN_LORESERVE).
inline constexpr std::uint16_t kFirstReservedIndex = 0xff00;
/// The value of such a symbol is a number, no address (SHN_ABS).
inline constexpr std::uint16_t kAbsoluteIndex = 0xfff1;
/// The value of a symbol of this type is an offset in a thread's block (STT_TLS).
inline constexpr std::uint32_t kThreadLocalType = 6;

/// The fields of one record.
struct SymbolRecord {
  std::uint32_t name = 0;  ///< Offset in the string table.
  std::uint32_t type = 0;
  std::uint32_t binding = 0;
  std::uint32_t visibility = 0;
  std::uint16_t section = 0;
  std::uint64_t value = 0;
};

/// REQUIRES: `record` has codec.SymbolSize() bytes.
SymbolRecord DecodeSymbol(const Codec& codec, Bytes record);

/// A record of a symbol table, with the offsets of its values.
struct TableSymbol {
  std::uint64_t number = 0;  ///< In its table.
  std::uint32_t type = 0;
  std::uint16_t section = 0;
  std::uint64_t value = 0;
  std::uint64_t size = 0;
  std::uint64_t value_offset = 0;  ///< File offsets of these two.
  std::uint64_t size_offset = 0;

  [[nodiscard]] bool IsOfSection() const { return type == 3; }  // STT_SECTION
};

/// Calls `take` with each symbol of `table`, until it gives a reason to end, which is returned; "" otherwise.
/// Errors: kCorrupt for a table that leaves the file, kIo. Memory: under 1 MiB, whatever the table's size.
Result<std::string> ForEachSymbol(File& file, const Image& image, const Section& table,
                                  const std::function<std::string(const TableSymbol&)>& take);

/// A record of the dynamic symbol table.
struct DynamicSymbol {
  std::uint64_t number = 0;
  SymbolRecord record = {};
  std::uint16_t version = 0;  ///< Its word of DT_VERSYM; 0 if it was not read.
};

enum class SymbolVersions : std::uint8_t { kSkip, kRead };

/// Calls `take` with each dynamic symbol in order, until it returns false. A file without DT_SYMTAB, or whose
/// symbols cannot be counted (CountDynamicSymbols), has none; with kRead, neither has a file without
/// DT_VERSYM. Errors: kCorrupt for a table that leaves the file, kIo, and those that `take` returns. Memory:
/// under 1 MiB.
Result<void> ForEachDynamicSymbol(File& file, const Image& image, SymbolVersions versions,
                                  const std::function<Result<bool>(const DynamicSymbol&)>& take);

/// The first SHT_SYMTAB; null without one.
const Section* FindSymbolTable(const Image& image);

/// The writes that give the symbols of .symtab which lie in moved sections their new value: _DYNAMIC, symbols
/// of sections, names that start-up code gives to notes. `moved`: section index → by how much its address
/// grew (modulo 2^64). Nobody needs them to run the file; debuggers and eu-elflint compare them.
/// Errors: kCorrupt (a table that leaves the file), kIo. Cost: reads .symtab, where the file has one.
Result<std::vector<PlannedWrite>> PlanSymbolValues(File& file, const Image& image,
                                                   const std::map<std::size_t, std::uint64_t>& moved);

}  // namespace ptpkg::elf
