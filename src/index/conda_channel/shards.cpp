// Sharded repodata (CEP 16): a small index of names and digests, and one immutable file per package name.
//
// A shard's name is the digest of its compressed bytes. So a reader that holds an older index still finds the
// shards of that index, as long as they exist. A run writes in this order, and can be killed at any point:
//
// 1. New shards.
// 2. The time of shards that only the previous index lists becomes now.
// 3. The index, by rename.
// 4. Shards that neither index lists, and whose time is a week ago, are removed.
//
// Step 2 makes the week begin when readers can no longer learn of the shard, however old the file is.
//
// Compression of thousands of small files takes most of the time, so a cache maps the digest of a shard's
// content to the digest of its compressed bytes, and to the size and time of the file that had these bytes. A
// file of another size or time may be damaged or half copied, so it is compared with the bytes. The bytes of
// all files follow from the records alone: created_at is the time of the newest package.

#include "index/conda_channel/shards.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <fmt/core.h>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "archive/codec/decoder.h"
#include "conda/info/container.h"
#include "index/conda_channel/conda_documents.h"
#include "support/files/scratch.h"
#include "support/process/parallel.h"

namespace ptpkg::index {
namespace {

constexpr std::string_view kShardExtension = ".msgpack.zst";
constexpr int kShardsVersion = 1;
constexpr std::uint64_t kMaxShardIndex = 256U << 20U;
constexpr std::chrono::hours kKeepUnlisted{7 * 24};

std::string Packed(const Json& value) {
  const std::vector<std::uint8_t> bytes = Json::to_msgpack(value);
  return {bytes.begin(), bytes.end()};
}

template <class D>
Json Binary(const D& digest) {
  return Json::binary(std::vector<std::uint8_t>(digest.bytes.begin(), digest.bytes.end()));
}

/// A row of repodata.json as a shard has it.
Result<Json> ShardRow(const CondaRecord& record, const std::string& file_name) {
  Json row = record.repodata;
  PTPKG_TRY(const std::string sha256, JsonString(row, "sha256", file_name));
  PTPKG_TRY(const std::string md5, JsonString(row, "md5", file_name));
  PTPKG_TRY(const Sha256 sha256_bytes, Sha256::FromHex(sha256));
  PTPKG_TRY(const Md5 md5_bytes, Md5::FromHex(md5));
  row["sha256"] = Binary(sha256_bytes);
  row["md5"] = Binary(md5_bytes);
  if (!row.contains("run_exports")) row["run_exports"] = record.run_exports;
  return row;
}

/// One package name.
struct NamedShard {
  std::string name;
  std::string content;         ///< msgpack
  std::string content_digest;  ///< Hexadecimal.
  Sha256 digest = {};          ///< Of the compressed bytes.
  FileStat stat = {};          ///< Of the file.
};

Result<std::vector<NamedShard>> ShardsOf(const CondaRecords& records, const RemovedPackages& removed) {
  std::map<std::string, Json> by_name;
  const auto shard_of = [&](const std::string& name) -> Json& {
    Json& shard = by_name[name];
    if (shard.is_null()) {
      shard = {{"packages", Json::object()}, {"packages.conda", Json::object()}, {"removed", Json::array()}};
    }
    return shard;
  };
  for (const auto& [file_name, name] : removed) shard_of(name)["removed"].push_back(file_name);
  for (const auto& [file_name, record] : records) {
    PTPKG_TRY(const std::string name, JsonString(record.repodata, "name", file_name));
    Json& shard = shard_of(name);
    PTPKG_TRY(shard[file_name.ends_with(".conda") ? "packages.conda" : "packages"][file_name],
              ShardRow(record, file_name));
  }
  std::vector<NamedShard> shards;
  for (const auto& [name, shard] : by_name) {
    std::string content = Packed(shard);
    std::string digest = HashText(content).Hex();
    shards.push_back({.name = name, .content = std::move(content), .content_digest = std::move(digest)});
  }
  return shards;
}

/// RFC 3339, of the newest package.
std::string CreatedAt(const CondaRecords& records) {
  std::int64_t newest = 0;
  for (const auto& [file_name, record] : records) {
    newest = std::max(newest, RowTimestampMs(record.repodata) / 1000);
  }
  const std::chrono::sys_seconds time(std::chrono::seconds(std::min(newest, kLastSecondOf9999)));
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count());
}

/// The decoded index at `path`; "" for a missing or damaged one.
Result<std::string> ReadShardIndex(Env& env, const AbsPath& path) {
  PTPKG_TRY(const bool exists, Exists(env.fs, path));
  if (!exists) return std::string();
  PTPKG_TRY(const std::string packed, ReadFile(env.fs, path));
  StringSource source(packed);
  const auto decoder = archive::MakeZstdSource(source);
  Result<std::string> content = conda::ReadText(*decoder, kMaxShardIndex);
  return content ? *std::move(content) : std::string();
}

std::string ShardName(const Sha256& digest) { return digest.Hex() + std::string(kShardExtension); }

std::optional<Sha256> DigestOfShard(std::string_view name) {
  if (!name.ends_with(kShardExtension)) return std::nullopt;
  const auto digest = Sha256::FromHex(name.substr(0, name.size() - kShardExtension.size()));
  return digest && ShardName(*digest) == name ? std::optional(*digest) : std::nullopt;
}

class ShardWriter {
 public:
  ShardWriter(Env& env, const AbsPath& folder, IndexFiles& files)
      : env_(env), folder_(folder), shards_(folder / "shards"), files_(files) {}

