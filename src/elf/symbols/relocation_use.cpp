// Idea: one pass over DT_RELA, DT_REL, DT_JMPREL and DT_RELR, in this order. Each record is checked for its
// type, for the place that ld.so writes, and for the symbol that it looks up. Places inside DT_INIT_ARRAY and
// DT_FINI_ARRAY are marked, because ld.so calls each word there: a slot that no relocation has written holds
// no address.

#include "elf/symbols/relocation_use.h"

#include <algorithm>
#include <fmt/core.h>

#include "elf/load/fault_list.h"
#include "elf/symbols/relocations.h"

namespace ptpkg::elf {
namespace {

constexpr std::uint64_t kFlagTextrel = 4;  // of DT_FLAGS

constexpr std::uint64_t kRelocationStep = 1U << 20U;
constexpr std::size_t kMostTlsSymbols = 1000;

// Relocation types.
constexpr std::uint32_t kX86Relative = 8;
constexpr std::uint32_t kX86Copy = 5;
constexpr std::uint32_t kX86JumpSlot = 7;
constexpr std::uint32_t kX86Dtpmod = 16;
constexpr std::uint32_t kX86Tpoff = 18;
constexpr std::uint32_t kX86Tlsdesc = 36;
constexpr std::uint32_t kX86Irelative = 37;
constexpr std::uint32_t kAarch64Copy = 1024;
constexpr std::uint32_t kAarch64Relative = 1027;
constexpr std::array<std::uint32_t, 16> kX86Known = {0, 1, 2, 5, 6, 7, 8, 10, 16, 17, 18, 32, 33, 36, 37, 38};

using Kind = RelocationFaults::Kind;

bool IsX8664(const Image& image) { return image.header.machine == kMachineX8664 && image.codec.Is64(); }

bool MayWriteText(const DynamicTable& dynamic) {
  return (dynamic.Find(kDtFlags).value_or(0) & kFlagTextrel) != 0 || dynamic.Find(kDtTextrel).has_value();
}

/// Checks that relocations write to memory that the file maps writable.
class PlaceCheck {
 public:
  explicit PlaceCheck(const Image& image) : image_(image), may_write_text_(MayWriteText(*image.dynamic)) {}

  void Check(std::uint64_t place, RelocationFaults& faults) {
    if (owner_ == nullptr || place < owner_->vaddr || place - owner_->vaddr >= owner_->memory_size)
      owner_ = PageOwner(image_, place);
    if (owner_ == nullptr) {
      faults.Add(Kind::kPlace,
                 fmt::format("a relocation writes to address {:#x}, which the file does not map", place));
    } else if ((owner_->flags & kFlagWrite) == 0 && !may_write_text_) {
      faults.Add(
          Kind::kText,
          fmt::format("a relocation writes to address {:#x}, which is read-only, without DT_TEXTREL", place));
    }
  }

 private:
  const Image& image_;
  bool may_write_text_;
  const Segment* owner_ = nullptr;  // of the last place
};

/// DT_INIT_ARRAY and DT_FINI_ARRAY: addresses of functions, which start-up code calls one after the other.
class FunctionArrays {
 public:
  explicit FunctionArrays(const Image& image) : image_(image) {
    Add("DT_INIT_ARRAY", kDtInitArray, kDtInitArraysz);
    Add("DT_FINI_ARRAY", kDtFiniArray, kDtFiniArraysz);
  }

  /// Marks the slot as relocated. Returns whether the place is in an array.
  bool Mark(std::uint64_t place) {
    bool is_slot = false;
    for (Array& array : arrays_) {
      if (place < array.begin || place >= array.end) continue;
      array.relocated[(place - array.begin) / image_.codec.WordSize()] = true;
      is_slot = true;
    }
    return is_slot;
  }

