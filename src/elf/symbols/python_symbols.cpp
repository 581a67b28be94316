// Finds symbols of Python's C API that a file defines or needs. The string table is searched first for any
// name that begins like one: most libraries have none, and then no symbol is read. Weak undefined symbols
// do not count as needed, because the file loads without them.

#include "elf/symbols/python_symbols.h"

#include <algorithm>

#include "elf/read/format.h"
#include "elf/symbols/symbol_table.h"

namespace ptpkg::elf {
namespace {

constexpr std::uint64_t kLongestTable = 64ULL << 20U;
constexpr unsigned kWeak = 2;  // STB_WEAK

bool IsPythonName(std::string_view name) { return name.starts_with("Py") || name.starts_with("_Py"); }

/// .dynstr, "" when no name in it is of Python.
Result<std::string> ReadNames(File& file, const Image& image) {
  const auto table = image.dynamic->Find(kDtStrtab);
  const std::uint64_t size = image.dynamic->Find(kDtStrsz).value_or(0);
  if (!table || size == 0 || size > kLongestTable) return std::string();
  PTPKG_TRY(const std::uint64_t offset, image.OffsetOf(*table, size, "the string table"));
  PTPKG_TRY(const auto bytes, ReadExact(file, offset, size, "the string table"));
  std::string names(AsText(bytes));
  const bool has_some = names.find(std::string_view("\0Py", 3)) != std::string::npos ||
                        names.find(std::string_view("\0_Py", 4)) != std::string::npos;
  return has_some ? names : std::string();
}

/// Adds the symbol if its name is one of Python's. `names`: .dynstr.
void NotePythonSymbol(const SymbolRecord& symbol, std::string_view names, PythonSymbols& found) {
  const std::size_t at = symbol.name;
  if (at == 0 || at >= names.size()) return;
  const std::string_view name = names.substr(at, names.find('\0', at) - at);
  if (!IsPythonName(name)) return;
  const bool is_defined = symbol.section != 0;
  if (is_defined) found.defined.emplace(name);
  if (!is_defined && symbol.binding != kWeak) found.imported.emplace(name);
}

}  // namespace

Result<PythonSymbols> FindPythonSymbols(File& file, const Image& image) {
  PythonSymbols found;
  if (!image.dynamic) return found;
  PTPKG_TRY(const std::string names, ReadNames(file, image));
  if (names.empty()) return found;
  PTPKG_CHECK(ForEachDynamicSymbol(file, image, SymbolVersions::kSkip,
                                   [&](const DynamicSymbol& symbol) -> Result<bool> {
                                     NotePythonSymbol(symbol.record, names, found);
                                     return true;
                                   }));
  return found;
}

}  // namespace ptpkg::elf
