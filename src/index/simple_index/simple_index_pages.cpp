// Indexes a directory of wheels as a simple index, with one more index for each backend if asked.
//
// Order of a run: list, read all wheels in parallel, decide about all places, and only then write. Wheels
// of the last run with the same size, time and zip directory keep their digest. Other wheels are tested by
// StrictZipProblems: if zip readers disagree about a wheel, it stays out of the index.
//
// Writes go from the leaves to the root: metadata files, variant documents, project pages, root page. A
// client therefore never finds a link to something that does not exist yet. Removal goes the other way: the
// page that links goes first.
//
// Invariants: pages and directories of others are neither changed nor removed (generated_pages.cpp
// recognises them). A yank stays as long as the file has the same digest. One bad wheel is skipped with a
// warning and does not stop the run.

#include "index/simple_index/simple_index_pages.h"

#include <algorithm>
#include <fmt/core.h>
#include <map>
#include <optional>
#include <set>

#include "archive/zip/zip_strict.h"
#include "index/conda_channel/skipped_packages.h"
#include "index/index.h"
#include "index/index_files.h"
#include "index/simple_index/backend_directories.h"
#include "index/simple_index/generated_pages.h"
#include "index/simple_index/wheel_cache.h"
#include "index/simple_index/wheel_variants.h"
#include "support/files/scratch.h"
#include "support/process/parallel.h"
#include "support/text/json.h"
#include "support/text/text.h"

namespace ptpkg::index {
namespace {

constexpr std::string_view kMetadataSuffix = ".metadata";

/// Entries that the last run wrote for the wheels of a project, by file name. A page that cannot be read or
/// understood counts as absent: it is about to be replaced.
Json PreviousFiles(Env& env, const AbsPath& page) {
  const Result<std::string> text = ReadFile(env.fs, page);
  if (!text) return Json::object();
  const Result<Json> json = ParseJson(*text, page.str());
  Json files = Json::object();
  if (!json || !json->is_object() || !json->contains("files") || !json->at("files").is_array()) return files;
  for (const Json& file : json->at("files")) {
    const Result<std::string> name =
        JsonStringOr(file.is_object() ? file : Json::object(), "filename", "", "");
    if (name && !name->empty()) files[*name] = file;
  }
  return files;
}

/// True if and why the last run's page says that this very file is yanked.
std::optional<std::string> KnownYank(const Json& previous, const IndexedWheel& wheel) {
  if (!previous.contains(wheel.file_name)) return std::nullopt;
  const Json& file = previous.at(wheel.file_name);
  const Json said = file.value("yanked", Json(false));
  const Json hashes = file.value("hashes", Json::object());
  if (said == Json(false) || !hashes.is_object()) return std::nullopt;
  if (hashes.value("sha256", Json()) != Json(wheel.sha256.Hex())) return std::nullopt;
  return said.is_string() ? said.get<std::string>() : "";
}

struct WheelOnDisk {
  IndexedWheel entry;
  HashedWheel hashed;
  wheel::WheelInfo info;
};

/// A directory of wheels, and the pages of its last run.
struct WheelFolder {
  AbsPath path;
  std::string backend;  ///< "" = the directory that is indexed.
  AbsPath pages;
  std::vector<std::string> names;        ///< All that lies there, and is not about to go.
  GeneratedPages own = {};               ///< Pages of a backend.
  std::span<const Artifact> known = {};  ///< See WheelIndexOptions.

