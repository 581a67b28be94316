// Collects the names that a library exports, the way ld.so finds them: through its hash table.
//
// A symbol that the table does not lead to is invisible to ld.so even if .dynsym defines it. So each symbol
// is tested like a lookup of its name: the table must have it in the bucket of the name's hash, and
// DT_GNU_HASH also that hash, past the Bloom filter. Entries of DT_GNU_HASH have the end of the chain in
// place of the lowest bit of the hash. A table that leads outside of the symbols is damaged.
//
// A look-up with a version takes the definition of that version, hidden or not, or one of the base version. A
// look-up without one takes the base version and the first of the file (index 2), or else the only one that
// is not hidden.
//
// The first entry must have the hash of the symbol that the head names. Source: glibc, elf/dl-lookup.c
// (do_lookup_x, check_match) and dl_new_hash.

#include "elf/symbols/offered_names.h"

#include <algorithm>
#include <fmt/core.h>
#include <functional>

#include "elf/read/corrupt.h"
#include "elf/symbols/symbol_table.h"

namespace ptpkg::elf {
namespace {

std::uint32_t GnuHash(std::string_view name) {
  std::uint32_t hash = 5381;
  for (const char c : name) hash = hash * 33 + static_cast<unsigned char>(c);
  return hash;
}

/// The hash of DT_HASH (gABI chapter 5).
std::uint32_t SysvHash(std::string_view name) {
  std::uint32_t hash = 0;
  for (const char c : name) {
    hash = (hash << 4U) + static_cast<unsigned char>(c);
    const std::uint32_t high = hash & 0xf0000000U;
    hash = (hash ^ (high >> 24U)) & ~high;
  }
  return hash;
}

/// Head of DT_GNU_HASH. Behind it lie the words of the filter, the buckets and the chains.
struct GnuHashHead {
  std::uint64_t buckets = 0;
  std::uint64_t first = 0;  ///< Number of the first symbol in the table.
  std::uint64_t words = 0;  ///< Number of words in the filter, of 4 or 8 bytes by class.
  unsigned shift = 0;

  [[nodiscard]] bool IsEmpty() const { return buckets == 0 || words == 0; }
  /// The word of the filter that says whether `hash` can be in the table.
  [[nodiscard]] std::uint64_t FilterWord(std::uint32_t hash, std::uint64_t bits) const {
    return hash / bits % words;
  }
  [[nodiscard]] bool Passes(std::uint32_t hash, std::uint64_t filter, std::uint64_t bits) const {
    return ((filter >> (hash % bits)) & (filter >> ((hash >> shift) % bits)) & 1U) != 0;
  }
};
constexpr std::uint64_t kGnuHashHead = 16;  // bytes
/// Names of hostile symbols can overlap. No library has so many bytes of names.
constexpr std::uint64_t kMostNameBytes = 1ULL << 30U;

GnuHashHead DecodeGnuHashHead(const Codec& codec, Bytes head) {
  return {.buckets = codec.U32(head, 0),
          .first = codec.U32(head, 4),
          .words = codec.U32(head, 8),
          .shift = codec.U32(head, 12) % 32};
}

/// True for a record that check_match takes for a definition.
bool IsDefinition(const SymbolRecord& symbol) {
  const bool has_value =
      symbol.value != 0 || symbol.section == kAbsoluteIndex || symbol.type == kThreadLocalType;
  return symbol.section != 0 && has_value && IsCodeOrData(symbol.type);
}

/// False for a definition that do_lookup_x passes over, because it is local to its file.
bool IsVisible(const SymbolRecord& symbol) {
  constexpr unsigned kBindings = 1U << 1U | 1U << 2U | 1U << 10U;  // global, weak, unique
  constexpr unsigned kLocal = 1U << 1U | 1U << 2U;                 // internal, hidden
  return (kBindings >> symbol.binding & 1U) != 0 && (kLocal >> symbol.visibility & 1U) == 0;
}

class HashTableReader {
 public:
  HashTableReader(File& file, const Image& image, std::uint64_t symbols, const VersionHashes& versions)
      : file_(file), image_(image), symbols_(symbols), versions_(versions), bucket_of_(symbols, kNoBucket) {
    names_.is_offered.resize(symbols);
  }

  Result<ExportedNames> Run() && {
    if (const auto gnu = image_.dynamic->Find(kDtGnuHash)) {
      PTPKG_CHECK(ReadGnu(*gnu));
    } else if (const auto hash = image_.dynamic->Find(kDtHash)) {
      PTPKG_CHECK(ReadSysv(*hash));
    }
    std::sort(names_.keys.begin(), names_.keys.end());
    std::sort(names_.tls_keys.begin(), names_.tls_keys.end());
    return std::move(names_);
  }

