#include "elf/symbols/python_symbols.h"

#include <algorithm>

#include "elf/edit/string_slots.h"
#include "elf/read/format.h"

namespace ptpkg::elf {
namespace {

constexpr std::uint64_t kSymbolsPerRead = 2048;  // 48 KiB of 64-bit symbols
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

/// Adds the symbol of that record, if it is one of Python's. `names`: .dynstr.
void NotePythonSymbol(const Codec& codec, Bytes symbol, std::string_view names, PythonSymbols& found) {
  const std::uint32_t at = codec.U32(symbol, 0);
  if (at == 0 || at >= names.size()) return;
  const std::string_view name = names.substr(at, names.find('\0', at) - at);
  if (!IsPythonName(name)) return;
  const auto info = static_cast<unsigned>(symbol[codec.Is64() ? 4 : 12]);
  const bool is_defined = codec.U16(symbol, codec.Is64() ? 6 : 14) != 0;
  if (is_defined) found.defined.emplace(name);
  if (!is_defined && info >> 4U != kWeak) found.imported.emplace(name);
}

}  // namespace

Result<PythonSymbols> FindPythonSymbols(File& file, const Image& image) {
  PythonSymbols found;
  if (!image.dynamic) return found;
  const auto table = image.dynamic->Find(kDtSymtab);
  PTPKG_TRY(const std::string names, ReadNames(file, image));
  if (!table || names.empty()) return found;
  PTPKG_TRY(const auto count, CountDynamicSymbols(file, image));
  if (!count || *count == 0) return found;
  const Codec& codec = image.codec;
  const std::uint64_t record = codec.SymbolSize();
  PTPKG_TRY(const std::uint64_t symbols_at, image.OffsetOf(*table, *count * record, "the symbol table"));
  for (std::uint64_t first = 0; first < *count; first += kSymbolsPerRead) {
    const std::uint64_t size = std::min(kSymbolsPerRead, *count - first);
    PTPKG_TRY(const auto symbols,
              ReadExact(file, symbols_at + first * record, size * record, "the symbol table"));
    for (std::uint64_t i = 0; i < size; ++i) {
      NotePythonSymbol(codec, Bytes(symbols).subspan(i * record, record), names, found);
    }
  }
  return found;
}

}  // namespace ptpkg::elf