  /// Checks the address that ld.so writes to a slot.
  void CheckTarget(std::uint64_t place, std::uint64_t target, RelocationFaults& faults) const {
    if (IsCode(image_, target)) return;
    for (const Array& array : arrays_) {
      if (place < array.begin || place >= array.end) continue;
      faults.Add(Kind::kSlot, fmt::format("{} holds address {:#x}, where no code is", array.name, target));
    }
  }

  /// A slot without a relocation is the distance from the load address, or nothing at all. Programs at fixed
  /// addresses need none.
  void CheckAllMarked(RelocationFaults& faults) const {
    if (image_.header.type == kTypeExec) return;
    if (!IsX8664(image_) && image_.header.machine != kMachineAarch64) return;
    for (const Array& array : arrays_) {
      const auto left = std::find(array.relocated.begin(), array.relocated.end(), false);
      if (left == array.relocated.end()) continue;
      faults.Add(Kind::kSlot,
                 fmt::format("entry {} of {} has no relocation, so ld.so calls what is not an address",
                             left - array.relocated.begin(), array.name));
    }
  }

 private:
  struct Array {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::string_view name;
    std::vector<bool> relocated;
  };

  void Add(std::string_view name, std::uint64_t tag, std::uint64_t size_tag) {
    const auto at = image_.dynamic->Find(tag);
    const auto size = image_.dynamic->Find(size_tag);
    if (!at || !size || !image_.OffsetOf(*at, *size, "")) return;  // FindLoadFaults says so
    const std::uint64_t slots = *size / image_.codec.WordSize();
    arrays_.push_back({.begin = *at,
                       .end = *at + slots * image_.codec.WordSize(),
                       .name = name,
                       .relocated = std::vector<bool>(slots)});
  }

  const Image& image_;
  std::vector<Array> arrays_;
};

/// Checks the type of a relocation of x86-64, and the places that it leads to.
void CheckX86Type(const Image& image, const Relocation& record, bool may_be_lazy, RelocationFaults& faults) {
  if (std::find(kX86Known.begin(), kX86Known.end(), record.type) == kX86Known.end())
    faults.Add(Kind::kType,
               fmt::format("a relocation has the type {:#x}, which ld.so does not know", record.type));
  const bool is_of_plt =
      record.type == kX86JumpSlot || record.type == kX86Tlsdesc || record.type == kX86Irelative;
  if (may_be_lazy && !is_of_plt)
    faults.Add(Kind::kPltType, fmt::format("a relocation of the PLT has the type {:#x}", record.type));
  if (record.type == kX86Irelative && !IsCode(image, record.addend))
    faults.Add(Kind::kTarget,
               fmt::format("an IRELATIVE relocation calls address {:#x}, where no code is", record.addend));
  if (record.type == kX86Copy && image.FindSegment(kSegmentInterp) == nullptr)
    faults.Add(Kind::kTarget, "a library has a COPY relocation, which only programs can have");
}

void NoteTls(const Relocation& record, RelocationUse& use) {
  if (record.type == kX86Dtpmod && record.symbol == 0) use.needs_own_tls = true;
  if (record.type != kX86Tpoff) return;
  if (record.symbol == 0) {
    use.has_static_tls = true;
  } else if (use.static_tls_symbols.size() < kMostTlsSymbols) {
    use.static_tls_symbols.push_back(record.symbol);
  }
}

/// A relocation that DT_RELACOUNT counts.
void CheckCounted(const Image& image, const Relocation& record, RelocationFaults& faults) {
  if (!IsX8664(image) || record.type == kX86Relative) return;
  faults.Add(Kind::kPlain,
             fmt::format("DT_RELACOUNT counts a relocation of type {}, which is not relative", record.type));
}

/// Takes the relocations one by one.
class RelocationPass {
 public:
  RelocationPass(File& file, const Image& image, std::optional<std::uint64_t> symbols,
                 RelocationFaults& faults)
      : file_(file), image_(image), faults_(faults), places_(image), arrays_(image), count_(symbols) {
    use_.binds_now = BindsNow(*image.dynamic);
    if (symbols) use_.lookups.resize(*symbols, SymbolLookup::kNone);
  }

