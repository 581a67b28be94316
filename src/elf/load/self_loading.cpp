// Recognises files that relocate themselves: dynamic loaders and static position-independent programs. They
// abort at their start when they find a search path, so an edit must not touch them. A loader can have any
// file name. It needs no library and defines a symbol by which debuggers find the list of loaded files.

#include "elf/load/self_loading.h"

#include <algorithm>
#include <array>

#include "elf/symbols/symbol_table.h"

namespace ptpkg::elf {
namespace {

/// Lets debuggers find the list of loaded files: each loader defines one of these, and nothing else does.
/// Sources: glibc, elf/rtld.c. musl, ldso/dynlink.c. FreeBSD, libexec/rtld-elf/rtld.c.
constexpr std::array<std::string_view, 3> kLoaderSymbols = {"_r_debug", "_dl_debug_addr", "r_debug_state"};

constexpr std::uint64_t kMostSymbols = 1U << 20U;  // a loader has hundreds

Result<bool> DefinesLoaderSymbol(File& file, const Image& image) {
  std::vector<std::byte> strings;  // of a file with symbols
  bool found = false;
  PTPKG_CHECK(ForEachDynamicSymbol(
      file, image, SymbolVersions::kSkip, [&](const DynamicSymbol& symbol) -> Result<bool> {
        if (symbol.number == kMostSymbols) return false;
        if (strings.empty()) {
          PTPKG_TRY(strings, ReadExact(file, image.strings.offset, image.strings.size_bytes,
                                       "the dynamic string table"));
        }
        if (symbol.record.section == 0 || symbol.record.name >= strings.size()) return true;
        std::string_view text = AsText(strings).substr(symbol.record.name);
        text = text.substr(0, text.find('\0'));
        found = std::find(kLoaderSymbols.begin(), kLoaderSymbols.end(), text) != kLoaderSymbols.end();
        return !found;
      }));
  return found;
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
