// Layout of the new format (glibc, sysdeps/generic/dl-cache.h), numbers in the byte order of the machine:
// - 20 bytes: the magic with the version
// - 4 bytes each: number of entries, size of the texts
// - 20 bytes: flags in the first one since glibc 2.33
// - 24 bytes per entry: flags, offsets of name and path (4 bytes each), OS version (4), hwcap (8)
//
// Offsets count from the magic. The old format, where it exists, comes first and is skipped: its header and
// 12 bytes per entry, padded to 8. Each offset is checked before its use: a damaged cache must end in an
// error, not in a read outside of the file. The flags of entries (class and machine) are not read: the header
// of each library decides (HostLibraries).

#include "repair/loader_cache.h"

#include <bit>
#include <cstdint>
#include <cstring>
#include <fmt/core.h>
#include <optional>

namespace ptpkg::repair {
namespace {

constexpr std::string_view kCacheMagic = "glibc-ld.so.cache1.1";
constexpr std::string_view kOldMagic = "ld.so-1.7.0";
constexpr std::size_t kOldHeaderBytes = 16;  // the magic and a NUL, then the number of entries
constexpr std::size_t kOldEntryBytes = 12;
constexpr std::size_t kHeaderBytes = 48;
constexpr std::size_t kEntryBytes = 24;

Error Damaged(std::string_view why) {
  return Error(ErrorCode::kCorrupt, fmt::format("the cache of the dynamic loader {}", why))
      .WithHint("rebuild it with 'ldconfig'");
}

template <class Number>
std::optional<Number> NumberAt(std::string_view bytes, std::size_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(Number)) return std::nullopt;
  Number number{};
  std::memcpy(&number, bytes.data() + offset, sizeof number);  // the cache is in the machine's byte order
  return number;
}

/// The format of today, which stands behind the old one where both are written.
Result<std::string_view> FindNewFormat(std::string_view bytes) {
  if (bytes.starts_with(kOldMagic)) {
    const auto entries = NumberAt<std::uint32_t>(bytes, 12);
    if (!entries) return Damaged("is cut off");
    const std::uint64_t end = kOldHeaderBytes + std::uint64_t{*entries} * kOldEntryBytes;
    const std::uint64_t aligned = (end + 7) / 8 * 8;
    if (aligned > bytes.size()) return Damaged("is cut off");
    bytes.remove_prefix(aligned);
  }
  if (!bytes.starts_with(kCacheMagic))
    return Error(ErrorCode::kUnsupported, "the cache of the dynamic loader has an unknown format");
  return bytes;
}

}  // namespace

Result<LoaderCache> ParseLoaderCache(std::string_view bytes) {
  PTPKG_TRY(const std::string_view cache, FindNewFormat(bytes));
  const auto count = NumberAt<std::uint32_t>(cache, kCacheMagic.size());
  // Since glibc 2.33: 0 where nobody said, 2 little, 3 big endian.
  const auto order = NumberAt<std::uint8_t>(cache, kCacheMagic.size() + 8);
  if (!count || !order || cache.size() < kHeaderBytes) return Damaged("is cut off");
  const std::uint8_t foreign = std::endian::native == std::endian::little ? 3 : 2;
  if ((*order & 3U) == foreign)
    return Error(ErrorCode::kUnsupported, "the cache of the dynamic loader is for another byte order");
  if (*count > (cache.size() - kHeaderBytes) / kEntryBytes) return Damaged("is cut off");

  const auto text_at = [&](std::uint32_t offset) -> Result<std::string> {
    const std::size_t end = offset < cache.size() ? cache.find('\0', offset) : std::string_view::npos;
    if (end == std::string_view::npos) return Damaged("has a name that leaves it");
    return std::string(cache.substr(offset, end - offset));
  };
  LoaderCache found;
  for (std::size_t i = 0; i < *count; ++i) {
    const std::size_t at = kHeaderBytes + i * kEntryBytes;
    if (NumberAt<std::uint64_t>(cache, at + 16).value_or(0) != 0) continue;  // for better processors
    PTPKG_TRY(std::string name, text_at(NumberAt<std::uint32_t>(cache, at + 4).value_or(0)));
    PTPKG_TRY(std::string path, text_at(NumberAt<std::uint32_t>(cache, at + 8).value_or(0)));
    found[std::move(name)].push_back(std::move(path));
  }
  return found;
}

}  // namespace ptpkg::repair
