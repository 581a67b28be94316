#pragma once
// RECORD: the list of a wheel's files with digests and sizes. Layer: wheel.
// Source: PyPA "Recording installed projects" and binary distribution format; PEP 376 for the CSV dialect.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/result.h"

namespace ptpkg::wheel {

struct RecordRow {
  std::string path;
  std::string sha256;  ///< URL-safe base64 without padding; "" for RECORD itself and its signatures.
  std::uint64_t size_bytes = 0;

  bool operator==(const RecordRow&) const = default;
};

/// Rows in written order. Errors: kInvalidInput naming the row (not three fields, a path that is absolute
/// or climbs, a repeated path, a digest other than sha256, a size that is no number, digest without size
/// or the reverse, more than limits::kRecordRows), kCorrupt (CSV).
Result<std::vector<RecordRow>> ParseRecord(std::string_view text, const std::string& name);
/// LF line ends, as wheel and pip write it.
std::string FormatRecord(const std::vector<RecordRow>& rows);

/// True for the file names that RECORD may list without a digest: RECORD, RECORD.jws, RECORD.p7s directly in
/// `dist_info_dir`.
bool MayLackDigest(std::string_view path, std::string_view dist_info_dir);

}  // namespace ptpkg::wheel