  /// Key of a file of it in HashedWheels and WheelIndexOptions::without.
  [[nodiscard]] std::string KeyOf(const std::string& name) const {
    return backend.empty() ? name : backend + "/" + name;
  }
};

/// An index must not list a wheel in which one installer finds other files than another. Errors: kCorrupt.
Result<void> CheckReadersAgree(Env& env, const AbsPath& wheel) {
  PTPKG_TRY(const std::unique_ptr<File> file, env.fs.Open(wheel, OpenMode::kRead));
  PTPKG_TRY(const std::vector<archive::ZipProblem> problems, archive::StrictZipProblems(*file));
  const auto splits = std::find_if(problems.begin(), problems.end(),
                                   [](const archive::ZipProblem& problem) { return problem.splits_readers; });
  if (splits == problems.end()) return Ok();
  return Error(ErrorCode::kCorrupt,
               fmt::format("zip readers disagree about '{}': {}", wheel.str(), splits->text))
      .WithHint(fmt::format("list all findings: ptpkg check {}", wheel.str()));
}

/// The digest that an earlier run took of a file like `seen`. `cached`: null = it saw none of that name.
std::optional<Sha256> KnownDigest(const HashedWheel* cached, const HashedWheel& seen) {
  const bool same = cached != nullptr && cached->size_bytes == seen.size_bytes &&
                    cached->mtime_ns == seen.mtime_ns && cached->directory == seen.directory;
  return same ? std::optional(cached->sha256) : std::nullopt;
}

/// The digest of `path`. `seen` has all other facts about it. `cached`: KnownDigest.
Result<Sha256> DigestOfWheel(Env& env, const AbsPath& path, const WheelFolder& folder,
                             const HashedWheel& seen, const std::optional<Sha256>& cached) {
  const auto written = std::find_if(folder.known.begin(), folder.known.end(), [&](const Artifact& artifact) {
    return artifact.path == path && artifact.digests.size_bytes == seen.size_bytes;
  });
  if (written != folder.known.end()) return written->digests.sha256;
  if (cached) return *cached;
  PTPKG_TRY(const Digests digests, HashFile(env.fs, path));
  return digests.sha256;
}

/// `previous`: PreviousFiles of the wheel's project. `cached`: as KnownDigest.
Result<WheelOnDisk> ReadOne(Env& env, const WheelFolder& folder, const std::string& file_name,
                            const Json& previous, const HashedWheel* cached) {
  PTPKG_TRY(const RelPath relative, RelPath::Parse(file_name));
  const AbsPath path = folder.path / relative;
  PTPKG_TRY(const FileStat stat, StatPackage(env, path));
  PTPKG_TRY(wheel::WheelInfo info, wheel::ReadWheelInfo(env, path));
  WheelOnDisk out;
  PTPKG_TRY(out.entry, DescribeWheel(info, file_name, stat.size_bytes));
  // The time was taken before anything was read: what changes from here on is seen by the next run.
  out.hashed = {.size_bytes = stat.size_bytes, .mtime_ns = stat.mtime_ns, .directory = info.directory_digest};
  const std::optional<Sha256> known = KnownDigest(cached, out.hashed);
  if (!known) PTPKG_CHECK(CheckReadersAgree(env, path));
  PTPKG_TRY(out.hashed.sha256, DigestOfWheel(env, path, folder, out.hashed, known));
  out.entry.sha256 = out.hashed.sha256;
  out.entry.yanked = KnownYank(previous, out.entry);
  out.info = std::move(info);
  out.info.record.clear();  // the longest part, and not needed any more
  return out;
}

/// Entries that look like wheels, also those that ReadOne refuses. A name that begins with '.' is a file in
/// the making.
std::vector<std::string> WheelNames(const std::vector<std::string>& names) {
  std::vector<std::string> wheels;
  std::copy_if(names.begin(), names.end(), std::back_inserter(wheels), [](const std::string& name) {
    return ToLower(name).ends_with(ArtifactExtension(ArtifactFormat::kWheel)) && !name.starts_with('.');
  });
  return wheels;
}

/// The pages of the last run, by project.
class PreviousPages {
 public:
  PreviousPages(Env& env, const AbsPath& pages) : env_(env), folder_(pages) {}

