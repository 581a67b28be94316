#include "elf/symbols/symbol_use.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>
#include <functional>

#include "elf/edit/string_slots.h"
#include "elf/read/corrupt.h"
#include "elf/symbols/offered_names.h"
#include "elf/symbols/relocations.h"
#include "elf/symbols/symbol_table.h"
#include "elf/symbols/symbol_versions.h"

namespace ptpkg::elf {
namespace {

constexpr std::uint64_t kFlagTextrel = 4;  // of DT_FLAGS
constexpr std::uint64_t kFlagBindNow = 8;
constexpr std::uint64_t kFlag1Now = 1;

constexpr std::uint64_t kRelocationStep = 1U << 20U;
constexpr std::uint64_t kSymbolsPerPiece = 2048;  // 48 KiB of 64-bit symbols
/// So far behind a segment linkers put _end and its like, which they align.
constexpr std::uint64_t kEndRoom = 4096;
constexpr unsigned kBindLocal = 0;
constexpr unsigned kBindWeak = 2;
constexpr unsigned kIndirectType = 10;  // its value is the address of a function that says the address

// Relocation types.
constexpr std::uint32_t kX86Relative = 8;
constexpr std::uint32_t kX86Copy = 5;
constexpr std::uint32_t kX86JumpSlot = 7;
constexpr std::uint32_t kX86Dtpmod = 16;
constexpr std::uint32_t kX86Tpoff = 18;
constexpr std::uint32_t kX86Tlsdesc = 36;
constexpr std::uint32_t kX86Irelative = 37;
constexpr std::uint32_t kAarch64Relative = 1027;
constexpr std::array<std::uint32_t, 16> kX86Known = {0, 1, 2, 5, 6, 7, 8, 10, 16, 17, 18, 32, 33, 36, 37, 38};

enum class Use : std::uint8_t { kNone, kLazy, kImmediate };

/// Memory that holds addresses of functions, which start-up code calls one after the other.
struct FunctionArray {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::string_view name;
  std::vector<bool> relocated;
};

/// One pass over all relocations.
class SymbolWalk {
 public:
  SymbolWalk(File& file, const Image& image)
      : file_(file),
        image_(image),
        dynamic_(*image.dynamic),
        is_x86_64_(image.header.machine == kMachineX8664 && image.codec.Is64()) {
    const std::uint64_t flags = dynamic_.Find(kDtFlags).value_or(0);
    may_write_text_ = (flags & kFlagTextrel) != 0 || dynamic_.Find(kDtTextrel).has_value();
    binds_now_ = (flags & kFlagBindNow) != 0 || dynamic_.Find(kDtBindNow) ||
                 (dynamic_.Find(kDtFlags1).value_or(0) & kFlag1Now) != 0;
    AddArray("DT_INIT_ARRAY", kDtInitArray, kDtInitArraysz);
    AddArray("DT_FINI_ARRAY", kDtFiniArray, kDtFiniArraysz);
  }

  /// `symbols`: how many the table has; nullopt: not known.
  Result<void> Run(std::optional<std::uint64_t> symbols) {
    if (symbols) uses_.resize(*symbols, Use::kNone);
    count_ = symbols;
    const auto rela = dynamic_.Find(kDtRela);
    const auto rela_size = dynamic_.Find(kDtRelasz);
    if (rela && rela_size) {
      plain_left_ = dynamic_.Find(kDtRelacount).value_or(0);
      PTPKG_CHECK(ReadTable(*rela, *rela_size, true, Use::kImmediate));
      plain_left_ = 0;
    }
    const auto rel = dynamic_.Find(kDtRel);
    const auto rel_size = dynamic_.Find(kDtRelsz);
    if (rel && rel_size && !image_.codec.Is64())
      PTPKG_CHECK(ReadTable(*rel, *rel_size, false, Use::kImmediate));
    const auto plt = dynamic_.Find(kDtJmprel);
    const auto plt_size = dynamic_.Find(kDtPltrelsz);
    const auto kind = dynamic_.Find(kDtPltrel);
    if (plt && plt_size && kind) PTPKG_CHECK(ReadTable(*plt, *plt_size, *kind == kDtRela, Use::kLazy));
    PTPKG_CHECK(ReadPacked());
    return CheckArrays();
  }

