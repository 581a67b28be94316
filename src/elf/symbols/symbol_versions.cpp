#include "elf/symbols/symbol_versions.h"

#include <algorithm>
#include <map>

#include "elf/edit/string_slots.h"

namespace ptpkg::elf {
namespace {

constexpr std::uint16_t kUndefinedSection = 0;  // SHN_UNDEF
constexpr std::uint64_t kVersionBytes = 2;

std::uint16_t SectionOfSymbol(const Codec& codec, Bytes symbol) {
  return codec.U16(symbol, codec.Is64() ? 6 : 14);
}

/// Counts what is still wanted, so that the pass can end early.
class Wanted {
 public:
  Wanted(std::span<const std::uint16_t> indexes, std::size_t limit) {
    for (const std::uint16_t index : indexes) rest_[index] = limit;
    open_ = limit == 0 ? 0 : rest_.size();
  }
  [[nodiscard]] bool Any() const { return open_ != 0; }
  bool Take(std::uint16_t index) {
    const auto it = rest_.find(index);
    if (it == rest_.end() || it->second == 0) return false;
    if (--it->second == 0) --open_;
    return true;
  }

 private:
  std::map<std::uint16_t, std::size_t> rest_;
  std::size_t open_ = 0;
};

}  // namespace

Result<std::vector<RequiredVersion>> ReadRequiredVersions(File& file, const Image& image) {
  std::vector<RequiredVersion> required;
  PTPKG_TRY(const VersionNeeds needs, ReadVersionNeeds(file, image));
  for (const VersionNeed& need : needs.records) {
    PTPKG_TRY(const std::string library, ReadDynamicString(file, image, need.name, "a version requirement"));
    for (const VersionNeed::Version& version : need.versions) {
      PTPKG_TRY(std::string name, ReadDynamicString(file, image, version.name, "a required version"));
      required.push_back({.library = library, .version = std::move(name), .index = version.index});
    }
  }
  return required;
}

Result<std::vector<std::string>> ReadDefinedVersions(File& file, const Image& image) {
  std::vector<std::string> names;
  PTPKG_TRY(const auto offsets, ReadVersionDefinitionNames(file, image));
  for (const std::uint64_t offset : offsets) {
    PTPKG_TRY(std::string name, ReadDynamicString(file, image, offset, "a version definition"));
    names.push_back(std::move(name));
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

Result<std::vector<std::string>> FindUndefinedSymbols(File& file, const Image& image,
                                                      const std::vector<std::string>& names) {
  std::vector<std::string> found;
  if (!image.dynamic || names.empty()) return found;
  const auto table = image.dynamic->Find(kDtSymtab);
  PTPKG_TRY(const auto count, CountDynamicSymbols(file, image));
  if (!table || !count || *count == 0) return found;
  const std::uint64_t record = image.codec.SymbolSize();
  PTPKG_TRY(const std::uint64_t symbols_at, image.OffsetOf(*table, *count * record, "the symbol table"));
  for (std::uint64_t first = 0; first < *count; first += kSymbolsPerPiece) {
    const std::uint64_t size = std::min(kSymbolsPerPiece, *count - first);
    PTPKG_TRY(const auto symbols,
              ReadExact(file, symbols_at + first * record, size * record, "the symbol table"));
    for (std::uint64_t i = 0; i < size; ++i) {
      const Bytes symbol = Bytes(symbols).subspan(i * record, record);
      const std::uint32_t name_at = image.codec.U32(symbol, 0);
      if (SectionOfSymbol(image.codec, symbol) != kUndefinedSection || name_at == 0) continue;
      PTPKG_TRY(std::string name, ReadDynamicString(file, image, name_at, "the name of a symbol"));
      if (std::binary_search(names.begin(), names.end(), name)) found.push_back(std::move(name));
    }
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

Result<std::vector<BoundSymbol>> FindBoundSymbols(File& file, const Image& image,
                                                  std::span<const std::uint16_t> indexes, std::size_t limit) {
  std::vector<BoundSymbol> found;
  if (!image.dynamic) return found;
  const auto table = image.dynamic->Find(kDtSymtab);
  const auto versions = image.dynamic->Find(kDtVersym);
  PTPKG_TRY(const auto count, CountDynamicSymbols(file, image));
  if (!table || !versions || !count || *count == 0) return found;
  const std::uint64_t record = image.codec.SymbolSize();
  PTPKG_TRY(const std::uint64_t symbols_at, image.OffsetOf(*table, *count * record, "the symbol table"));
  PTPKG_TRY(const std::uint64_t versions_at,
            image.OffsetOf(*versions, *count * kVersionBytes, "the table of symbol versions"));
  Wanted wanted(indexes, limit);
  for (std::uint64_t first = 0; first < *count && wanted.Any(); first += kSymbolsPerPiece) {
    const std::uint64_t size = std::min(kSymbolsPerPiece, *count - first);
    PTPKG_TRY(const auto symbols,
              ReadExact(file, symbols_at + first * record, size * record, "the symbol table"));
    PTPKG_TRY(const auto bound, ReadExact(file, versions_at + first * kVersionBytes, size * kVersionBytes,
                                          "the table of symbol versions"));
    for (std::uint64_t i = 0; i < size && wanted.Any(); ++i) {
      const Bytes symbol = Bytes(symbols).subspan(i * record, record);
      if (SectionOfSymbol(image.codec, symbol) != kUndefinedSection) continue;
      const auto index =
          static_cast<std::uint16_t>(image.codec.U16(bound, i * kVersionBytes) & kVersionIndexMask);
      if (!wanted.Take(index)) continue;
      PTPKG_TRY(std::string name,
                ReadDynamicString(file, image, image.codec.U32(symbol, 0), "the name of a symbol"));
      found.push_back({.name = std::move(name), .index = index});
    }
  }
  return found;
}

}  // namespace ptpkg::elf
