#pragma once
// Repodata and run_exports documents of one subdir. Layer: index. Source: CEP 36 (repodata), CEP 12
// (run_exports); conda-index 0.13 index_subdir.

#include <map>
#include <string>

#include "index/conda_channel/conda_record.h"

namespace ptpkg::index {

/// repodata.json and run_exports.json of a subdir without packages.
Json EmptyRepodata(const std::string& subdir);
Json EmptyRunExports(const std::string& subdir);

/// Adds the rows of `records`, and replaces rows of the same files. The rest of the document stays.
/// run_exports lists every package, with an empty object when it exports nothing. Errors: kInvalidInput for a
/// document that is not of this form.
Result<void> AddToRepodata(Json& repodata, const CondaRecords& records);
Result<void> AddToRunExports(Json& run_exports, const CondaRecords& records);

/// Removes the rows of these files from either document; the rest of it stays. `digests`: by file name. A row
/// with another digest stays, and "" matches any digest. Errors: as AddToRepodata.
Result<void> RemoveRows(Json& document, const std::map<std::string, std::string>& digests);

/// A field of a row; 0 or "" if it is missing or has another type.
std::int64_t RowInteger(const Json& row, const char* key);
std::string RowText(const Json& row, const char* key);
/// Since 1970, of the year 9999.
inline constexpr std::int64_t kLastSecondOf9999 = 253402300799;
/// A row's "timestamp", or 0. Packages state it in seconds or milliseconds: values after the year 9999 in
/// seconds are milliseconds (conda-index _make_seconds).
std::int64_t RowTimestampMs(const Json& row);

/// The name of the same package as .tar.bz2: "a-1-0.tar.bz2" for "a-1-0.conda".
std::string LegacyName(const std::string& file_name);

/// One line, keys sorted: the compact form that conda-index writes by default.
std::string CompactJson(const Json& value);

}  // namespace ptpkg::index