  /// Files of the project that `file_name` belongs to; the reference holds as long as this object.
  Result<const Json*> Of(const std::string& file_name) {
    PTPKG_TRY(const wheel::FileName name, wheel::FileName::Parse(file_name));
    const std::string project = wheel::NormalizeName(name.name);
    const auto [it, is_new] = pages_.try_emplace(project);
    if (is_new) it->second = PreviousFiles(env_, folder_ / RelPath::Literal(project) / "index.json");
    return &it->second;
  }

 private:
  Env& env_;
  AbsPath folder_;
  std::map<std::string, Json> pages_;
};

/// A wheel in a directory of its backend is of that backend, and no second one of its name. `taken`: names in
/// the directory that is indexed, sorted.
Result<void> CheckPlace(const IndexedWheel& wheel, const std::vector<std::string>& taken) {
  if (wheel.folder.empty()) return Ok();
  const std::optional<std::string> said = BackendOf(wheel.version);
  if (said && *said != wheel.folder) {
    return Error(
        ErrorCode::kInvalidInput,
        fmt::format("its version belongs to '{}', but it is in the directory of '{}'", *said, wheel.folder));
  }
  if (!std::binary_search(taken.begin(), taken.end(), wheel.file_name)) return Ok();
  return Error(ErrorCode::kInvalidInput,
               fmt::format("the directory above '{}' has a wheel of the same name", wheel.folder));
}

/// Facts about wheels before they are read.
struct KnownWheels {
  const std::vector<std::string>& taken;  ///< Names in the directory that is indexed, sorted.
  const HashedWheels& hashed;
};

/// Wheels in the order of `names`, but those that `summary` then holds as left out, and vanished ones.
Result<std::vector<WheelOnDisk>> ReadAll(Env& env, const WheelFolder& folder,
                                         const std::vector<std::string>& names, const KnownWheels& known,
                                         IndexSummary& summary) {
  PreviousPages previous(env, folder.pages);
  std::vector<Result<const Json*>> page_of;
  page_of.reserve(names.size());
  for (const std::string& name : names) page_of.push_back(previous.Of(name));
  std::vector<Reading<WheelOnDisk>> readings(names.size());
  const auto read_one = [&](std::size_t i) -> Result<void> {
    PTPKG_CHECK(env.cancel.Check());
    const auto read = [&]() -> Result<WheelOnDisk> {
      PTPKG_TRY(const Json* page, page_of[i]);
      const auto cached = known.hashed.find(folder.KeyOf(names[i]));
      PTPKG_TRY(WheelOnDisk wheel, ReadOne(env, folder, names[i], *page,
                                           cached == known.hashed.end() ? nullptr : &cached->second));
      wheel.entry.folder = folder.backend;
      PTPKG_CHECK(CheckPlace(wheel.entry, known.taken));
      return wheel;
    };
    PTPKG_TRY(readings[i], ClassifyReadError(env, folder.path / RelPath::Literal(names[i]), read()),
              fmt::format("while indexing '{}'", names[i]));
    return Ok();
  };
  PTPKG_CHECK(ParallelFor(env.jobs, names.size(), read_one));
  std::vector<WheelOnDisk> wheels;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const AbsPath path = folder.path / RelPath::Literal(names[i]);
    if (readings[i].reason) SkipPackage(env, path, *readings[i].reason, summary);
    if (readings[i].record) wheels.push_back(*std::move(readings[i].record));
  }
  summary.packages += wheels.size();
  return wheels;
}

/// Payload is in place already; then metadata, project pages, and the root page last, so that a client never
/// finds a link to something that is not there yet.
Result<void> WritePages(IndexFiles& index, const AbsPath& simple, const Projects& projects,
                        const std::vector<VariantsFile>& variants) {
  std::vector<std::string> names;
  for (const auto& [project, files] : projects) {
    const AbsPath folder = simple / RelPath::Literal(project);
    Json page = EmptyProjectPage(project);
    PTPKG_CHECK(AddToProjectPage(page, files));
    PTPKG_CHECK(AddVariantsToPage(page, variants));
    PTPKG_CHECK(index.Write(folder / "index.html", ProjectHtml(page)));
    PTPKG_CHECK(index.Write(folder / "index.json", DumpJson(page)));
    names.push_back(project);
  }
  Json root = EmptyRootPage();
  PTPKG_CHECK(AddToRootPage(root, names));
  PTPKG_CHECK(index.Write(simple / "index.html", RootHtml(root)));
  return index.Write(simple / "index.json", DumpJson(root));
}

/// Metadata files without their wheel.
Result<void> RemoveStaleMetadata(IndexFiles& index, const WheelFolder& folder) {
  for (const std::string& name : folder.names) {
    if (!name.ends_with(".whl.metadata")) continue;
    const std::string wheel = name.substr(0, name.size() - kMetadataSuffix.size());
    if (!std::binary_search(folder.names.begin(), folder.names.end(), wheel)) {
      PTPKG_CHECK(index.RemoveIfThere(folder.path / RelPath::Literal(name)));
    }
  }
  return Ok();
}

Result<void> RemoveIfEmpty(Env& env, const AbsPath& folder) {
  PTPKG_TRY(const std::vector<std::string> rest, env.fs.ListDir(folder));
  return rest.empty() ? env.fs.Remove(folder) : Ok();
}

Result<void> RemoveGeneratedHtml(Env& env, IndexFiles& index, const AbsPath& folder) {
  const AbsPath page = folder / "index.html";
  return IsGeneratedHtmlPage(env, page) ? index.RemoveIfThere(page) : Ok();
}

/// Ours of the two pages of a project, and the directory if nothing else is in it.
Result<void> RemoveProject(Env& env, IndexFiles& index, const AbsPath& folder) {
  PTPKG_CHECK(RemoveGeneratedHtml(env, index, folder));
  const AbsPath page = folder / "index.json";
  if (IsGeneratedProjectPage(env, page)) PTPKG_CHECK(index.RemoveIfThere(page));
  PTPKG_CHECK(RemoveAbandoned(env, folder));
  return RemoveIfEmpty(env, folder);
}

/// Pages of projects that have no wheel any more. REQUIRES: no root page lists them.
Result<void> RemoveStaleProjects(Env& env, IndexFiles& index, const AbsPath& pages,
                                 const Projects& projects) {
  PTPKG_TRY(const std::vector<std::string> folders, env.fs.ListDir(pages));
  for (const std::string& name : folders) {
    const AbsPath folder = pages / RelPath::Literal(name);
    PTPKG_TRY(const FileStat stat, env.fs.Lstat(folder));
    if (stat.kind != FileKind::kDirectory || projects.contains(name)) continue;
    PTPKG_CHECK(RemoveProject(env, index, folder));
  }
  return Ok();
}

/// The directories in `root` that have names of backends.
Result<std::vector<WheelFolder>> BackendFolders(Env& env, const AbsPath& root,
                                                const std::vector<std::string>& names) {
  std::vector<WheelFolder> folders;
  for (const std::string& name : names) {
    if (!IsBackend(name)) continue;
    const AbsPath path = root / RelPath::Literal(name);
    PTPKG_TRY(const FileStat stat, env.fs.Lstat(path));
    if (stat.kind != FileKind::kDirectory) continue;
    PTPKG_TRY(std::vector<std::string> below, env.fs.ListDir(path));
    PTPKG_TRY(GeneratedPages own, FindGeneratedPages(env, path));
    folders.push_back(
        {.path = path, .backend = name, .pages = path, .names = std::move(below), .own = std::move(own)});
  }
  return folders;
}

/// `without`: as in WheelIndexOptions.
void DropRemovedWheels(WheelFolder& folder, const std::set<std::string>& without) {
  std::erase_if(folder.names, [&](const std::string& name) { return without.contains(folder.KeyOf(name)); });
}

/// True if an earlier run made an index there.
bool HasIndex(const WheelFolder& folder) { return folder.own.Any(); }

bool HasWheels(const WheelFolder& folder) {
  return std::any_of(folder.names.begin(), folder.names.end(), [](const std::string& name) {
    return name.ends_with(ArtifactExtension(ArtifactFormat::kWheel));
  });
}

Projects ByProject(const std::vector<IndexedWheel>& wheels) {
  Projects projects;
  for (const IndexedWheel& wheel : wheels) projects[wheel.project].push_back(wheel);
  return projects;
}

/// A root is never written through a link, or over a page of somebody else. `known`: the directory at
/// `path`, null if something else is there. `way_out`: the hint for the user.
Result<void> CheckRootPlace(Env& env, const AbsPath& path, const WheelFolder* known,
                            const std::string& way_out) {
  if (known != nullptr && HasIndex(*known)) return Ok();
  if (known == nullptr) {
    PTPKG_TRY(const bool there, Exists(env.fs, path));
    if (!there) return Ok();
    return Error(ErrorCode::kInvalidInput,
                 fmt::format("cannot write a backend index: '{}' is not a directory", path.str()))
        .WithHint(way_out);
  }
  for (const char* name : {"index.html", "index.json"}) {
    const AbsPath page = path / name;
    PTPKG_TRY(const bool there, Exists(env.fs, page));
    if (!there || IsGeneratedHtmlPage(env, page)) continue;
    return Error(ErrorCode::kInvalidInput,
                 fmt::format("cannot write a backend index: '{}' was not written by ptpkg", page.str()))
        .WithHint(way_out);
  }
  return Ok();
}

/// One run over one directory.
class Indexing {
 public:
  Indexing(Env& env, const AbsPath& root) : env_(env), root_(root), index_(env) {}

