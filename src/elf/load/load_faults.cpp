// Idea: each check compares what two parts of the file tell the loader, and adds a fault where ld.so would
// refuse the file, abort, or call what is not code. Checks do not depend on each other. Their order is that
// of the messages: program headers, tables of the dynamic section, sections, then what has to be read.

#include "elf/load/load_faults.h"

#include <algorithm>
#include <array>
#include <bit>
#include <fmt/core.h>
#include <span>

#include "elf/load/dynamic_faults.h"
#include "elf/load/loader_compatibility.h"
#include "elf/load/segment_faults.h"

namespace ptpkg::elf {
namespace {

constexpr std::string_view kRelrVersion = "GLIBC_ABI_DT_RELR";

/// ld.so does not look at sections; linkers and strip write what both must agree on.
void CompareSections(const Image& image, FaultList& faults) {
  const DynamicTable& dynamic = *image.dynamic;
  struct Pair {
    std::uint32_t type;
    std::uint64_t tag;
    std::string_view name;
  };
  constexpr std::array<Pair, 4> kPairs = {{{kSectionDynsym, kDtSymtab, "DT_SYMTAB"},
                                           {kSectionGnuVersym, kDtVersym, "DT_VERSYM"},
                                           {kSectionGnuHash, kDtGnuHash, "DT_GNU_HASH"},
                                           {kSectionHash, kDtHash, "DT_HASH"}}};
  for (const Pair& pair : kPairs) {
    const auto at = dynamic.Find(pair.tag);
    const bool has_section =
        std::any_of(image.sections.begin(), image.sections.end(), [&](const Section& section) {
          return section.type == pair.type && section.addr != 0 && section.size != 0;
        });
    if (at && has_section && !image.FindSection(pair.type, *at))
      faults.Dynamic(
          fmt::format("{} is address {:#x}, where the section of that kind is not", pair.name, *at));
  }
  for (const Section& section : image.sections) {
    const bool is_code =
        section.type == kSectionProgbits && section.size != 0 &&
        (section.flags & (kSectionAlloc | kSectionExecute)) == (kSectionAlloc | kSectionExecute);
    if (!is_code || MapsTo(image, section.addr, section.size, section.offset)) continue;
    faults.Segments(fmt::format(
        "the code at address {:#x} is not in the part of the file that is mapped there", section.addr));
    return;
  }
}

/// Relocations that ld.so does not come to: pointers of the file stay as they are.
void CheckRelocationSections(const Image& image, FaultList& faults) {
  const DynamicTable& dynamic = *image.dynamic;
  const auto table = [&](std::uint64_t tag, std::uint64_t size_tag) {
    const std::uint64_t begin = dynamic.Find(tag).value_or(0);
    return std::pair(begin, begin + dynamic.Find(size_tag).value_or(0));
  };
  const std::array tables = {table(kDtRela, kDtRelasz), table(kDtRel, kDtRelsz), table(kDtRelr, kDtRelrsz),
                             table(kDtJmprel, kDtPltrelsz)};
  for (const Section& section : image.sections) {
    const bool is_table =
        section.type == kSectionRela || section.type == kSectionRel || section.type == kSectionRelr;
    if (!is_table || (section.flags & kSectionAlloc) == 0 || section.size == 0) continue;
    const std::uint64_t last = section.addr + section.size - 1;
    const auto holds = [](std::uint64_t at) {
      return [at](const auto& range) { return range.first <= at && at < range.second; };
    };
    if (std::any_of(tables.begin(), tables.end(), holds(section.addr)) &&
        std::any_of(tables.begin(), tables.end(), holds(last)))
      continue;
    faults.Dynamic(
        fmt::format("the relocations at address {:#x} are in no table that ld.so reads", section.addr));
    return;
  }
}

std::uint32_t VersionNameHash(std::string_view name) {
  std::uint32_t hash = 0;
  for (const char c : name) {
    hash = (hash << 4U) + static_cast<unsigned char>(c);
    hash ^= (hash >> 24U) & 0xf0U;
    hash &= 0x0fffffffU;
  }
  return hash;
}

Result<void> CheckVersions(File& file, const Image& image, FaultList& faults) {
  const DynamicTable& dynamic = *image.dynamic;
  const auto needs_at = dynamic.Find(kDtVerneed);
  if (!needs_at || IsMips(image)) return Ok();
  PTPKG_TRY(const std::uint64_t offset, image.OffsetOf(*needs_at, 16, "a symbol version record"));
  PTPKG_TRY(const auto head, ReadExact(file, offset, 16, "a symbol version record"));
  if (const std::uint16_t version = image.codec.U16(head, 0); version != 1)
    faults.Dynamic(fmt::format("the version requirements have the format {}, and ld.so reads 1", version));
  PTPKG_TRY(const VersionNeeds needs, ReadVersionNeeds(file, image));
  bool asks_libc = false;
  bool asks_relr = false;
  for (const VersionNeed& need : needs.records) {
    PTPKG_TRY(const std::string library, ReadDynamicString(file, image, need.name, "a version requirement"));
    for (const VersionNeed::Version& version : need.versions) {
      PTPKG_TRY(const std::string name, ReadDynamicString(file, image, version.name, "a required version"));
      if (version.hash != VersionNameHash(name))
        faults.Dynamic(fmt::format("the version '{}' has the hash of another name", name));
      asks_libc = asks_libc || library.starts_with("libc.so.");
      asks_relr = asks_relr || name == kRelrVersion;
    }
  }
  if (dynamic.Find(kDtRelr) && asks_libc && !asks_relr) {
    faults.Dynamic(
        fmt::format("DT_RELR is there without the version {} of libc: glibc refuses the file from 2.36 on, "
                    "and older ones leave its relocations out",
                    kRelrVersion));
  }
  return Ok();
}

Result<void> CheckGnuHash(File& file, const Image& image, FaultList& faults) {
  const DynamicTable& dynamic = *image.dynamic;
  const auto at = dynamic.Find(kDtGnuHash);
  if (!at) return Ok();
  PTPKG_TRY(const std::uint64_t offset, image.OffsetOf(*at, 16, "the hash table"));
  PTPKG_TRY(const auto head, ReadExact(file, offset, 16, "the hash table"));
  const std::uint32_t words = image.codec.U32(head, 8);
  if (!std::has_single_bit(words))
    faults.Dynamic(
        fmt::format("the hash table has a filter of {} words, and ld.so asserts a power of two", words));
  return Ok();
}

/// Damage becomes a fault: what ld.so would read there is not in the file.
Result<void> Soften(Result<void> checked, FaultList& faults) {
  if (checked) return checked;
  if (checked.error().code() != ErrorCode::kCorrupt) return checked;
  faults.Dynamic(checked.error().message());
  return Ok();
}

/// Numbers of machines that Linux, or compilers for GPUs and signal processors have, and whether files for
/// them have 32 or 64 bits.
bool FitsMachine(const Image& image) {
  constexpr std::array<std::uint16_t, 16> kNarrow = {2,  3,   4,   15,  18,  20,  40,  42,
                                                     94, 106, 113, 140, 164, 167, 189, 252};
  constexpr std::array<std::uint16_t, 7> kWide = {21, 43, 50, 191, 251, 0x9026, 224};
  constexpr std::array<std::uint16_t, 12> kEither = {8, 10, 22, 62, 92, 93, 183, 190, 195, 243, 247, 258};
  const auto has = [&](const auto& list) {
    return std::find(list.begin(), list.end(), image.header.machine) != list.end();
  };
  return has(kEither) || has(image.codec.Is64() ? std::span<const std::uint16_t>(kWide)
                                                : std::span<const std::uint16_t>(kNarrow));
}

}  // namespace

Result<std::vector<LoadFault>> FindHeaderFaults(File& file, const Image& image) {
  std::array<std::byte, kCompatibilityHeaderBytes> head{};
  PTPKG_TRY(const std::size_t got, file.ReadAt(0, head));
  const Host own = {
      .elf_class = image.codec.elf_class(), .order = image.codec.order(), .machine = image.header.machine};
  const LoaderCompatibility fit = CompatibilityFromHeader(Bytes(head).first(got), own);
  std::vector<LoadFault> faults;
  if (!FitsMachine(image)) {
    faults.push_back(
        {.part = LoadFault::Part::kHeader,
         .message = fmt::format("no Linux machine has the number {} and this class", image.header.machine)});
  }
  if (fit.fit == CompatibilityKind::kRefused)
    faults.push_back({.part = LoadFault::Part::kHeader, .message = std::string(fit.reason)});
  return faults;
}

Result<std::vector<LoadFault>> FindLoadFaults(File& file, const Image& image) {
  FaultList faults;
  FindSegmentFaults(image, faults);
  FindTableFaults(image, faults);
  FindStartFaults(image, faults);
  CompareSections(image, faults);
  PTPKG_CHECK(Soften(FindInterpreterFaults(file, image, faults), faults));
  if (!IsMips(image)) CheckRelocationSections(image, faults);
  PTPKG_CHECK(Soften(CheckVersions(file, image, faults), faults));
  PTPKG_CHECK(Soften(CheckGnuHash(file, image, faults), faults));
  return std::move(faults).Take();
}

std::vector<LoaderNeed> FindLoaderNeeds(const Image& image) {
  std::vector<LoaderNeed> needs;
  if (image.dynamic->Find(kDtRelr)) needs.push_back({.minor = 36, .what = "DT_RELR"});
  if (image.dynamic->Find(kDtGnuHash) && !image.dynamic->Find(kDtHash))
    needs.push_back({.minor = 5, .what = "DT_GNU_HASH without DT_HASH"});
  const Segment* const dynamic = image.FindSegment(kSegmentDynamic);
  if (dynamic != nullptr && (dynamic->flags & kFlagWrite) == 0 && !IsMips(image) &&
      image.header.machine != kMachineRiscv)
    needs.push_back({.minor = 35, .what = "a read-only PT_DYNAMIC"});
  // elf/dl-load.c asked both of p_align until 2.35, which looks at pages alone.
  const auto is_uneven = [](const Segment& segment) {
    if (segment.type != kSegmentLoad) return false;
    if (segment.align % kLoaderPage != 0) return true;
    return segment.align > 1 && ((segment.vaddr - segment.offset) & (segment.align - 1)) != 0;
  };
  if (std::any_of(image.segments.begin(), image.segments.end(), is_uneven))
    needs.push_back({.minor = 35, .what = "a PT_LOAD that is not aligned as its p_align states"});
  return needs;
}

const Segment* PageOwner(const Image& image, std::uint64_t vaddr) {
  const auto owns = [&](const Segment& segment) {
    if (segment.type != kSegmentLoad) return false;
    const std::uint64_t begin = PageDown(segment.vaddr);
    return vaddr >= begin &&
           vaddr - begin < segment.vaddr - begin + segment.memory_size + (kLoaderPage - 1) &&
           PageDown(vaddr) < segment.vaddr + segment.memory_size;
  };
  // If two share a page, the later one is mapped over the other.
  const auto found = std::find_if(image.segments.rbegin(), image.segments.rend(), owns);
  return found == image.segments.rend() ? nullptr : &*found;
}

}  // namespace ptpkg::elf