  [[nodiscard]] bool binds_now() const { return binds_now_; }
  [[nodiscard]] bool has_static_tls() const { return has_static_tls_; }
  [[nodiscard]] bool needs_own_tls() const { return needs_own_tls_ || has_static_tls_; }
  [[nodiscard]] const std::vector<std::uint32_t>& static_tls_symbols() const { return static_tls_symbols_; }
  [[nodiscard]] const std::vector<Use>& uses() const { return uses_; }
  std::vector<LoadFault>& faults() { return faults_; }

  void AddFault(LoadFault::Part part, std::size_t kind, std::string message) {
    if (seen_.at(kind)) return;
    seen_.at(kind) = true;
    faults_.push_back({.part = part, .message = std::move(message)});
  }

 private:
  enum Kind : std::size_t { kType, kPlace, kText, kSymbol, kTarget, kPlain, kSlot, kPltType, kKinds };

  void Fault(Kind kind, std::string message) {
    AddFault(LoadFault::Part::kRelocation, kind, std::move(message));
  }

  void AddArray(std::string_view name, std::uint64_t tag, std::uint64_t size_tag) {
    const auto at = dynamic_.Find(tag);
    const auto size = dynamic_.Find(size_tag);
    if (!at || !size || !image_.OffsetOf(*at, *size, "")) return;  // FindLoadFaults says so
    const std::uint64_t slots = *size / image_.codec.WordSize();
    arrays_.push_back({.begin = *at,
                       .end = *at + slots * image_.codec.WordSize(),
                       .name = name,
                       .relocated = std::vector<bool>(slots)});
  }

  Result<void> ReadTable(std::uint64_t vaddr, std::uint64_t size, bool with_addends, Use use) {
    const auto begin = image_.OffsetOf(vaddr, size, "the relocation table");
    if (!begin) return Ok();  // FindLoadFaults says so
    const Codec& codec = image_.codec;
    const std::uint64_t word = codec.WordSize();
    const std::uint64_t entry = (with_addends ? 3 : 2) * word;
    const std::uint64_t whole = size / entry * entry;
    const std::uint64_t step_size = kRelocationStep / entry * entry;
    for (std::uint64_t at = 0; at < whole; at += step_size) {
      const std::uint64_t step = std::min(step_size, whole - at);
      PTPKG_TRY(const auto bytes, ReadExact(file_, *begin + at, step, "the relocation table"));
      for (std::uint64_t i = 0; i < step; i += entry) {
        Relocation record = DecodeRelocation(codec, bytes, i);
        if (with_addends) record.addend = codec.Word(bytes, i + 2 * word);
        Take(record, use);
      }
    }
    return Ok();
  }

  void Take(const Relocation& record, Use use) {
    if (is_x86_64_) TakeX86(record, use);
    if (record.type == 0) return;
    CheckPlace(record.place);
    NoteSlot(record);
    if (record.symbol == 0) return;
    if (count_ && record.symbol >= *count_) {
      Fault(kSymbol, fmt::format("a relocation refers to symbol {} of {}", record.symbol, *count_));
    } else if (count_) {
      Use& now = uses_[record.symbol];
      now = std::max(now, use == Use::kLazy && binds_now_ ? Use::kImmediate : use);
    }
  }

