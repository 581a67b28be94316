// Pages of a simple index: JSON (PEP 691, 700), and HTML (PEP 503) made from it. Layer: index.
//
// The JSON page is the record, so it can be read, changed and written again by several publishers, and the
// HTML page follows from it. Additions and removals keep entries and keys that others wrote. A yank belongs
// to the bytes, not to the name: it survives an update only if the digest stays the same. An entry with
// another digest than the expected one is not removed.
//
// Files and versions are sorted by version, then name, so equal content gives equal pages. Names without a
// readable version come first and keep their order.

#include <algorithm>
#include <fmt/core.h>
#include <set>

#include "index/simple_index/simple_index_pages.h"
#include "support/net/url.h"
#include "support/text/text.h"

namespace ptpkg::index {
namespace {

constexpr std::string_view kApiVersion = "1.4";
constexpr std::string_view kHtmlHead =
    "<!DOCTYPE html>\n<html>\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"pypi:repository-version\" "
    "content=\"";

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
  return fmt::format("{}{}\">\n<title>{}</title>\n</head>\n<body>\n{}</body>\n</html>\n", kHtmlHead,
                     kApiVersion, EscapeHtml(title), body);
}

/// The text of a key; "" where there is none.
std::string TextOf(const Json& object, const char* key) {
  if (!object.is_object()) return "";
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

/// The list under `key`, made where it is missing.
Result<Json*> ListOf(Json& page, const char* key) {
  if (page.is_object()) {
    Json& list = page[key];
    if (list.is_null()) list = Json::array();
    if (list.is_array()) return &list;
  }
  return Error(ErrorCode::kInvalidInput, fmt::format("'{}' of the index is not a list", key));
}

/// PEP 691's form: a text, or true if no reason is given.
Json YankedValue(const std::string& reason) { return reason.empty() ? Json(true) : Json(reason); }

/// Below the directory of a project's page.
std::string UrlOf(const std::string& folder, const std::string& file_name) {
  return "../../" + (folder.empty() ? "" : PercentEncode(folder) + "/") + PercentEncode(file_name);
}

Json EntryOf(const IndexedWheel& file) {
  Json entry = {{"filename", file.file_name},
                {"url", UrlOf(file.folder, file.file_name)},
                {"hashes", {{"sha256", file.sha256.Hex()}}},
                {"size", file.size_bytes},
                {"core-metadata", {{"sha256", file.metadata_sha256.Hex()}}},
                {kWheelDirectoryKey, file.directory_digest.Hex()}};
  if (!file.requires_python.empty()) entry["requires-python"] = file.requires_python;
  if (file.yanked) entry["yanked"] = YankedValue(*file.yanked);
  return entry;
}

Json* ListedAs(Json& list, const Yank& yank) {
  for (Json& entry : list) {
    if (TextOf(entry, "filename") != yank.file_name) continue;
    // Pages of others may have any URL: only the directory of a backend must be in it.
    if (yank.folder.empty() || TextOf(entry, "url") == UrlOf(yank.folder, yank.file_name)) return &entry;
  }
  return nullptr;
}

std::string DigestOf(const Json& entry) {
  return entry.is_object() && entry.contains("hashes") ? TextOf(entry.at("hashes"), "sha256") : "";
}

/// The list of files; empty if a page of others has none.
Json FilesOf(const Json& page) {
  const bool has_list = page.is_object() && page.contains("files") && page.at("files").is_array();
  return has_list ? page.at("files") : Json::array();
}

std::optional<wheel::Version> VersionOf(const std::string& text) {
  auto version = wheel::ParseVersion(text);
  return version ? std::optional(*std::move(version)) : std::nullopt;
}

/// Sort key of a list: names without a readable version come first, and keep their order.
struct SortKey {
  std::optional<wheel::Version> version = {};
  std::string name = {};

  bool operator<(const SortKey& other) const {
    if (!version || !other.version) return !version && other.version.has_value();
    const auto order = wheel::CompareVersions(*version, *other.version);
    return order != 0 ? order < 0 : name < other.name;
  }
};

void SortBy(Json& list, SortKey (*key_of)(const Json&)) {
  std::vector<std::pair<SortKey, Json>> keyed;
  for (Json& item : list) {
    SortKey key = key_of(item);
    keyed.emplace_back(std::move(key), std::move(item));
  }
  std::stable_sort(keyed.begin(), keyed.end(),
                   [](const auto& left, const auto& right) { return left.first < right.first; });
  list = Json::array();
  for (auto& [key, item] : keyed) list.push_back(std::move(item));
}

SortKey KeyOfFile(const Json& file) {
  const std::string name = TextOf(file, "filename");
  const auto parsed = wheel::FileName::Parse(name);
  return {.version = parsed ? VersionOf(parsed->version) : std::nullopt, .name = name};
}

SortKey KeyOfVersion(const Json& version) {
  const std::string text = version.is_string() ? version.get<std::string>() : "";
  return {.version = VersionOf(text), .name = text};
}

std::string Attribute(std::string_view name, const std::string& value) {
  return value.empty() ? "" : fmt::format(" {}=\"{}\"", name, EscapeHtml(value));
}

/// "sha256=…" of the sidecar metadata file, "true" if the page has no digest of it, "" if there is no such
/// file.
std::string MetadataOf(const Json& file) {
  const auto found = file.find("core-metadata");
  if (found == file.end()) return "";
  const std::string sha256 = TextOf(*found, "sha256");
  if (!sha256.empty()) return "sha256=" + sha256;
  return *found == true ? "true" : "";
}

std::string YankedOf(const Json& file) {
  const auto found = file.find("yanked");
  if (found == file.end() || *found == false) return "";
  return fmt::format(" data-yanked=\"{}\"", EscapeHtml(TextOf(file, "yanked")));
}

std::string LinkOf(const Json& file) {
  const std::string sha256 = file.contains("hashes") ? TextOf(file.at("hashes"), "sha256") : "";
  const std::string metadata = MetadataOf(file);
  return fmt::format("<a href=\"{}{}\"{}{}{}{}>{}</a><br>\n", EscapeHtml(TextOf(file, "url")),
                     sha256.empty() ? "" : "#sha256=" + EscapeHtml(sha256),
                     Attribute("data-requires-python", TextOf(file, "requires-python")),
                     Attribute("data-core-metadata", metadata),
                     // PEP 714: older clients know only the second name of this attribute.
                     Attribute("data-dist-info-metadata", metadata), YankedOf(file),
                     EscapeHtml(TextOf(file, "filename")));
}

}  // namespace

Result<IndexedWheel> DescribeWheel(const wheel::WheelInfo& info, const std::string& file_name,
                                   std::uint64_t size_bytes) {
  IndexedWheel described;
  described.file_name = file_name;
  described.project = wheel::NormalizeName(info.file_name.name);
  PTPKG_TRY(described.version, wheel::ParseVersion(info.file_name.version));
  described.requires_python = std::string(Trim(info.metadata.Get("Requires-Python")));
  described.size_bytes = size_bytes;
  described.metadata_sha256 = HashText(info.metadata_text);
  described.directory_digest = info.directory_digest;
  return described;
}

Json EmptyProjectPage(const std::string& project) {
  return {{"meta", {{"api-version", kApiVersion}}},
          {"name", project},
          {"versions", Json::array()},
          {"files", Json::array()}};
}

Result<void> AddToProjectPage(Json& page, const std::vector<IndexedWheel>& files) {
  PTPKG_TRY(Json* const list, ListOf(page, "files"));
  PTPKG_TRY(Json* const versions, ListOf(page, "versions"));
  std::map<std::string, std::size_t> places;
  for (std::size_t i = 0; i < list->size(); ++i) places.emplace(TextOf((*list)[i], "filename"), i);
  for (const IndexedWheel& file : files) {
    const auto [place, is_new] = places.emplace(file.file_name, list->size());
    if (is_new) {
      list->push_back(EntryOf(file));
    } else {
      Json& known = (*list)[place->second];
      Json entry = EntryOf(file);
      // Same name, same bytes: the yank of an earlier run stays valid.
      if (known.contains("yanked") && DigestOf(known) == file.sha256.Hex()) entry["yanked"] = known["yanked"];
      known = std::move(entry);
    }
    const Json version = file.version.str();
    if (std::find(versions->begin(), versions->end(), version) == versions->end())
      versions->push_back(version);
  }
  SortBy(*list, KeyOfFile);
  SortBy(*versions, KeyOfVersion);
  return Ok();
}

Result<void> RemoveFromProjectPage(Json& page, const std::map<std::string, std::string>& digests) {
  PTPKG_TRY(Json* const list, ListOf(page, "files"));
  PTPKG_TRY(Json* const versions, ListOf(page, "versions"));
  const auto version_of = [](const std::string& file_name) -> std::string {
    const auto name = wheel::FileName::Parse(file_name);
    return name ? name->version : "";
  };
  std::set<std::string> candidates;
  std::set<std::string> kept;
  Json rest = Json::array();
  for (Json& entry : *list) {
    const std::string name = TextOf(entry, "filename");
    const auto named = digests.find(name);
    const std::string told = DigestOf(entry);
    const bool goes =
        named != digests.end() && (named->second.empty() || told.empty() || told == named->second);
    (goes ? candidates : kept).insert(version_of(name));
    if (!goes) rest.push_back(std::move(entry));
  }
  *list = std::move(rest);
  Json left = Json::array();
  for (Json& version : *versions) {
    const std::string text = version.is_string() ? version.get<std::string>() : "";
    if (!candidates.contains(text) || kept.contains(text)) left.push_back(std::move(version));
  }
  *versions = std::move(left);
  return Ok();
}

std::string DigestInPage(const Json& page, const std::string& file_name) {
  for (const Json& entry : FilesOf(page)) {
    if (TextOf(entry, "filename") == file_name) return DigestOf(entry);
  }
  return "";
}

bool IsListed(const Json& page, const Yank& yank) {
  Json files = FilesOf(page);
  return ListedAs(files, yank) != nullptr;
}

bool IsYanked(const Json& page, const Yank& yank) {
  Json files = FilesOf(page);
  const Json* const entry = ListedAs(files, yank);
  if (entry == nullptr) return false;
  const Json said = entry->value("yanked", Json(false));
  return yank.reason ? said == YankedValue(*yank.reason) : said == Json(false);
}

Result<void> SetYanked(Json& page, const Yank& yank) {
  PTPKG_TRY(Json* const list, ListOf(page, "files"));
  Json* const entry = ListedAs(*list, yank);
  if (entry == nullptr) {
    return Error(ErrorCode::kNotFound, fmt::format("the index does not list '{}'", yank.file_name))
        .WithHint("publish it again: ptpkg completes the index without sending the file twice");
  }
  if (yank.reason) {
    (*entry)["yanked"] = YankedValue(*yank.reason);
  } else {
    entry->erase("yanked");
  }
  return Ok();
}

std::string ProjectHtml(const Json& page) {
  std::string body;
  for (const Json& file : page.value("files", Json::array())) {
    if (file.is_object()) body += LinkOf(file);
  }
  return Page(TextOf(page, "name"), body);
}

Json EmptyRootPage() {
  return {{"meta", {{"api-version", kApiVersion}}}, {"projects", Json::array()}, {kRootPageKey, true}};
}

Result<void> AddToRootPage(Json& page, const std::vector<std::string>& projects) {
  PTPKG_TRY(Json* const list, ListOf(page, "projects"));
  std::set<std::string> known;
  for (const Json& entry : *list) known.insert(TextOf(entry, "name"));
  for (const std::string& project : projects) {
    if (known.insert(project).second) list->push_back({{"name", project}});
  }
  std::vector<Json> entries(list->begin(), list->end());
  std::stable_sort(entries.begin(), entries.end(), [](const Json& left, const Json& right) {
    return TextOf(left, "name") < TextOf(right, "name");
  });
  *list = entries;
  return Ok();
}

std::string RootHtml(const Json& page) {
  std::string body;
  for (const Json& entry : page.value("projects", Json::array())) {
    const std::string project = TextOf(entry, "name");
    if (project.empty()) continue;
    body += fmt::format("<a href=\"{}/\">{}</a><br>\n", PercentEncode(project), EscapeHtml(project));
  }
  return Page("Simple index", body);
}

bool IsGeneratedHtml(std::string_view text) { return text.starts_with(kHtmlHead); }

}  // namespace ptpkg::index
