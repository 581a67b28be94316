#include "elf/load/self_loading.h"

#include <algorithm>
#include <array>

#include "elf/edit/string_slots.h"

namespace ptpkg::elf {
namespace {

/// Where debuggers find the list of loaded files: each loader defines one of these, and nothing else does.
/// glibc: elf/rtld.c; musl: ldso/dynlink.c; FreeBSD: libexec/rtld-elf/rtld.c.
constexpr std::array<std::string_view, 3> kLoaderSymbols = {"_r_debug", "_dl_debug_addr", "r_debug_state"};
constexpr std::uint64_t kMostSymbols = 1U << 20U;

Result<bool> DefinesLoaderSymbol(File& file, const Image& image) {
  PTPKG_TRY(const auto count, CountDynamicSymbols(file, image));
  const auto table = image.dynamic->Find(kDtSymtab);
  if (!table || count.value_or(0) == 0 || *count > kMostSymbols) return false;
  const Codec& codec = image.codec;
  const std::uint64_t record = codec.SymbolSize();
  PTPKG_TRY(const std::uint64_t offset, image.OffsetOf(*table, *count * record, "the dynamic symbols"));
  PTPKG_TRY(const auto symbols, ReadExact(file, offset, *count * record, "the dynamic symbols"));
  PTPKG_TRY(const auto strings,
            ReadExact(file, image.strings.offset, image.strings.size_bytes, "the dynamic string table"));
  for (std::size_t at = 0; at < symbols.size(); at += record) {
    const std::uint32_t name = codec.U32(symbols, at);
    const bool is_defined = codec.U16(symbols, at + (codec.Is64() ? 6 : 14)) != 0;
    if (!is_defined || name >= strings.size()) continue;
    std::string_view text = AsText(strings).substr(name);
    text = text.substr(0, text.find('\0'));
    if (std::find(kLoaderSymbols.begin(), kLoaderSymbols.end(), text) != kLoaderSymbols.end()) return true;
  }
  return false;
}

}  // namespace

Result<std::string> SelfLoadingKind(File& file, const Image& image) {
  if (IsStaticPie(image)) return std::string("a static position-independent program");
  const bool needs_none = image.header.type == kTypeDyn && image.dynamic &&
                          image.FindSegment(kSegmentInterp) == nullptr && !image.dynamic->Find(kDtNeeded);
  if (!needs_none) return std::string();
  PTPKG_TRY(const bool is_loader, DefinesLoaderSymbol(file, image));
  return std::string(is_loader ? "a dynamic loader" : "");
}

}  // namespace ptpkg::elf