 private:
  static constexpr std::uint32_t kNoBucket = ~0U;

  Result<void> ReadGnu(std::uint64_t vaddr) {
    const Codec& codec = image_.codec;
    const std::uint64_t word = codec.WordSize();
    PTPKG_TRY(const auto head_bytes, ReadTable(vaddr, kGnuHashHead));
    const GnuHashHead head = DecodeGnuHashHead(codec, head_bytes);
    if (head.IsEmpty()) return Ok();
    const std::uint64_t first = head.first;
    const std::uint64_t fixed = head.words * word + head.buckets * 4;
    PTPKG_TRY(const auto bytes, ReadTable(vaddr + kGnuHashHead, fixed));
    const Bytes buckets = Bytes(bytes).subspan(head.words * word);
    if (std::all_of(buckets.begin(), buckets.end(), [](std::byte one) { return one == std::byte{0}; }))
      return Ok();  // linkers leave a chain of one zero there, or none
    const std::uint64_t length = symbols_ > first ? symbols_ - first : 0;
    PTPKG_TRY(const auto chain, ReadTable(vaddr + kGnuHashHead + fixed, length * 4));
    PTPKG_CHECK(CompareFirst(first, length == 0 ? 0 : codec.U32(chain, 0)));
    const std::uint64_t bits = 8 * word;
    const auto leads = [&](std::uint32_t hash, std::uint64_t bucket) {
      return head.Passes(hash, codec.Word(bytes, head.FilterWord(hash, bits) * word), bits) &&
             hash % head.buckets == bucket;
    };
    for (std::uint64_t bucket = 0; bucket < head.buckets; ++bucket) {
      std::uint64_t number = codec.U32(buckets, bucket * 4);
      if (number == 0) continue;
      for (bool last = false; !last; ++number) {
        if (number < first || number >= symbols_) return LeadsOutside(number);
        const std::uint32_t entry = codec.U32(chain, (number - first) * 4);
        last = (entry & 1U) != 0;
        if (!leads(entry & ~1U, bucket) && !leads(entry | 1U, bucket)) return DoesNotLead(number);
        bucket_of_[number] = static_cast<std::uint32_t>(bucket);
      }
    }
    return TakeNames([&](std::uint64_t number, std::string_view name) -> Result<bool> {
      const std::uint32_t hash = GnuHash(name);
      const std::uint32_t entry = codec.U32(chain, (number - first) * 4);
      return (hash | 1U) == (entry | 1U) && leads(hash, bucket_of_[number]);
    });
  }

  Result<void> ReadSysv(std::uint64_t vaddr) {
    const Codec& codec = image_.codec;
    PTPKG_TRY(const auto head, ReadTable(vaddr, 8));
    const std::uint64_t buckets = codec.U32(head, 0);
    const std::uint64_t chain = codec.U32(head, 4);
    if (buckets == 0) return Ok();
    PTPKG_TRY(const auto bytes, ReadTable(vaddr + 8, (buckets + chain) * 4));
    std::uint64_t followed = 0;
    for (std::uint64_t bucket = 0; bucket < buckets; ++bucket) {
      for (std::uint64_t number = codec.U32(bytes, bucket * 4); number != 0;
           number = codec.U32(bytes, (buckets + number) * 4)) {
        if (number >= chain || number >= symbols_ || ++followed > chain) return LeadsOutside(number);
        bucket_of_[number] = static_cast<std::uint32_t>(bucket);
      }
    }
    return TakeNames([&](std::uint64_t number, std::string_view name) -> Result<bool> {
      if (SysvHash(name) % buckets != bucket_of_[number]) return DoesNotLead(number);
      return true;
    });
  }

  Result<std::vector<std::byte>> ReadTable(std::uint64_t vaddr, std::uint64_t size) {
    PTPKG_TRY(const std::uint64_t at, image_.OffsetOf(vaddr, size, "the hash table"));
    return ReadExact(file_, at, size, "the hash table");
  }

  [[nodiscard]] Error LeadsOutside(std::uint64_t number) const {
    return Corrupt(fmt::format("the hash table leads to symbol {} of {}", number, symbols_));
  }

  static Error DoesNotLead(std::uint64_t number) {
    return Corrupt(fmt::format("the hash table does not lead to symbol {}", number));
  }

