#include "elf/load/dynamic_faults.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>

namespace ptpkg::elf {
namespace {

/// True if ld.so can read `size` bytes of the file at `vaddr`.
bool CanRead(const Image& image, std::uint64_t vaddr, std::uint64_t size) {
  const Segment* const load = PageOwner(image, vaddr);
  return load != nullptr && (load->flags & (kFlagRead | kFlagWrite | kFlagExecute)) != 0 &&
         image.OffsetOf(vaddr, size, "").has_value();
}

/// ld.so takes the last of entries that should be one, other readers the first.
void CheckRepeats(const Image& image, FaultList& faults) {
  const DynamicTable& dynamic = *image.dynamic;
  constexpr std::uint64_t kDtPosflag1 = 0x6ffffdfd;  // of Solaris: for the entry behind it
  for (std::size_t i = 0; i < dynamic.entries.size(); ++i) {
    const DynamicEntry& entry = dynamic.entries[i];
    const bool may_repeat = entry.tag == kDtNeeded || entry.tag == kDtFilter || entry.tag == kDtAuxiliary ||
                            entry.tag == kDtPosflag1 || entry.tag == kDtAudit || entry.tag == kDtDepaudit;
    if (may_repeat || dynamic.Find(entry.tag) == entry.value) continue;
    faults.Dynamic(fmt::format("the entry {:#x} occurs twice, with different values", entry.tag));
    return;
  }
}

void CheckTables(const Image& image, FaultList& faults) {
  const DynamicTable& dynamic = *image.dynamic;
  struct Table {
    std::uint64_t tag;
    std::string_view name;
    std::uint64_t least;
  };
  const std::uint64_t symbol = image.codec.SymbolSize();
  const std::array<Table, 8> tables = {{{kDtSymtab, "DT_SYMTAB", symbol},
                                        {kDtStrtab, "DT_STRTAB", 1},
                                        {kDtHash, "DT_HASH", 8},
                                        {kDtGnuHash, "DT_GNU_HASH", 16},
                                        {kDtVersym, "DT_VERSYM", 2},
                                        {kDtVerneed, "DT_VERNEED", 16},
                                        {kDtVerdef, "DT_VERDEF", 20},
                                        {kDtRelr, "DT_RELR", 0}}};
  for (const Table& table : tables) {
    const auto at = dynamic.Find(table.tag);
    if (at && !CanRead(image, *at, table.least))
      faults.Dynamic(fmt::format("{} is address {:#x}, which the file does not map", table.name, *at));
  }
  if (!dynamic.Find(kDtSymtab)) faults.Dynamic("DT_SYMTAB is missing");
  const bool has_versions = dynamic.Find(kDtVerneed) || dynamic.Find(kDtVerdef);
  if (has_versions && !dynamic.Find(kDtVersym)) faults.Dynamic("DT_VERSYM is missing beside symbol versions");
}

struct RelocationTable {
  std::uint64_t tag;
  std::uint64_t size_tag;
  std::uint64_t entry_tag;
  std::uint64_t entry_size;
  std::string_view name;
};

void CheckRelocationTable(const Image& image, const RelocationTable& table, FaultList& faults) {
  const DynamicTable& dynamic = *image.dynamic;
  const auto at = dynamic.Find(table.tag);
  if (!at) return;
  const auto size = dynamic.Find(table.size_tag);
  const auto entry = dynamic.Find(table.entry_tag);
  if (!size) faults.Dynamic(fmt::format("DT_{}SZ is missing", table.name));
  if (!entry || *entry != table.entry_size) {
    faults.Dynamic(
        entry ? fmt::format("DT_{}ENT is {}, and ld.so asserts {}", table.name, *entry, table.entry_size)
              : fmt::format("DT_{}ENT is missing", table.name));
  }
  if (size && *size % table.entry_size != 0)
    faults.Dynamic(
        fmt::format("DT_{}SZ is {}, which is not a multiple of {}", table.name, *size, table.entry_size));
  if (size && *size != 0 && !CanRead(image, *at, *size))
    faults.Dynamic(fmt::format("DT_{} has bytes that the file does not map", table.name));
}

/// A lazy loader writes its own addresses into the second and third word.
void CheckPltGot(const Image& image, FaultList& faults) {
  const DynamicTable& dynamic = *image.dynamic;
  const auto got = dynamic.Find(kDtPltgot);
  if (BindsNow(dynamic) || (image.header.machine != kMachineX8664 && image.header.machine != kMachineAarch64))
    return;
  const Segment* const owner = got ? PageOwner(image, *got) : nullptr;
  if (owner == nullptr || (owner->flags & kFlagWrite) == 0)
    faults.Dynamic(got ? fmt::format("DT_PLTGOT is address {:#x}, where ld.so cannot write", *got)
                       : "DT_PLTGOT is missing");
}

void CheckPlt(const Image& image, std::uint64_t word, FaultList& faults) {
  const DynamicTable& dynamic = *image.dynamic;
  const auto at = dynamic.Find(kDtJmprel);
  const auto kind = dynamic.Find(kDtPltrel);
  const auto size = dynamic.Find(kDtPltrelsz);
  if (!at && !kind) return;
  // Machines of 32 bits have either kind.
  const bool is_known =
      kind && (*kind == kDtRela || (*kind == kDtRel && (!image.codec.Is64() || IsMips(image))));
  if (!is_known) {
    faults.Dynamic(
        kind ? fmt::format("DT_PLTREL is {}, which is not a relocation format of the machine", *kind)
             : "DT_PLTREL is missing, so ld.so leaves DT_JMPREL out");
    return;
  }
  if (!at) faults.Dynamic("DT_JMPREL is missing beside DT_PLTREL");
  if (!size) faults.Dynamic("DT_PLTRELSZ is missing");
  if (!at || !size || *size == 0) return;
  const std::uint64_t entry = (*kind == kDtRela ? 3 : 2) * word;
  if (*size % entry != 0)
    faults.Dynamic(fmt::format("DT_PLTRELSZ is {}, which is not a multiple of {}", *size, entry));
  if (!CanRead(image, *at, *size)) faults.Dynamic("DT_JMPREL has bytes that the file does not map");
  CheckPltGot(image, faults);
}

void CheckEntrySizes(const Image& image, FaultList& faults) {
  const DynamicTable& dynamic = *image.dynamic;
  const std::uint64_t word = image.codec.WordSize();
  if (const auto size = dynamic.Find(kDtSyment); size && *size != image.codec.SymbolSize())
    faults.Dynamic(
        fmt::format("DT_SYMENT is {}, and a symbol has {} bytes", *size, image.codec.SymbolSize()));
  CheckRelocationTable(image, {kDtRela, kDtRelasz, kDtRelaent, 3 * word, "RELA"}, faults);
  CheckRelocationTable(image, {kDtRel, kDtRelsz, kDtRelent, 2 * word, "REL"}, faults);
  CheckRelocationTable(image, {kDtRelr, kDtRelrsz, kDtRelrent, word, "RELR"}, faults);
  CheckPlt(image, word, faults);
}

/// Function descriptors (PowerPC of the first ABI, PA-RISC) are data.
bool CanRun(const Image& image, std::uint64_t vaddr) {
  if (image.header.machine == kMachinePpc64) return true;
  const Segment* const load = image.LoadAt(vaddr);
  if (load == nullptr || (load->flags & kFlagExecute) == 0) return false;
  const std::uint64_t headers =
      image.header.program_headers_offset + image.codec.SegmentSize() * image.segments.size();
  return load->offset + (vaddr - load->vaddr) >= std::min<std::uint64_t>(headers, kLoaderPage);
}

}  // namespace

void FindTableFaults(const Image& image, FaultList& faults) {
  CheckRepeats(image, faults);
  CheckTables(image, faults);
  CheckEntrySizes(image, faults);
}

void FindStartFaults(const Image& image, FaultList& faults) {
  const DynamicTable& dynamic = *image.dynamic;
  for (const auto& [tag, name] : {std::pair(kDtInit, "DT_INIT"), std::pair(kDtFini, "DT_FINI")}) {
    const auto at = dynamic.Find(tag);
    if (at && !CanRun(image, *at))
      faults.Start(fmt::format("{} is address {:#x}, where no code is", name, *at));
  }
  using Array = std::tuple<std::uint64_t, std::uint64_t, std::string_view>;
  for (const auto& [tag, size_tag, name] : {Array(kDtInitArray, kDtInitArraysz, "DT_INIT_ARRAY"),
                                            Array(kDtFiniArray, kDtFiniArraysz, "DT_FINI_ARRAY")}) {
    const auto at = dynamic.Find(tag);
    const auto size = dynamic.Find(size_tag);
    if (at && !size) faults.Start(fmt::format("{}SZ is missing", name));
    if (at && size && *size != 0 && !CanRead(image, *at, *size))
      faults.Start(fmt::format("{} is address {:#x}, which the file does not map", name, *at));
  }
}

}  // namespace ptpkg::elf