  Result<void> Run(const CondaRecords& records, const RemovedPackages& removed) {
    PTPKG_TRY(std::vector<NamedShard> shards, ShardsOf(records, removed));
    PTPKG_CHECK(env_.fs.MakeDirs(shards_));
    PTPKG_CHECK(RemoveAbandoned(env_, shards_));
    PTPKG_CHECK(WriteNew(shards));
    Json digests = Json::object();
    std::set<Sha256> listed;
    for (const NamedShard& shard : shards) {
      digests[shard.name] = Binary(shard.digest);
      listed.insert(shard.digest);
    }
    PTPKG_TRY(const std::vector<std::string> expired, FindExpired(listed));
    const Json index = {{"version", kShardsVersion},
                        {"info",
                         {{"subdir", folder_.Name()},
                          {"base_url", ""},
                          {"shards_base_url", "./shards/"},
                          {"created_at", CreatedAt(records)}}},
                        {"shards", std::move(digests)}};
    PTPKG_TRY(const std::string packed, ZstOf(Packed(index)));
    PTPKG_CHECK(files_.Write(folder_ / kShardIndex, packed));
    for (const std::string& name : expired) PTPKG_CHECK(env_.fs.Remove(shards_ / name));
    return Ok();
  }

 private:
  [[nodiscard]] AbsPath CachePath() const { return folder_ / ".cache" / "ptpkg-shards.json"; }

  Result<void> WriteNew(std::vector<NamedShard>& shards) {
    PTPKG_TRY(const Json cache, ReadCache());
    const auto write = [&](std::size_t i) { return WriteOne(shards[i], cache); };
    PTPKG_CHECK(ParallelFor(env_.jobs, shards.size(), write));
    Json used = Json::object();
    for (const NamedShard& shard : shards) {
      used[shard.content_digest] = {
          {"sha256", shard.digest.Hex()}, {"size", shard.stat.size_bytes}, {"mtime_ns", shard.stat.mtime_ns}};
    }
    if (used.empty()) return Ok();
    return IndexFiles(env_).Write(CachePath(), DumpJson(used));
  }

