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

constexpr std::string_view kApiVersion = "1.4";
constexpr const char* kDirectoryKey =
    "_ptpkg-directory";  // a leading '_' is for the server's own use (PEP 691)
constexpr std::string_view kMetadataSuffix = ".metadata";

std::string EscapeHtml(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string Page(std::string_view title, std::string_view body) {
  return fmt::format(
      "<!DOCTYPE html>\n<html>\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"pypi:repository-version\" "
      "content=\"{}\">\n<title>{}</title>\n</head>\n<body>\n{}</body>\n</html>\n",
      kApiVersion, EscapeHtml(title), body);
}

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
  const Result<std::string> directory = JsonStringOr(file, kDirectoryKey, "", "");
  if (!size || !directory || !file.contains("hashes") || !file.at("hashes").is_object()) return std::nullopt;
  const Result<std::string> hex = JsonStringOr(file.at("hashes"), "sha256", "", "");
  if (!hex || *size < 0 || static_cast<std::uint64_t>(*size) != wheel.size_bytes) return std::nullopt;
  if (*directory != wheel.directory_digest.Hex()) return std::nullopt;
  const Result<Sha256> digest = Sha256::FromHex(*hex);
  return digest ? std::optional(*digest) : std::nullopt;
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
  out.entry.file_name = file_name;
  out.entry.project = wheel::NormalizeName(info.file_name.name);
  PTPKG_TRY(out.entry.version, wheel::ParseVersion(info.file_name.version));
  out.entry.requires_python = std::string(Trim(info.metadata.Get("Requires-Python")));
  out.entry.size_bytes = stat.size_bytes;
  out.entry.metadata_sha256 = HashText(info.metadata_text);
  out.entry.directory_digest = info.directory_digest;
  if (const auto known = KnownDigest(previous, out.entry)) {
    out.entry.sha256 = *known;
  } else {
    PTPKG_TRY(const Digests digests, HashFile(env.fs, path));
    out.entry.sha256 = digests.sha256;
  }
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
    PTPKG_CHECK(index.Write(folder / "index.html", ProjectHtml(files)));
    PTPKG_CHECK(index.Write(folder / "index.json", ProjectJson(files)));
    names.push_back(project);
  }
  PTPKG_CHECK(index.Write(simple / "index.html", RootHtml(names)));
  return index.Write(simple / "index.json", RootJson(names));
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

std::string PercentEncode(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '.' || c == '_' || c == '~';
    if (plain) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

std::string ProjectHtml(const std::vector<IndexedWheel>& files) {
  std::string body;
  for (const IndexedWheel& file : files) {
    const std::string requires_python =
        file.requires_python.empty()
            ? ""
            : fmt::format(" data-requires-python=\"{}\"", EscapeHtml(file.requires_python));
    const std::string metadata = file.metadata_sha256.Hex();
    body += fmt::format(
        "<a href=\"../../{}#sha256={}\"{} data-core-metadata=\"sha256={}\" "
        "data-dist-info-metadata=\"sha256={}\">{}</a><br>\n",
        PercentEncode(file.file_name), file.sha256.Hex(), requires_python, metadata, metadata,
        EscapeHtml(file.file_name));
  }
  return Page(files.empty() ? "" : files.front().project, body);
}

std::string ProjectJson(const std::vector<IndexedWheel>& files) {
  Json list = Json::array();
  Json versions = Json::array();
  for (const IndexedWheel& file : files) {
    Json entry = {{"filename", file.file_name},
                  {"url", "../../" + PercentEncode(file.file_name)},
                  {"hashes", {{"sha256", file.sha256.Hex()}}},
                  {"size", file.size_bytes},
                  {"core-metadata", {{"sha256", file.metadata_sha256.Hex()}}},
                  {kDirectoryKey, file.directory_digest.Hex()}};
    if (!file.requires_python.empty()) entry["requires-python"] = file.requires_python;
    list.push_back(std::move(entry));
    const std::string version = file.version.str();
    if (versions.empty() || versions.back() != version) versions.push_back(version);
  }
  return DumpJson({{"meta", {{"api-version", kApiVersion}}},
                   {"name", files.empty() ? "" : files.front().project},
                   {"versions", std::move(versions)},
                   {"files", std::move(list)}});
}

std::string RootHtml(const std::vector<std::string>& projects) {
  std::string body;
  for (const std::string& project : projects) {
    body += fmt::format("<a href=\"{}/\">{}</a><br>\n", PercentEncode(project), EscapeHtml(project));
  }
  return Page("Simple index", body);
}

std::string RootJson(const std::vector<std::string>& projects) {
  Json list = Json::array();
  for (const std::string& project : projects) list.push_back({{"name", project}});
  return DumpJson({{"meta", {{"api-version", kApiVersion}}}, {"projects", std::move(list)}});
}

Result<IndexSummary> IndexWheels(Env& env, const AbsPath& root) {
  PTPKG_TRY(const std::unique_ptr<File> lock, LockIndex(env, root));
  PTPKG_TRY(const std::vector<std::string> names, env.fs.ListDir(root));
  PTPKG_TRY(const std::vector<std::string> wheels, WheelNames(env, names, root));
  IndexSummary summary;
  PTPKG_TRY(const std::vector<WheelOnDisk> read, ReadAll(env, root, wheels, summary));
  IndexFiles index(env);
  Projects projects;
  for (const WheelOnDisk& wheel : read) {
    projects[wheel.entry.project].push_back(wheel.entry);
    PTPKG_CHECK(index.Write(root / RelPath::Literal(wheel.entry.file_name + std::string(kMetadataSuffix)),
                            wheel.metadata_text));
  }
  for (auto& [project, files] : projects) {
    std::sort(files.begin(), files.end(), [](const IndexedWheel& left, const IndexedWheel& right) {
      const auto order = wheel::CompareVersions(left.version, right.version);
      return order != 0 ? order < 0 : left.file_name < right.file_name;
    });
  }
  PTPKG_CHECK(WritePages(index, root / "simple", projects));
  PTPKG_CHECK(RemoveStale(env, index, root, projects, names));
  summary.written = index.TakeWritten();
  return summary;
}

}  // namespace ptpkg::channel
