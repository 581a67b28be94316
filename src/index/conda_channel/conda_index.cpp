// Index files of a conda channel. Layer: index. Source: CEP 36; conda-index 0.13 index_subdir.
//
// All packages are read before anything is written, so a failure leaves the old index complete. Records
// come from a cache by size and time: reading a package means opening its archive and hashing it. Packages
// are read in parallel and merged in the order of their names, so the files do not depend on timing. A
// damaged package is skipped with a warning, and the channel stays usable.
//
// noarch exists in any case, even without packages, because conda clients always ask for it.

#include <algorithm>
#include <fmt/core.h>

#include "conda/channel_names.h"
#include "index/conda_channel/channeldata.h"
#include "index/conda_channel/conda_documents.h"
#include "index/conda_channel/conda_record.h"
#include "index/conda_channel/shards.h"
#include "index/conda_channel/skipped_packages.h"
#include "index/index.h"
#include "index/index_files.h"
#include "support/process/parallel.h"
#include "support/text/text.h"

namespace ptpkg::index {
namespace {

struct SubdirContent {
  std::string subdir;
  std::vector<std::string> packages;  ///< File names, sorted.
};

/// True for entries that look like packages, also those that RecordOf refuses. A name that begins with '.' is
/// a file in the making.
bool IsPackageName(const std::string& name) {
  const std::string lower = ToLower(name);
  return !name.starts_with('.') && (lower.ends_with(ArtifactExtension(ArtifactFormat::kConda)) ||
                                    lower.ends_with(ArtifactExtension(ArtifactFormat::kTarBz2)));
}

/// Directories of `root` that hold packages or an older index; noarch in any case.
Result<std::vector<SubdirContent>> FindSubdirs(Env& env, const AbsPath& root) {
  PTPKG_TRY(std::vector<std::string> names, env.fs.ListDir(root));
  if (std::find(names.begin(), names.end(), "noarch") == names.end()) {
    PTPKG_CHECK(env.fs.MakeDirs(root / "noarch"));
    names.emplace_back("noarch");
    std::sort(names.begin(), names.end());
  }
  std::vector<SubdirContent> result;
  for (const std::string& name : names) {
    if (!conda::IsSubdir(name)) continue;
    PTPKG_TRY(const std::optional<FileStat> stat, FollowLink(env, root / name));
    if (!stat || stat->kind != FileKind::kDirectory) continue;
    SubdirContent content{.subdir = name, .packages = {}};
    PTPKG_TRY(const std::vector<std::string> files, env.fs.ListDir(root / name));
    std::copy_if(files.begin(), files.end(), std::back_inserter(content.packages), IsPackageName);
    const bool indexed = std::find(files.begin(), files.end(), "repodata.json") != files.end();
    if (!content.packages.empty() || indexed || name == "noarch") result.push_back(std::move(content));
  }
  return result;
}

/// True if an earlier run wrote shards for any subdir.
Result<bool> HasShards(Env& env, const AbsPath& root, const std::vector<SubdirContent>& subdirs) {
  for (const SubdirContent& content : subdirs) {
    PTPKG_TRY(const bool exists, Exists(env.fs, root / content.subdir / kShardIndex));
    if (exists) return true;
  }
  return false;
}

using KnownDigests = std::map<AbsPath, Digests>;

/// Records of all packages of one subdir: from the cache where size and mtime are the same, else read.
class SubdirReader {
 public:
  SubdirReader(Env& env, const AbsPath& root, const SubdirContent& content, const KnownDigests& known)
      : env_(env), folder_(root / content.subdir), content_(content), known_(known) {}

