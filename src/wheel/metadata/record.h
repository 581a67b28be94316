#pragma once
// Reads and writes RECORD. Layer: wheel. Source: PyPA "Recording installed projects" and binary distribution
// format; PEP 376 for the CSV dialect.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/staged_tree.h"
#include "support/digest/hash.h"
#include "support/files/fs.h"
#include "support/result.h"

namespace ptpkg::wheel {

struct RecordRow {
  std::string path;
  std::string sha256;  ///< URL-safe base64 without padding; "" without a digest, or with a stronger one.
  std::uint64_t size_bytes = 0;
  std::string stronger = {};  ///< "sha384=…" or "sha512=…", as written; "" else. ptpkg writes none.

  [[nodiscard]] bool HasDigest() const { return !sha256.empty() || !stronger.empty(); }
  bool operator==(const RecordRow&) const = default;
};

/// The row that ptpkg writes for a file.
RecordRow RowOf(std::string path, const Sha256& sha256, std::uint64_t size_bytes);

/// Defect of a row of RECORD.
struct RecordFault {
  enum class Kind : std::uint8_t {
    kForm,       ///< Not three fields, or a size that is not a number: no reader accepts it.
    kDigest,     ///< A digest that no file can have, or digest without size, or the reverse.
    kAlgorithm,  ///< A digest that is not sha256 or better.
    kPath,       ///< An absolute path, one that climbs, or a directory.
    kRepeated,
    kLine,  ///< Not of a row: an empty line, or a line break that only some readers see.
  };
  Kind kind = Kind::kForm;
  std::string path;  ///< Path, as written; "" for a row without exactly three fields.
  std::string message;
};

struct RecordReading {
  std::vector<RecordRow> rows;      ///< In written order, with every row of a repeated path.
  std::vector<RecordFault> faults;  ///< Rows with a fault other than kRepeated are not in `rows`.
};
/// Reads a whole RECORD. Errors: kCorrupt (CSV), kInvalidInput (more than limits::kRecordRows rows).
Result<RecordReading> ReadRecord(std::string_view text, const std::string& name);

/// Rows in written order. Errors: any from ReadRecord, kInvalidInput naming the first row with a fault.
Result<std::vector<RecordRow>> ParseRecord(std::string_view text, const std::string& name);
/// LF line ends, as wheel and pip write it.
std::string FormatRecord(const std::vector<RecordRow>& rows);

/// True if `entry` of the tree at `root` has the size and digest in `row`, which has one. A file is read
/// for a digest other than sha256. Errors: kIo.
Result<bool> FitsRow(Fs& fs, const AbsPath& root, const TreeEntry& entry, const RecordRow& row);

/// True for the file names that RECORD may list without a digest: RECORD, RECORD.jws, RECORD.p7s directly in
/// `dist_info_dir`.
bool MayLackDigest(std::string_view path, std::string_view dist_info_dir);

}  // namespace ptpkg::wheel