  /// A record of a table; `lookup`: the time at which ld.so carries out the table.
  void Take(const Relocation& record, SymbolLookup lookup) {
    const bool is_x86 = IsX8664(image_);
    if (use_.binds_now) lookup = SymbolLookup::kImmediate;
    const bool is_aarch64 = image_.header.machine == kMachineAarch64;
    if (is_x86) CheckX86Type(image_, record, lookup == SymbolLookup::kLazy, faults_);
    if (is_x86) NoteTls(record, use_);
    if (record.type == 0) return;
    places_.Check(record.place, faults_);
    const bool is_relative =
        (is_x86 && record.type == kX86Relative) || (is_aarch64 && record.type == kAarch64Relative);
    if (arrays_.Mark(record.place) && is_relative) arrays_.CheckTarget(record.place, record.addend, faults_);
    const bool is_copy = (is_x86 && record.type == kX86Copy) || (is_aarch64 && record.type == kAarch64Copy);
    // Only a program is passed over: in a library, COPY finds the symbol of the library.
    if (is_copy && image_.FindSegment(kSegmentInterp) != nullptr) lookup = SymbolLookup::kElsewhere;
    if (record.symbol == 0) return;
    if (count_ && record.symbol >= *count_) {
      faults_.Add(Kind::kSymbol,
                  fmt::format("a relocation refers to symbol {} of {}", record.symbol, *count_));
    } else if (count_) {
      SymbolLookup& now = use_.lookups[record.symbol];
      now = std::max(now, lookup);
    }
  }

  /// A relative relocation of DT_RELR, whose addend is the word at its place.
  Result<void> TakePacked(std::uint64_t place) {
    places_.Check(place, faults_);
    if (!arrays_.Mark(place)) return Ok();
    const std::uint64_t word = image_.codec.WordSize();
    PTPKG_TRY(const std::uint64_t offset, image_.OffsetOf(place, word, "a function's address"));
    PTPKG_TRY(const auto bytes, ReadExact(file_, offset, word, "a function's address"));
    arrays_.CheckTarget(place, image_.codec.Word(bytes, 0), faults_);
    return Ok();
  }

  /// After the last relocation.
  RelocationUse Finish() && {
    arrays_.CheckAllMarked(faults_);
    return std::move(use_);
  }

