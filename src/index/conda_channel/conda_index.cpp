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
#include <optional>
#include <set>
#include <span>

#include "conda/channel_names.h"
#include "index/conda_channel/channeldata.h"
#include "index/conda_channel/conda_documents.h"
#include "index/conda_channel/conda_record.h"
#include "index/conda_channel/current_repodata.h"
#include "index/conda_channel/patch_instructions.h"
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

/// Directories of `root` that hold packages or an older index, and those of `wanted` that exist.
Result<std::vector<SubdirContent>> FindSubdirs(Env& env, const AbsPath& root,
                                               const std::set<std::string>& wanted) {
  PTPKG_TRY(const std::vector<std::string> names, env.fs.ListDir(root));
  std::vector<SubdirContent> result;
  for (const std::string& name : names) {
    if (!conda::IsSubdir(name)) continue;
    PTPKG_TRY(const std::optional<FileStat> stat, FollowLink(env, root / name));
    if (!stat || stat->kind != FileKind::kDirectory) continue;
    SubdirContent content{.subdir = name, .packages = {}};
    PTPKG_TRY(const std::vector<std::string> files, env.fs.ListDir(root / name));
    std::copy_if(files.begin(), files.end(), std::back_inserter(content.packages), IsPackageName);
    const bool indexed = std::find(files.begin(), files.end(), "repodata.json") != files.end();
    if (!content.packages.empty() || indexed || wanted.contains(name)) result.push_back(std::move(content));
  }
  return result;
}

