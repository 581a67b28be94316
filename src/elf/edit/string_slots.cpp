// Finds out which strings of .dynstr may be overwritten, and how much room they have.
//
// Linkers merge strings by their tails, so a string may be the end of another one, or contain the start of
// a symbol's name. A slot is free only if the byte before it is NUL and no symbol, dynamic entry or version
// record points into it. A use in the NULs behind it shortens the room instead.
//
// All symbols must be known for that, and ELF has no field with their number. It comes from the section
// header, DT_HASH, the end of the last chain of DT_GNU_HASH, or MIPS' own tag: the largest answer counts.
// If nothing gives a number, every string counts as used. Alpha and 64-bit s390 have a DT_HASH of 8-byte
// words, which is not read.

#include "elf/edit/string_slots.h"

#include <algorithm>
#include <fmt/core.h>

namespace ptpkg::elf {
namespace {

constexpr std::uint64_t kSlotBytes = 64U << 10U;
constexpr std::uint64_t kMaxNulRun = 256U << 10U;  // room looked for behind a string, and at the table's end
constexpr std::uint16_t kMachineAlpha = 0x9026;

Result<std::vector<std::byte>> ReadTable(File& file, const Image& image, StringRange range) {
  return ReadExact(file, image.strings.offset + range.begin, range.end - range.begin,
                   "the dynamic string table");
}

/// The slot at `offset` before anything is known about symbols.
Result<StringSlot> OpenSlot(File& file, const Image& image, std::uint64_t offset) {
  PTPKG_TRY(const std::string text, ReadDynamicString(file, image, offset, "a dynamic entry"));
  StringSlot slot{.offset = offset, .length = text.size(), .room = 0, .shared = text.empty()};
  if (offset > 0) {
    PTPKG_TRY(const auto before, ReadTable(file, image, {offset - 1, offset}));
    slot.shared = slot.shared || before[0] != std::byte{0};
  }
  const std::uint64_t begin = offset + slot.length;
  PTPKG_TRY(const auto tail,
            ReadTable(file, image, {begin, std::min(begin + kMaxNulRun, image.strings.size_bytes)}));
  const auto used = std::find_if(tail.begin(), tail.end(), [](std::byte b) { return b != std::byte{0}; });
  const auto nuls = static_cast<std::uint64_t>(used - tail.begin());
  slot.room = slot.length + nuls - 1;  // one NUL has to stay as the end
  return slot;
}

/// Takes one use of byte `offset` by somebody else into account.
void NoteUse(std::uint64_t offset, StringSlot& slot) {
  if (offset < slot.offset || offset > slot.offset + slot.room) return;
  if (offset < slot.offset + slot.length) {
    slot.shared = true;
  } else {
    slot.room = offset - slot.offset;  // an empty string is used there: its NUL has to stay
  }
}

void NoteUse(std::uint64_t offset, std::uint64_t table_size, std::uint64_t& spare_begin) {
  if (offset >= spare_begin && offset < table_size) spare_begin = offset + 1;
}

Result<std::uint64_t> FindSpare(File& file, const Image& image) {
  const std::uint64_t size = image.strings.size_bytes;
  const std::uint64_t begin = size - std::min(size, kMaxNulRun);
  PTPKG_TRY(const auto tail, ReadTable(file, image, {begin, size}));
  const auto used = std::find_if(tail.rbegin(), tail.rend(), [](std::byte b) { return b != std::byte{0}; });
  const auto nuls = static_cast<std::uint64_t>(used - tail.rbegin());
  // The first NUL of the run closes the last string, and an all-NUL window may begin with a closing one.
  return nuls <= 1 ? size : size - nuls + 1;
}

Result<void> NoteSymbols(File& file, const Image& image, std::uint64_t count, StringSlots& found) {
  const auto symtab = image.dynamic->Find(kDtSymtab);
  if (!symtab || count == 0) return Ok();
  const std::uint64_t record = image.codec.SymbolSize();
  PTPKG_TRY(std::uint64_t offset, image.OffsetOf(*symtab, count * record, "the dynamic symbol table"));
  std::uint64_t low = found.spare_begin;
  for (const StringSlot& slot : found.slots) low = std::min(low, slot.offset);
  const std::uint64_t end = offset + count * record;
  const std::uint64_t step = kSlotBytes / record * record;
  for (; offset < end; offset += step) {
    PTPKG_TRY(const auto bytes,
              ReadExact(file, offset, std::min(step, end - offset), "the dynamic symbol table"));
    for (std::size_t at = 0; at + record <= bytes.size(); at += record) {
      const std::uint64_t name = image.codec.U32(bytes, at);
      if (name < low) continue;
      for (StringSlot& slot : found.slots) NoteUse(name, slot);
      NoteUse(name, image.strings.size_bytes, found.spare_begin);
    }
  }
  return Ok();
}

/// Walks the last chain of DT_GNU_HASH: its end is the number of symbols.
Result<std::uint64_t> CountByGnuHash(File& file, const Image& image, std::uint64_t vaddr) {
  PTPKG_TRY(const std::uint64_t start, image.OffsetOf(vaddr, 16, "the GNU hash table"));
  PTPKG_TRY(const auto head, ReadExact(file, start, 16, "the GNU hash table"));
  const std::uint64_t bucket_count = image.codec.U32(head, 0);
  const std::uint64_t first = image.codec.U32(head, 4);
  const std::uint64_t bloom_words = image.codec.U32(head, 8);
  const std::uint64_t buckets = start + 16 + bloom_words * image.codec.WordSize();
  PTPKG_TRY(const auto table, ReadExact(file, buckets, bucket_count * 4, "the GNU hash table"));
  std::uint64_t last = 0;
  for (std::size_t i = 0; i < bucket_count; ++i)
    last = std::max<std::uint64_t>(last, image.codec.U32(table, i * 4));
  if (last == 0) return first;
  if (last < first) return Error(ErrorCode::kCorrupt, "the GNU hash table contradicts itself");
  for (std::uint64_t chain = buckets + bucket_count * 4 + (last - first) * 4;; chain += 4) {
    PTPKG_TRY(const auto value, ReadExact(file, chain, 4, "the GNU hash table"));
    ++last;
    if ((image.codec.U32(value, 0) & 1U) != 0) return last;
  }
}

}  // namespace

Result<std::optional<std::uint64_t>> CountDynamicSymbols(File& file, const Image& image) {
  std::optional<std::uint64_t> count;
  // The largest answer is the safe one: a symbol too many costs a little work, one too few a damaged name.
  const auto at_least = [&count](std::uint64_t n) { count = std::max(count.value_or(0), n); };
  const auto symtab = image.dynamic->Find(kDtSymtab);
  if (!symtab) return std::optional<std::uint64_t>(0);
  if (const auto index = image.FindSection(kSectionDynsym, *symtab)) {
    at_least(image.sections[*index].size / image.codec.SymbolSize());
  }
  const bool wide_hash =
      image.codec.Is64() && (image.header.machine == kMachineAlpha || image.header.machine == kMachineS390);
  if (const auto hash = image.dynamic->Find(kDtHash); hash && !wide_hash) {
    PTPKG_TRY(const std::uint64_t offset, image.OffsetOf(*hash, 8, "the hash table"));
    PTPKG_TRY(const auto head, ReadExact(file, offset, 8, "the hash table"));
    at_least(image.codec.U32(head, 4));
  }
  if (const auto hash = image.dynamic->Find(kDtGnuHash)) {
    PTPKG_TRY(const std::uint64_t symbols, CountByGnuHash(file, image, *hash));
    at_least(symbols);
  }
  if (const auto symbols = image.dynamic->Find(kDtMipsSymtabno);
      symbols && image.header.machine == kMachineMips) {
    at_least(*symbols);
  }
  if (count && *count > image.file_size / image.codec.SymbolSize()) {
    return Error(ErrorCode::kCorrupt,
                 fmt::format("{} dynamic symbols in a file of {} bytes", *count, image.file_size));
  }
  return count;
}

Result<StringSlots> ExamineStrings(File& file, const Image& image, const std::vector<std::uint64_t>& offsets,
                                   const std::vector<std::uint64_t>& other_uses) {
  StringSlots found;
  for (const std::uint64_t offset : offsets) {
    PTPKG_TRY(const StringSlot slot, OpenSlot(file, image, offset));
    found.slots.push_back(slot);
  }
  PTPKG_TRY(found.spare_begin, FindSpare(file, image));
  PTPKG_TRY(const auto symbols, CountDynamicSymbols(file, image));
  // The library list of old IRIX tools points into .dynstr too; nobody has it, so nobody pays for it.
  const bool unknown_users = !symbols || image.dynamic->Find(kDtMipsLiblist).value_or(0) != 0;
  if (unknown_users) {
    found.spare_begin = image.strings.size_bytes;
    for (StringSlot& slot : found.slots) slot.shared = true;
  } else {
    PTPKG_CHECK(NoteSymbols(file, image, *symbols, found));
  }
  for (const std::uint64_t use : other_uses) {
    for (StringSlot& slot : found.slots) NoteUse(use, slot);
    NoteUse(use, image.strings.size_bytes, found.spare_begin);
  }
  for (StringSlot& slot : found.slots) {
    if (slot.shared) slot.room = 0;
  }
  return found;
}

Result<std::optional<std::uint64_t>> FindString(File& file, const Image& image, std::string_view text,
                                                const std::vector<StringRange>& avoid) {
  const std::string needle = std::string(text) + '\0';
  const std::uint64_t size = image.strings.size_bytes;
  const std::uint64_t step = std::max<std::uint64_t>(kSlotBytes, needle.size());
  for (std::uint64_t begin = 0; begin + needle.size() <= size; begin += step) {
    // Chunks overlap by the needle's length, so that none is missed at a boundary.
    PTPKG_TRY(const auto bytes,
              ReadTable(file, image, {begin, std::min(size, begin + step + needle.size() - 1)}));
    const std::string_view table = AsText(bytes);
    for (std::size_t at = table.find(needle); at != std::string_view::npos; at = table.find(needle, at + 1)) {
      const std::uint64_t offset = begin + at;
      const auto touches = [&](const StringRange& r) {
        return offset < r.end && r.begin < offset + needle.size();
      };
      if (std::none_of(avoid.begin(), avoid.end(), touches)) return std::optional<std::uint64_t>(offset);
    }
  }
  return std::optional<std::uint64_t>();
}

}  // namespace ptpkg::elf
