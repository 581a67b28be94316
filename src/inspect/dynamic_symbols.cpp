#include "inspect/dynamic_symbols.h"

#include <algorithm>
#include <fmt/core.h>

#include "elf/symbol_versions.h"

namespace ptpkg::inspect {
namespace {

constexpr std::uint64_t kMostNameBytes = 512ULL << 20U;  // libtorch_cpu.so has 40 MB
constexpr std::uint64_t kSymbolsOfPiece = 4096;

/// Where a record has what, by class.
struct SymbolLayout {
  std::size_t info;
  std::size_t other;
  std::size_t size;
};

SymbolLayout LayoutOf(const elf::Codec& codec) {
  return codec.Is64() ? SymbolLayout{.info = 4, .other = 5, .size = 16}
                      : SymbolLayout{.info = 12, .other = 13, .size = 8};
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

Result<void> HashTable(File& file, const elf::Image& image, const elf::Section& table, HashingSink& hash) {
  if (table.link >= image.sections.size() || image.sections[table.link].size > kMostNameBytes) {
    return Error(ErrorCode::kCorrupt, "the dynamic symbols have no usable table of names");
  }
  const elf::Section& strings = image.sections[table.link];
  PTPKG_TRY(const auto names, elf::ReadExact(file, strings.offset, strings.size, "the names of symbols"));
  const std::uint64_t record_bytes = image.codec.SymbolSize();
  const std::uint64_t count = table.size / record_bytes;
  for (std::uint64_t done = 0; done < count;) {
    const std::uint64_t some = std::min(kSymbolsOfPiece, count - done);
    PTPKG_TRY(const auto records, elf::ReadExact(file, table.offset + done * record_bytes,
                                                 some * record_bytes, "the dynamic symbols"));
    for (std::uint64_t i = 0; i < some; ++i) {
      PTPKG_CHECK(HashRecord(image.codec, Bytes(records).subspan(i * record_bytes, record_bytes),
                             AsText(names), hash));
    }
    done += some;
  }
  return Ok();
}

Result<void> HashVersions(File& file, const elf::Image& image, HashingSink& hash) {
  PTPKG_TRY(const auto required, elf::ReadRequiredVersions(file, image));
  for (const elf::RequiredVersion& version : required) {
    PTPKG_CHECK(
        hash.Write(AsBytes(fmt::format("{} {} {}\n", version.library, version.version, version.index))));
  }
  PTPKG_TRY(const auto defined, elf::ReadDefinedVersions(file, image));
  for (const std::string& version : defined) PTPKG_CHECK(hash.Write(AsBytes(version + "\n")));
  return Ok();
}

}  // namespace

Result<void> HashDynamicSymbols(File& file, HashingSink& hash) {
  PTPKG_TRY(const auto image, elf::ReadImage(file));
  if (!image) return Ok();
  const auto table =
      std::find_if(image->sections.begin(), image->sections.end(),
                   [](const elf::Section& section) { return section.type == elf::kSectionDynsym; });
  if (table != image->sections.end()) PTPKG_CHECK(HashTable(file, *image, *table, hash));
  if (!image->dynamic) return Ok();
  return HashVersions(file, *image, hash);
}

}  // namespace ptpkg::inspect