  /// Takes the definitions of the table for which `is_found` is true. It gets their number and name.
  Result<void> TakeNames(const std::function<Result<bool>(std::uint64_t, std::string_view)>& is_found) {
    PTPKG_TRY(const auto strings,
              ReadExact(file_, image_.strings.offset, image_.strings.size_bytes, "the string table"));
    const std::string_view texts = AsText(strings);
    std::uint64_t left = kMostNameBytes;
    const bool has_versions = image_.dynamic->Find(kDtVersym).has_value();
    std::vector<Default> defaults;
    PTPKG_CHECK(
        ForEachDynamicSymbol(file_, image_, has_versions ? SymbolVersions::kRead : SymbolVersions::kSkip,
                             [&](const DynamicSymbol& symbol) -> Result<bool> {
                               if (symbol.number >= symbols_) return false;
                               if (bucket_of_[symbol.number] == kNoBucket) return true;
                               if (!IsDefinition(symbol.record)) return true;
                               if (symbol.record.name >= texts.size())
                                 return Corrupt(fmt::format(
                                     "the name of symbol {} is outside of the string table", symbol.number));
                               if (!IsVisible(symbol.record)) return true;
                               const std::string_view rest = texts.substr(symbol.record.name);
                               const std::string_view name = rest.substr(0, rest.find('\0'));
                               if (name.size() > left)
                                 return Corrupt("the names of its symbols overlap too much");
                               left -= name.size();
                               PTPKG_TRY(const bool found, is_found(symbol.number, name));
                               if (!found) return true;
                               AddKeys(name, symbol, defaults);
                               names_.is_offered[symbol.number] = true;
                               return true;
                             }));
    std::sort(defaults.begin(), defaults.end(),
              [](const Default& a, const Default& b) { return a.name < b.name; });
    for (std::size_t i = 0; i < defaults.size(); ++i) {
      const bool is_only = (i == 0 || defaults[i - 1].name != defaults[i].name) &&
                           (i + 1 == defaults.size() || defaults[i + 1].name != defaults[i].name);
      if (is_only) defaults[i].keys->push_back(SymbolKey(defaults[i].name, kNoVersion));
    }
    return Ok();
  }

  /// A name with a default version. Such names count only once.
  struct Default {
    std::string_view name;
    std::vector<std::uint64_t>* keys = nullptr;  ///< The list of its key.
  };

  void AddKeys(std::string_view name, const DynamicSymbol& symbol, std::vector<Default>& defaults) {
    constexpr std::uint16_t kFirstVersion = 2;
    std::vector<std::uint64_t>& keys = symbol.record.type == kThreadLocalType ? names_.tls_keys : names_.keys;
    const auto index = static_cast<std::uint16_t>(symbol.version & kVersionIndexMask);
    const bool is_hidden = index != symbol.version;
    const auto known = versions_.find(index);
    const std::uint32_t version = known == versions_.end() ? 0 : known->second;
    if (version == 0 && !is_hidden) return keys.push_back(SymbolKey(name, kAnyVersion));
    if (version != 0) keys.push_back(SymbolKey(name, version));
    if (index <= kFirstVersion) {
      keys.push_back(SymbolKey(name, kNoVersion));
    } else if (!is_hidden) {
      defaults.push_back({.name = name, .keys = &keys});
    }
  }

  /// The first entry of the table is for the symbol that the head names.
  Result<void> CompareFirst(std::uint64_t number, std::uint32_t hash) {
    const auto table = image_.dynamic->Find(kDtSymtab);
    const std::uint64_t record = image_.codec.SymbolSize();
    if (!table || number >= symbols_) return Ok();
    PTPKG_TRY(const std::uint64_t at, image_.OffsetOf(*table + number * record, record, "a symbol"));
    PTPKG_TRY(const auto symbol, ReadExact(file_, at, record, "a symbol"));
    PTPKG_TRY(const std::string name,
              ReadDynamicString(file_, image_, image_.codec.U32(symbol, 0), "a symbol"));
    if ((GnuHash(name) | 1U) == (hash | 1U)) return Ok();
    return Corrupt(fmt::format("the hash table has another name than '{}' for symbol {}", name, number));
  }

