// Reads symbols in batches from .symtab and .dynsym. The classes differ in the order of a record's fields.
// The loader's address leads to .dynsym, since section headers may be missing or wrong. CountDynamicSymbols
// gives its length.
//
// PlanSymbolValues moves the values of symbols whose section moves: debuggers and profilers use .symtab,
// the loader does not.

#include "elf/symbols/symbol_table.h"

#include <algorithm>
#include <optional>

#include "elf/edit/string_slots.h"

namespace ptpkg::elf {
namespace {

constexpr std::uint64_t kSymbolsAtOnce = 32U << 10U;
constexpr std::uint64_t kVersionWordBytes = 2;

/// Offsets of a record's fields; values and sizes are words.
struct SymbolLayout {
  std::size_t info = 0;
  std::size_t section = 0;
  std::size_t value = 0;
  std::size_t size = 0;
};

SymbolLayout LayoutOf(const Codec& codec) {
  return codec.Is64() ? SymbolLayout{.info = 4, .section = 6, .value = 8, .size = 16}
                      : SymbolLayout{.info = 12, .section = 14, .value = 4, .size = 8};
}

}  // namespace

SymbolRecord DecodeSymbol(const Codec& codec, Bytes record) {
  const SymbolLayout layout = LayoutOf(codec);
  const auto info = std::to_integer<std::uint32_t>(record[layout.info]);
  return {.name = codec.U32(record, 0),
          .type = info & 0xfU,
          .binding = info >> 4U,
          .visibility = std::to_integer<std::uint32_t>(record[layout.info + 1]) & 3U,
          .section = codec.U16(record, layout.section),
          .value = codec.Word(record, layout.value)};
}

Result<std::string> ForEachSymbol(File& file, const Image& image, const Section& table,
                                  const std::function<std::string(const TableSymbol&)>& take) {
  const Codec& codec = image.codec;
  const SymbolLayout layout = LayoutOf(codec);
  const std::size_t record = codec.SymbolSize();
  const std::uint64_t count = table.size / record;
  for (std::uint64_t first = 0; first < count; first += kSymbolsAtOnce) {
    const std::uint64_t size = std::min(kSymbolsAtOnce, count - first) * record;
    const std::uint64_t offset = table.offset + first * record;
    PTPKG_TRY(const auto bytes, ReadExact(file, offset, size, "the symbol table"));
    for (std::uint64_t at = 0; at < size; at += record) {
      std::string why = take({.number = first + at / record,
                              .type = std::to_integer<std::uint32_t>(bytes[at + layout.info]) & 0xfU,
                              .section = codec.U16(bytes, at + layout.section),
                              .value = codec.Word(bytes, at + layout.value),
                              .size = codec.Word(bytes, at + layout.size),
                              .value_offset = offset + at + layout.value,
                              .size_offset = offset + at + layout.size});
      if (!why.empty()) return why;
    }
  }
  return std::string();
}

Result<void> ForEachDynamicSymbol(File& file, const Image& image, SymbolVersions versions,
                                  const std::function<Result<bool>(const DynamicSymbol&)>& take) {
  const bool with_versions = versions == SymbolVersions::kRead;
  const auto table = image.dynamic ? image.dynamic->Find(kDtSymtab) : std::nullopt;
  const auto words = image.dynamic ? image.dynamic->Find(kDtVersym) : std::nullopt;
  if (!table || (with_versions && !words)) return Ok();
  PTPKG_TRY(const auto counted, CountDynamicSymbols(file, image));
  const std::uint64_t count = counted.value_or(0);
  if (count == 0) return Ok();
  const Codec& codec = image.codec;
  const std::uint64_t record = codec.SymbolSize();
  PTPKG_TRY(const std::uint64_t symbols_at, image.OffsetOf(*table, count * record, "the symbol table"));
  std::uint64_t versions_at = 0;
  if (with_versions) {
    PTPKG_TRY(versions_at, image.OffsetOf(*words, count * kVersionWordBytes, "the table of symbol versions"));
  }
  std::vector<std::byte> bound;
  for (std::uint64_t first = 0; first < count; first += kSymbolsAtOnce) {
    const std::uint64_t some = std::min(kSymbolsAtOnce, count - first);
    PTPKG_TRY(const auto symbols,
              ReadExact(file, symbols_at + first * record, some * record, "the symbol table"));
    if (with_versions) {
      PTPKG_TRY(bound, ReadExact(file, versions_at + first * kVersionWordBytes, some * kVersionWordBytes,
                                 "the table of symbol versions"));
    }
    for (std::uint64_t i = 0; i < some; ++i) {
      PTPKG_TRY(
          const bool more,
          take({.number = first + i,
                .record = DecodeSymbol(codec, Bytes(symbols).subspan(i * record, record)),
                .version = with_versions ? codec.U16(bound, i * kVersionWordBytes) : std::uint16_t{0}}));
      if (!more) return Ok();
    }
  }
  return Ok();
}

const Section* FindSymbolTable(const Image& image) {
  const auto table = std::find_if(image.sections.begin(), image.sections.end(),
                                  [](const Section& section) { return section.type == kSectionSymtab; });
  return table == image.sections.end() ? nullptr : &*table;
}

Result<std::vector<PlannedWrite>> PlanSymbolValues(File& file, const Image& image,
                                                   const std::map<std::size_t, std::uint64_t>& moved) {
  std::vector<PlannedWrite> writes;
  const Section* table = FindSymbolTable(image);
  if (moved.empty() || table == nullptr) return writes;
  const Codec& codec = image.codec;
  PTPKG_CHECK(ForEachSymbol(file, image, *table, [&](const TableSymbol& symbol) {
    const auto delta = moved.find(symbol.section);
    if (delta == moved.end() || delta->second == 0) return std::string();
    PlannedWrite write{.offset = symbol.value_offset, .bytes = std::vector<std::byte>(codec.WordSize())};
    codec.PutWord(write.bytes, 0, symbol.value + delta->second);
    writes.push_back(std::move(write));
    return std::string();
  }));
  return writes;
}

}  // namespace ptpkg::elf