  void TakeX86(const Relocation& record, Use use) {
    if (plain_left_ > 0) {
      --plain_left_;
      if (record.type != kX86Relative)
        Fault(kPlain,
              fmt::format("DT_RELACOUNT counts a relocation of type {}, which is not relative", record.type));
    }
    if (std::find(kX86Known.begin(), kX86Known.end(), record.type) == kX86Known.end())
      Fault(kType, fmt::format("a relocation has the type {:#x}, which ld.so does not know", record.type));
    const bool is_of_plt =
        record.type == kX86JumpSlot || record.type == kX86Tlsdesc || record.type == kX86Irelative;
    if (use == Use::kLazy && !is_of_plt && !binds_now_)
      Fault(kPltType, fmt::format("a relocation of the PLT has the type {:#x}", record.type));
    if (record.type == kX86Irelative && !IsCode(record.addend))
      Fault(kTarget,
            fmt::format("an IRELATIVE relocation calls address {:#x}, where no code is", record.addend));
    if (record.type == kX86Copy && image_.FindSegment(kSegmentInterp) == nullptr)
      Fault(kTarget, "a library has a COPY relocation, which only programs can have");
    if (record.type == kX86Dtpmod && record.symbol == 0) needs_own_tls_ = true;
    if (record.type == kX86Tpoff) NoteStaticTls(record.symbol);
  }

  void NoteStaticTls(std::uint32_t symbol) {
    if (symbol == 0) {
      has_static_tls_ = true;
    } else if (static_tls_symbols_.size() < kMostTlsSymbols) {
      static_tls_symbols_.push_back(symbol);
    }
  }

  void CheckPlace(std::uint64_t place) {
    if (owner_ == nullptr || place < owner_->vaddr || place - owner_->vaddr >= owner_->memory_size)
      owner_ = PageOwner(image_, place);
    if (owner_ == nullptr) {
      Fault(kPlace, fmt::format("a relocation writes to address {:#x}, which the file does not map", place));
    } else if ((owner_->flags & kFlagWrite) == 0 && !may_write_text_) {
      Fault(kText, fmt::format("a relocation writes to address {:#x}, which is read-only, without DT_TEXTREL",
                               place));
    }
  }

  [[nodiscard]] bool IsCode(std::uint64_t vaddr) const {
    const Segment* const load = image_.LoadAt(vaddr);
    return load != nullptr && (load->flags & kFlagExecute) != 0;
  }

  void NoteSlot(const Relocation& record) {
    for (FunctionArray& array : arrays_) {
      if (record.place < array.begin || record.place >= array.end) continue;
      array.relocated[(record.place - array.begin) / image_.codec.WordSize()] = true;
      const bool is_relative = (is_x86_64_ && record.type == kX86Relative) ||
                               (image_.header.machine == kMachineAarch64 && record.type == kAarch64Relative);
      if (is_relative) CheckTarget(array, record.addend);
    }
  }

  void CheckTarget(const FunctionArray& array, std::uint64_t target) {
    if (IsCode(target)) return;
    AddFault(LoadFault::Part::kStart, kSlot,
             fmt::format("{} holds address {:#x}, where no code is", array.name, target));
  }

  Result<void> ReadPacked() {
    const auto at = dynamic_.Find(kDtRelr);
    const auto size = dynamic_.Find(kDtRelrsz);
    if (!at || !size) return Ok();
    const auto begin = image_.OffsetOf(*at, *size, "the table of packed relocations");
    if (!begin) return Ok();  // FindLoadFaults says so
    const std::uint64_t word = image_.codec.WordSize();
    PTPKG_TRY(const auto bytes,
              ReadExact(file_, *begin, *size / word * word, "the table of packed relocations"));
    std::uint64_t next = 0;
    for (std::uint64_t i = 0; i < bytes.size(); i += word) {
      std::uint64_t bits = image_.codec.Word(bytes, i);
      if (bits % 2 == 0) {
        PTPKG_CHECK(TakePacked(bits));
        next = bits + word;
        continue;
      }
      std::uint64_t place = next;
      for (bits >>= 1U; bits != 0; bits >>= 1U, place += word) {
        if (bits % 2 == 1) PTPKG_CHECK(TakePacked(place));
      }
      next += (8 * word - 1) * word;
    }
    return Ok();
  }

  Result<void> TakePacked(std::uint64_t place) {
    CheckPlace(place);
    for (FunctionArray& array : arrays_) {
      if (place < array.begin || place >= array.end) continue;
      array.relocated[(place - array.begin) / image_.codec.WordSize()] = true;
      PTPKG_TRY(const std::uint64_t target, WordAt(place));
      CheckTarget(array, target);
    }
    return Ok();
  }