 private:
  File& file_;
  const Image& image_;
  RelocationFaults& faults_;
  PlaceCheck places_;
  FunctionArrays arrays_;
  std::optional<std::uint64_t> count_;
  RelocationUse use_;
};

struct RecordTable {
  std::uint64_t vaddr = 0;
  std::uint64_t size_bytes = 0;
  bool has_addends = false;
};

/// Calls `take` with each record of the table.
template <typename Take>
Result<void> ForEachRecord(File& file, const Image& image, const RecordTable& table, Take take) {
  const auto begin = image.OffsetOf(table.vaddr, table.size_bytes, "the relocation table");
  if (!begin) return Ok();  // FindLoadFaults says so
  const Codec& codec = image.codec;
  const std::uint64_t word = codec.WordSize();
  const std::uint64_t entry = (table.has_addends ? 3 : 2) * word;
  const std::uint64_t whole = table.size_bytes / entry * entry;
  const std::uint64_t step_size = kRelocationStep / entry * entry;
  for (std::uint64_t at = 0; at < whole; at += step_size) {
    const std::uint64_t step = std::min(step_size, whole - at);
    PTPKG_TRY(const auto bytes, ReadExact(file, *begin + at, step, "the relocation table"));
    for (std::uint64_t i = 0; i < step; i += entry) {
      Relocation record = DecodeRelocation(codec, bytes, i);
      if (table.has_addends) record.addend = codec.Word(bytes, i + 2 * word);
      take(record);
    }
  }
  return Ok();
}

/// DT_RELA, of which the first ones are counted as relative; DT_REL of 32-bit files; DT_JMPREL.
Result<void> ReadTables(File& file, const Image& image, RelocationFaults& faults, RelocationPass& pass) {
  const DynamicTable& dynamic = *image.dynamic;
  const auto rela = dynamic.Find(kDtRela);
  const auto rela_size = dynamic.Find(kDtRelasz);
  if (rela && rela_size) {
    std::uint64_t counted = dynamic.Find(kDtRelacount).value_or(0);
    PTPKG_CHECK(ForEachRecord(file, image, {*rela, *rela_size, true}, [&](const Relocation& record) {
      if (counted > 0) {
        --counted;
        CheckCounted(image, record, faults);
      }
      pass.Take(record, SymbolLookup::kImmediate);
    }));
  }
  const auto rel = dynamic.Find(kDtRel);
  const auto rel_size = dynamic.Find(kDtRelsz);
  if (rel && rel_size && !image.codec.Is64()) {
    PTPKG_CHECK(ForEachRecord(file, image, {*rel, *rel_size, false}, [&](const Relocation& record) {
      pass.Take(record, SymbolLookup::kImmediate);
    }));
  }
  const auto plt = dynamic.Find(kDtJmprel);
  const auto plt_size = dynamic.Find(kDtPltrelsz);
  const auto kind = dynamic.Find(kDtPltrel);
  if (!plt || !plt_size || !kind) return Ok();
  return ForEachRecord(file, image, {*plt, *plt_size, *kind == kDtRela},
                       [&](const Relocation& record) { pass.Take(record, SymbolLookup::kLazy); });
}

/// DT_RELR: an even word is a place; an odd one has a bit for each of the words behind the last place.
Result<void> ReadPacked(File& file, const Image& image, RelocationPass& pass) {
  const auto at = image.dynamic->Find(kDtRelr);
  const auto size = image.dynamic->Find(kDtRelrsz);
  if (!at || !size) return Ok();
  const auto begin = image.OffsetOf(*at, *size, "the table of packed relocations");
  if (!begin) return Ok();  // FindLoadFaults says so
  const std::uint64_t word = image.codec.WordSize();
  PTPKG_TRY(const auto bytes,
            ReadExact(file, *begin, *size / word * word, "the table of packed relocations"));
  std::uint64_t next = 0;
  for (std::uint64_t i = 0; i < bytes.size(); i += word) {
    std::uint64_t bits = image.codec.Word(bytes, i);
    if (bits % 2 == 0) {
      PTPKG_CHECK(pass.TakePacked(bits));
      next = bits + word;
      continue;
    }
    std::uint64_t place = next;
    for (bits >>= 1U; bits != 0; bits >>= 1U, place += word) {
      if (bits % 2 == 1) PTPKG_CHECK(pass.TakePacked(place));
    }
    next += (8 * word - 1) * word;
  }
  return Ok();
}

}  // namespace

void RelocationFaults::Add(Kind kind, std::string message) {
  bool& has = has_.at(static_cast<std::size_t>(kind));
  if (has) return;
  has = true;
  const auto part = kind == Kind::kSlot ? LoadFault::Part::kStart : LoadFault::Part::kRelocation;
  faults_.push_back({.part = part, .message = std::move(message)});
}

bool IsCode(const Image& image, std::uint64_t vaddr) {
  const Segment* const load = image.LoadAt(vaddr);
  return load != nullptr && (load->flags & kFlagExecute) != 0;
}

Result<RelocationUse> ReadRelocationUse(File& file, const Image& image, std::optional<std::uint64_t> symbols,
                                        RelocationFaults& faults) {
  RelocationPass pass(file, image, symbols, faults);
  PTPKG_CHECK(ReadTables(file, image, faults, pass));
  PTPKG_CHECK(ReadPacked(file, image, pass));
  return std::move(pass).Finish();
}

}  // namespace ptpkg::elf
