// Lists the packages of the output channel as candidates for the local resolver, without unpacking them
// again.
//
// Facts come from the cheapest source that is still valid:
// 1. The record cache, if size and time of the file match.
// 2. repodata.json and run_exports.json, if the file is not newer and has the stated size. Both are needed,
//    because run exports are requirements too.
// 3. The package itself.
//
// The channel's patch instructions apply to all of them, as they do for clients. A row of repodata.json is
// already patched, and patching it again changes nothing that the resolver reads.
//
// A damaged package stays in the list with its damage, so that a recipe which needs it gets that error and
// not "no such package". A file that disappears while the directory is read is simply absent.

#include "index/conda_channel/candidates.h"

#include <algorithm>

#include "conda/channel_names.h"
#include "conda/package.h"
#include "index/conda_channel/conda_record.h"
#include "index/conda_channel/patch_instructions.h"
#include "support/process/parallel.h"

namespace ptpkg::index {
namespace {

/// Records about the packages of one directory.
struct Index {
  CondaRecords cache;
  Json repodata = Json::object();
  Json run_exports = Json::object();
  PatchInstructions patch;
  std::int64_t mtime_ns = 0;  ///< mtime of repodata.json.
};

/// The JSON document at `path`; an empty one when it is missing or damaged: an index can be made again.
Result<Json> ReadDocument(Env& env, const AbsPath& path) {
  PTPKG_TRY(const bool there, Exists(env.fs, path));
  if (!there) return Json::object();
  PTPKG_TRY(const std::string text, ReadFile(env.fs, path));
  Result<Json> document = ParseJson(text, path.Name());
  return document && document->is_object() ? *std::move(document) : Json::object();
}

Result<Index> ReadIndex(Env& env, const AbsPath& folder) {
  Index index;
  PTPKG_TRY(index.patch, ReadPatchOf(env, folder));
  PTPKG_TRY(const bool cached, Exists(env.fs, RecordCachePath(folder)));
  if (cached) {
    PTPKG_TRY(const std::string text, ReadFile(env.fs, RecordCachePath(folder)));
    index.cache = ParseRecordCache(text);
  }
  const AbsPath repodata = folder / "repodata.json";
  PTPKG_TRY(index.repodata, ReadDocument(env, repodata));
  if (index.repodata.empty()) return index;
  PTPKG_TRY(const FileStat stat, env.fs.Stat(repodata));
  index.mtime_ns = stat.mtime_ns;
  PTPKG_TRY(index.run_exports, ReadDocument(env, folder / "run_exports.json"));
  return index;
}

/// The row of `dist` in one of the two files; null if there is none.
const Json* RowOf(const Json& document, const conda::DistName& dist) {
  const auto rows = document.find(dist.format == ArtifactFormat::kConda ? "packages.conda" : "packages");
  if (rows == document.end() || !rows->is_object()) return nullptr;
  const auto row = rows->find(dist.FileName());
  return row != rows->end() && row->is_object() ? &*row : nullptr;
}

/// The record that the index's files hold; nullopt unless they know everything that is wanted.
std::optional<CondaRecord> KnownRecord(const Index& index, const conda::DistName& dist,
                                       const FileStat& stat) {
  const auto cached = index.cache.find(dist.FileName());
  if (cached != index.cache.end() && cached->second.size_bytes == stat.size_bytes &&
      cached->second.mtime_ns == stat.mtime_ns) {
    return cached->second;
  }
  const Json* row = RowOf(index.repodata, dist);
  const Json* exports = RowOf(index.run_exports, dist);
  if (row == nullptr || exports == nullptr || stat.mtime_ns > index.mtime_ns) return std::nullopt;
  const auto size = JsonInteger(*row, "size", "");
  if (!size || *size < 0 || static_cast<std::uint64_t>(*size) != stat.size_bytes) return std::nullopt;
  CondaRecord record;
  record.repodata = *row;
  record.run_exports = exports->value("run_exports", Json::object());
  return record;
}

Result<std::map<std::string, std::vector<std::string>>> RunExportsOf(const Json& object,
                                                                     std::string_view where) {
  std::map<std::string, std::vector<std::string>> run_exports;
  if (!object.is_object()) return run_exports;
  for (const auto& [kind, specs] : object.items()) {
    PTPKG_TRY(run_exports[kind], JsonStringsOr(object, kind, {}, where));
  }
  return run_exports;
}

/// Fills `candidate` from `record`. Errors: kInvalidInput for a row of another shape.
Result<void> Fill(Candidate& candidate, const CondaRecord& record, const PatchInstructions& patch) {
  const std::string& where = candidate.file_name;
  const Json row = patch.Apply(where, record.repodata).value_or(record.repodata);
  PTPKG_TRY(const std::string digest, JsonString(row, "sha256", where));
  PTPKG_TRY(candidate.sha256, Sha256::FromHex(digest));
  PTPKG_TRY(const std::int64_t number, JsonInteger(row, "build_number", where));
  candidate.build_number = static_cast<std::uint64_t>(std::max<std::int64_t>(number, 0));
  PTPKG_TRY(candidate.depends, JsonStringsOr(row, "depends", {}, where));
  PTPKG_TRY(candidate.constrains, JsonStringsOr(row, "constrains", {}, where));
  PTPKG_TRY(candidate.run_exports, RunExportsOf(record.run_exports, where));
  return Ok();
}

class FolderReader {
 public:
  FolderReader(Env& env, const AbsPath& folder, const Index& index)
      : env_(env), folder_(folder), subdir_(folder.Name()), index_(index) {}