  Result<IndexSummary> Run(const WheelIndexOptions& options) {
    WheelFolder above{
        .path = root_, .backend = "", .pages = root_ / "simple", .names = {}, .known = options.known};
    PTPKG_TRY(above.names, env_.fs.ListDir(root_));
    PTPKG_TRY(std::vector<WheelFolder> folders, BackendFolders(env_, root_, above.names));
    const bool had_roots = std::any_of(folders.begin(), folders.end(), HasIndex);
    // Backend indexes of an earlier run are kept up to date without the option.
    const bool roots = options.roots || had_roots;
    if (!roots) folders.clear();
    DropRemovedWheels(above, options.without);
    for (WheelFolder& folder : folders) DropRemovedWheels(folder, options.without);
    PTPKG_TRY(cache_, ReadWheelCache(env_, root_));
    const std::vector<std::string> names = WheelNames(above.names);
    PTPKG_CHECK(Take(above, names, {}));
    const Projects projects = ByProject(wheels_);
    for (const WheelFolder& folder : folders) {
      PTPKG_CHECK(Take(folder, WheelNames(folder.names), names));
    }
    const BackendDirectories found = roots ? GroupByBackend(wheels_) : BackendDirectories{};
    PTPKG_CHECK(CheckRootPlaces(found, folders, /*may_do_without=*/!had_roots));
    // Nothing is written before everything was read, and may be written.
    PTPKG_CHECK(WriteWheelCache(env_, root_, hashed_));
    for (const auto& [path, text] : metadata_) PTPKG_CHECK(index_.Write(path, text));
    variants_ = collected_.Files();
    for (const VariantsFile& file : variants_)
      PTPKG_CHECK(index_.Write(root_ / RelPath::Literal(file.file_name), file.text));
    PTPKG_CHECK(WritePages(index_, above.pages, projects, variants_));
    PTPKG_CHECK(RemoveStaleVariants(above));
    PTPKG_CHECK(RemoveStaleMetadata(index_, above));
    PTPKG_CHECK(RemoveStaleProjects(env_, index_, above.pages, projects));
    PTPKG_CHECK(WriteRoots(found, folders));
    summary_.written = index_.TakeWritten();
    return summary_;
  }

