#include "wheel/record.h"

#include <algorithm>
#include <charconv>
#include <fmt/core.h>
#include <set>

#include "support/csv.h"
#include "support/limits.h"
#include "support/path.h"

namespace ptpkg::wheel {
namespace {

constexpr std::string_view kDigestPrefix = "sha256=";
constexpr std::size_t kDigestChars = 43;  // 32 bytes in base64 without padding

bool IsDigest(std::string_view text) {
  const auto legal = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  };
  return text.size() == kDigestChars && std::all_of(text.begin(), text.end(), legal);
}

Error BadRow(const std::string& name, std::size_t row, std::string_view why) {
  return {ErrorCode::kInvalidInput, fmt::format("'{}', row {}: {}", name, row, why)};
}

Result<RecordRow> ParseRow(const CsvRow& fields, const std::string& name, std::size_t number) {
  if (fields.size() != 3) {
    return BadRow(name, number, fmt::format("{} fields instead of path, digest, size", fields.size()));
  }
  RecordRow row;
  PTPKG_TRY(const RelPath path, RelPath::Parse(fields[0]),
            fmt::format("while reading '{}', row {}", name, number));
  row.path = path.str();
  const std::string& digest = fields[1];
  const std::string& size = fields[2];
  if (digest.empty() && size.empty()) return row;
  if (!digest.starts_with(kDigestPrefix) || !IsDigest(digest.substr(kDigestPrefix.size()))) {
    return BadRow(name, number,
                  fmt::format("'{}' is not a sha256 digest in URL-safe base64 without padding", digest));
  }
  row.sha256 = digest.substr(kDigestPrefix.size());
  const auto [end, error] = std::from_chars(size.data(), size.data() + size.size(), row.size_bytes);
  if (error != std::errc() || end != size.data() + size.size()) {
    return BadRow(name, number, fmt::format("'{}' is not a size in bytes", size));
  }
  return row;
}

}  // namespace

Result<std::vector<RecordRow>> ParseRecord(std::string_view text, const std::string& name) {
  std::vector<RecordRow> rows;
  std::set<std::string> seen;
  std::size_t number = 0;
  PTPKG_CHECK(ReadCsv(text, name, [&](const CsvRow& fields) -> Result<void> {
    ++number;
    PTPKG_TRY(RecordRow row, ParseRow(fields, name, number));
    if (rows.size() == limits::kRecordRows)
      return BadRow(name, number, fmt::format("more than {} rows", limits::kRecordRows));
    if (!seen.insert(row.path).second)
      return BadRow(name, number, fmt::format("'{}' is listed twice", row.path));
    rows.push_back(std::move(row));
    return Ok();
  }));
  return rows;
}

std::string FormatRecord(const std::vector<RecordRow>& rows) {
  std::string out;
  for (const RecordRow& row : rows) {
    const bool hashed = !row.sha256.empty();
    out += FormatCsvRow({row.path, hashed ? std::string(kDigestPrefix) + row.sha256 : "",
                         hashed ? fmt::format("{}", row.size_bytes) : ""});
  }
  return out;
}

bool MayLackDigest(std::string_view path, std::string_view dist_info_dir) {
  if (!path.starts_with(dist_info_dir)) return false;
  path.remove_prefix(dist_info_dir.size());
  return path == "/RECORD" || path == "/RECORD.jws" || path == "/RECORD.p7s";
}

}  // namespace ptpkg::wheel