  /// nullopt for a file that disappeared meanwhile, and for a package that the patch removes or revokes.
  Result<std::optional<Candidate>> Read(const conda::DistName& dist) const {
    Candidate candidate{.name = dist.name,
                        .version = dist.version,
                        .build = dist.build,
                        .subdir = subdir_,
                        .format = dist.format,
                        .file_name = dist.FileName(),
                        .path = folder_ / dist.FileName()};
    const Result<FileStat> stat = env_.fs.Stat(*candidate.path);
    if (!stat) {
      if (stat.error().code() == ErrorCode::kNotFound) return std::optional<Candidate>();
      return stat.error();
    }
    if (index_.patch.Hides(dist.FileName())) return std::optional<Candidate>();
    const std::optional<CondaRecord> known = KnownRecord(index_, dist, *stat);
    if (known && Fill(candidate, *known, index_.patch)) return std::optional(std::move(candidate));
    Result<void> read = ReadPackage(candidate);
    if (!read) {
      const ErrorCode code = read.error().code();
      if (code == ErrorCode::kNotFound) return std::optional<Candidate>();
      // The disk or the user ended the run: the package itself may be fine.
      if (code == ErrorCode::kIo || code == ErrorCode::kCancelled) return std::move(read).error();
      candidate.damage = read.error().message();
    }
    return std::optional(std::move(candidate));
  }

 private:
  Result<void> ReadPackage(Candidate& candidate) const {
    PTPKG_TRY(const CondaRecord record, ReadCondaRecord(env_, *candidate.path, subdir_, std::nullopt));
    return Fill(candidate, record, index_.patch);
  }

  Env& env_;
  AbsPath folder_;
  std::string subdir_;
  const Index& index_;
};

Result<std::vector<Candidate>> ReadFolder(Env& env, const AbsPath& folder) {
  std::vector<Candidate> candidates;
  PTPKG_TRY(const bool there, Exists(env.fs, folder));
  if (!there) return candidates;
  PTPKG_TRY(const std::vector<std::string> names, env.fs.ListDir(folder));
  std::vector<conda::DistName> dists;
  for (const std::string& name : names) {
    auto dist = conda::DistName::Parse(name);
    if (dist && !name.starts_with('.')) dists.push_back(*std::move(dist));  // others are index files
  }
  if (dists.empty()) return candidates;
  PTPKG_TRY(const Index index, ReadIndex(env, folder));
  const FolderReader reader(env, folder, index);
  std::vector<std::optional<Candidate>> read(dists.size());
  PTPKG_CHECK(ParallelFor(env.jobs, dists.size(), [&](std::size_t i) -> Result<void> {
    PTPKG_TRY(read[i], reader.Read(dists[i]));
    return Ok();
  }));
  for (std::optional<Candidate>& candidate : read) {
    if (candidate) candidates.push_back(*std::move(candidate));
  }
  return candidates;
}

}  // namespace

Result<std::vector<Candidate>> ReadChannel(Env& env, const AbsPath& channel, const std::string& subdir) {
  std::vector<Candidate> candidates;
  if (subdir != "noarch") {
    PTPKG_TRY(candidates, ReadFolder(env, channel / subdir));
  }
  PTPKG_TRY(std::vector<Candidate> noarch, ReadFolder(env, channel / "noarch"));
  candidates.insert(candidates.end(), std::make_move_iterator(noarch.begin()),
                    std::make_move_iterator(noarch.end()));
  return candidates;
}

}  // namespace ptpkg::index
