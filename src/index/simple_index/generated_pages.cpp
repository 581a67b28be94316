// Tells pages that ptpkg generated from pages of others, before they are replaced or removed.
//
// A directory named `cpu` or `simple/torch` can belong to somebody else. A project page is ours if it has
// the right name and every file entry carries ptpkg's own key. A root page is ours if it has such a key, or
// lists a project whose page is ours. Links are never followed, and an unreadable page counts as foreign,
// so it stays.

#include "index/simple_index/generated_pages.h"

#include <algorithm>
#include <optional>

#include "index/simple_index/simple_index_pages.h"
#include "support/text/json.h"

namespace ptpkg::index {
namespace {

bool IsRegular(Env& env, const AbsPath& path) {
  const auto stat = env.fs.Lstat(path);
  return stat && stat->kind == FileKind::kRegular;
}

/// nullopt unless `path` is a file with an object that states its API version.
std::optional<Json> ReadPage(Env& env, const AbsPath& path) {
  if (!IsRegular(env, path)) return std::nullopt;
  const Result<std::string> text = ReadFile(env.fs, path);
  if (!text) return std::nullopt;
  Result<Json> page = ParseJson(*text, path.str());
  if (!page || !page->is_object()) return std::nullopt;
  const auto meta = page->find("meta");
  if (meta == page->end() || !meta->is_object() || !JsonString(*meta, "api-version", "")) return std::nullopt;
  return *std::move(page);
}

/// The list under `key`; nullptr if there is none, or not of objects alone.
const Json* ObjectsOf(const Json& page, const char* key) {
  const auto list = page.find(key);
  if (list == page.end() || !list->is_array()) return nullptr;
  const bool objects =
      std::all_of(list->begin(), list->end(), [](const Json& item) { return item.is_object(); });
  return objects ? &*list : nullptr;
}

/// `projects`: names of projects with pages of ours.
bool IsGeneratedRootPage(Env& env, const AbsPath& path, const std::set<std::string>& projects) {
  const std::optional<Json> page = ReadPage(env, path);
  const Json* const listed = page ? ObjectsOf(*page, "projects") : nullptr;
  if (listed == nullptr) return false;
  if (page->contains(kRootPageKey)) return true;
  return std::any_of(listed->begin(), listed->end(), [&](const Json& project) {
    const Result<std::string> name = JsonString(project, "name", "");
    return name && projects.contains(*name);
  });
}

}  // namespace

Result<GeneratedPages> FindGeneratedPages(Env& env, const AbsPath& folder) {
  GeneratedPages own;
  PTPKG_TRY(const std::vector<std::string> names, env.fs.ListDir(folder));
  for (const std::string& name : names) {
    PTPKG_CHECK(env.cancel.Check());
    const AbsPath place = folder / RelPath::Literal(name);
    const auto stat = env.fs.Lstat(place);
    const bool is_folder = stat && stat->kind == FileKind::kDirectory;
    if (is_folder && IsGeneratedProjectPage(env, place / "index.json")) own.projects.insert(name);
  }
  own.root = IsGeneratedRootPage(env, folder / "index.json", own.projects);
  return own;
}

bool IsGeneratedProjectPage(Env& env, const AbsPath& page) {
  const std::optional<Json> json = ReadPage(env, page);
  const Json* const files = json ? ObjectsOf(*json, "files") : nullptr;
  if (files == nullptr || files->empty()) return false;
  const Result<std::string> name = JsonString(*json, "name", "");
  // All entries must have the key: a page that somebody extended by hand is kept.
  return name && *name == page.Parent().Name() &&
         std::all_of(files->begin(), files->end(),
                     [](const Json& file) { return file.contains(kWheelDirectoryKey); });
}

bool IsGeneratedHtmlPage(Env& env, const AbsPath& page) {
  if (!IsRegular(env, page)) return false;
  const Result<std::string> text = ReadFile(env.fs, page);
  return text && IsGeneratedHtml(*text);
}

}  // namespace ptpkg::index
