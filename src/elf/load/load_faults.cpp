#include "elf/load/load_faults.h"

#include <algorithm>
#include <array>
#include <bit>
#include <fmt/core.h>
#include <span>

#include "elf/load/loader_compatibility.h"
#include "elf/read/section_table.h"

namespace ptpkg::elf {
namespace {

constexpr std::uint64_t kLoaderPage = 4096;
constexpr std::uint64_t kMaxSpan = 1ULL << 40U;      // 1 TiB: more than a process gets at once
constexpr std::uint64_t kMaxTlsAlign = 1ULL << 30U;  // beyond it the allocation fails

constexpr std::string_view kRelrVersion = "GLIBC_ABI_DT_RELR";

std::uint64_t PageDown(std::uint64_t value) { return value / kLoaderPage * kLoaderPage; }

/// Machines whose loader takes tables of both kinds, or lacks the rule.
bool IsMips(const Image& image) { return image.header.machine == kMachineMips; }

class FaultList {
 public:
  void Add(LoadFault::Part part, std::string message) {
    faults_.push_back({.part = part, .message = std::move(message)});
  }
  std::vector<LoadFault> Take() && { return std::move(faults_); }

 private:
  std::vector<LoadFault> faults_;
};

class Examiner {
 public:
  Examiner(File& file, const Image& image) : file_(file), image_(image), dynamic_(*image.dynamic) {}

  Result<std::vector<LoadFault>> Run() && {
    CheckLoads();
    CheckOtherSegments();
    CheckRepeats();
    CheckTables();
    CheckEntrySizes();
    CheckStart();
    CheckSections();
    PTPKG_CHECK(Soften(CheckInterpreter()));
    if (!IsMips(image_)) CheckRelocationSections();
    PTPKG_CHECK(Soften(CheckVersions()));
    PTPKG_CHECK(Soften(CheckGnuHash()));
    return std::move(faults_).Take();
  }

 private:
  /// Damage becomes a fault: what ld.so would read there is not in the file.
  Result<void> Soften(Result<void> checked) {
    if (checked) return checked;
    if (checked.error().code() != ErrorCode::kCorrupt) return checked;
    Dynamic(checked.error().message());
    return Ok();
  }

  void Segments(std::string message) { faults_.Add(LoadFault::Part::kSegments, std::move(message)); }
  void Dynamic(std::string message) { faults_.Add(LoadFault::Part::kDynamic, std::move(message)); }
  void Start(std::string message) { faults_.Add(LoadFault::Part::kStart, std::move(message)); }

  void CheckLoads() {
    const Segment* before = nullptr;
    std::uint64_t first = 0;
    for (std::size_t i = 0; i < image_.segments.size(); ++i) {
      const Segment& segment = image_.segments[i];
      if (segment.type != kSegmentLoad) continue;
      if ((segment.vaddr - segment.offset) % kLoaderPage != 0) {
        Segments(
            fmt::format("address {:#x} and file offset {:#x} of loadable segment {} differ within a page",
                        segment.vaddr, segment.offset, i));
      }
      if (before == nullptr) {
        first = PageDown(segment.vaddr);
      } else if (segment.vaddr < before->vaddr + before->memory_size) {
        Segments(fmt::format("loadable segment {} begins before the end of the one ahead of it", i));
      } else if (PageDown(segment.vaddr) < before->vaddr + before->memory_size &&
                 (before->flags & ~segment.flags) != 0) {
        Segments(fmt::format("loadable segment {} takes rights from a page of the one ahead of it", i));
      }
      if (segment.flags == 0 && segment.file_size != 0)
        Segments(fmt::format("loadable segment {} can be neither read, written nor run", i));
      if (segment.align > kMaxSpan)
        Segments(fmt::format("loadable segment {} has the alignment {:#x}", i, segment.align));
      if (segment.vaddr + segment.memory_size - first > kMaxSpan) {
        Segments(fmt::format("loadable segment {} ends {} bytes behind the first one", i,
                             segment.vaddr + segment.memory_size - first));
      }
      before = &segment;
    }
  }

