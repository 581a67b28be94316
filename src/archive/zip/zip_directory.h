#pragma once
// Parses the central directory and local headers of a zip. Layer: archive, internal to it. libzip cannot show
// local headers, and hides what follows a NUL in a name. Source: APPNOTE 6.3.10.

#include <cstdint>
#include <string>
#include <vector>

#include "archive/zip/zip_time.h"
#include "support/files/fs.h"

namespace ptpkg::archive::zip {

/// A member as the central directory records it, ZIP64 values resolved.
struct CentralRecord {
  std::string name;  ///< Stored name: any bytes.
  std::string extra;
  std::uint16_t made_by = 0;
  std::uint16_t version_needed = 0;
  std::uint16_t flags = 0;
  std::uint16_t method = 0;
  ZipTime time = {};
  std::uint32_t crc32 = 0;
  std::uint64_t stored_bytes = 0;
  std::uint64_t size_bytes = 0;
  std::uint64_t offset = 0;  ///< Offset of the local header.
  std::string comment;
  bool spare_zip64 = false;  ///< Its ZIP64 field holds more values than the plain fields defer to it.
  std::uint32_t external_attributes = 0;

  /// st_mode if the zip was made on Unix, else 0.
  [[nodiscard]] std::uint32_t UnixMode() const { return made_by >> 8U == 3 ? external_attributes >> 16U : 0; }
};

/// A local header, unchanged.
struct LocalRecord {
  std::string name;
  std::string extra;
  std::uint16_t version_needed = 0;
  std::uint16_t flags = 0;
  std::uint16_t method = 0;
  std::uint32_t crc32 = 0;
  std::uint32_t stored_bytes32 = 0;
  std::uint32_t size_bytes32 = 0;
  std::uint64_t stored_bytes = 0;  ///< ZIP64 resolved.
  std::uint64_t size_bytes = 0;
  std::uint64_t data_offset = 0;
};

struct Directory {
  std::vector<CentralRecord> records;  ///< In the order of the central directory.
  std::uint64_t offset = 0;
  std::uint64_t size_bytes = 0;
  std::uint64_t file_bytes = 0;
  std::string comment = {};  ///< Comment of the archive.
};

/// Finds and parses the central directory. Errors name `archive` (a display name). kUnsupported for members
/// that need a newer format than kVersionNewest or have kFlagsNobodyReads. kCorrupt for:
/// - a file that does not end in an end record (trailing bytes included), holds a second one, or spans disks
/// - a directory that lies outside the file or disagrees with the end records
/// - end records that contradict each other or have bytes between them
/// - a name that readers decode differently (not ASCII and not marked as UTF-8, another name in its Unicode
///   path field)
Result<Directory> ReadDirectory(File& file, std::string_view archive);

/// The local header at `offset`. Errors: kCorrupt.
Result<LocalRecord> ReadLocal(File& file, std::uint64_t offset, std::string_view archive);

/// Checks that streaming readers and readers of the central directory see the same members. Their names,
/// encodings, methods, sizes and CRCs must agree. No two members share bytes, and none reaches into the
/// directory. Errors: kCorrupt, kUnsupported as in ReadDirectory.
Result<void> CheckLocalHeaders(File& file, const Directory& directory, std::string_view archive);

/// An extra field.
struct ExtraField {
  std::uint16_t id = 0;
  std::string_view data;
};
/// The name in a field of kUnicodePathExtraId, behind version and CRC of the plain name (4.6.9); "" if it is
/// truncated.
std::string_view UnicodePath(const ExtraField& field);
/// The fields of an extra block. Errors: kCorrupt when their lengths do not add up.
Result<std::vector<ExtraField>> ParseExtra(std::string_view extra);

/// Reads exactly `size_bytes`. Errors: kCorrupt when the file ends before.
Result<std::string> ReadRange(File& file, std::uint64_t offset, std::size_t size_bytes,
                              std::string_view archive);

}  // namespace ptpkg::archive::zip