  Result<std::uint64_t> WordAt(std::uint64_t vaddr) {
    PTPKG_TRY(const std::uint64_t offset,
              image_.OffsetOf(vaddr, image_.codec.WordSize(), "a function's address"));
    PTPKG_TRY(const auto bytes, ReadExact(file_, offset, image_.codec.WordSize(), "a function's address"));
    return image_.codec.Word(bytes, 0);
  }

  /// A slot without a relocation is the distance from the load address, or nothing at all. Programs at fixed
  /// addresses need none.
  Result<void> CheckArrays() {
    if (image_.header.type == kTypeExec) return Ok();
    if (!is_x86_64_ && image_.header.machine != kMachineAarch64) return Ok();
    for (const FunctionArray& array : arrays_) {
      const auto left = std::find(array.relocated.begin(), array.relocated.end(), false);
      if (left == array.relocated.end()) continue;
      AddFault(LoadFault::Part::kStart, kSlot,
               fmt::format("entry {} of {} has no relocation, so ld.so calls what is not an address",
                           left - array.relocated.begin(), array.name));
    }
    return Ok();
  }

  static constexpr std::size_t kMostTlsSymbols = 1000;

  File& file_;
  const Image& image_;
  const DynamicTable& dynamic_;
  const bool is_x86_64_;
  bool may_write_text_ = false;
  bool binds_now_ = false;
  bool has_static_tls_ = false;
  bool needs_own_tls_ = false;
  std::vector<std::uint32_t> static_tls_symbols_;
  std::optional<std::uint64_t> count_;
  std::vector<Use> uses_;  // by symbol
  std::uint64_t plain_left_ = 0;
  const Segment* owner_ = nullptr;  // of the last place
  std::vector<FunctionArray> arrays_;
  std::array<bool, kKinds> seen_ = {};
  std::vector<LoadFault> faults_;
};

/// The names of the symbols that the walk has seen.
class ImportedNames {
 public:
  ImportedNames(File& file, const Image& image, SymbolWalk& walk, std::span<const std::uint16_t> passed_over)
      : file_(file), image_(image), walk_(walk), passed_over_(passed_over) {}

  Result<void> Read(const ExportedNames& offered, SymbolUse& use) {
    const Codec& codec = image_.codec;
    const std::uint64_t record = codec.SymbolSize();
    const std::uint64_t count = walk_.uses().size();
    const auto table = image_.dynamic->Find(kDtSymtab);
    if (!table || count == 0) return Ok();
    PTPKG_TRY(const std::uint64_t symbols_at, image_.OffsetOf(*table, count * record, "the symbol table"));
    std::optional<std::uint64_t> versions_at;
    if (const auto versym = image_.dynamic->Find(kDtVersym)) {
      PTPKG_TRY(versions_at, image_.OffsetOf(*versym, count * 2, "the table of symbol versions"));
    }
    PTPKG_TRY(const std::vector<bool> known, KnownVersions());
    for (std::uint64_t first = 0; first < count; first += kSymbolsPerPiece) {
      const std::uint64_t size = std::min(kSymbolsPerPiece, count - first);
      const auto begin = walk_.uses().begin() + static_cast<std::ptrdiff_t>(first);
      if (std::all_of(begin, begin + static_cast<std::ptrdiff_t>(size),
                      [](Use one) { return one == Use::kNone; }))
        continue;
      PTPKG_TRY(const auto symbols,
                ReadExact(file_, symbols_at + first * record, size * record, "the symbol table"));
      std::vector<std::byte> versions;
      if (versions_at) {
        PTPKG_TRY(versions,
                  ReadExact(file_, *versions_at + first * 2, size * 2, "the table of symbol versions"));
      }
      for (std::uint64_t i = 0; i < size; ++i) {
        if (walk_.uses()[first + i] == Use::kNone) continue;
        const std::uint16_t version =
            versions.empty() ? std::uint16_t{0}
                             : static_cast<std::uint16_t>(codec.U16(versions, i * 2) & kVersionIndexMask);
        if (version > 1 && !known[version])
          return Corrupt(
              fmt::format("symbol {} has version {}, which the file does not declare", first + i, version));
        PTPKG_CHECK(Take(first + i, DecodeSymbol(codec, Bytes(symbols).subspan(i * record, record)), version,
                         offered, use));
      }
    }
    return Ok();
  }

