#pragma once
// Writes sharded repodata: one file for each package name. Layer: index. Source: CEP 16.

#include <string_view>

#include "index/conda_channel/conda_record.h"
#include "index/index_files.h"

namespace ptpkg::index {

/// The shard index of a subdir.
inline constexpr std::string_view kShardIndex = "repodata_shards.msgpack.zst";

/// Writes `<folder>/repodata_shards.msgpack.zst`, and `<folder>/shards/<sha256>.msgpack.zst` for each package
/// name of `records`. A row equals the row of repodata.json, but has binary digests and the run exports.
/// Existing shards are not written again, and `<folder>/.cache/ptpkg-shards.json` spares their compression;
/// it can be deleted at any time. The shard index follows all shards, atomically. Shards that it no longer
/// lists stay for a week from then on, for readers of the index before. REQUIRES: the caller holds LockIndex.
/// Errors: kIo.
Result<void> WriteShards(Env& env, const AbsPath& folder, const CondaRecords& records, IndexFiles& files);

}  // namespace ptpkg::index
