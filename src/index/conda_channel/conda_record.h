#pragma once
// Reads and caches the index record of one package. Layer: index.

#include <map>
#include <optional>
#include <string>

#include "model/artifact.h"
#include "support/env.h"
#include "support/text/json.h"

namespace ptpkg::index {

struct CondaRecord {
  std::uint64_t size_bytes = 0;
  std::int64_t mtime_ns = 0;
  Json repodata = Json::object();     ///< The row of repodata.json.
  Json run_exports = Json::object();  ///< Empty when the package has none.
  /// For channeldata.json: texts of about.json, and "binary_prefix", "activate.d", … as booleans.
  Json about = Json::object();
};

/// Records of one subdir by file name.
using CondaRecords = std::map<std::string, CondaRecord>;

/// Reads `package` in the channel directory `subdir`. `digests`: the digests of its bytes, or nullopt to
/// compute them. Errors: kInvalidInput (index.json disagrees with the file name or with `subdir`), kCorrupt,
/// kIo.
Result<CondaRecord> ReadCondaRecord(Env& env, const AbsPath& package, const std::string& subdir,
                                    const std::optional<Digests>& digests);

/// The cache file of the channel directory `folder`.
[[nodiscard]] AbsPath RecordCachePath(const AbsPath& folder);
/// The text of the cache file, and back. A foreign text gives no records, because the cache can be deleted or
/// damaged at any time.
std::string FormatRecordCache(const CondaRecords& records);
CondaRecords ParseRecordCache(std::string_view text);

}  // namespace ptpkg::index
