#include "channel/wheel_index.h"

#include <algorithm>
#include <fmt/core.h>
#include <map>
#include <optional>
#include <set>

#include "channel/index.h"
#include "channel/index_files.h"
#include "channel/left_out.h"
#include "support/json.h"
#include "support/parallel.h"
#include "support/text.h"

namespace ptpkg::channel {
namespace {

constexpr std::string_view kMetadataSuffix = ".metadata";

/// What the last run wrote about the wheels of a project, by file name. A page that cannot be read or
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

/// The digest that the last run took, if the zip directory and size show the same content.
std::optional<Sha256> KnownDigest(const Json& previous, const IndexedWheel& wheel) {
  if (!previous.contains(wheel.file_name)) return std::nullopt;
  const Json& file = previous.at(wheel.file_name);
  const Result<std::int64_t> size = JsonInteger(file, "size", "");
  const Result<std::string> directory = JsonStringOr(file, kWheelDirectoryKey, "", "");
  if (!size || !directory || !file.contains("hashes") || !file.at("hashes").is_object()) return std::nullopt;
  const Result<std::string> hex = JsonStringOr(file.at("hashes"), "sha256", "", "");
  if (!hex || *size < 0 || static_cast<std::uint64_t>(*size) != wheel.size_bytes) return std::nullopt;
  if (*directory != wheel.directory_digest.Hex()) return std::nullopt;
  const Result<Sha256> digest = Sha256::FromHex(*hex);
  return digest ? std::optional(*digest) : std::nullopt;
}

/// Whether and why the last run's page says that this very file is yanked.
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
  std::string metadata_text;
};

/// `previous`: PreviousFiles of the wheel's project.
Result<WheelOnDisk> ReadOne(Env& env, const AbsPath& root, const std::string& file_name,
                            const Json& previous) {
  PTPKG_TRY(const RelPath relative, RelPath::Parse(file_name));
  const AbsPath path = root / relative;
  PTPKG_TRY(const FileStat stat, env.fs.Stat(path));
  PTPKG_TRY(wheel::WheelInfo info, wheel::ReadWheelInfo(env, path));
  WheelOnDisk out;
  PTPKG_TRY(out.entry, DescribeWheel(info, file_name, stat.size_bytes));
  if (const auto known = KnownDigest(previous, out.entry)) {
    out.entry.sha256 = *known;
  } else {
    PTPKG_TRY(const Digests digests, HashFile(env.fs, path));
    out.entry.sha256 = digests.sha256;
  }
  out.entry.yanked = KnownYank(previous, out.entry);
  out.metadata_text = std::move(info.metadata_text);
  return out;
}

Result<std::vector<std::string>> WheelNames(Env& env, const std::vector<std::string>& names,
                                            const AbsPath& root) {
  std::vector<std::string> wheels;
  for (const std::string& name : names) {
    // A name that begins with '.' is a file in the making.
    if (!name.ends_with(".whl") || name.starts_with('.')) continue;
    PTPKG_TRY(const RelPath relative, RelPath::Parse(name));
    const auto stat = env.fs.Stat(root / relative);
    if (!stat && stat.error().code() == ErrorCode::kNotFound) continue;  // deleted meanwhile, or a dead link
    if (!stat) return stat.error();
    if (stat->kind == FileKind::kRegular) wheels.push_back(name);
  }
  return wheels;
}

/// The pages of the last run, by project.
class PreviousPages {
 public:
  PreviousPages(Env& env, const AbsPath& simple) : env_(env), simple_(simple) {}

  /// Files of the project that `file_name` belongs to; the reference holds as long as this object.
  Result<const Json*> Of(const std::string& file_name) {
    PTPKG_TRY(const wheel::FileName name, wheel::FileName::Parse(file_name));
    const std::string project = wheel::NormalizeName(name.name);
    const auto [it, is_new] = pages_.try_emplace(project);
    if (is_new) it->second = PreviousFiles(env_, simple_ / RelPath::Literal(project) / "index.json");
    return &it->second;
  }

 private:
  Env& env_;
  AbsPath simple_;
  std::map<std::string, Json> pages_;
};

/// Wheels in the order of `names`, but those that `summary` then holds as left out, and vanished ones.
Result<std::vector<WheelOnDisk>> ReadAll(Env& env, const AbsPath& root, const std::vector<std::string>& names,
                                         IndexSummary& summary) {
  PreviousPages previous(env, root / "simple");
  std::vector<Result<const Json*>> page_of;
  page_of.reserve(names.size());
  for (const std::string& name : names) page_of.push_back(previous.Of(name));
  std::vector<Reading<WheelOnDisk>> readings(names.size());
  const auto read_one = [&](std::size_t i) -> Result<void> {
    PTPKG_CHECK(env.cancel.Check());
    const auto read = [&]() -> Result<WheelOnDisk> {
      PTPKG_TRY(const Json* page, page_of[i]);
      return ReadOne(env, root, names[i], *page);
    };
    PTPKG_TRY(readings[i], JudgeReading(env, root / RelPath::Literal(names[i]), read()),
              fmt::format("while indexing '{}'", names[i]));
    return Ok();
  };
  PTPKG_CHECK(ParallelFor(env.jobs, names.size(), read_one));
  std::vector<WheelOnDisk> wheels;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (readings[i].reason) LeaveOut(env, root / RelPath::Literal(names[i]), *readings[i].reason, summary);
    if (readings[i].record) wheels.push_back(*std::move(readings[i].record));
  }
  summary.packages = wheels.size();
  return wheels;
}