  void CheckOtherSegments() {
    if (image_.dynamic && image_.FindSegment(kSegmentDynamic) == nullptr)
      Segments("no PT_DYNAMIC leads to the dynamic section");
    for (const Segment& segment : image_.segments) {
      if (segment.type == kSegmentTls) CheckTls(segment);
      // A PT_PHDR is where the loader reads the program headers again.
      if (segment.type == kSegmentPhdr &&
          !MapsTo(segment.vaddr, image_.codec.SegmentSize() * image_.segments.size(),
                  image_.header.program_headers_offset)) {
        Segments(
            fmt::format("PT_PHDR is at address {:#x}, where the program headers are not", segment.vaddr));
      }
      if (segment.type == kSegmentGnuRelro && segment.memory_size != 0 && !IsMapped(segment)) {
        Segments("PT_GNU_RELRO is outside of the loadable segments");
      }
      if (segment.type == kSegmentDynamic) CheckDynamicSegment(segment);
    }
  }

  void CheckDynamicSegment(const Segment& segment) {
    const Segment* const load = image_.LoadAt(segment.vaddr);
    if (load == nullptr || IsMips(image_) || image_.header.machine == kMachineRiscv) return;
    // The loader adds its base to the entries where PT_DYNAMIC says that it may write.
    if ((segment.flags & kFlagWrite) != 0 && (load->flags & kFlagWrite) == 0)
      Segments("PT_DYNAMIC is writable, but its loadable segment is not");
  }

  /// Reads it like the kernel (fs/binfmt_elf.c).
  Result<void> CheckInterpreter() {
    const Segment* const segment = image_.FindSegment(kSegmentInterp);
    if (segment == nullptr) return Ok();
    if (segment->file_size < 2 || segment->file_size > kMaxInterpreterBytes) {
      Segments(fmt::format("PT_INTERP has {} bytes, and the kernel takes 2 to {}", segment->file_size,
                           kMaxInterpreterBytes));
      return Ok();
    }
    PTPKG_TRY(const auto last, ReadExact(file_, segment->offset + segment->file_size - 1, 1, "PT_INTERP"));
    if (last.front() != std::byte{0}) Segments("PT_INTERP does not end with a NUL byte");
    return Ok();
  }

  void CheckTls(const Segment& segment) {
    for (const Section& section : image_.sections) {
      if ((section.flags & kSectionThreadLocal) == 0 || section.size == 0) continue;
      if (section.addr >= segment.vaddr && section.addr + section.size <= segment.vaddr + segment.memory_size)
        continue;
      Segments(fmt::format("the thread-local section at address {:#x} is outside of PT_TLS", section.addr));
      return;
    }
    if ((segment.memory_size | segment.file_size) == 0) return;
    if (segment.file_size > segment.memory_size ||
        (segment.file_size != 0 && !image_.OffsetOf(segment.vaddr, segment.file_size, "PT_TLS"))) {
      Segments("PT_TLS has initial values outside of the loadable segments");
    }
    if (segment.memory_size > kMaxSpan)
      Segments(fmt::format("PT_TLS asks for {} bytes in each thread", segment.memory_size));
    if (segment.align > kMaxTlsAlign || !std::has_single_bit(segment.align))
      Segments(fmt::format("PT_TLS has the alignment {}", segment.align));
  }

  [[nodiscard]] bool MapsTo(std::uint64_t vaddr, std::uint64_t size, std::uint64_t offset) const {
    const auto at = image_.OffsetOf(vaddr, size, "");
    return at && *at == offset;
  }

  /// True if every page of the range belongs to some PT_LOAD.
  [[nodiscard]] bool IsMapped(const Segment& range) const {
    const std::uint64_t end = range.vaddr + range.memory_size;
    if (end < range.vaddr || range.memory_size > kMaxSpan) return false;
    std::uint64_t at = PageDown(range.vaddr);
    while (at < end) {
      const Segment* const load = PageOwner(image_, at);
      if (load == nullptr) return false;
      at = PageDown(load->vaddr + load->memory_size + kLoaderPage - 1);
    }
    return true;
  }

  /// True if ld.so can read `size` bytes of the file at `vaddr`.
  [[nodiscard]] bool CanRead(std::uint64_t vaddr, std::uint64_t size) const {
    const Segment* const load = PageOwner(image_, vaddr);
    return load != nullptr && (load->flags & (kFlagRead | kFlagWrite | kFlagExecute)) != 0 &&
           image_.OffsetOf(vaddr, size, "").has_value();
  }