  File& file_;
  const Image& image_;
  std::uint64_t symbols_;
  const VersionHashes& versions_;
  std::vector<std::uint32_t> bucket_of_;  // of each symbol
  ExportedNames names_;
};

/// The numbers of the symbols that a look-up compares with `name`, in its order. Empty without a hash table.
Result<std::vector<std::uint64_t>> HashCandidates(File& file, const Image& image, std::string_view name,
                                                  std::uint64_t symbols) {
  const Codec& codec = image.codec;
  const auto word = [&](std::uint64_t vaddr, std::uint64_t size) -> Result<std::uint64_t> {
    PTPKG_TRY(const std::uint64_t at, image.OffsetOf(vaddr, size, "the hash table"));
    PTPKG_TRY(const auto bytes, ReadExact(file, at, size, "the hash table"));
    return size == 4 ? codec.U32(bytes, 0) : codec.Word(bytes, 0);
  };
  std::vector<std::uint64_t> found;
  if (const auto gnu = image.dynamic->Find(kDtGnuHash)) {
    PTPKG_TRY(const std::uint64_t at, image.OffsetOf(*gnu, kGnuHashHead, "the hash table"));
    PTPKG_TRY(const auto head_bytes, ReadExact(file, at, kGnuHashHead, "the hash table"));
    const GnuHashHead head = DecodeGnuHashHead(codec, head_bytes);
    if (head.IsEmpty()) return found;
    const std::uint32_t hash = GnuHash(name);
    const std::uint64_t size = codec.WordSize();
    const std::uint64_t filters = *gnu + kGnuHashHead;
    PTPKG_TRY(const std::uint64_t filter, word(filters + head.FilterWord(hash, 8 * size) * size, size));
    if (!head.Passes(hash, filter, 8 * size)) return found;
    const std::uint64_t table = filters + head.words * size;
    PTPKG_TRY(std::uint64_t number, word(table + hash % head.buckets * 4, 4));
    for (; number >= head.first && number != 0 && number < symbols; ++number) {
      PTPKG_TRY(const std::uint64_t entry, word(table + (head.buckets + number - head.first) * 4, 4));
      if ((entry | 1U) == (hash | 1U)) found.push_back(number);
      if ((entry & 1U) != 0) break;
    }
  } else if (const auto hash = image.dynamic->Find(kDtHash)) {
    PTPKG_TRY(const std::uint64_t buckets, word(*hash, 4));
    if (buckets == 0) return found;
    PTPKG_TRY(std::uint64_t number, word(*hash + 8 + SysvHash(name) % buckets * 4, 4));
    while (number != 0 && number < symbols && found.size() < symbols) {
      found.push_back(number);
      PTPKG_TRY(number, word(*hash + 8 + (buckets + number) * 4, 4));
    }
  }
  return found;
}

}  // namespace

Result<std::optional<SymbolRecord>> FindExportedSymbol(File& file, const Image& image, std::string_view name,
                                                       std::uint64_t symbols) {
  constexpr std::uint16_t kFirstVersion = 2;  // 0 and 1 stand for none
  const auto table = image.dynamic->Find(kDtSymtab);
  if (!table) return std::optional<SymbolRecord>();
  const auto versions = image.dynamic->Find(kDtVersym);
  const auto read = [&](std::uint64_t vaddr, std::uint64_t size) -> Result<std::vector<std::byte>> {
    PTPKG_TRY(const std::uint64_t at, image.OffsetOf(vaddr, size, "a symbol"));
    return ReadExact(file, at, size, "a symbol");
  };
  const std::uint64_t size = image.codec.SymbolSize();
  const auto visible = [](const SymbolRecord& symbol) {
    return IsVisible(symbol) ? std::optional(symbol) : std::nullopt;
  };
  std::vector<SymbolRecord> versioned;
  PTPKG_TRY(const std::vector<std::uint64_t> candidates, HashCandidates(file, image, name, symbols));
  for (const std::uint64_t number : candidates) {
    PTPKG_TRY(const auto bytes, read(*table + number * size, size));
    const SymbolRecord symbol = DecodeSymbol(image.codec, bytes);
    PTPKG_TRY(const std::string own, ReadDynamicString(file, image, symbol.name, "a symbol"));
    if (own != name || !IsDefinition(symbol)) continue;
    std::uint16_t version = 0;
    if (versions) {
      PTPKG_TRY(const auto word, read(*versions + number * 2, 2));
      version = image.codec.U16(word, 0);
    }
    if ((version & kVersionIndexMask) < kFirstVersion) return visible(symbol);
    if ((version & ~kVersionIndexMask) == 0) versioned.push_back(symbol);
  }
  return versioned.size() == 1 ? visible(versioned.front()) : std::nullopt;
}

std::uint64_t SymbolKey(std::string_view name, std::uint32_t version) {
  return std::uint64_t{GnuHash(name)} << 32U | version;
}

bool IsCodeOrData(std::uint32_t type) {
  // STT_NOTYPE, STT_OBJECT, STT_FUNC, STT_COMMON, STT_TLS, STT_GNU_IFUNC
  constexpr unsigned kTypes = 1U << 0U | 1U << 1U | 1U << 2U | 1U << 5U | 1U << 6U | 1U << 10U;
  return (kTypes >> type & 1U) != 0;
}

Result<ExportedNames> ReadExportedNames(File& file, const Image& image, std::uint64_t symbols,
                                        const VersionHashes& versions) {
  return HashTableReader(file, image, symbols, versions).Run();
}

}  // namespace ptpkg::elf
