// The form of a tree in stored results and in plans. It has no root, so it is valid wherever the files are
// now. ptpkg itself wrote the text, so any fault in it is damage (kCorrupt).

#include "model/tree_json.h"

#include <fmt/core.h>

#include "support/text/json.h"

namespace ptpkg {

Json TreeToJson(const StagedTree& tree) {
  Json entries = Json::array();
  for (const TreeEntry& entry : tree.entries) {
    if (entry.kind == FileKind::kSymlink) {
      entries.push_back({{"path", entry.path.str()}, {"link", entry.link_target}});
    } else {
      entries.push_back({{"path", entry.path.str()},
                         {"mode", entry.mode},
                         {"size", entry.size_bytes},
                         {"sha256", entry.sha256.Hex()}});
    }
  }
  return entries;
}

namespace {

Result<TreeEntry> EntryFromJson(const Json& json, std::string_view where) {
  PTPKG_TRY(const std::string path, JsonString(json, "path", where));
  PTPKG_TRY(RelPath parsed, RelPath::Parse(path));
  TreeEntry entry{.path = std::move(parsed)};
  // Only links have this key, so no other one states the kind.
  if (json.contains("link")) {
    entry.kind = FileKind::kSymlink;
    PTPKG_TRY(entry.link_target, JsonString(json, "link", where));
    return entry;
  }
  PTPKG_TRY(const std::int64_t mode, JsonInteger(json, "mode", where));
  PTPKG_TRY(const std::int64_t size, JsonInteger(json, "size", where));
  PTPKG_TRY(const std::string sha256, JsonString(json, "sha256", where));
  PTPKG_TRY(entry.sha256, Sha256::FromHex(sha256));
  entry.mode = static_cast<std::uint32_t>(mode);
  entry.size_bytes = static_cast<std::uint64_t>(size);
  return entry;
}

}  // namespace

Result<StagedTree> TreeFromJson(const Json& json, const AbsPath& root, std::string_view where) {
  StagedTree tree{.root = root};
  if (!json.is_array()) {
    return Error(ErrorCode::kCorrupt, fmt::format("the file list in {} is not a list", where));
  }
  for (const Json& item : json) {
    auto entry = EntryFromJson(item, where);
    if (!entry) return Error(ErrorCode::kCorrupt, entry.error().message());
    tree.entries.push_back(*std::move(entry));
  }
  return tree;
}

}  // namespace ptpkg