/// True if an earlier run wrote `file` for any subdir.
Result<bool> AnySubdirHas(Env& env, const AbsPath& root, const std::vector<SubdirContent>& subdirs,
                          std::string_view file) {
  for (const SubdirContent& content : subdirs) {
    PTPKG_TRY(const bool exists, Exists(env.fs, root / content.subdir / file));
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

  /// In the order of the content; writes nothing.
  Result<std::vector<Reading<CondaRecord>>> Read() {
    PTPKG_TRY(const CondaRecords cached, ReadCache());
    std::vector<Reading<CondaRecord>> readings(content_.packages.size());
    const auto read = [&](std::size_t i) -> Result<void> {
      const std::string& name = content_.packages[i];
      PTPKG_TRY(readings[i], ClassifyReadError(env_, folder_ / name, RecordOf(name, cached)));
      return Ok();
    };
    PTPKG_CHECK(ParallelFor(env_.jobs, readings.size(), read));
    return readings;
  }

  /// Adds the indexed and the skipped packages to `summary`.
  Result<CondaRecords> Run(IndexSummary& summary) {
    PTPKG_TRY(std::vector<Reading<CondaRecord>> readings, Read());
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

/// The content of a subdir's files.
struct SubdirIndex {
  CondaRecords records = {};  ///< As patched.
  RemovedPackages removed = {};
  std::string run_exports = {};
  std::optional<PatchText> new_patch = {};    ///< Instructions to take over.
  std::optional<std::string> unpatched = {};  ///< repodata_from_packages.json.
};
using SubdirIndexes = std::map<std::string, SubdirIndex>;

Result<Json> RepodataOf(const std::string& subdir, const SubdirIndex& index) {
  Json repodata = EmptyRepodata(subdir);
  PTPKG_CHECK(AddToRepodata(repodata, index.records));
  for (const auto& [file_name, name] : index.removed) repodata["removed"].push_back(file_name);
  return repodata;
}

/// Sets `new_patch` from `source`.
Result<void> ReadNewPatches(Env& env, const AbsPath& root, const AbsPath& source, SubdirIndexes& indexes) {
  PTPKG_TRY(const auto texts, ReadPatchSource(env, source, root));
  std::vector<std::string> unknown;
  for (const auto& [subdir, text] : texts) {
    const auto index = indexes.find(subdir);
    if (index == indexes.end()) {
      unknown.push_back(subdir);
    } else {
      index->second.new_patch = text;
    }
  }
  if (!unknown.empty()) {
    env.reporter.Warn(fmt::format("'{}' patches subdirs that the channel does not have: {}", source.str(),
                                  Join(unknown, ", ")));
  }
  return Ok();
}

/// Later runs find the same: a package that an instruction names may have been removed since.
void WarnOfUnknown(Env& env, const std::string& subdir, const std::vector<std::string>& unknown) {
  constexpr std::size_t kNamed = 5;
  if (unknown.empty()) return;
  const bool all = unknown.size() <= kNamed;
  const std::span<const std::string> named(unknown.data(), all ? unknown.size() : kNamed);
  env.reporter.Warn(
      fmt::format("the patch instructions of {} name packages that the channel does not have: {}{}", subdir,
                  Join(named, ", "), all ? "" : fmt::format(" and {} more", unknown.size() - kNamed)));
}

/// Completes `index`, whose records are those of the packages: takes the rows and run exports as the packages
/// have them, then patches the rows. Adds to `summary` what clients cannot install then.
Result<void> CompleteAndPatch(Env& env, const AbsPath& folder, SubdirIndex& index, IndexSummary& summary) {
  const std::string subdir(folder.Name());
  Json run_exports = EmptyRunExports(subdir);
  PTPKG_CHECK(AddToRunExports(run_exports, index.records));
  index.run_exports = CompactJson(run_exports);
  PatchInstructions patch;
  std::string where = fmt::format("'{}'", (folder / kPatchFile).str());
  if (index.new_patch) {
    where = index.new_patch->where;
    PTPKG_TRY(patch, PatchInstructions::Parse(index.new_patch->text, where));
    WarnOfUnknown(env, subdir, patch.UnknownIn(index.records));
  } else {
    PTPKG_TRY(patch, ReadPatchOf(env, folder));
  }
  PTPKG_TRY(const bool has_patch, Exists(env.fs, folder / kPatchFile));
  PTPKG_TRY(const bool has_unpatched, Exists(env.fs, folder / kUnpatchedRepodata));
  if (index.new_patch || has_patch || has_unpatched) {
    PTPKG_TRY(const Json repodata, RepodataOf(subdir, index));
    index.unpatched = CompactJson(repodata);
  }
  for (const auto& [file_name, record] : index.records) {
    if (patch.Hides(file_name)) summary.hidden.insert(subdir + "/" + file_name);
  }
  PTPKG_TRY(index.removed, PatchRecords(patch, where, index.records));
  return Ok();
}

/// Instructions come first: if the run is killed, the next one applies them.
Result<void> WriteSubdir(Env& env, const AbsPath& folder, const SubdirIndex& index, const ChannelParts& parts,
                         IndexFiles& files) {
  if (index.new_patch) PTPKG_CHECK(files.Write(folder / kPatchFile, index.new_patch->text));
  if (index.unpatched) PTPKG_CHECK(files.WriteWithZst(folder / kUnpatchedRepodata, *index.unpatched));
  PTPKG_TRY(const Json repodata, RepodataOf(std::string(folder.Name()), index));
  PTPKG_CHECK(files.WriteWithZst(folder / "repodata.json", CompactJson(repodata)));
  if (parts.current_repodata) {
    PTPKG_CHECK(files.WriteWithZst(folder / kCurrentRepodata, CompactJson(MakeCurrentRepodata(repodata))));
  }
  PTPKG_CHECK(files.Write(folder / "run_exports.json", index.run_exports));
  return parts.shards ? WriteShards(env, folder, index.records, index.removed, files) : Ok();
}

}  // namespace

Result<IndexSummary> IndexConda(Env& env, const AbsPath& root, const CondaIndexOptions& options) {
  PTPKG_TRY(const std::unique_ptr<File> lock, LockIndex(env, root));
  const std::string frame = fmt::format("while indexing '{}'", root.str());
  KnownDigests digests;
  for (const Artifact& artifact : options.known) digests.emplace(artifact.path, artifact.digests);
  PTPKG_CHECK(env.fs.MakeDirs(root / "noarch"), frame);
  PTPKG_TRY(std::vector<SubdirContent> subdirs, FindSubdirs(env, root, {"noarch"}), frame);
  ChannelParts parts = options.parts;
  PTPKG_TRY(const bool has_shards, AnySubdirHas(env, root, subdirs, kShardIndex), frame);
  PTPKG_TRY(const bool has_current, AnySubdirHas(env, root, subdirs, kCurrentRepodata), frame);
  parts.shards |= has_shards;
  parts.current_repodata |= has_current;
  SubdirIndexes indexes;
  for (const SubdirContent& content : subdirs) indexes[content.subdir];
  if (parts.patch) PTPKG_CHECK(ReadNewPatches(env, root, *parts.patch, indexes), frame);
  // All is read before the first write, so a failure leaves the old index.
  IndexSummary summary;
  for (SubdirContent& content : subdirs) {
    std::erase_if(content.packages, [&](const std::string& name) {
      return options.without.contains(content.subdir + "/" + name);
    });
    SubdirIndex& index = indexes[content.subdir];
    PTPKG_TRY(index.records, SubdirReader(env, root, content, digests).Run(summary), frame);
    PTPKG_CHECK(CompleteAndPatch(env, root / content.subdir, index, summary), frame);
  }
  IndexFiles files(env);
  std::map<std::string, CondaRecords> all;
  for (auto& [subdir, index] : indexes) {
    PTPKG_CHECK(WriteSubdir(env, root / subdir, index, parts, files), frame);
    all[subdir] = std::move(index.records);
  }
  PTPKG_CHECK(files.Write(root / "channeldata.json", CompactJson(MakeChanneldata(all)) + "\n"), frame);
  summary.written = files.TakeWritten();
  return summary;
}

Result<void> CheckPatches(Env& env, const AbsPath& root, const std::vector<NewPackage>& packages) {
  PTPKG_TRY(const bool is_there, Exists(env.fs, root));
  if (!is_there) return Ok();
  std::set<std::string> wanted = {"noarch"};
  for (const NewPackage& package : packages) wanted.insert(package.subdir);
  PTPKG_TRY(std::vector<SubdirContent> subdirs, FindSubdirs(env, root, wanted));
  for (SubdirContent& content : subdirs) {
    const AbsPath folder = root / content.subdir;
    PTPKG_TRY(const bool has_patch, Exists(env.fs, folder / kPatchFile));
    if (!has_patch) continue;
    PTPKG_TRY(const PatchInstructions patch, ReadPatchOf(env, folder));
    CondaRecords records;
    for (const NewPackage& package : packages) {
      if (package.subdir != content.subdir) continue;
      const std::string name(package.file.Name());
      std::erase(content.packages, name);
      PTPKG_TRY(records[name], ReadCondaRecord(env, package.file, package.subdir, package.digests));
    }
    PTPKG_TRY(std::vector<Reading<CondaRecord>> readings, SubdirReader(env, root, content, {}).Read());
    for (std::size_t i = 0; i < readings.size(); ++i) {
      if (readings[i].record) records.emplace(content.packages[i], *std::move(readings[i].record));
    }
    PTPKG_CHECK(PatchRecords(patch, fmt::format("'{}'", (folder / kPatchFile).str()), records));
  }
  return Ok();
}

}  // namespace ptpkg::index
