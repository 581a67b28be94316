// Hashes dynamic symbols by meaning: name, type, binding, visibility and size, but not address or place in
// .dynstr.
//
// A longer search path moves every string behind it, and with that the bytes of .dynsym, although no symbol
// changed. So the hash takes names and not offsets. Lists of exported and needed names are kept next to it,
// up to a limit of memory. Beyond the limit only the hash counts, and the lists are marked as incomplete.

#include "inspect/dynamic_symbols.h"

#include <algorithm>
#include <fmt/core.h>
#include <map>
#include <optional>

#include "elf/symbols/symbol_versions.h"

namespace ptpkg::inspect {
namespace {

constexpr std::uint64_t kMostNameBytes = 512ULL << 20U;  // libtorch_cpu.so has 40 MB
constexpr std::uint64_t kSymbolsOfPiece = 4096;
constexpr std::size_t kMostListedBytes = 64U << 20U;
constexpr std::uint64_t kVersionBytes = 2;  // of an entry of .gnu.version

/// Offsets of a record's fields, by class.
struct SymbolLayout {
  std::size_t info;
  std::size_t other;
  std::size_t section;
  std::size_t size;
};

SymbolLayout LayoutOf(const elf::Codec& codec) {
  return codec.Is64() ? SymbolLayout{.info = 4, .other = 5, .section = 6, .size = 16}
                      : SymbolLayout{.info = 12, .other = 13, .section = 14, .size = 8};
}

std::string_view NameOfSymbol(std::string_view names, std::uint32_t at) {
  constexpr std::size_t kMostBytes = 64U << 10U;  // no million symbols of 16 MiB each
  if (at >= names.size()) return {};
  const std::string_view name = names.substr(at, kMostBytes);
  return name.substr(0, name.find('\0'));
}

Result<void> HashRecord(const elf::Codec& codec, Bytes record, std::string_view names, HashingSink& hash) {
  const SymbolLayout layout = LayoutOf(codec);
  PTPKG_CHECK(hash.Write(AsBytes(NameOfSymbol(names, codec.U32(record, 0)))));
  PTPKG_CHECK(hash.Write(AsBytes(std::string_view("\0", 1))));
  PTPKG_CHECK(hash.Write(record.subspan(layout.info, 1)));
  PTPKG_CHECK(hash.Write(record.subspan(layout.other, 1)));
  return hash.Write(record.subspan(layout.size, codec.WordSize()));
}

/// Collects the names of DynamicSymbols.
class SymbolLists {
 public:
  explicit SymbolLists(const std::vector<elf::RequiredVersion>& required) {
    for (const elf::RequiredVersion& version : required) versions_[version.index] = version.version;
  }

  /// `version`: of the symbol, by .gnu.version.
  void Take(const elf::Codec& codec, Bytes record, std::string_view name, std::uint16_t version) {
    const SymbolLayout layout = LayoutOf(codec);
    const bool local = static_cast<unsigned>(record[layout.info]) >> 4U == 0;      // STB_LOCAL
    const unsigned visibility = static_cast<unsigned>(record[layout.other]) & 3U;  // 1: internal, 2: hidden
    if (local || name.empty() || !lists_.complete) return;
    const bool defined = codec.U16(record, layout.section) != 0;
    if (defined && (visibility == 1 || visibility == 2)) return;
    const auto required = versions_.find(version & elf::kVersionIndexMask);
    const bool has_version = !defined && required != versions_.end();
    bytes_ += name.size() + sizeof(std::string) + (has_version ? required->second.size() : 0);
    if (bytes_ > kMostListedBytes) {
      lists_ = {.complete = false};
      return;
    }
    std::string& listed = (defined ? lists_.exported : lists_.needed).emplace_back(name);
    if (has_version) listed += "@" + required->second;
  }

  DynamicSymbols Finish() && {
    for (std::vector<std::string>* list : {&lists_.exported, &lists_.needed}) {
      std::sort(list->begin(), list->end());
      list->erase(std::unique(list->begin(), list->end()), list->end());
    }
    return std::move(lists_);
  }