 private:
  /// Indexes that .gnu.version may hold.
  Result<std::vector<bool>> KnownVersions() {
    std::vector<bool> known(kVersionIndexMask + 1U);
    PTPKG_TRY(const VersionNeeds needs, ReadVersionNeeds(file_, image_));
    for (const VersionNeed& need : needs.records) {
      for (const VersionNeed::Version& version : need.versions)
        known[version.index & kVersionIndexMask] = true;
    }
    const auto at = image_.dynamic->Find(kDtVerdef);
    const auto count = image_.dynamic->Find(kDtVerdefnum);
    if (!at || !count) return known;
    constexpr std::uint64_t kRecord = 20;
    std::uint64_t address = *at;
    for (std::uint64_t i = 0; i < std::min<std::uint64_t>(*count, kVersionIndexMask); ++i) {
      PTPKG_TRY(const std::uint64_t offset, image_.OffsetOf(address, kRecord, "a version definition"));
      PTPKG_TRY(const auto record, ReadExact(file_, offset, kRecord, "a version definition"));
      known[image_.codec.U16(record, 4) & kVersionIndexMask] = true;
      const std::uint32_t step = image_.codec.U32(record, 16);
      if (step == 0) break;
      address += step;
    }
    return known;
  }

  Result<void> Take(std::uint64_t number, const SymbolRecord& symbol, std::uint16_t version,
                    const ExportedNames& offered, SymbolUse& use) {
    const bool is_defined = symbol.section != 0;
    if (symbol.binding == kBindLocal) return Ok();
    PTPKG_CHECK(is_defined ? CheckDefined(number, symbol) : CheckUndefined(number, symbol));
    if (symbol.binding == kBindWeak || symbol.visibility != 0) return Ok();
    if (is_defined && offered.HasNumber(number)) return Ok();
    if (!is_defined && std::find(passed_over_.begin(), passed_over_.end(), version) != passed_over_.end())
      return Ok();
    PTPKG_TRY(std::string name, ReadDynamicString(file_, image_, symbol.name, "the name of a symbol"));
    use.asked.push_back(
        {.name = std::move(name), .version = version, .lazy = walk_.uses()[number] == Use::kLazy});
    return Ok();
  }

  /// A relocation finds the symbol of the file itself, or calls its resolver.
  Result<void> CheckDefined(std::uint64_t number, const SymbolRecord& symbol) const {
    constexpr unsigned kFound = 1U << 0U | 1U << 1U | 1U << 2U | 1U << 5U | 1U << 6U | 1U << kIndirectType;
    if ((kFound >> symbol.type & 1U) == 0)
      return Corrupt(fmt::format("symbol {} has type {}, which ld.so passes over", number, symbol.type));
    if (symbol.type == kThreadLocalType || symbol.section == kAbsoluteIndex) return CheckName(number, symbol);
    return CheckPlace(number, symbol, symbol.type == kIndirectType);
  }

  /// ld.so takes a hidden symbol for one of the file and does not search for it. One with a value is a place
  /// in the procedure linkage table, which other files take for the function.
  Result<void> CheckUndefined(std::uint64_t number, const SymbolRecord& symbol) const {
    if (symbol.visibility != 0)
      return Corrupt(
          fmt::format("symbol {} is hidden or protected, and the file does not define it", number));
    return symbol.value != 0 ? CheckPlace(number, symbol, true) : CheckName(number, symbol);
  }