  /// ld.so takes the last of entries that should be one, other readers the first.
  void CheckRepeats() {
    constexpr std::uint64_t kDtPosflag1 = 0x6ffffdfd;  // of Solaris: for the entry behind it
    for (std::size_t i = 0; i < dynamic_.entries.size(); ++i) {
      const DynamicEntry& entry = dynamic_.entries[i];
      const bool may_repeat = entry.tag == kDtNeeded || entry.tag == kDtFilter || entry.tag == kDtAuxiliary ||
                              entry.tag == kDtPosflag1 || entry.tag == kDtAudit || entry.tag == kDtDepaudit;
      if (may_repeat || dynamic_.Find(entry.tag) == entry.value) continue;
      Dynamic(fmt::format("the entry {:#x} occurs twice, with different values", entry.tag));
      return;
    }
  }

  void CheckTables() {
    struct Table {
      std::uint64_t tag;
      std::string_view name;
      std::uint64_t least;
    };
    const std::uint64_t symbol = image_.codec.SymbolSize();
    const std::array<Table, 8> tables = {{{kDtSymtab, "DT_SYMTAB", symbol},
                                          {kDtStrtab, "DT_STRTAB", 1},
                                          {kDtHash, "DT_HASH", 8},
                                          {kDtGnuHash, "DT_GNU_HASH", 16},
                                          {kDtVersym, "DT_VERSYM", 2},
                                          {kDtVerneed, "DT_VERNEED", 16},
                                          {kDtVerdef, "DT_VERDEF", 20},
                                          {kDtRelr, "DT_RELR", 0}}};
    for (const Table& table : tables) {
      const auto at = dynamic_.Find(table.tag);
      if (at && !CanRead(*at, table.least))
        Dynamic(fmt::format("{} is address {:#x}, which the file does not map", table.name, *at));
    }
    if (!dynamic_.Find(kDtSymtab)) Dynamic("DT_SYMTAB is missing");
    const bool has_versions = dynamic_.Find(kDtVerneed) || dynamic_.Find(kDtVerdef);
    if (has_versions && !dynamic_.Find(kDtVersym)) Dynamic("DT_VERSYM is missing beside symbol versions");
  }

  void CheckEntrySizes() {
    const std::uint64_t word = image_.codec.WordSize();
    if (const auto size = dynamic_.Find(kDtSyment); size && *size != image_.codec.SymbolSize())
      Dynamic(fmt::format("DT_SYMENT is {}, and a symbol has {} bytes", *size, image_.codec.SymbolSize()));
    CheckTable({kDtRela, kDtRelasz, kDtRelaent, 3 * word, "RELA"});
    CheckTable({kDtRel, kDtRelsz, kDtRelent, 2 * word, "REL"});
    CheckTable({kDtRelr, kDtRelrsz, kDtRelrent, word, "RELR"});
    CheckPlt(word);
  }

  struct RelocationTable {
    std::uint64_t tag;
    std::uint64_t size_tag;
    std::uint64_t entry_tag;
    std::uint64_t entry_size;
    std::string_view name;
  };

  void CheckTable(const RelocationTable& table) {
    const auto at = dynamic_.Find(table.tag);
    if (!at) return;
    const auto size = dynamic_.Find(table.size_tag);
    const auto entry = dynamic_.Find(table.entry_tag);
    if (!size) Dynamic(fmt::format("DT_{}SZ is missing", table.name));
    if (!entry || *entry != table.entry_size) {
      Dynamic(entry
                  ? fmt::format("DT_{}ENT is {}, and ld.so asserts {}", table.name, *entry, table.entry_size)
                  : fmt::format("DT_{}ENT is missing", table.name));
    }
    if (size && *size % table.entry_size != 0)
      Dynamic(
          fmt::format("DT_{}SZ is {}, which is not a multiple of {}", table.name, *size, table.entry_size));
    if (size && *size != 0 && !CanRead(*at, *size))
      Dynamic(fmt::format("DT_{} has bytes that the file does not map", table.name));
  }

