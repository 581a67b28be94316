// Lists required and defined symbol versions, and the symbols that are bound to them. The index in
// DT_VERSYM connects a symbol with a version, and its highest bit (hidden) is not part of the index. The
// search for examples ends as soon as each version has enough of them, because large libraries have tens of
// thousands of symbols.

#include "elf/symbols/symbol_versions.h"

#include <algorithm>
#include <fmt/core.h>
#include <map>

#include "elf/edit/string_slots.h"
#include "elf/read/corrupt.h"
#include "elf/symbols/symbol_table.h"

namespace ptpkg::elf {
namespace {

constexpr std::uint16_t kUndefinedSection = 0;  // SHN_UNDEF

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

Result<VersionHashes> ReadVersionHashes(File& file, const Image& image) {
  constexpr std::uint64_t kRecord = 20;
  constexpr std::uint16_t kBase = 1;  // VER_FLG_BASE
  VersionHashes hashes;
  PTPKG_TRY(const VersionNeeds needs, ReadVersionNeeds(file, image));
  for (const VersionNeed& need : needs.records) {
    for (const VersionNeed::Version& version : need.versions)
      hashes[version.index & kVersionIndexMask] = version.hash;
  }
  const auto at = image.dynamic->Find(kDtVerdef);
  const auto count = image.dynamic->Find(kDtVerdefnum);
  if (!at || !count) return hashes;
  std::uint64_t address = *at;
  for (std::uint64_t i = 0; i < std::min<std::uint64_t>(*count, kVersionIndexMask); ++i) {
    PTPKG_TRY(const std::uint64_t offset, image.OffsetOf(address, kRecord, "a version definition"));
    PTPKG_TRY(const auto record, ReadExact(file, offset, kRecord, "a version definition"));
    const Codec& codec = image.codec;
    if (codec.U16(record, 0) != 1)
      return Corrupt(fmt::format("a version definition has the format {}", codec.U16(record, 0)));
    const bool is_base = (codec.U16(record, 2) & kBase) != 0;
    hashes[codec.U16(record, 4) & kVersionIndexMask] = is_base ? 0 : codec.U32(record, 8);
    const std::uint32_t step = codec.U32(record, 16);
    if (step == 0) break;
    address += step;
  }
  return hashes;
}

Result<std::vector<std::string>> FindUndefinedSymbols(File& file, const Image& image,
                                                      const std::vector<std::string>& names) {
  std::vector<std::string> found;
  if (!image.dynamic || names.empty()) return found;
  PTPKG_CHECK(ForEachDynamicSymbol(
      file, image, SymbolVersions::kSkip, [&](const DynamicSymbol& symbol) -> Result<bool> {
        if (symbol.record.section != kUndefinedSection || symbol.record.name == 0) return true;
        PTPKG_TRY(std::string name,
                  ReadDynamicString(file, image, symbol.record.name, "the name of a symbol"));
        if (std::binary_search(names.begin(), names.end(), name)) found.push_back(std::move(name));
        return true;
      }));
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

Result<std::vector<BoundSymbol>> FindBoundSymbols(File& file, const Image& image,
                                                  std::span<const std::uint16_t> indexes, std::size_t limit) {
  std::vector<BoundSymbol> found;
  if (!image.dynamic) return found;
  Wanted wanted(indexes, limit);
  if (!wanted.Any()) return found;
  PTPKG_CHECK(ForEachDynamicSymbol(
      file, image, SymbolVersions::kRead, [&](const DynamicSymbol& symbol) -> Result<bool> {
        if (symbol.record.section != kUndefinedSection) return true;
        const auto index = static_cast<std::uint16_t>(symbol.version & kVersionIndexMask);
        if (!wanted.Take(index)) return true;
        PTPKG_TRY(std::string name,
                  ReadDynamicString(file, image, symbol.record.name, "the name of a symbol"));
        found.push_back({.name = std::move(name), .index = index});
        return wanted.Any();
      }));
  return found;
}

}  // namespace ptpkg::elf
