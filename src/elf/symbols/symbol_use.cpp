#include "elf/symbols/symbol_use.h"

#include <algorithm>
#include <fmt/core.h>

#include "elf/edit/string_slots.h"
#include "elf/read/corrupt.h"
#include "elf/symbols/offered_names.h"
#include "elf/symbols/relocation_use.h"
#include "elf/symbols/symbol_table.h"
#include "elf/symbols/symbol_versions.h"

namespace ptpkg::elf {
namespace {

constexpr std::uint64_t kSymbolsPerPiece = 2048;  // 48 KiB of 64-bit symbols
/// So far behind a segment linkers put _end and its like, which they align.
constexpr std::uint64_t kEndRoom = 4096;
constexpr unsigned kBindLocal = 0;
constexpr unsigned kBindWeak = 2;
constexpr unsigned kIndirectType = 10;  // its value is the address of a function that says the address

/// The names of the symbols that relocations refer to.
class ImportedNames {
 public:
  /// `lookups`: RelocationUse::lookups. `versions`: of the file.
  ImportedNames(File& file, const Image& image, const std::vector<SymbolLookup>& lookups,
                const VersionHashes& versions, std::span<const std::uint16_t> passed_over)
      : file_(file), image_(image), lookups_(lookups), versions_(versions), passed_over_(passed_over) {}

  Result<void> Read(const ExportedNames& offered, SymbolUse& use) {
    const Codec& codec = image_.codec;
    const std::uint64_t record = codec.SymbolSize();
    const std::uint64_t count = lookups_.size();
    const auto table = image_.dynamic->Find(kDtSymtab);
    if (!table || count == 0) return Ok();
    PTPKG_TRY(const std::uint64_t symbols_at, image_.OffsetOf(*table, count * record, "the symbol table"));
    std::optional<std::uint64_t> versions_at;
    if (const auto versym = image_.dynamic->Find(kDtVersym)) {
      PTPKG_TRY(versions_at, image_.OffsetOf(*versym, count * 2, "the table of symbol versions"));
    }
    for (std::uint64_t first = 0; first < count; first += kSymbolsPerPiece) {
      const std::uint64_t size = std::min(kSymbolsPerPiece, count - first);
      const auto begin = lookups_.begin() + static_cast<std::ptrdiff_t>(first);
      if (std::all_of(begin, begin + static_cast<std::ptrdiff_t>(size),
                      [](SymbolLookup one) { return one == SymbolLookup::kNone; }))
        continue;
      PTPKG_TRY(const auto symbols,
                ReadExact(file_, symbols_at + first * record, size * record, "the symbol table"));
      std::vector<std::byte> versions;
      if (versions_at) {
        PTPKG_TRY(versions,
                  ReadExact(file_, *versions_at + first * 2, size * 2, "the table of symbol versions"));
      }
      for (std::uint64_t i = 0; i < size; ++i) {
        if (lookups_[first + i] == SymbolLookup::kNone) continue;
        const std::uint16_t version =
            versions.empty() ? std::uint16_t{0}
                             : static_cast<std::uint16_t>(codec.U16(versions, i * 2) & kVersionIndexMask);
        const auto declared = versions_.find(version);
        if (version > 1 && declared == versions_.end())
          return Corrupt(
              fmt::format("symbol {} has version {}, which the file does not declare", first + i, version));
        const std::uint32_t hash = declared == versions_.end() ? 0 : declared->second;
        PTPKG_CHECK(Take(DecodeSymbol(codec, Bytes(symbols).subspan(i * record, record)),
                         {.number = first + i, .version = version, .version_hash = hash}, offered, use));
      }
    }
    return Ok();
  }

 private:
  struct Reference {
    std::uint64_t number = 0;  ///< Of the symbol.
    std::uint16_t version = 0;
    std::uint32_t version_hash = 0;
  };

  Result<void> Take(const SymbolRecord& symbol, const Reference& reference, const ExportedNames& offered,
                    SymbolUse& use) {
    const std::uint64_t number = reference.number;
    const bool is_defined = symbol.section != 0;
    const bool is_elsewhere = lookups_[number] == SymbolLookup::kElsewhere;
    if (symbol.binding == kBindLocal) return Ok();
    PTPKG_CHECK(is_defined ? CheckDefined(number, symbol) : CheckUndefined(number, symbol));
    const bool is_weak = symbol.binding == kBindWeak;
    const bool is_tls = symbol.type == kThreadLocalType;
    if (symbol.visibility != 0) return Ok();
    if (is_defined && !is_elsewhere && offered.is_offered[number]) return Ok();
    const bool is_passed_over =
        std::find(passed_over_.begin(), passed_over_.end(), reference.version) != passed_over_.end();
    if ((!is_defined || is_elsewhere) && is_passed_over) return Ok();
    PTPKG_TRY(std::string name, ReadDynamicString(file_, image_, symbol.name, "the name of a symbol"));
    use.asked.push_back({.name = std::move(name),
                         .version = reference.version,
                         .version_hash = reference.version_hash,
                         // ld.so completes descriptors of thread-local variables at once.
                         .lazy = lookups_[number] == SymbolLookup::kLazy && !is_tls,
                         .elsewhere = is_elsewhere,
                         .weak = is_weak,
                         .is_tls = is_tls});
    return Ok();
  }