  Result<void> WriteOne(NamedShard& shard, const Json& cache) {
    PTPKG_CHECK(env_.cancel.Check());
    PTPKG_TRY(const bool is_known, IsKnown(shard, cache));
    if (is_known) return Ok();
    PTPKG_TRY(const std::string packed, ZstOf(shard.content));
    shard.digest = HashText(packed);
    PTPKG_TRY(const bool same, HasText(env_.fs, PathOf(shard), packed));
    if (!same) PTPKG_CHECK(WriteFile(env_.fs, PathOf(shard), packed));
    PTPKG_TRY(shard.stat, env_.fs.Lstat(PathOf(shard)));
    return Ok();
  }

  /// True, with digest and stat set, for a file that is as the cache has it.
  Result<bool> IsKnown(NamedShard& shard, const Json& cache) const {
    const auto entry = cache.find(shard.content_digest);
    if (entry == cache.end() || !entry->is_object()) return false;
    const auto digest = Sha256::FromHex(RowText(*entry, "sha256"));
    if (!digest) return false;
    shard.digest = *digest;
    PTPKG_TRY(const bool exists, Exists(env_.fs, PathOf(shard)));
    if (!exists) return false;
    PTPKG_TRY(shard.stat, env_.fs.Lstat(PathOf(shard)));
    return shard.stat.kind == FileKind::kRegular && RowInteger(*entry, "mtime_ns") == shard.stat.mtime_ns &&
           std::cmp_equal(RowInteger(*entry, "size"), shard.stat.size_bytes);
  }

  /// Shards to remove. Shards that the present index lists, and the next one does not, get the present time.
  Result<std::vector<std::string>> FindExpired(const std::set<Sha256>& listed) {
    using std::chrono::nanoseconds;
    const std::int64_t now_ns =
        std::chrono::duration_cast<nanoseconds>(env_.clock.WallNow().time_since_epoch()).count();
    PTPKG_TRY(const std::string present, ReadShardIndex(env_, folder_ / kShardIndex));
    PTPKG_TRY(const std::vector<std::string> names, env_.fs.ListDir(shards_));
    std::vector<std::string> expired;
    for (const std::string& name : names) {
      const std::optional<Sha256> digest = DigestOfShard(name);
      if (!digest || listed.contains(*digest)) continue;
      // The bytes can only be those of the digest: msgpack stores it as it is.
      if (present.find(AsText(std::as_bytes(std::span(digest->bytes)))) != std::string::npos) {
        const Result<void> set = env_.fs.SetMtime(shards_ / name, now_ns);
        if (set) continue;
        if (set.error().sys_errno() != EPERM) return set.error();
        // Another user owns the file, and only the owner can set its time. Replacing it needs the directory
        // alone.
        PTPKG_TRY(const std::string bytes, ReadFile(env_.fs, shards_ / name));
        PTPKG_CHECK(WriteFile(env_.fs, shards_ / name, bytes));
        continue;
      }
      PTPKG_TRY(const FileStat stat, env_.fs.Lstat(shards_ / name));
      if (now_ns - stat.mtime_ns > nanoseconds(kKeepUnlisted).count()) expired.push_back(name);
    }
    return expired;
  }

  Result<Json> ReadCache() {
    PTPKG_TRY(const bool exists, Exists(env_.fs, CachePath()));
    if (!exists) return Json::object();
    PTPKG_TRY(const std::string text, ReadFile(env_.fs, CachePath()));
    Result<Json> cache = ParseJson(text, "cache");
    return cache && cache->is_object() ? *std::move(cache) : Json::object();
  }

  [[nodiscard]] AbsPath PathOf(const NamedShard& shard) const { return shards_ / ShardName(shard.digest); }

  Env& env_;
  const AbsPath& folder_;
  AbsPath shards_;
  IndexFiles& files_;
};

}  // namespace

Result<void> WriteShards(Env& env, const AbsPath& folder, const CondaRecords& records,
                         const RemovedPackages& removed, IndexFiles& files) {
  return ShardWriter(env, folder, files).Run(records, removed);
}

}  // namespace ptpkg::index