  /// Adds the indexed and the skipped packages to `summary`.
  Result<CondaRecords> Run(IndexSummary& summary) {
    PTPKG_TRY(const CondaRecords cached, ReadCache());
    std::vector<Reading<CondaRecord>> readings(content_.packages.size());
    const auto read = [&](std::size_t i) -> Result<void> {
      const std::string& name = content_.packages[i];
      PTPKG_TRY(readings[i], ClassifyReadError(env_, folder_ / name, RecordOf(name, cached)));
      return Ok();
    };
    PTPKG_CHECK(ParallelFor(env_.jobs, readings.size(), read));
    CondaRecords result;
    for (std::size_t i = 0; i < readings.size(); ++i) {
      const std::string& name = content_.packages[i];
      if (readings[i].reason) SkipPackage(env_, folder_ / name, *readings[i].reason, summary);
      if (readings[i].record) result.emplace(name, *std::move(readings[i].record));
    }
    summary.packages += result.size();
    PTPKG_CHECK(WriteCache(result));
    return result;
  }

 private:
  [[nodiscard]] AbsPath CachePath() const { return RecordCachePath(folder_); }

  Result<CondaRecords> ReadCache() {
    PTPKG_TRY(const bool exists, Exists(env_.fs, CachePath()));
    if (!exists) return CondaRecords();
    PTPKG_TRY(const std::string text, ReadFile(env_.fs, CachePath()));
    return ParseRecordCache(text);
  }

  Result<void> WriteCache(const CondaRecords& records) {
    if (records.empty()) return Ok();
    return IndexFiles(env_).Write(CachePath(), FormatRecordCache(records));
  }

  Result<CondaRecord> RecordOf(const std::string& file_name, const CondaRecords& cached) const {
    const AbsPath path = folder_ / file_name;
    PTPKG_CHECK(conda::DistName::Parse(file_name));
    PTPKG_TRY(const FileStat stat, StatPackage(env_, path));
    const auto old = cached.find(file_name);
    // Size and time show a replaced package without reading it.
    if (old != cached.end() && old->second.size_bytes == stat.size_bytes &&
        old->second.mtime_ns == stat.mtime_ns) {
      return old->second;
    }
    const auto known = known_.find(path);
    return ReadCondaRecord(env_, path, content_.subdir,
                           known == known_.end() ? std::nullopt : std::optional<Digests>(known->second));
  }

  Env& env_;
  AbsPath folder_;
  const SubdirContent& content_;
  const KnownDigests& known_;
};

}  // namespace

Result<IndexSummary> IndexConda(Env& env, const AbsPath& root, std::span<const Artifact> known,
                                const std::set<std::string>& without, bool shards) {
  PTPKG_TRY(const std::unique_ptr<File> lock, LockIndex(env, root));
  const std::string frame = fmt::format("while indexing '{}'", root.str());
  KnownDigests digests;
  for (const Artifact& artifact : known) digests.emplace(artifact.path, artifact.digests);
  PTPKG_TRY(std::vector<SubdirContent> subdirs, FindSubdirs(env, root), frame);
  for (SubdirContent& content : subdirs) {
    std::erase_if(content.packages,
                  [&](const std::string& name) { return without.contains(content.subdir + "/" + name); });
  }
  PTPKG_TRY(const bool sharded, HasShards(env, root, subdirs), frame);
  std::map<std::string, CondaRecords> all;
  IndexSummary summary;
  for (const SubdirContent& content : subdirs) {
    PTPKG_TRY(all[content.subdir], SubdirReader(env, root, content, digests).Run(summary), frame);
  }
  // All is read before the first write, so a failure leaves the old index.
  IndexFiles files(env);
  for (const auto& [subdir, records] : all) {
    Json repodata = EmptyRepodata(subdir);
    PTPKG_CHECK(AddToRepodata(repodata, records), frame);
    PTPKG_CHECK(files.WriteWithZst(root / subdir / "repodata.json", CompactJson(repodata)), frame);
    Json run_exports = EmptyRunExports(subdir);
    PTPKG_CHECK(AddToRunExports(run_exports, records), frame);
    PTPKG_CHECK(files.Write(root / subdir / "run_exports.json", CompactJson(run_exports)), frame);
    if (shards || sharded) PTPKG_CHECK(WriteShards(env, root / subdir, records, files), frame);
  }
  PTPKG_CHECK(files.Write(root / "channeldata.json", CompactJson(MakeChanneldata(all)) + "\n"), frame);
  summary.written = files.TakeWritten();
  return summary;
}

}  // namespace ptpkg::index
