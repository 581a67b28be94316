#include "pipeline/staged_result.h"

#include <fmt/core.h>

#include "convert/tree_builder.h"
#include "model/tree_json.h"
#include "support/json.h"
#include "support/text.h"

namespace ptpkg::pipeline {

namespace {

/// Regular files below `folder` as relative paths; symlinks are not followed.
Result<void> ListFiles(Fs& fs, const AbsPath& folder, const std::string& below,
                       std::vector<std::string>& files) {
  PTPKG_TRY(const std::vector<std::string> names, fs.ListDir(folder));
  for (const std::string& name : names) {
    const AbsPath path = folder / name;
    const std::string relative = below.empty() ? name : fmt::format("{}/{}", below, name);
    PTPKG_TRY(const FileStat stat, fs.Lstat(path));
    if (stat.kind == FileKind::kDirectory) PTPKG_CHECK(ListFiles(fs, path, relative, files));
    if (stat.kind == FileKind::kRegular) files.push_back(relative);
  }
  return Ok();
}

/// Adds the files of `root` that match `glob`; returns how many.
Result<std::size_t> AddMatching(Env& env, const AbsPath& root, const std::string& glob,
                                std::map<std::string, std::string>& texts) {
  std::vector<std::string> files;
  PTPKG_CHECK(ListFiles(env.fs, root, "", files));
  std::size_t count = 0;
  for (const std::string& file : files) {
    if (!GlobMatch(glob, file)) continue;
    PTPKG_TRY(std::string text, ReadFile(env.fs, root / RelPath::Literal(file)));
    texts.insert_or_assign(file, std::move(text));
    ++count;
  }
  return count;
}

Result<std::map<std::string, std::string>> CollectLicenses(Env& env, const recipe::Recipe& recipe,
                                                           const AbsPath& source_root) {
  std::map<std::string, std::string> texts;
  for (const std::string& glob : recipe.about.license_files) {
    PTPKG_TRY(const std::size_t in_source, AddMatching(env, source_root, glob, texts));
    if (in_source > 0) continue;
    PTPKG_TRY(const std::size_t in_recipe, AddMatching(env, recipe.recipe_dir, glob, texts));
    if (in_recipe == 0) {
      return Error(
          ErrorCode::kNotFound,
          fmt::format("about.license_file '{}' matches nothing in the sources or beside the recipe", glob));
    }
  }
  return texts;
}

}  // namespace

Result<void> SaveStaged(Env& env, const recipe::Recipe& recipe, const build::StagedBuild& staged,
                        const AbsPath& source_root, const AbsPath& folder) {
  PTPKG_TRY(const auto licenses, CollectLicenses(env, recipe, source_root));
  const AbsPath root = folder / "tree";
  PTPKG_CHECK(env.fs.MakeDirs(root));
  convert::TreeBuilder builder(env, root);
  for (const TreeEntry& entry : staged.tree.entries)
    PTPKG_CHECK(builder.Link(staged.tree, entry, entry.path));
  const Json json = {{"entries", TreeToJson(std::move(builder).Finish())},
                     {"prefix", staged.prefix},
                     {"python_version", staged.python_version},
                     {"forbidden_paths", staged.forbidden_paths},
                     {"licenses", licenses}};
  return WriteFile(env.fs, folder / "staged.json", DumpJson(json));
}

Result<StagedResult> LoadStaged(Env& env, const AbsPath& folder) {
  const AbsPath path = folder / "staged.json";
  PTPKG_TRY(const std::string text, ReadFile(env.fs, path));
  PTPKG_TRY(const Json json, ParseJson(text, path.str()));
  if (!json.is_object() || !json.contains("entries") || !json.contains("licenses")) {
    return Error(ErrorCode::kCorrupt, fmt::format("'{}' is damaged", path.str()))
        .WithHint(fmt::format("remove '{}'; the stage then runs again", folder.str()));
  }
  StagedResult result;
  PTPKG_TRY(result.tree, TreeFromJson(json["entries"], folder / "tree", path.str()));
  PTPKG_TRY(result.prefix, JsonString(json, "prefix", path.str()));
  PTPKG_TRY(result.python_version, JsonString(json, "python_version", path.str()));
  PTPKG_TRY(result.forbidden_paths, JsonStringsOr(json, "forbidden_paths", {}, path.str()));
  for (const auto& [name, content] : json["licenses"].items()) {
    if (content.is_string()) result.license_files.emplace(name, content.get<std::string>());
  }
  return result;
}

}  // namespace ptpkg::pipeline
