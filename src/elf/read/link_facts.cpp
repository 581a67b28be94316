// The strings and version records behind the dynamic section (declared in elf/read/image.h).
//
// Version records form chains of relative offsets, with a count next to them. ld.so follows the chain and
// does not count. A file in which the two disagree has two readings and is refused. Chains may also share
// records, so that a small file could be followed for hours: the total of followed records is limited by
// the file's size.
//
// Source: gABI, LSB "Symbol Versioning" for Verneed, Vernaux, Verdef and Verdaux. The sizes of these
// records are the same in both classes.

#include <algorithm>
#include <fmt/core.h>

#include "elf/read/corrupt.h"
#include "elf/read/image.h"

namespace ptpkg::elf {
namespace {

constexpr std::uint32_t kNeedRecord = 16;             // Verneed and Vernaux
constexpr std::uint64_t kMaxStringBytes = 1U << 20U;  // longer than any path list; bounds hostile input

Result<std::string> ReadInterpreter(File& file, const Segment& segment) {
  if (segment.file_size == 0 || segment.file_size > kMaxStringBytes) {
    return Corrupt(fmt::format("an interpreter name of {} bytes", segment.file_size));
  }
  PTPKG_TRY(const auto bytes, ReadExact(file, segment.offset, segment.file_size, "the interpreter name"));
  const std::string_view text = AsText(bytes);
  const std::size_t end = text.find('\0');
  if (end == std::string_view::npos) return Corrupt("the interpreter name is not closed by a NUL");
  return std::string(text.substr(0, end));
}

Result<void> ReadEntryStrings(File& file, const Image& image, LinkFacts& facts) {
  for (const DynamicEntry& entry : image.dynamic->entries) {
    if (entry.tag == kDtNeeded) {
      PTPKG_TRY(std::string name, ReadDynamicString(file, image, entry.value, "DT_NEEDED"));
      facts.needed.push_back(std::move(name));
    } else if (entry.tag == kDtSoname) {
      PTPKG_TRY(facts.soname, ReadDynamicString(file, image, entry.value, "DT_SONAME"));
    } else if (entry.tag == kDtRpath) {
      PTPKG_TRY(std::string text, ReadDynamicString(file, image, entry.value, "DT_RPATH"));
      facts.rpath = SearchPath{.tag = PathTag::kRpath, .text = std::move(text)};
    } else if (entry.tag == kDtRunpath) {
      PTPKG_TRY(std::string text, ReadDynamicString(file, image, entry.value, "DT_RUNPATH"));
      facts.runpath = SearchPath{.tag = PathTag::kRunpath, .text = std::move(text)};
    }
  }
  return Ok();
}

/// File offset of the chain at `tag`, and the number of records in `count_tag`.
struct Chain {
  std::uint64_t offset = 0;
  std::uint64_t count = 0;
};

Result<std::optional<Chain>> FindChain(const Image& image, std::uint64_t tag, std::uint64_t count_tag,
                                       std::uint64_t record_bytes) {
  if (!image.dynamic) return std::optional<Chain>();
  const auto address = image.dynamic->Find(tag);
  const auto count = image.dynamic->Find(count_tag);
  if (!address || !count || *count == 0) return std::optional<Chain>();
  PTPKG_TRY(const std::uint64_t offset, image.OffsetOf(*address, record_bytes, "a symbol version record"));
  // Each record takes at least its own size, so a larger count cannot be true.
  if (*count > image.file_size / record_bytes) {
    return Corrupt(fmt::format("{} symbol version records in a file of {} bytes", *count, image.file_size));
  }
  return std::optional<Chain>(Chain{.offset = offset, .count = *count});
}

/// Every record takes room of its own in an honest file; chains that share theirs could be followed for
/// hours.
Result<void> CountRecord(const Image& image, std::uint64_t record_bytes, std::uint64_t& followed) {
  if (++followed <= image.file_size / record_bytes) return Ok();
  return Corrupt("chains of symbol versions overlap each other");
}

/// The place of the record behind the one at `offset`, or `offset` of the last one: the loader follows the
/// chain, and does not count.
Result<std::uint64_t> NextRecord(std::uint64_t offset, std::uint32_t step, std::uint32_t minimum,
                                 bool is_last) {
  if (is_last && step != 0) return Corrupt("a chain of symbol versions goes on behind its last record");
  if (!is_last && step < minimum) return Corrupt("a chain of symbol versions overlaps itself or ends early");
  return offset + step;
}

}  // namespace

Result<std::string> ReadDynamicString(File& file, const Image& image, std::uint64_t offset,
                                      std::string_view what) {
  const std::uint64_t table = image.strings.size_bytes;
  if (offset >= table) {
    return Corrupt(fmt::format("{} points to byte {} of a string table of {} bytes", what, offset, table));
  }
  std::string text;
  std::uint64_t at = offset;
  for (std::uint64_t chunk = 256; at < table && text.size() < kMaxStringBytes; chunk *= 2) {
    const std::uint64_t size = std::min(chunk, table - at);
    PTPKG_TRY(const auto bytes, ReadExact(file, image.strings.offset + at, size, what));
    const std::string_view piece = AsText(bytes);
    const std::size_t end = piece.find('\0');
    text.append(piece.substr(0, end));
    if (end != std::string_view::npos) return text;
    at += size;
  }
  return Corrupt(fmt::format("{} is not closed by a NUL inside the string table", what));
}

Result<LinkFacts> ReadLinkFacts(File& file, const Image& image) {
  LinkFacts facts;
  if (const Segment* interp = image.FindSegment(kSegmentInterp);
      interp != nullptr && interp->file_size != 0) {
    PTPKG_TRY(facts.interpreter, ReadInterpreter(file, *interp));
  }
  if (const Segment* stack = image.FindSegment(kSegmentGnuStack); stack != nullptr) {
    facts.stack = (stack->flags & kFlagExecute) != 0 ? StackFlag::kExecutable : StackFlag::kNotExecutable;
  }
  if (!image.dynamic) return facts;
  PTPKG_CHECK(ReadEntryStrings(file, image, facts));
  facts.flags_1 = image.dynamic->Find(kDtFlags1).value_or(0);
  facts.has_debug_entry = image.dynamic->Find(kDtDebug).has_value();
  PTPKG_TRY(const auto needs, ReadVersionNeeds(file, image));
  for (const VersionNeed& need : needs.records) {
    PTPKG_TRY(std::string name, ReadDynamicString(file, image, need.name, "a version requirement"));
    facts.version_files.push_back(std::move(name));
  }
  return facts;
}

// Verneed: u16 version, u16 cnt, u32 file, u32 aux, u32 next. Vernaux: u32 hash, u16 flags, u16 other,
// u32 name, u32 next. Both are 16 bytes in both classes.
Result<VersionNeeds> ReadVersionNeeds(File& file, const Image& image) {
  VersionNeeds needs;
  PTPKG_TRY(const auto chain, FindChain(image, kDtVerneed, kDtVerneednum, kNeedRecord));
  if (!chain) return needs;
  std::uint64_t offset = chain->offset;
  std::uint64_t end = offset;
  std::uint64_t followed = 0;
  for (std::uint64_t i = 0; i < chain->count; ++i) {
    PTPKG_TRY(const auto record, ReadExact(file, offset, kNeedRecord, "a version requirement"));
    VersionNeed need{.name = image.codec.U32(record, 4), .versions = {}};
    const std::uint16_t count = image.codec.U16(record, 2);
    std::uint64_t aux = offset + image.codec.U32(record, 8);
    for (std::uint16_t k = 0; k < count; ++k) {
      PTPKG_CHECK(CountRecord(image, kNeedRecord, followed));
      PTPKG_TRY(const auto entry, ReadExact(file, aux, kNeedRecord, "a required version"));
      need.versions.push_back({.hash = image.codec.U32(entry, 0),
                               .flags = image.codec.U16(entry, 4),
                               .index = image.codec.U16(entry, 6),
                               .name = image.codec.U32(entry, 8)});
      end = std::max(end, aux + kNeedRecord);
      PTPKG_TRY(aux, NextRecord(aux, image.codec.U32(entry, 12), kNeedRecord, k + 1 == count));
    }
    end = std::max(end, offset + kNeedRecord);
    needs.records.push_back(std::move(need));
    PTPKG_TRY(offset, NextRecord(offset, image.codec.U32(record, 12), kNeedRecord, i + 1 == chain->count));
  }
  needs.range = {
      .offset = chain->offset, .vaddr = *image.dynamic->Find(kDtVerneed), .size_bytes = end - chain->offset};
  return needs;
}

std::uint64_t VersionNeedsSize(const std::vector<VersionNeed>& records) {
  std::uint64_t count = records.size();
  for (const VersionNeed& need : records) count += need.versions.size();
  return count * kNeedRecord;
}

std::vector<std::byte> EncodeVersionNeeds(const Codec& codec, const std::vector<VersionNeed>& records) {
  std::vector<std::byte> bytes(VersionNeedsSize(records));
  std::size_t at = 0;
  for (std::size_t i = 0; i < records.size(); ++i) {
    const std::size_t count = records[i].versions.size();
    const std::size_t size = kNeedRecord * (1 + count);
    codec.PutU16(bytes, at, 1);  // VER_NEED_CURRENT
    codec.PutU16(bytes, at + 2, static_cast<std::uint16_t>(count));
    codec.PutU32(bytes, at + 4, records[i].name);
    codec.PutU32(bytes, at + 8, count == 0 ? 0 : kNeedRecord);
    codec.PutU32(bytes, at + 12, i + 1 < records.size() ? static_cast<std::uint32_t>(size) : 0);
    for (std::size_t k = 0; k < count; ++k) {
      const VersionNeed::Version& version = records[i].versions[k];
      const std::size_t aux = at + kNeedRecord * (1 + k);
      codec.PutU32(bytes, aux, version.hash);
      codec.PutU16(bytes, aux + 4, version.flags);
      codec.PutU16(bytes, aux + 6, version.index);
      codec.PutU32(bytes, aux + 8, version.name);
      codec.PutU32(bytes, aux + 12, k + 1 < count ? kNeedRecord : 0);
    }
    at += size;
  }
  return bytes;
}

// Verdef: u16 version, flags, ndx, cnt, u32 hash, aux, next: 20 bytes. Verdaux: u32 name, u32 next.
Result<std::vector<VersionDefinition>> ReadVersionDefinitions(File& file, const Image& image) {
  constexpr std::uint32_t kRecord = 20;
  constexpr std::uint32_t kAux = 8;
  std::vector<VersionDefinition> definitions;
  PTPKG_TRY(const auto chain, FindChain(image, kDtVerdef, kDtVerdefnum, kRecord));
  if (!chain) return definitions;
  std::uint64_t offset = chain->offset;
  std::uint64_t followed = 0;
  for (std::uint64_t i = 0; i < chain->count; ++i) {
    PTPKG_TRY(const auto record, ReadExact(file, offset, kRecord, "a version definition"));
    if (const std::uint16_t format = image.codec.U16(record, 0); format != 1)  // VER_DEF_CURRENT
      return Corrupt(fmt::format("a version definition has the format {}", format));
    VersionDefinition definition{.flags = image.codec.U16(record, 2),
                                 .index = image.codec.U16(record, 4),
                                 .hash = image.codec.U32(record, 8)};
    const std::uint16_t count = image.codec.U16(record, 6);
    std::uint64_t aux = offset + image.codec.U32(record, 12);
    for (std::uint16_t k = 0; k < count; ++k) {
      PTPKG_CHECK(CountRecord(image, kAux, followed));
      PTPKG_TRY(const auto entry, ReadExact(file, aux, kAux, "a version definition's name"));
      definition.names.push_back(image.codec.U32(entry, 0));
      // The loader reads only the first name, so the last record's step is not judged.
      if (k + 1 < count) {
        PTPKG_TRY(aux, NextRecord(aux, image.codec.U32(entry, 4), kAux, false));
      }
    }
    definitions.push_back(std::move(definition));
    PTPKG_TRY(offset, NextRecord(offset, image.codec.U32(record, 16), kRecord, i + 1 == chain->count));
  }
  return definitions;
}

}  // namespace ptpkg::elf
