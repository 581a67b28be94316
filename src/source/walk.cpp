#include "source/walk.h"

#include <algorithm>
#include <fmt/core.h>

namespace ptpkg::source {

Result<std::vector<WalkEntry>> Walk(Env& env, const AbsPath& root, const WalkOptions& options) {
  PTPKG_TRY(const FileStat root_stat, env.fs.Stat(root));
  if (root_stat.kind != FileKind::kDirectory) {
    return Error(ErrorCode::kInvalidInput, fmt::format("'{}' is not a folder", root.str()));
  }
  std::vector<WalkEntry> entries;
  // A stack instead of recursion: the depth of a foreign tree is not ours to trust.
  std::vector<std::string> folders = {""};
  while (!folders.empty()) {
    PTPKG_CHECK(env.cancel.Check());
    const std::string folder = std::move(folders.back());
    folders.pop_back();
    PTPKG_TRY(const std::vector<std::string> names, env.fs.ListDir(folder.empty() ? root : root / folder));
    for (const std::string& name : names) {
      if (options.skip_git && name == ".git") continue;
      std::string relative = folder.empty() ? name : folder + "/" + name;
      PTPKG_TRY(RelPath path, RelPath::Parse(relative), fmt::format("while listing '{}'", root.str()));
      PTPKG_TRY(const FileStat stat, env.fs.Lstat(root / path));
      if (stat.kind == FileKind::kDirectory) {
        folders.push_back(std::move(relative));
      } else {
        entries.push_back({.path = std::move(path), .stat = stat});
      }
    }
  }
  std::sort(entries.begin(), entries.end(),
            [](const WalkEntry& left, const WalkEntry& right) { return left.path < right.path; });
  return entries;
}

}  // namespace ptpkg::source