  Result<void> CheckPlace(std::uint64_t number, const SymbolRecord& symbol, bool is_code) const {
    const std::uint64_t value = symbol.value;
    const auto holds = [&](const Segment& segment) {
      // Function descriptors (PowerPC of the first ABI) are data.
      const bool can_be_data = !is_code || image_.header.machine == kMachinePpc64;
      const bool fits = can_be_data || (segment.flags & kFlagExecute) != 0;
      return segment.type == kSegmentLoad && fits && value >= segment.vaddr &&
             value - segment.vaddr <= segment.memory_size + (is_code ? 0 : kEndRoom);
    };
    if (std::any_of(image_.segments.begin(), image_.segments.end(), holds)) return CheckName(number, symbol);
    return Corrupt(fmt::format("symbol {} is at address {:#x}, where no {} is", number, value,
                               is_code ? "code" : "segment"));
  }

  [[nodiscard]] Result<void> CheckName(std::uint64_t number, const SymbolRecord& symbol) const {
    if (symbol.name < image_.strings.size_bytes) return Ok();
    return Corrupt(fmt::format("the name of symbol {} is byte {} of a string table of {} bytes", number,
                               symbol.name, image_.strings.size_bytes));
  }

  File& file_;
  const Image& image_;
  SymbolWalk& walk_;
  std::span<const std::uint16_t> passed_over_;
};

/// True if the file defines one of `numbers`.
Result<bool> DefinesAny(File& file, const Image& image, const std::vector<std::uint32_t>& numbers,
                        std::uint64_t count) {
  const auto table = image.dynamic->Find(kDtSymtab);
  const std::uint64_t record = image.codec.SymbolSize();
  for (const std::uint32_t number : numbers) {
    if (!table || number >= count) continue;
    PTPKG_TRY(const std::uint64_t at, image.OffsetOf(*table + number * record, record, "a symbol"));
    PTPKG_TRY(const auto symbol, ReadExact(file, at, record, "a symbol"));
    if (DecodeSymbol(image.codec, symbol).section != 0) return true;
  }
  return false;
}

Result<void> FillSymbols(File& file, const Image& image, SymbolWalk& walk,
                         std::span<const std::uint16_t> passed_over, SymbolUse& use) {
  PTPKG_TRY(const auto count, CountDynamicSymbols(file, image));
  PTPKG_CHECK(walk.Run(count));
  use.binds_now = walk.binds_now();
  PTPKG_TRY(ExportedNames offered, ReadExportedNames(file, image, count.value_or(0)));
  PTPKG_CHECK(ImportedNames(file, image, walk, passed_over).Read(offered, use));
  use.offered = std::move(offered.keys);
  PTPKG_TRY(const bool by_symbol, DefinesAny(file, image, walk.static_tls_symbols(), count.value_or(0)));
  const Segment* const tls = image.FindSegment(kSegmentTls);
  if (tls == nullptr && (walk.needs_own_tls() || by_symbol))
    return Corrupt("relocations of thread-local variables without PT_TLS");
  if (tls != nullptr && (walk.has_static_tls() || by_symbol)) use.static_tls_bytes = tls->memory_size;
  return Ok();
}

}  // namespace

bool SymbolUse::ExportsSymbol(std::string_view name) const {
  return std::binary_search(offered.begin(), offered.end(), SymbolKey(name));
}

Result<RelocationFacts> ReadRelocationFacts(File& file, const Image& image,
                                            std::span<const std::uint16_t> passed_over) {
  RelocationFacts facts;
  constexpr std::uint16_t kMachineAlpha = 0x9026;  // both have hash tables of 8-byte words
  const std::uint16_t machine = image.header.machine;
  if (machine == kMachineMips || machine == kMachineS390 || machine == kMachineAlpha) return facts;
  SymbolWalk walk(file, image);
  const Result<void> filled = FillSymbols(file, image, walk, passed_over, facts.symbols);
  if (!filled && filled.error().code() != ErrorCode::kCorrupt) return filled.error();
  facts.faults = std::move(walk.faults());
  if (!filled)
    facts.faults.push_back({.part = LoadFault::Part::kDynamic, .message = filled.error().message()});
  return facts;
}

}  // namespace ptpkg::elf
