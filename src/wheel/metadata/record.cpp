// A fault of one row does not end the reading: each fault is listed, and all other rows are usable. RECORD
// shows that somebody edited a wheel afterwards, but pip and uv don't compare its digests. The library
// installer does it with --validate-record all. Digests of 256, 384 and 512 bits are read. Others are faults:
// the binary distribution format excludes md5, sha1 and sha224.

#include "wheel/metadata/record.h"

#include <algorithm>
#include <charconv>
#include <fmt/core.h>
#include <optional>
#include <set>

#include "support/digest/wide_hash.h"
#include "support/limits.h"
#include "support/path.h"
#include "support/text/csv.h"

namespace ptpkg::wheel {
namespace {

struct DigestForm {
  std::string_view prefix;
  // A digest of n bytes has 4n/3 characters, rounded up.
  std::size_t chars;  ///< In base64 without padding.
};
constexpr DigestForm kSha256 = {"sha256=", 43};
constexpr DigestForm kSha384 = {"sha384=", 64};
constexpr DigestForm kSha512 = {"sha512=", 86};
constexpr DigestForm kMd5 = {"md5=", 22};
constexpr DigestForm kSha1 = {"sha1=", 27};

bool HasForm(std::string_view digest, const DigestForm& form) {
  const auto legal = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  };
  if (!digest.starts_with(form.prefix)) return false;
  digest.remove_prefix(form.prefix.size());
  return digest.size() == form.chars && std::all_of(digest.begin(), digest.end(), legal);
}

/// "md5=…", of which nobody can tell here whether it is right.
bool IsOfWeakKind(std::string_view digest) { return HasForm(digest, kMd5) || HasForm(digest, kSha1); }

/// Takes a row apart; nullopt when all is well.
std::optional<RecordFault> ParseRow(const CsvRow& fields, RecordRow& row) {
  using Kind = RecordFault::Kind;
  // Form before content: uv and installer refuse a wheel with such a row, whatever its digest is.
  if (fields.size() != 3) {
    return RecordFault{Kind::kForm, "",
                       fmt::format("{} fields instead of path, digest, size", fields.size())};
  }
  const std::string& digest = fields[1];
  const std::string& size = fields[2];
  const auto fault = [&](Kind kind, std::string why) { return RecordFault{kind, fields[0], std::move(why)}; };
  const auto [end, error] = std::from_chars(size.data(), size.data() + size.size(), row.size_bytes);
  if (!size.empty() && (error != std::errc() || end != size.data() + size.size())) {
    return fault(Kind::kForm, fmt::format("'{}' is not a size in bytes", size));
  }
  const Result<RelPath> path = RelPath::Parse(fields[0]);
  if (!path) return fault(Kind::kPath, path.error().message());
  row.path = path->str();
  if (digest.empty() && size.empty()) return std::nullopt;
  if (HasForm(digest, kSha256)) {
    row.sha256 = digest.substr(kSha256.prefix.size());
  } else if (HasForm(digest, kSha384) || HasForm(digest, kSha512)) {
    row.stronger = digest;
  } else {
    return fault(
        IsOfWeakKind(digest) ? Kind::kAlgorithm : Kind::kDigest,
        fmt::format("'{}' is not a sha256, sha384 or sha512 digest in URL-safe base64 without padding",
                    digest));
  }
  if (size.empty()) return fault(Kind::kDigest, "the digest has no size beside it");
  return std::nullopt;
}

}  // namespace

RecordRow RowOf(std::string path, const Sha256& sha256, std::uint64_t size_bytes) {
  return {.path = std::move(path),
          .sha256 = Base64UrlUnpadded(std::as_bytes(std::span(sha256.bytes))),
          .size_bytes = size_bytes};
}

Result<RecordReading> ReadRecord(std::string_view text, const std::string& name) {
  RecordReading out;
  std::set<std::string> seen;
  std::size_t number = 0;
  PTPKG_CHECK(ReadCsv(text, name, [&](const CsvRow& fields) -> Result<void> {
    ++number;
    if (number > limits::kRecordRows) {
      return Error(ErrorCode::kInvalidInput,
                   fmt::format("'{}', row {}: more than {} rows", name, number, limits::kRecordRows));
    }
    RecordRow row;
    std::optional<RecordFault> fault = ParseRow(fields, row);
    if (!fault && !seen.insert(row.path).second) {
      fault =
          RecordFault{RecordFault::Kind::kRepeated, row.path, fmt::format("'{}' is listed twice", row.path)};
    }
    // All rows of a repeated path stay, since readers differ on the row that counts. The caller decides.
    if (!fault || fault->kind == RecordFault::Kind::kRepeated) out.rows.push_back(std::move(row));
    if (!fault) return Ok();
    fault->message = fmt::format("'{}', row {}: {}", name, number, fault->message);
    out.faults.push_back(*std::move(fault));
    return Ok();
  }));
  return out;
}

Result<std::vector<RecordRow>> ParseRecord(std::string_view text, const std::string& name) {
  PTPKG_TRY(RecordReading reading, ReadRecord(text, name));
  if (!reading.faults.empty()) return Error(ErrorCode::kInvalidInput, reading.faults.front().message);
  return std::move(reading.rows);
}

std::string FormatRecord(const std::vector<RecordRow>& rows) {
  std::string out;
  for (const RecordRow& row : rows) {
    const std::string digest = row.sha256.empty() ? row.stronger : std::string(kSha256.prefix) + row.sha256;
    out += FormatCsvRow({row.path, digest, digest.empty() ? "" : fmt::format("{}", row.size_bytes)});
  }
  return out;
}

Result<bool> FitsRow(Fs& fs, const AbsPath& root, const TreeEntry& entry, const RecordRow& row) {
  // The size first, because a digest above 256 bits costs a read of the file. The tree already has sha256.
  if (row.size_bytes != entry.size_bytes) return false;
  if (row.stronger.empty()) {
    return row.sha256 == Base64UrlUnpadded(std::as_bytes(std::span(entry.sha256.bytes)));
  }
  const bool longest = row.stronger.starts_with(kSha512.prefix);
  PTPKG_TRY(const std::string digest,
            WideDigestOfFile(fs, root / entry.path, longest ? WideHash::kSha512 : WideHash::kSha384));
  return row.stronger.substr(kSha512.prefix.size()) == digest;
}

bool MayLackDigest(std::string_view path, std::string_view dist_info_dir) {
  if (!path.starts_with(dist_info_dir)) return false;
  path.remove_prefix(dist_info_dir.size());
  return path == "/RECORD" || path == "/RECORD.jws" || path == "/RECORD.p7s";
}

}  // namespace ptpkg::wheel