  void CheckPlt(std::uint64_t word) {
    const auto at = dynamic_.Find(kDtJmprel);
    const auto kind = dynamic_.Find(kDtPltrel);
    const auto size = dynamic_.Find(kDtPltrelsz);
    if (!at && !kind) return;
    // Machines of 32 bits have either kind.
    const bool is_known =
        kind && (*kind == kDtRela || (*kind == kDtRel && (!image_.codec.Is64() || IsMips(image_))));
    if (!is_known) {
      Dynamic(kind ? fmt::format("DT_PLTREL is {}, which is not a relocation format of the machine", *kind)
                   : "DT_PLTREL is missing, so ld.so leaves DT_JMPREL out");
      return;
    }
    if (!at) Dynamic("DT_JMPREL is missing beside DT_PLTREL");
    if (!size) Dynamic("DT_PLTRELSZ is missing");
    if (!at || !size || *size == 0) return;
    const std::uint64_t entry = (*kind == kDtRela ? 3 : 2) * word;
    if (*size % entry != 0)
      Dynamic(fmt::format("DT_PLTRELSZ is {}, which is not a multiple of {}", *size, entry));
    if (!CanRead(*at, *size)) Dynamic("DT_JMPREL has bytes that the file does not map");
    CheckPltGot();
  }

  /// A lazy loader writes its own addresses into the second and third word.
  void CheckPltGot() {
    const auto got = dynamic_.Find(kDtPltgot);
    if (BindsNow() || (image_.header.machine != kMachineX8664 && image_.header.machine != kMachineAarch64))
      return;
    const Segment* const owner = got ? PageOwner(image_, *got) : nullptr;
    if (owner == nullptr || (owner->flags & kFlagWrite) == 0)
      Dynamic(got ? fmt::format("DT_PLTGOT is address {:#x}, where ld.so cannot write", *got)
                  : "DT_PLTGOT is missing");
  }

  [[nodiscard]] bool BindsNow() const {
    constexpr std::uint64_t kDtBindNow = 24;
    return dynamic_.Find(kDtBindNow) || (dynamic_.Find(kDtFlags).value_or(0) & 8U) != 0 ||
           (dynamic_.Find(kDtFlags1).value_or(0) & 1U) != 0;
  }

  /// ld.so does not look at sections; linkers and strip write what both must agree on.
  void CheckSections() {
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
      const auto at = dynamic_.Find(pair.tag);
      const bool has_section =
          std::any_of(image_.sections.begin(), image_.sections.end(), [&](const Section& section) {
            return section.type == pair.type && section.addr != 0 && section.size != 0;
          });
      if (at && has_section && !image_.FindSection(pair.type, *at))
        Dynamic(fmt::format("{} is address {:#x}, where the section of that kind is not", pair.name, *at));
    }
    for (const Section& section : image_.sections) {
      const bool is_code =
          section.type == kSectionProgbits && section.size != 0 &&
          (section.flags & (kSectionAlloc | kSectionExecute)) == (kSectionAlloc | kSectionExecute);
      if (!is_code || MapsTo(section.addr, section.size, section.offset)) continue;
      Segments(fmt::format("the code at address {:#x} is not in the part of the file that is mapped there",
                           section.addr));
      return;
    }
  }

  /// Relocations that ld.so does not come to: pointers of the file stay as they are.
  void CheckRelocationSections() {
    const auto table = [&](std::uint64_t tag, std::uint64_t size_tag) {
      const std::uint64_t begin = dynamic_.Find(tag).value_or(0);
      return std::pair(begin, begin + dynamic_.Find(size_tag).value_or(0));
    };
    const std::array tables = {table(kDtRela, kDtRelasz), table(kDtRel, kDtRelsz), table(kDtRelr, kDtRelrsz),
                               table(kDtJmprel, kDtPltrelsz)};
    for (const Section& section : image_.sections) {
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
      Dynamic(fmt::format("the relocations at address {:#x} are in no table that ld.so reads", section.addr));
      return;
    }
  }