 private:
  /// Reads the wheels `names` of `folder`. `taken`: as CheckPlace.
  Result<void> Take(const WheelFolder& folder, const std::vector<std::string>& names,
                    const std::vector<std::string>& taken) {
    PTPKG_TRY(std::vector<WheelOnDisk> read, ReadAll(env_, folder, names, {taken, cache_}, summary_));
    for (WheelOnDisk& wheel : read) {
      if (const Result<void> added = collected_.Add(wheel.info); !added) {
        SkipPackage(env_, folder.path / RelPath::Literal(wheel.entry.file_name), added.error(), summary_);
        --summary_.packages;
        continue;
      }
      const std::string metadata = wheel.entry.file_name + std::string(kMetadataSuffix);
      metadata_.emplace_back(folder.path / RelPath::Literal(metadata), std::move(wheel.info.metadata_text));
      hashed_.emplace(folder.KeyOf(wheel.entry.file_name), wheel.hashed);
      wheels_.push_back(std::move(wheel.entry));
    }
    return Ok();
  }

  /// Removes documents of versions without variant wheels. A file of that name that is not such a document
  /// stays.
  Result<void> RemoveStaleVariants(const WheelFolder& folder) {
    for (const std::string& name : folder.names) {
      if (!IsVariantsFileName(name)) continue;
      const bool current = std::any_of(variants_.begin(), variants_.end(),
                                       [&](const VariantsFile& file) { return file.file_name == name; });
      if (current) continue;
      PTPKG_TRY(const RelPath relative, RelPath::Parse(name));
      const Result<std::string> text = ReadFile(env_.fs, folder.path / relative);
      if (text && wheel::ParseVariantDocument(*text, name))
        PTPKG_CHECK(index_.RemoveIfThere(folder.path / relative));
    }
    return Ok();
  }