using Projects = std::map<std::string, std::vector<IndexedWheel>>;

/// Payload is in place already; then metadata, project pages, and the root page last, so that a client never
/// finds a link to something that is not there yet.
Result<void> WritePages(IndexFiles& index, const AbsPath& simple, const Projects& projects) {
  std::vector<std::string> names;
  for (const auto& [project, files] : projects) {
    const AbsPath folder = simple / RelPath::Literal(project);
    Json page = EmptyProjectPage(project);
    PTPKG_CHECK(AddToProjectPage(page, files));
    PTPKG_CHECK(index.Write(folder / "index.html", ProjectHtml(page)));
    PTPKG_CHECK(index.Write(folder / "index.json", DumpJson(page)));
    names.push_back(project);
  }
  Json root = EmptyRootPage();
  PTPKG_CHECK(AddToRootPage(root, names));
  PTPKG_CHECK(index.Write(simple / "index.html", RootHtml(root)));
  return index.Write(simple / "index.json", DumpJson(root));
}

/// Pages of projects that have no wheel any more, and metadata files without their wheel.
Result<void> RemoveStale(Env& env, IndexFiles& index, const AbsPath& root, const Projects& projects,
                         const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (!name.ends_with(".whl.metadata")) continue;
    const std::string wheel = name.substr(0, name.size() - kMetadataSuffix.size());
    if (!std::binary_search(names.begin(), names.end(), wheel)) {
      PTPKG_CHECK(index.RemoveIfThere(root / RelPath::Literal(name)));
    }
  }
  const AbsPath simple = root / "simple";
  PTPKG_TRY(const std::vector<std::string> folders, env.fs.ListDir(simple));
  for (const std::string& name : folders) {
    const AbsPath folder = simple / RelPath::Literal(name);
    PTPKG_TRY(const FileStat stat, env.fs.Lstat(folder));
    if (stat.kind != FileKind::kDirectory || projects.contains(name)) continue;
    PTPKG_CHECK(index.RemoveIfThere(folder / "index.html"));
    PTPKG_CHECK(index.RemoveIfThere(folder / "index.json"));
    PTPKG_TRY(const std::vector<std::string> rest, env.fs.ListDir(folder));
    if (rest.empty()) PTPKG_CHECK(env.fs.Remove(folder));
  }
  return Ok();
}

}  // namespace

Result<void> YankWheels(Env& env, const AbsPath& root, const std::vector<Yank>& yanks) {
  PTPKG_TRY(const std::unique_ptr<File> lock, LockIndex(env, root));
  IndexFiles index(env);
  for (const Yank& yank : yanks) {
    const AbsPath folder = root / "simple" / RelPath::Literal(yank.project);
    PTPKG_TRY(const std::string text, ReadFile(env.fs, folder / "index.json"));
    PTPKG_TRY(Json page, ParseJson(text, (folder / "index.json").str()));
    PTPKG_CHECK(SetYanked(page, yank));
    PTPKG_CHECK(index.Write(folder / "index.html", ProjectHtml(page)));
    PTPKG_CHECK(index.Write(folder / "index.json", DumpJson(page)));
  }
  return Ok();
}

Result<IndexSummary> IndexWheels(Env& env, const AbsPath& root, const std::set<std::string>& without) {
  PTPKG_TRY(const std::unique_ptr<File> lock, LockIndex(env, root));
  PTPKG_TRY(const std::vector<std::string> names, env.fs.ListDir(root));
  PTPKG_TRY(std::vector<std::string> wheels, WheelNames(env, names, root));
  std::erase_if(wheels, [&](const std::string& name) { return without.contains(name); });
  IndexSummary summary;
  PTPKG_TRY(const std::vector<WheelOnDisk> read, ReadAll(env, root, wheels, summary));
  IndexFiles index(env);
  Projects projects;
  for (const WheelOnDisk& wheel : read) {
    projects[wheel.entry.project].push_back(wheel.entry);
    PTPKG_CHECK(index.Write(root / RelPath::Literal(wheel.entry.file_name + std::string(kMetadataSuffix)),
                            wheel.metadata_text));
  }
  PTPKG_CHECK(WritePages(index, root / "simple", projects));
  PTPKG_CHECK(RemoveStale(env, index, root, projects, names));
  summary.written = index.TakeWritten();
  return summary;
}

}  // namespace ptpkg::channel
