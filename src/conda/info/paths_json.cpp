// info/paths.json. Layer: conda.
#include "conda/info/paths_json.h"

#include <fmt/core.h>
#include <set>

#include "support/text/json.h"
#include "support/text/text.h"

namespace ptpkg::conda {
namespace {

// Linux's limit: more links than these in one path are a circle.
constexpr int kMaxLinks = 40;

Error InvalidAt(std::string_view where, std::string_view message) {
  return {ErrorCode::kInvalidInput, fmt::format("{}: {}", where, message)};
}

Result<PathType> ParsePathType(std::string_view text, std::string_view where) {
  if (text == "hardlink") return PathType::kHardLink;
  if (text == "softlink") return PathType::kSoftLink;
  if (text == "directory") return PathType::kDirectory;
  return InvalidAt(where, fmt::format("path_type '{}' is unknown", text));
}

std::string_view PathTypeName(PathType type) {
  switch (type) {
    case PathType::kHardLink:
      return "hardlink";
    case PathType::kSoftLink:
      return "softlink";
    case PathType::kDirectory:
      return "directory";
  }
  return "";
}

Result<void> ParseDigest(const Json& item, PathsEntry& entry, std::string_view where) {
  const auto given = [&](const char* key) {
    const auto found = item.find(key);
    return found != item.end() && !found->is_null();
  };
  if (given("sha256")) {
    PTPKG_TRY(const std::string digest, JsonString(item, "sha256", where));
    PTPKG_TRY(entry.sha256, Sha256::FromHex(digest),
              fmt::format("while reading '{}' in {}", entry.path, where));
  }
  if (given("size_in_bytes")) {
    PTPKG_TRY(const std::int64_t size, JsonInteger(item, "size_in_bytes", where));
    if (size < 0) return InvalidAt(where, fmt::format("size of '{}' is negative", entry.path));
    entry.size_bytes = static_cast<std::uint64_t>(size);
  }
  // One of the two alone is not enough: a size says nothing about the content.
  entry.has_digest = given("sha256") && given("size_in_bytes");
  return Ok();
}

Result<void> ParsePlaceholder(const Json& item, PathsEntry& entry, std::string_view where) {
  PTPKG_TRY(entry.placeholder, JsonStringOr(item, "prefix_placeholder", "", where));
  // rattler leaves the placeholder in the file where the mode is missing.
  PTPKG_TRY(const std::string mode,
            JsonStringOr(item, "file_mode", entry.placeholder.empty() ? "text" : "", where));
  if (mode != "text" && mode != "binary") {
    return InvalidAt(where, fmt::format("file_mode '{}' of '{}' is unknown", mode, entry.path));
  }
  entry.mode = mode == "text" ? FileMode::kText : FileMode::kBinary;
  return Ok();
}

Result<PathsEntry> ParseEntry(const Json& item, std::string_view where) {
  if (!item.is_object()) return InvalidAt(where, "an entry of 'paths' is not an object");
  PathsEntry entry;
  PTPKG_TRY(entry.path, JsonString(item, "_path", where));
  PTPKG_TRY(const RelPath path, RelPath::Parse(entry.path), fmt::format("while reading {}", where));
  // paths.json lists what is installed, and info/ is not installed (CEP 34).
  if (path.IsWithin(RelPath::Literal("info"))) {
    return InvalidAt(where, fmt::format("lists '{}', which is below info/", entry.path));
  }
  PTPKG_TRY(const std::string type, JsonString(item, "path_type", where));
  PTPKG_TRY(entry.type, ParsePathType(type, where));
  PTPKG_CHECK(ParseDigest(item, entry, where));
  PTPKG_CHECK(ParsePlaceholder(item, entry, where));
  const auto no_link = item.find("no_link");
  if (no_link != item.end() && !no_link->is_boolean()) {
    return InvalidAt(where, fmt::format("no_link of '{}' is not true or false", entry.path));
  }
  entry.no_link = no_link != item.end() && no_link->get<bool>();
  return entry;
}

}  // namespace

std::string_view FileModeName(FileMode mode) { return mode == FileMode::kText ? "text" : "binary"; }

Json MakePathsJson(const std::vector<PathsEntry>& entries) {
  Json paths = Json::array();
  for (const PathsEntry& entry : entries) {
    Json item = Json::object();
    item["_path"] = entry.path;
    item["path_type"] = PathTypeName(entry.type);
    item["sha256"] = entry.sha256.Hex();
    item["size_in_bytes"] = entry.size_bytes;
    if (!entry.placeholder.empty()) {
      item["prefix_placeholder"] = entry.placeholder;
      item["file_mode"] = FileModeName(entry.mode);
    }
    if (entry.no_link) item["no_link"] = true;
    paths.push_back(std::move(item));
  }
  return Json{{"paths", std::move(paths)}, {"paths_version", 1}};
}

Result<std::vector<PathsEntry>> ParsePathsJson(const Json& document, std::string_view where) {
  if (!document.is_object()) return InvalidAt(where, "is not a JSON object");
  PTPKG_TRY(const std::int64_t version, JsonInteger(document, "paths_version", where));
  // conda refuses every other version, so there is nothing to be lenient about.
  if (version != 1) return InvalidAt(where, fmt::format("paths_version {} is not 1", version));
  const auto paths = document.find("paths");
  if (paths == document.end() || !paths->is_array()) return InvalidAt(where, "'paths' is not a list");
  std::vector<PathsEntry> entries;
  std::set<std::string> seen;
  for (const Json& item : *paths) {
    PTPKG_TRY(PathsEntry entry, ParseEntry(item, where));
    // Two rows could have different digests or modes, and readers would choose different ones.
    if (!seen.insert(entry.path).second) {
      return InvalidAt(where, fmt::format("lists '{}' twice", entry.path));
    }
    entries.push_back(std::move(entry));
  }
  return entries;
}

const TreeEntry* LinkedFile(const StagedTree& tree, const TreeEntry& link) {
  // A walk like the kernel's (path_resolution(7)): each link puts its target in front of the rest of the way.
  // The components are on a stack, so `rest` is in reverse order.
  int links = 0;
  std::vector<std::string> rest;  // components still to walk, the next one last
  std::string walked;
  const auto follow = [&](std::string_view folder, std::string_view target) {
    const std::optional<std::string> resolved = ResolveInTree(folder, target);
    if (target.starts_with('/') || !resolved || ++links > kMaxLinks) return false;
    std::vector<std::string> parts = resolved->empty() ? std::vector<std::string>() : Split(*resolved, '/');
    rest.insert(rest.end(), parts.rbegin(), parts.rend());
    walked.clear();
    return true;
  };
  if (!follow(link.path.ParentText(), link.link_target)) return nullptr;
  while (!rest.empty()) {
    const std::string parent = walked;
    if (!walked.empty()) walked += '/';
    walked += rest.back();
    rest.pop_back();
    const TreeEntry* entry = tree.Find(walked);
    if (entry == nullptr) continue;  // a directory, or nothing: the end decides
    if (entry->kind == FileKind::kRegular) return rest.empty() ? entry : nullptr;
    if (!follow(parent, entry->link_target)) return nullptr;
  }
  return nullptr;
}

}  // namespace ptpkg::conda