  /// `folders`: those that were there before. `may_do_without`: a run without --per-backend would make none.
  Result<void> CheckRootPlaces(const BackendDirectories& found, const std::vector<WheelFolder>& folders,
                               bool may_do_without) {
    const std::string way_out = may_do_without ? "move it away, or remove --per-backend" : "move it away";
    for (const auto& [backend, projects] : found.roots) {
      const std::string& name = backend;  // a structured binding goes into no lambda
      const auto known = std::find_if(folders.begin(), folders.end(),
                                      [&](const WheelFolder& folder) { return folder.backend == name; });
      PTPKG_CHECK(CheckRootPlace(env_, root_ / RelPath::Literal(backend),
                                 known == folders.end() ? nullptr : &*known, way_out));
    }
    return Ok();
  }

  /// REQUIRES: CheckRootPlaces.
  Result<void> WriteRoots(const BackendDirectories& found, const std::vector<WheelFolder>& folders) {
    for (const auto& [backend, projects] : found.roots) {
      PTPKG_CHECK(WritePages(index_, root_ / RelPath::Literal(backend), projects, variants_));
      summary_.roots.push_back(backend);
    }
    for (const WheelFolder& folder : folders) {
      const auto root = found.roots.find(folder.backend);
      PTPKG_CHECK(RemoveStaleRoot(folder, root == found.roots.end() ? nullptr : &root->second));
    }
    for (const IndexedWheel& wheel : found.rootless) {
      summary_.rootless.push_back(root_ / RelPath::Literal(wheel.file_name));
    }
    return Ok();
  }

  /// `projects`: what the root lists now; null = it is no more. Its page goes first: none of its links is
  /// ever dead.
  Result<void> RemoveStaleRoot(const WheelFolder& folder, const Projects* projects) {
    if (HasIndex(folder) || HasWheels(folder)) PTPKG_CHECK(RemoveStaleMetadata(index_, folder));
    if (!HasIndex(folder)) return Ok();
    if (projects == nullptr) {
      PTPKG_CHECK(RemoveGeneratedHtml(env_, index_, folder.pages));
      if (folder.own.root) PTPKG_CHECK(index_.RemoveIfThere(folder.pages / "index.json"));
    }
    PTPKG_CHECK(
        RemoveStaleProjects(env_, index_, folder.pages, projects != nullptr ? *projects : Projects{}));
    return projects != nullptr ? Ok() : RemoveIfEmpty(env_, folder.pages);
  }

