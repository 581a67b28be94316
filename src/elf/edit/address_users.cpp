// Looks for anything that refers to an address range, before bytes there move.
//
// The loader's own tables are corrected by the edit. Other readers would keep the old address: dynamic
// symbols, relocations that write or point there, and code. Code is searched for distances to the range
// (FindCodeReference), on machines whose instructions ptpkg reads. In a program with fixed addresses, the
// linker also stores plain addresses, so every aligned word of its data counts.
//
// Relocations of an unsupported kind count as a reference, since they could be one. A range with a
// reference stays where it is: the edit takes another way or is refused.

#include "elf/edit/address_users.h"

#include <algorithm>
#include <fmt/core.h>
#include <set>

#include "elf/edit/string_slots.h"
#include "elf/read/section_kinds.h"
#include "elf/read/section_table.h"
#include "elf/symbols/relocations.h"
#include "elf/symbols/symbol_table.h"

namespace ptpkg::elf {
namespace {

constexpr std::uint64_t kSearchBytes = 1U << 20U;

class AddressReferenceSearch {
 public:
  AddressReferenceSearch(File& file, const Image& image, const std::vector<AddressRange>& places,
                         const std::set<std::uint64_t>& starts)
      : file_(file), image_(image), places_(places), starts_(starts) {}

  Result<std::string> Run() {
    PTPKG_TRY(std::string why, FindSymbol());
    // Without the machine's type of relative relocation, a relocation's target is unknown.
    if (!why.empty() || !RelativeType(image_)) return why;
    PTPKG_TRY(why, FindRelocation());
    if (!why.empty()) return why;
    const bool are_fixed = image_.header.type == kTypeExec;
    PTPKG_TRY(
        const auto code,
        FindCodeReference(file_, image_,
                          {.places = places_, .wholes = places_, .are_fixed = are_fixed, .starts = starts_}));
    if (code) return fmt::format("code at address {:#x}", *code);
    return are_fixed ? FindAbsolute() : Result<std::string>(std::string());
  }

 private:
  [[nodiscard]] bool IsPlace(std::uint64_t address) const {
    return std::any_of(places_.begin(), places_.end(), [&](const AddressRange& place) {
      return address >= place.begin && address - place.begin < place.size_bytes;
    });
  }

  Result<std::string> FindSymbol() {
    bool found = false;
    PTPKG_CHECK(ForEachDynamicSymbol(
        file_, image_, SymbolVersions::kSkip, [&](const DynamicSymbol& symbol) -> Result<bool> {
          const SymbolRecord& record = symbol.record;
          const bool has_address =
              record.section != 0 && record.section != kAbsoluteIndex && record.type != kThreadLocalType;
          found = has_address && IsPlace(record.value);
          return !found;
        }));
    return std::string(found ? "a dynamic symbol" : "");
  }

  Result<std::string> FindRelocation() {
    std::string why;
    const std::optional<std::uint32_t> relative = RelativeType(image_);
    const Result<void> read = ForEachRelocation(file_, image_, [&](const Relocation& relocation) {
      const bool writes = IsPlace(relocation.place);
      const bool points = relocation.type == relative && IsPlace(relocation.addend);
      if (why.empty() && (writes || points))
        why = fmt::format("a relocation of address {:#x}", relocation.place);
      return Ok();
    });
    if (!read && read.error().code() == ErrorCode::kUnsupported) return read.error().message();
    PTPKG_CHECK(read);
    return why;
  }

  /// FindCodeReference has searched the code of x86.
  Result<std::string> FindAbsolute() {
    PTPKG_TRY(const std::vector<NamedSection> named, ReadNamedSections(file_, image_));
    for (const NamedSection& section : named) {
      if (section.name == ".got" || section.name == ".got.plt") tables_.insert(section.offset);
    }
    for (const Section& section : image_.sections) {
      const bool is_code = (section.flags & kSectionExecute) != 0;
      const bool is_read = section.type == kSectionProgbits && (section.flags & kSectionAlloc) != 0 &&
                           !(is_code && IsX86(image_));
      if (!is_read || IsPlace(section.addr)) continue;
      PTPKG_TRY(std::string why, FindAbsoluteIn(section));
      if (!why.empty()) return why;
    }
    return std::string();
  }

  /// Aligned words hold addresses.
  Result<std::string> FindAbsoluteIn(const Section& section) {
    const std::size_t width = image_.codec.WordSize();
    for (std::uint64_t at = 0; at < section.size; at += kSearchBytes) {
      PTPKG_TRY(const auto bytes, ReadExact(file_, section.offset + at,
                                            std::min(kSearchBytes, section.size - at), "a section"));
      for (std::size_t i = 0; i + width <= bytes.size(); i += width) {
        // The linker puts the address of .dynamic at the begin of the GOT, and no code reads it there.
        if (at + i == 0 && tables_.contains(section.offset)) continue;
        if (IsPlace(image_.codec.Word(bytes, i)))
          return fmt::format("a word at address {:#x}", section.addr + at + i);
      }
    }
    return std::string();
  }

  File& file_;
  const Image& image_;
  const std::vector<AddressRange>& places_;
  const std::set<std::uint64_t>& starts_;
  std::set<std::uint64_t> tables_ = {};  ///< File offsets of .got and .got.plt.
};

}  // namespace

Result<std::string> FindAddressReference(File& file, const Image& image,
                                         const std::vector<AddressRange>& places,
                                         const std::set<std::uint64_t>& starts) {
  return AddressReferenceSearch(file, image, places, starts).Run();
}

}  // namespace ptpkg::elf
