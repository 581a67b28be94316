// Lists required and defined symbol versions, and the symbols that are bound to them. The index in
// DT_VERSYM connects a symbol with a version, and its highest bit (hidden) is not part of the index. The
// search for examples ends as soon as each version has enough of them, because large libraries have tens of
// thousands of symbols.

#include "elf/symbols/symbol_versions.h"

#include <algorithm>
#include <map>

#include "elf/edit/string_slots.h"
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
  constexpr std::uint16_t kWeak = 2;  // VER_FLG_WEAK
  std::vector<RequiredVersion> required;
  PTPKG_TRY(const VersionNeeds needs, ReadVersionNeeds(file, image));
  for (const VersionNeed& need : needs.records) {
    PTPKG_TRY(const std::string library, ReadDynamicString(file, image, need.name, "a version requirement"));
    for (const VersionNeed::Version& version : need.versions) {
      PTPKG_TRY(std::string name, ReadDynamicString(file, image, version.name, "a required version"));
      required.push_back({.library = library,
                          .version = std::move(name),
                          .index = version.index,
                          .weak = (version.flags & kWeak) != 0});
    }
  }
  return required;
}

Result<std::vector<std::string>> ReadDefinedVersions(File& file, const Image& image) {
  std::vector<std::string> names;
  PTPKG_TRY(const auto definitions, ReadVersionDefinitions(file, image));
  for (const VersionDefinition& definition : definitions) {
    for (const std::uint64_t offset : definition.names) {
      PTPKG_TRY(std::string name, ReadDynamicString(file, image, offset, "a version definition"));
      names.push_back(std::move(name));
    }
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

Result<VersionHashes> ReadVersionHashes(File& file, const Image& image) {
  constexpr std::uint16_t kBase = 1;  // VER_FLG_BASE
  VersionHashes hashes;
  PTPKG_TRY(const VersionNeeds needs, ReadVersionNeeds(file, image));
  for (const VersionNeed& need : needs.records) {
    for (const VersionNeed::Version& version : need.versions)
      hashes[version.index & kVersionIndexMask] = version.hash;
  }
  PTPKG_TRY(const auto definitions, ReadVersionDefinitions(file, image));
  for (const VersionDefinition& one : definitions)
    hashes[one.index & kVersionIndexMask] = (one.flags & kBase) != 0 ? 0 : one.hash;
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
