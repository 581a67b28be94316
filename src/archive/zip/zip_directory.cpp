// Reads both directories of a zip and refuses an archive that two readers could read differently.
//
// Python, libzip, Go and streaming readers find the directory in different ways. Each difference is a way
// to show one content to a check and another one to an installer. So there must be one end record at the
// end of the file, one directory right before it, and a local header for each member that agrees with it.
// No two members may share bytes.
//
// ZIP64 fields replace plain fields that hold the maximum, and both forms must agree if both hold a value.
// Source: APPNOTE 6.3.10, 4.3.7 to 4.3.16 and 4.5.3. docs/formats/zip.md lists the refusals of each reader.

#include "archive/zip/zip_directory.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>
#include <optional>

#include "archive/zip/zip_format.h"
#include "support/limits.h"
#include "support/text/name_problem.h"
#include "support/text/utf8.h"

namespace ptpkg::archive::zip {
namespace {

// A member takes at least 46 bytes here, so this holds more than the million members an extraction allows.
constexpr std::uint64_t kMaxDirectoryBytes = 1ULL << 30U;

Error Damaged(std::string_view archive, std::string_view why) {
  return Error(ErrorCode::kCorrupt, fmt::format("'{}' is not a valid zip: {}", archive, why));
}

Error Damaged(std::string_view archive, const std::string& member, std::string_view why) {
  return Error(ErrorCode::kCorrupt, fmt::format("'{}': member '{}' {}", archive, ShownName(member), why));
}

/// Values of the end records for the central directory.
struct EndRecord {
  std::uint64_t count = 0;
  std::uint64_t offset = 0;
  std::uint64_t size_bytes = 0;
  std::uint64_t directory_end = 0;  // where the end records begin
  std::string comment = {};
};

/// True if the signature at `at` begins an end record of its own, for a reader that comes upon it: its
/// comment reaches the end of the file, or its directory lies right before it. `tail_offset`: of `tail` in
/// the file.
bool IsEndRecord(std::string_view tail, std::size_t at, std::uint64_t tail_offset) {
  if (Get16(tail, at + 4) != 0 || Get16(tail, at + 6) != 0) return false;
  const bool reaches_end = at + kEndBytes + Get16(tail, at + 20) >= tail.size();
  return reaches_end || std::uint64_t{Get32(tail, at + 16)} + Get32(tail, at + 12) == tail_offset + at;
}

/// Offset of the end record in `tail`, the last bytes of the file. Python takes the last signature, libzip
/// and Go the last one whose comment fits: a second one leads readers to different archives, so it is
/// refused.
Result<std::size_t> FindEnd(std::string_view tail, std::uint64_t tail_offset, std::string_view archive) {
  constexpr std::string_view kSignature = "PK\x05\x06";
  const std::size_t at = tail.rfind(kSignature);
  if (at == std::string_view::npos || tail.size() - at < kEndBytes ||
      at + kEndBytes + Get16(tail, at + 20) != tail.size()) {
    return Damaged(archive, "it does not end in an end-of-central-directory record");
  }
  for (std::size_t other = tail.find(kSignature); other < at; other = tail.find(kSignature, other + 1)) {
    if (at - other >= kEndBytes && IsEndRecord(tail, other, tail_offset))
      return Damaged(archive, "it has two end-of-central-directory records");
  }
  return at;
}

/// Readers take the plain field or the ZIP64 one: they must say the same.
bool Agrees(std::uint64_t plain, std::uint64_t max, std::uint64_t large) {
  return plain == max || plain == large;
}

/// 4.3.14, 4.3.15. `end`: the plain end record, at `end_offset`. Python looks for the ZIP64 end record right
/// before the locator, and for that right before the end record, whatever the locator says.
Result<std::optional<EndRecord>> ReadEnd64(File& file, std::string_view end, std::uint64_t end_offset,
                                           std::string_view archive) {
  if (end_offset < kEnd64LocatorBytes + kEnd64Bytes) return std::optional<EndRecord>();
  const std::uint64_t locator_offset = end_offset - kEnd64LocatorBytes;
  PTPKG_TRY(const std::string locator, ReadRange(file, locator_offset, kEnd64LocatorBytes, archive));
  if (Get32(locator, 0) != kEnd64LocatorSignature) return std::optional<EndRecord>();
  const std::uint64_t at = Get64(locator, 8);
  if (at > locator_offset - kEnd64Bytes) {
    return Damaged(archive, "the ZIP64 end record lies outside the file");
  }
  PTPKG_TRY(const std::string large, ReadRange(file, at, kEnd64Bytes, archive));
  if (Get32(large, 0) != kEnd64Signature) return Damaged(archive, "the ZIP64 end record is missing");
  if (Get64(large, 4) != kEnd64Bytes - 12) {
    return Damaged(archive, "the ZIP64 end record has an extensible data sector");
  }
  // Python ignores the locator's offset and looks right before it: both must lead to the same place.
  if (at != locator_offset - kEnd64Bytes) {
    return Damaged(archive, "there are bytes between the ZIP64 end record and its locator");
  }
  if (Get64(large, 24) != Get64(large, 32) || Get32(large, 16) != 0 || Get32(large, 20) != 0 ||
      Get32(locator, 4) != 0 || Get32(locator, 16) > 1) {
    return Damaged(archive, "it spans several disks");
  }
  const EndRecord record{.count = Get64(large, 32),
                         .offset = Get64(large, 48),
                         .size_bytes = Get64(large, 40),
                         .directory_end = at};
  if (!Agrees(Get16(end, 10), kMax16, record.count) || !Agrees(Get32(end, 12), kMax32, record.size_bytes) ||
      !Agrees(Get32(end, 16), kMax32, record.offset)) {
    return Damaged(archive, "its two end records contradict each other");
  }
  return std::optional(record);
}

Result<EndRecord> ReadEnd(File& file, std::uint64_t file_bytes, std::string_view archive) {
  const auto tail_bytes = static_cast<std::size_t>(std::min<std::uint64_t>(file_bytes, kEndBytes + kMax16));
  const std::uint64_t tail_offset = file_bytes - tail_bytes;
  PTPKG_TRY(const std::string tail, ReadRange(file, tail_offset, tail_bytes, archive));
  PTPKG_TRY(const std::size_t at, FindEnd(tail, tail_offset, archive));
  const std::uint64_t end_offset = tail_offset + at;
  const std::string_view end = std::string_view(tail).substr(at);
  if (Get16(end, 4) != 0 || Get16(end, 6) != 0 || Get16(end, 8) != Get16(end, 10)) {
    return Damaged(archive, "it spans several disks");
  }
  PTPKG_TRY(const std::optional<EndRecord> large, ReadEnd64(file, end, end_offset, archive));
  const std::string_view comment = end.substr(kEndBytes);
  if (large.has_value()) {
    EndRecord record = *large;
    record.comment = comment;
    return record;
  }
  return EndRecord{.count = Get16(end, 10),
                   .offset = Get32(end, 16),
                   .size_bytes = Get32(end, 12),
                   .directory_end = end_offset,
                   .comment = std::string(comment)};
}

/// Values of one member that both directories hold.
struct Header {
  const std::string& name;
  const std::string& extra;
  std::uint16_t version_needed;
  std::uint16_t flags;
};

/// Refuses what Python's zipfile, and so pip, refuses or reads as another name.
Result<void> CheckReadable(const Header& header, std::string_view archive) {
  const unsigned version = header.version_needed & 0xFFU;  // the upper half names an operating system
  if (version > kVersionNewest) {
    return Error(ErrorCode::kUnsupported,
                 fmt::format("'{}': member '{}' needs version {}.{} of the zip format; readers support {}.{}",
                             archive, ShownName(header.name), version / 10, version % 10, kVersionNewest / 10,
                             kVersionNewest % 10));
  }
  if ((header.flags & kFlagsNobodyReads) != 0) {
    return Error(ErrorCode::kUnsupported, fmt::format("'{}': member '{}' is patched or strongly encrypted",
                                                      archive, ShownName(header.name)));
  }
  const bool ascii = std::all_of(header.name.begin(), header.name.end(),
                                 [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  if (!ascii && IsUtf8(header.name) && (header.flags & kFlagUtf8) == 0) {
    return Damaged(archive, header.name,
                   "has a name that is not ASCII and not marked as UTF-8: readers decode it differently");
  }
  const auto fields = ParseExtra(header.extra);
  if (!fields) return Ok();  // the strict check lists it
  for (const ExtraField& field : *fields) {
    if (field.id == kUnicodePathExtraId && UnicodePath(field) != header.name)
      return Damaged(archive, header.name, "has another name in its Unicode path field");
  }
  return Ok();
}

/// True for a ZIP64 field with more in it than `fields` plain fields of the value 0xFFFFFFFF leave to it.
bool HasSpareZip64(std::string_view extra, std::ptrdiff_t fields) {
  const Result<std::vector<ExtraField>> parsed = ParseExtra(extra);
  if (!parsed) return false;
  return std::any_of(parsed->begin(), parsed->end(), [&](const ExtraField& field) {
    return field.id == kZip64ExtraId && field.data.size() > 8U * static_cast<std::size_t>(fields);
  });
}

/// Takes 64-bit values for the fields that hold 0xFFFFFFFF, in the order of 4.5.3.
Result<void> ResolveZip64(std::string_view extra, std::vector<std::uint64_t*> fields) {
  std::erase_if(fields, [](const std::uint64_t* field) { return *field != kMax32; });
  if (fields.empty()) return Ok();
  PTPKG_TRY(const std::vector<ExtraField> parsed, ParseExtra(extra));
  const auto large = std::find_if(parsed.begin(), parsed.end(),
                                  [](const ExtraField& field) { return field.id == kZip64ExtraId; });
  if (large == parsed.end()) return Ok();  // the value 0xFFFFFFFF itself
  std::size_t at = 0;
  for (std::uint64_t* field : fields) {
    if (large->data.size() < at + 8) return Error(ErrorCode::kCorrupt, "the ZIP64 field is too short");
    *field = Get64(large->data, at);
    at += 8;
  }
  return Ok();
}

Result<CentralRecord> ParseCentral(std::string_view& rest, std::string_view archive) {
  if (rest.size() < kCentralBytes || Get32(rest, 0) != kCentralSignature) {
    return Damaged(archive, "the central directory is damaged");
  }
  const std::size_t name_bytes = Get16(rest, 28);
  const std::size_t extra_bytes = Get16(rest, 30);
  CentralRecord record;
  record.made_by = Get16(rest, 4);
  record.version_needed = Get16(rest, 6);
  record.flags = Get16(rest, 8);
  record.method = Get16(rest, 10);
  record.time = {.time = Get16(rest, 12), .date = Get16(rest, 14)};
  record.crc32 = Get32(rest, 16);
  record.stored_bytes = Get32(rest, 20);
  record.size_bytes = Get32(rest, 24);
  const std::size_t comment_bytes = Get16(rest, 32);
  record.external_attributes = Get32(rest, 38);
  record.offset = Get32(rest, 42);
  const std::size_t total = kCentralBytes + name_bytes + extra_bytes + comment_bytes;
  if (rest.size() < total) return Damaged(archive, "the central directory is truncated");
  record.name = rest.substr(kCentralBytes, name_bytes);
  record.extra = rest.substr(kCentralBytes + name_bytes, extra_bytes);
  record.comment = rest.substr(kCentralBytes + name_bytes + extra_bytes, comment_bytes);
  rest.remove_prefix(total);
  const std::array<std::uint64_t, 3> plain = {record.size_bytes, record.stored_bytes, record.offset};
  record.spare_zip64 = HasSpareZip64(record.extra, std::count(plain.begin(), plain.end(), kMax32));
  if (auto resolved = ResolveZip64(record.extra, {&record.size_bytes, &record.stored_bytes, &record.offset});
      !resolved) {
    return Damaged(archive, record.name, "has a damaged ZIP64 field");
  }
  PTPKG_CHECK(CheckReadable({.name = record.name,
                             .extra = record.extra,
                             .version_needed = record.version_needed,
                             .flags = record.flags},
                            archive));
  return record;
}

Result<void> CompareHeaders(const CentralRecord& central, const LocalRecord& local,
                            std::string_view archive) {
  const auto differs = [&](std::string_view what) {
    return Damaged(archive, central.name, fmt::format("has another {} in its local header", what));
  };
  if (central.name != local.name) {
    return Damaged(archive, central.name,
                   fmt::format("is named '{}' in its local header", ShownName(local.name)));
  }
  PTPKG_CHECK(CheckReadable({.name = local.name,
                             .extra = local.extra,
                             .version_needed = local.version_needed,
                             .flags = local.flags},
                            archive));
  if (central.method != local.method) return differs("compression method");
  if ((central.flags & kFlagEncrypted) != (local.flags & kFlagEncrypted)) return differs("encryption flag");
  if ((local.flags & kFlagDescriptor) != 0) return Ok();  // its numbers follow the content
  if (central.crc32 != local.crc32) return differs("CRC");
  if (central.size_bytes != local.size_bytes) return differs("size");
  if (central.stored_bytes != local.stored_bytes) return differs("compressed size");
  return Ok();
}

}  // namespace

Result<std::string> ReadRange(File& file, std::uint64_t offset, std::size_t size_bytes,
                              std::string_view archive) {
  std::string text(size_bytes, '\0');
  PTPKG_TRY(const std::size_t got, file.ReadAt(offset, std::as_writable_bytes(std::span(text))));
  if (got != size_bytes) return Damaged(archive, "it is cut off");
  return text;
}

std::string_view UnicodePath(const ExtraField& field) {
  return field.data.substr(std::min(kUnicodeTextAt, field.data.size()));
}

Result<std::vector<ExtraField>> ParseExtra(std::string_view extra) {
  std::vector<ExtraField> fields;
  while (!extra.empty()) {
    if (extra.size() < 4 || extra.size() - 4 < Get16(extra, 2)) {
      return Error(ErrorCode::kCorrupt, "an extra field is truncated");
    }
    fields.push_back({.id = Get16(extra, 0), .data = extra.substr(4, Get16(extra, 2))});
    extra.remove_prefix(4 + fields.back().data.size());
  }
  return fields;
}

Result<Directory> ReadDirectory(File& file, std::string_view archive) {
  PTPKG_TRY(const FileStat stat, file.Stat());
  Directory directory;
  directory.file_bytes = stat.size_bytes;
  PTPKG_TRY(const EndRecord end, ReadEnd(file, stat.size_bytes, archive));
  directory.offset = end.offset;
  directory.size_bytes = end.size_bytes;
  directory.comment = end.comment;
  if (end.size_bytes > end.directory_end || end.offset != end.directory_end - end.size_bytes) {
    return Damaged(archive, "the central directory is not where the end record says");
  }
  if (end.size_bytes > kMaxDirectoryBytes)
    return Damaged(archive, "the central directory is larger than 1 GiB");
  PTPKG_TRY(const std::string text,
            ReadRange(file, end.offset, static_cast<std::size_t>(end.size_bytes), archive));
  std::string_view rest = text;
  directory.records.reserve(
      // The count comes from the file: it must not make us reserve more than the directory can hold.
      std::min({std::uint64_t{end.count}, end.size_bytes / kCentralBytes, limits::kMembers}));
  while (!rest.empty()) {
    PTPKG_TRY(CentralRecord record, ParseCentral(rest, archive));
    directory.records.push_back(std::move(record));
  }
  if (directory.records.size() != end.count) {
    return Damaged(archive, fmt::format("the central directory has {} members, not {}",
                                        directory.records.size(), end.count));
  }
  return directory;
}

Result<LocalRecord> ReadLocal(File& file, std::uint64_t offset, std::string_view archive) {
  // One read serves most headers; an archive may have a million of them.
  constexpr std::size_t kGuess = 256;
  std::array<char, kLocalBytes + kGuess> begin;
  PTPKG_TRY(const std::size_t got, file.ReadAt(offset, std::as_writable_bytes(std::span(begin))));
  if (got < kLocalBytes) return Damaged(archive, "it is cut off");
  const std::string_view fixed(begin.data(), got);
  if (Get32(fixed, 0) != kLocalSignature) return Damaged(archive, "a local header is missing");
  const std::size_t name_bytes = Get16(fixed, 26);
  const std::size_t extra_bytes = Get16(fixed, 28);
  std::string_view variable = fixed.substr(kLocalBytes, name_bytes + extra_bytes);
  std::string longer;
  if (variable.size() < name_bytes + extra_bytes) {
    PTPKG_TRY(longer, ReadRange(file, offset + kLocalBytes, name_bytes + extra_bytes, archive));
    variable = longer;
  }
  LocalRecord record;
  record.name = variable.substr(0, name_bytes);
  record.extra = variable.substr(name_bytes);
  record.version_needed = Get16(fixed, 4);
  record.flags = Get16(fixed, 6);
  record.method = Get16(fixed, 8);
  record.crc32 = Get32(fixed, 14);
  record.stored_bytes32 = Get32(fixed, 18);
  record.size_bytes32 = Get32(fixed, 22);
  record.stored_bytes = record.stored_bytes32;
  record.size_bytes = record.size_bytes32;
  record.data_offset = offset + kLocalBytes + name_bytes + extra_bytes;
  if (auto resolved = ResolveZip64(record.extra, {&record.size_bytes, &record.stored_bytes}); !resolved) {
    return Damaged(archive, record.name, "has a damaged ZIP64 field");
  }
  return record;
}

Result<void> CheckLocalHeaders(File& file, const Directory& directory, std::string_view archive) {
  std::vector<const CentralRecord*> by_offset;
  for (const CentralRecord& record : directory.records) by_offset.push_back(&record);
  std::sort(by_offset.begin(), by_offset.end(),
            [](const CentralRecord* a, const CentralRecord* b) { return a->offset < b->offset; });
  std::uint64_t free_from = 0;
  for (const CentralRecord* central : by_offset) {
    if (central->offset < free_from)
      return Damaged(archive, central->name, "shares bytes with another member");
    if (central->offset >= directory.offset) return Damaged(archive, central->name, "lies outside the file");
    PTPKG_TRY(const LocalRecord local, ReadLocal(file, central->offset, archive));
    PTPKG_CHECK(CompareHeaders(*central, local, archive));
    if (local.data_offset > directory.offset ||
        central->stored_bytes > directory.offset - local.data_offset) {
      return Damaged(archive, central->name, "is cut off");
    }
    free_from = local.data_offset + central->stored_bytes;
  }
  return Ok();
}

}  // namespace ptpkg::archive::zip
