// One row of repodata.json. Layer: index.
//
// The row is info/index.json without keys that conda-index drops, plus digests and size. Name, version,
// build and subdir must match the file's name and directory: a client installs what the row says, but
// downloads by the name. The cache also keeps what channeldata.json needs from about.json and paths.json,
// so an unchanged package is never opened again. A cache of another version, or a damaged one, counts as
// empty.

#include "index/conda_channel/conda_record.h"

#include <array>
#include <fmt/core.h>

#include "conda/channel_names.h"
#include "conda/info/package_info.h"
#include "conda/package.h"
#include "support/text/json.h"
#include "support/text/text.h"

namespace ptpkg::index {
namespace {

// Raised whenever the meaning of a stored field changes; older caches are then read anew.
constexpr int kCacheVersion = 3;

// Keys that conda-index leaves out of a row (index/cache.py, filter_fields).
constexpr std::array<const char*, 10> kNotInRepodata{
    "arch",    "has_prefix",     "mtime",   "platform",       "ucs", "requires_features",
    "binstar", "target-triplet", "machine", "operatingsystem"};

// Keys that channeldata.json takes from about.json.
constexpr std::array<const char*, 11> kAboutTexts{"description", "dev_url",  "doc_url",    "doc_source_url",
                                                  "home",        "license",  "source_url", "source_git_url",
                                                  "summary",     "icon_url", "icon_hash"};

Result<void> CheckLocation(const Json& index, const AbsPath& package, const std::string& subdir) {
  PTPKG_TRY(const conda::DistName dist, conda::DistName::Parse(package.Name()));
  const std::string where(package.Name());
  for (const auto& [key, expected] :
       {std::pair("name", dist.name), std::pair("version", dist.version), std::pair("build", dist.build)}) {
    PTPKG_TRY(const std::string found, JsonString(index, key, where));
    if (found == expected) continue;
    return Error(ErrorCode::kInvalidInput,
                 fmt::format("'{}': its index.json has the {} '{}'", where, key, found))
        .WithHint("rename it to '<name>-<version>-<build>' from its metadata");
  }
  PTPKG_TRY(const std::string found, JsonStringOr(index, "subdir", subdir, where));
  if (found == subdir) return Ok();
  return Error(ErrorCode::kInvalidInput,
               fmt::format("'{}' is a package for '{}' but is in '{}'", where, found, subdir))
      .WithHint(fmt::format("move it to the directory '{}'", found));
}

bool HasLinkScript(const std::string& path, std::string_view kind) {
  const std::size_t hidden = path.find("/.");
  return hidden != std::string::npos && path.find(fmt::format("-{}.", kind), hidden) != std::string::npos;
}

/// conda-index, cache.py _cache_post_install_details.
Json InstallDetails(const Json& paths) {
  Json details = {{"binary_prefix", false}, {"text_prefix", false}, {"activate.d", false},
                  {"deactivate.d", false},  {"pre_link", false},    {"post_link", false},
                  {"pre_unlink", false}};
  const auto list = paths.find("paths");
  if (list == paths.end() || !list->is_array()) return details;
  for (const Json& item : *list) {
    if (!item.is_object()) continue;
    const auto text = [&](const char* key) {
      const auto found = item.find(key);
      return found != item.end() && found->is_string() ? found->get<std::string>() : std::string();
    };
    const std::string path = text("_path");
    if (!text("prefix_placeholder").empty()) {
      details[text("file_mode") == "binary" ? "binary_prefix" : "text_prefix"] = true;
    }
    if (path.starts_with("etc/conda/activate.d")) details["activate.d"] = true;
    if (path.starts_with("etc/conda/deactivate.d")) details["deactivate.d"] = true;
    if (HasLinkScript(path, "pre-link")) details["pre_link"] = true;
    if (HasLinkScript(path, "post-link")) details["post_link"] = true;
    if (HasLinkScript(path, "pre-unlink")) details["pre_unlink"] = true;
  }
  return details;
}

Json AboutOf(const conda::PackageInfo& info) {
  Json about = InstallDetails(info.paths.is_object() ? info.paths : Json::object());
  if (!info.about.is_object()) return about;
  for (const char* key : kAboutTexts) {
    const auto found = info.about.find(key);
    if (found == info.about.end() || !found->is_string()) continue;
    std::string text = found->get<std::string>();
    // conda-index keeps these two on one line (cache.py, clear_newline_chars).
    const std::string_view name = key;
    if (name == "description" || name == "summary") text = ReplaceAll(Trim(text), "\n", " ");
    if (!text.empty()) about[key] = text;
  }
  return about;
}

Result<CondaRecord> ParseCached(const Json& item) {
  CondaRecord record;
  PTPKG_TRY(const std::int64_t size, JsonInteger(item, "size", "cache"));
  PTPKG_TRY(record.mtime_ns, JsonInteger(item, "mtime_ns", "cache"));
  record.size_bytes = static_cast<std::uint64_t>(size);
  for (const auto& [key, field] :
       {std::pair("repodata", &record.repodata), std::pair("run_exports", &record.run_exports),
        std::pair("about", &record.about)}) {
    const auto found = item.find(key);
    if (found == item.end() || !found->is_object()) {
      return Error(ErrorCode::kInvalidInput, fmt::format("cache: '{}' is not an object", key));
    }
    *field = *found;
  }
  return record;
}

}  // namespace

Result<CondaRecord> ReadCondaRecord(Env& env, const AbsPath& package, const std::string& subdir,
                                    const std::optional<Digests>& digests) {
  PTPKG_CHECK(env.cancel.Check());
  PTPKG_TRY(const FileStat stat, env.fs.Stat(package));
  PTPKG_TRY(const conda::PackageInfo info, conda::ReadPackageInfo(env, package));
  PTPKG_CHECK(CheckLocation(info.index, package, subdir));
  Digests known = digests.value_or(Digests{});
  // The caller's digests are of a file that it wrote: another size shows that they are of another file.
  if (!digests || digests->size_bytes != stat.size_bytes) {
    PTPKG_TRY(known, HashFile(env.fs, package, {.md5 = true}));
  }
  CondaRecord record;
  record.size_bytes = stat.size_bytes;
  record.mtime_ns = stat.mtime_ns;
  record.repodata = info.index;
  for (const char* key : kNotInRepodata) record.repodata.erase(key);
  record.repodata["md5"] = known.md5.Hex();
  record.repodata["sha256"] = known.sha256.Hex();
  record.repodata["size"] = known.size_bytes;
  if (info.run_exports.is_object()) record.run_exports = info.run_exports;
  record.about = AboutOf(info);
  return record;
}

AbsPath RecordCachePath(const AbsPath& folder) { return folder / ".cache" / "ptpkg-index.json"; }

std::string FormatRecordCache(const CondaRecords& records) {
  Json packages = Json::object();
  for (const auto& [name, record] : records) {
    packages[name] = {{"size", record.size_bytes},
                      {"mtime_ns", record.mtime_ns},
                      {"repodata", record.repodata},
                      {"run_exports", record.run_exports},
                      {"about", record.about}};
  }
  return DumpJson(Json{{"version", kCacheVersion}, {"packages", std::move(packages)}});
}

CondaRecords ParseRecordCache(std::string_view text) {
  CondaRecords records;
  const auto document = ParseJson(text, "cache");
  if (!document || !document->is_object()) return records;
  const auto version = JsonInteger(*document, "version", "cache");
  const auto packages = document->find("packages");
  if (!version || *version != kCacheVersion || packages == document->end() || !packages->is_object())
    return records;
  for (const auto& [name, item] : packages->items()) {
    if (auto record = ParseCached(item)) records.emplace(name, *std::move(record));
  }
  return records;
}

}  // namespace ptpkg::index