 private:
  std::map<std::uint16_t, std::string> versions_;
  DynamicSymbols lists_;
  std::size_t bytes_ = 0;
};

/// Offset of .gnu.version for `count` symbols; nullopt if the file has none, or a damaged one.
std::optional<std::uint64_t> VersionsOffset(const elf::Image& image, std::uint64_t count) {
  const auto address = image.dynamic ? image.dynamic->Find(elf::kDtVersym) : std::nullopt;
  if (!address) return std::nullopt;
  const auto offset = image.OffsetOf(*address, count * kVersionBytes, "the table of symbol versions");
  return offset ? std::optional(*offset) : std::nullopt;
}

Result<void> HashTable(File& file, const elf::Image& image, const elf::Section& table, HashingSink& hash,
                       SymbolLists& lists) {
  if (table.link >= image.sections.size() || image.sections[table.link].size > kMostNameBytes) {
    return Error(ErrorCode::kCorrupt, "the dynamic symbols have no usable table of names");
  }
  const elf::Section& strings = image.sections[table.link];
  PTPKG_TRY(const auto names, elf::ReadExact(file, strings.offset, strings.size, "the names of symbols"));
  const std::uint64_t record_bytes = image.codec.SymbolSize();
  const std::uint64_t count = table.size / record_bytes;
  const std::optional<std::uint64_t> versions = VersionsOffset(image, count);
  for (std::uint64_t done = 0; done < count;) {
    const std::uint64_t some = std::min(kSymbolsOfPiece, count - done);
    PTPKG_TRY(const auto records, elf::ReadExact(file, table.offset + done * record_bytes,
                                                 some * record_bytes, "the dynamic symbols"));
    std::vector<std::byte> indexes(some * kVersionBytes);
    if (versions) {
      PTPKG_TRY(indexes, elf::ReadExact(file, *versions + done * kVersionBytes, indexes.size(),
                                        "the table of symbol versions"));
    }
    for (std::uint64_t i = 0; i < some; ++i) {
      const Bytes record = Bytes(records).subspan(i * record_bytes, record_bytes);
      PTPKG_CHECK(HashRecord(image.codec, record, AsText(names), hash));
      lists.Take(image.codec, record, NameOfSymbol(AsText(names), image.codec.U32(record, 0)),
                 image.codec.U16(indexes, i * kVersionBytes));
    }
    done += some;
  }
  return Ok();
}

Result<void> HashVersions(File& file, const elf::Image& image,
                          const std::vector<elf::RequiredVersion>& required, HashingSink& hash) {
  for (const elf::RequiredVersion& version : required) {
    PTPKG_CHECK(
        hash.Write(AsBytes(fmt::format("{} {} {}\n", version.library, version.version, version.index))));
  }
  PTPKG_TRY(const auto defined, elf::ReadDefinedVersions(file, image));
  for (const std::string& version : defined) PTPKG_CHECK(hash.Write(AsBytes(version + "\n")));
  return Ok();
}

}  // namespace

Result<DynamicSymbols> HashDynamicSymbols(File& file, HashingSink& hash) {
  PTPKG_TRY(const auto image, elf::ReadImage(file));
  if (!image) return DynamicSymbols();
  std::vector<elf::RequiredVersion> required;
  if (image->dynamic) {
    PTPKG_TRY(required, elf::ReadRequiredVersions(file, *image));
  }
  SymbolLists lists(required);
  const auto table =
      std::find_if(image->sections.begin(), image->sections.end(),
                   [](const elf::Section& section) { return section.type == elf::kSectionDynsym; });
  if (table != image->sections.end()) PTPKG_CHECK(HashTable(file, *image, *table, hash, lists));
  if (image->dynamic) PTPKG_CHECK(HashVersions(file, *image, required, hash));
  return std::move(lists).Finish();
}

}  // namespace ptpkg::inspect
