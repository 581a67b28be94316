#pragma once
// Writes sharded repodata: one file for each package name. Layer: index. Source: CEP 16.

#include <string_view>

#include "index/conda_channel/conda_record.h"
#include "index/conda_channel/patch_instructions.h"
#include "index/index_files.h"

namespace ptpkg::index {

/// The shard index of a subdir.
inline constexpr std::string_view kShardIndex = "repodata_shards.msgpack.zst";

/// Writes `<folder>/repodata_shards.msgpack.zst`, and `<folder>/shards/<sha256>.msgpack.zst` for each package
/// name of `records` and `removed`. A row equals the row of repodata.json, but has binary digests and the run
/// exports. `<folder>/.cache/ptpkg-shards.json`, which can be deleted at any time, has the digest, size and
/// mtime of each shard. A shard with these is neither compressed nor read again; another one with its name is
/// compared, and replaced if its bytes differ. The shard index follows all shards, atomically. Shards that it
/// no longer lists stay for a week from then on, for readers of the index before. REQUIRES: the caller holds
/// LockIndex. Errors: kIo.
Result<void> WriteShards(Env& env, const AbsPath& folder, const CondaRecords& records,
                         const RemovedPackages& removed, IndexFiles& files);

}  // namespace ptpkg::index
