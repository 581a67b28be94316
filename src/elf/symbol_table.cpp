#include "elf/symbol_table.h"

#include <algorithm>

namespace ptpkg::elf {
namespace {

constexpr std::uint64_t kSymbolsAtOnce = 32U << 10U;  // under 1 MiB, whatever the table's size

/// Where a symbol record holds its section and its value (gABI "Symbol Table").
struct SymbolLayout {
  std::size_t section = 0;
  std::size_t value = 0;
};

SymbolLayout LayoutOf(const Codec& codec) {
  return codec.Is64() ? SymbolLayout{.section = 6, .value = 8} : SymbolLayout{.section = 14, .value = 4};
}

}  // namespace

Result<std::vector<PlannedWrite>> PlanSymbolValues(File& file, const Image& image,
                                                   const std::map<std::size_t, std::uint64_t>& moved) {
  std::vector<PlannedWrite> writes;
  const auto table = std::find_if(image.sections.begin(), image.sections.end(),
                                  [](const Section& section) { return section.type == kSectionSymtab; });
  if (moved.empty() || table == image.sections.end()) return writes;
  const Codec& codec = image.codec;
  const SymbolLayout layout = LayoutOf(codec);
  const std::uint64_t count = table->size / codec.SymbolSize();
  for (std::uint64_t first = 0; first < count; first += kSymbolsAtOnce) {
    const std::uint64_t size = std::min(kSymbolsAtOnce, count - first) * codec.SymbolSize();
    const std::uint64_t offset = table->offset + first * codec.SymbolSize();
    PTPKG_TRY(const auto bytes, ReadExact(file, offset, size, "the symbol table"));
    for (std::uint64_t at = 0; at < size; at += codec.SymbolSize()) {
      const auto delta = moved.find(codec.U16(bytes, at + layout.section));
      if (delta == moved.end() || delta->second == 0) continue;
      PlannedWrite write{.offset = offset + at + layout.value,
                         .bytes = std::vector<std::byte>(codec.WordSize())};
      codec.PutWord(write.bytes, 0, codec.Word(bytes, at + layout.value) + delta->second);
      writes.push_back(std::move(write));
    }
  }
  return writes;
}

}  // namespace ptpkg::elf