  /// A relocation finds the symbol of the file itself, or calls its resolver.
  Result<void> CheckDefined(std::uint64_t number, const SymbolRecord& symbol) const {
    if (!IsCodeOrData(symbol.type))
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
  const std::vector<SymbolLookup>& lookups_;
  const VersionHashes& versions_;
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

Result<void> FillSymbols(File& file, const Image& image, std::span<const std::uint16_t> passed_over,
                         RelocationFaults& faults, RelocationFacts& facts) {
  SymbolUse& use = facts.symbols;
  PTPKG_TRY(const auto count, CountDynamicSymbols(file, image));
  facts.symbol_count = count.value_or(0);
  PTPKG_TRY(const RelocationUse relocations, ReadRelocationUse(file, image, count, faults));
  use.binds_now = relocations.binds_now;
  use.has_versions = image.dynamic->Find(kDtVersym).has_value();
  PTPKG_TRY(const VersionHashes versions, ReadVersionHashes(file, image));
  PTPKG_TRY(ExportedNames offered, ReadExportedNames(file, image, count.value_or(0), versions));
  PTPKG_CHECK(ImportedNames(file, image, relocations.lookups, versions, passed_over).Read(offered, use));
  use.offered = std::move(offered.keys);
  use.offered_tls = std::move(offered.tls_keys);
  PTPKG_TRY(const bool by_symbol, DefinesAny(file, image, relocations.static_tls_symbols, count.value_or(0)));
  const Segment* const tls = image.FindSegment(kSegmentTls);
  const bool has_static_tls = relocations.has_static_tls || by_symbol;
  if (tls == nullptr && (relocations.needs_own_tls || has_static_tls))
    return Corrupt("relocations of thread-local variables without PT_TLS");
  if (tls != nullptr && has_static_tls) use.static_tls_bytes = tls->memory_size;
  return Ok();
}

/// True if `keys` has the version that `symbol` asks for.
bool HasKeyFor(const ImportedSymbol& symbol, const std::vector<std::uint64_t>& keys) {
  if (keys.empty()) return false;  // as of most files for thread-local variables
  const std::uint32_t version = symbol.version_hash == 0 ? kNoVersion : symbol.version_hash;
  const auto has = [&](std::uint32_t one) {
    return std::binary_search(keys.begin(), keys.end(), SymbolKey(symbol.name, one));
  };
  return has(kAnyVersion) || has(version);
}

/// MIPS orders its symbols in its own way. DT_HASH of s390x and Alpha has words of 8 bytes.
bool HasOtherTables(const Image& image) {
  constexpr std::uint16_t kMachineAlpha = 0x9026;
  const std::uint16_t machine = image.header.machine;
  return machine == kMachineMips || machine == kMachineS390 || machine == kMachineAlpha;
}

}  // namespace

bool SymbolUse::ExportsSymbol(std::string_view name) const {
  const auto first = std::lower_bound(offered.begin(), offered.end(), SymbolKey(name, 0));
  return first != offered.end() && *first <= SymbolKey(name, ~0U);
}

bool SymbolUse::Answers(const ImportedSymbol& symbol) const {
  return HasKeyFor(symbol, offered) || HasKeyFor(symbol, offered_tls);
}

bool SymbolUse::AnswersWrongly(const ImportedSymbol& symbol) const {
  return HasKeyFor(symbol, symbol.is_tls ? offered : offered_tls) &&
         !HasKeyFor(symbol, symbol.is_tls ? offered_tls : offered);
}

Result<EntryPoints> FindEntryPoints(File& file, const Image& image, const std::set<std::string>& names,
                                    std::uint64_t symbol_count) {
  EntryPoints found;
  for (const std::string& name : names) {
    EntryPoint& entry = found[name];
    if (HasOtherTables(image)) continue;
    PTPKG_TRY(const auto symbol, FindExportedSymbol(file, image, name, symbol_count));
    if (!symbol) {
      entry = EntryPoint::kAbsent;
      continue;
    }
    const bool is_address = symbol->type != kThreadLocalType && symbol->section != kAbsoluteIndex;
    // Function descriptors (PowerPC of the first ABI) are data.
    const bool is_code = image.header.machine == kMachinePpc64 || IsCode(image, symbol->value);
    entry = is_address && is_code ? EntryPoint::kCode : EntryPoint::kNoCode;
  }
  return found;
}

Result<RelocationFacts> ReadRelocationFacts(File& file, const Image& image,
                                            std::span<const std::uint16_t> passed_over) {
  RelocationFacts facts;
  if (HasOtherTables(image)) return facts;
  RelocationFaults faults;
  const Result<void> filled = FillSymbols(file, image, passed_over, faults, facts);
  if (!filled && filled.error().code() != ErrorCode::kCorrupt) return filled.error();
  facts.faults = std::move(faults).Take();
  if (!filled)
    facts.faults.push_back({.part = LoadFault::Part::kDynamic, .message = filled.error().message()});
  return facts;
}

}  // namespace ptpkg::elf