  Env& env_;
  AbsPath root_;
  IndexFiles index_;
  HashedWheels cache_ = {};   ///< From the last run.
  HashedWheels hashed_ = {};  ///< From this run.
  std::vector<IndexedWheel> wheels_ = {};
  std::vector<std::pair<AbsPath, std::string>> metadata_ = {};  ///< Files beside the wheels.
  WheelVariants collected_ = {};
  std::vector<VariantsFile> variants_ = {};
  IndexSummary summary_ = {};
};

/// `folder`: of the project, with its pages. A page that does not list the file is an error, unless
/// `may_lack`.
Result<void> YankOnPages(Env& env, IndexFiles& index, const AbsPath& folder, const Yank& yank,
                         bool may_lack) {
  const AbsPath path = folder / "index.json";
  if (may_lack) {
    PTPKG_TRY(const bool there, Exists(env.fs, path));
    if (!there) return Ok();
  }
  PTPKG_TRY(const std::string text, ReadFile(env.fs, path));
  PTPKG_TRY(Json page, ParseJson(text, path.str()));
  if (may_lack && page.is_object() && !IsListed(page, yank)) return Ok();
  PTPKG_CHECK(SetYanked(page, yank));
  PTPKG_CHECK(index.Write(folder / "index.html", ProjectHtml(page)));
  return index.Write(path, DumpJson(page));
}

}  // namespace

Result<void> YankWheels(Env& env, const AbsPath& root, const std::vector<Yank>& yanks) {
  PTPKG_TRY(const std::unique_ptr<File> lock, LockIndex(env, root));
  IndexFiles index(env);
  PTPKG_TRY(const std::vector<std::string> names, env.fs.ListDir(root));
  PTPKG_TRY(const std::vector<WheelFolder> folders, BackendFolders(env, root, names));
  for (const Yank& yank : yanks) {
    const RelPath project = RelPath::Literal(yank.project);
    if (!yank.folder.empty()) {
      const auto folder = std::find_if(folders.begin(), folders.end(), [&](const WheelFolder& one) {
        return one.backend == yank.folder && HasIndex(one);
      });
      if (folder == folders.end()) {
        return Error(ErrorCode::kNotFound, fmt::format("'{}' has no index of '{}'", root.str(), yank.folder))
            .WithHint("create it: ptpkg index --per-backend " + root.str());
      }
      PTPKG_CHECK(YankOnPages(env, index, folder->pages / project, yank, /*may_lack=*/false));
      continue;
    }
    PTPKG_CHECK(YankOnPages(env, index, root / "simple" / project, yank, /*may_lack=*/false));
    for (const WheelFolder& folder : folders) {
      if (HasIndex(folder)) {
        PTPKG_CHECK(YankOnPages(env, index, folder.pages / project, yank, /*may_lack=*/true));
      }
    }
  }
  return Ok();
}

Result<bool> HasBackendDirectories(Env& env, const AbsPath& root, const std::vector<std::string>& names,
                                   bool asked) {
  PTPKG_TRY(const std::vector<WheelFolder> folders, BackendFolders(env, root, names));
  return std::any_of(folders.begin(), folders.end(), [&](const WheelFolder& folder) {
    return HasIndex(folder) || (asked && HasWheels(folder));
  });
}

Result<IndexSummary> IndexWheels(Env& env, const AbsPath& root, const WheelIndexOptions& options) {
  PTPKG_TRY(const std::unique_ptr<File> lock, LockIndex(env, root));
  return Indexing(env, root).Run(options);
}

}  // namespace ptpkg::index