  void CheckStart() {
    for (const auto& [tag, name] : {std::pair(kDtInit, "DT_INIT"), std::pair(kDtFini, "DT_FINI")}) {
      const auto at = dynamic_.Find(tag);
      if (at && !CanRun(*at)) Start(fmt::format("{} is address {:#x}, where no code is", name, *at));
    }
    using Array = std::tuple<std::uint64_t, std::uint64_t, std::string_view>;
    for (const auto& [tag, size_tag, name] : {Array(kDtInitArray, kDtInitArraysz, "DT_INIT_ARRAY"),
                                              Array(kDtFiniArray, kDtFiniArraysz, "DT_FINI_ARRAY")}) {
      const auto at = dynamic_.Find(tag);
      const auto size = dynamic_.Find(size_tag);
      if (at && !size) Start(fmt::format("{}SZ is missing", name));
      if (at && size && *size != 0 && !CanRead(*at, *size))
        Start(fmt::format("{} is address {:#x}, which the file does not map", name, *at));
    }
  }

  /// Function descriptors (PowerPC of the first ABI, PA-RISC) are data.
  [[nodiscard]] bool CanRun(std::uint64_t vaddr) const {
    if (image_.header.machine == kMachinePpc64) return true;
    const Segment* const load = image_.LoadAt(vaddr);
    if (load == nullptr || (load->flags & kFlagExecute) == 0) return false;
    const std::uint64_t headers =
        image_.header.program_headers_offset + image_.codec.SegmentSize() * image_.segments.size();
    return load->offset + (vaddr - load->vaddr) >= std::min<std::uint64_t>(headers, kLoaderPage);
  }

  Result<void> CheckVersions() {
    const auto needs_at = dynamic_.Find(kDtVerneed);
    if (!needs_at || IsMips(image_)) return Ok();
    PTPKG_TRY(const std::uint64_t offset, image_.OffsetOf(*needs_at, 16, "a symbol version record"));
    PTPKG_TRY(const auto head, ReadExact(file_, offset, 16, "a symbol version record"));
    if (const std::uint16_t version = image_.codec.U16(head, 0); version != 1)
      Dynamic(fmt::format("the version requirements have the format {}, and ld.so reads 1", version));
    PTPKG_TRY(const VersionNeeds needs, ReadVersionNeeds(file_, image_));
    bool asks_libc = false;
    bool asks_relr = false;
    for (const VersionNeed& need : needs.records) {
      PTPKG_TRY(const std::string library,
                ReadDynamicString(file_, image_, need.name, "a version requirement"));
      for (const VersionNeed::Version& version : need.versions) {
        PTPKG_TRY(const std::string name,
                  ReadDynamicString(file_, image_, version.name, "a required version"));
        if (version.hash != SysvHash(name))
          Dynamic(fmt::format("the version '{}' has the hash of another name", name));
        asks_libc = asks_libc || library.starts_with("libc.so.");
        asks_relr = asks_relr || name == kRelrVersion;
      }
    }
    if (dynamic_.Find(kDtRelr) && asks_libc && !asks_relr) {
      Dynamic(
          fmt::format("DT_RELR is there without the version {} of libc: glibc refuses the file from 2.36 on, "
                      "and older ones leave its relocations out",
                      kRelrVersion));
    }
    return Ok();
  }

  static std::uint32_t SysvHash(std::string_view name) {
    std::uint32_t hash = 0;
    for (const char c : name) {
      hash = (hash << 4U) + static_cast<unsigned char>(c);
      hash ^= (hash >> 24U) & 0xf0U;
      hash &= 0x0fffffffU;
    }
    return hash;
  }

  Result<void> CheckGnuHash() {
    const auto at = dynamic_.Find(kDtGnuHash);
    if (!at) return Ok();
    PTPKG_TRY(const std::uint64_t offset, image_.OffsetOf(*at, 16, "the hash table"));
    PTPKG_TRY(const auto head, ReadExact(file_, offset, 16, "the hash table"));
    const std::uint32_t words = image_.codec.U32(head, 8);
    if (!std::has_single_bit(words))
      Dynamic(
          fmt::format("the hash table has a filter of {} words, and ld.so asserts a power of two", words));
    return Ok();
  }

  File& file_;
  const Image& image_;
  const DynamicTable& dynamic_;
  FaultList faults_;
};

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
  return Examiner(file, image).Run();
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
