// An interrupted update leaves submodules at their old commits, without files, or with files of two commits.
// git reports all of these as changes, and the next update must not take them for the user's. So this
// file reads each repository by itself, not the summary that the one above it gives:
//
// - Another commit in a submodule is not a change of files. clone_git's callers look at the commits.
// - A submodule without a checkout has no index, so all its files count as deleted.
// - A checkout writes the index last. So it left only changes that are not staged, and its files are equal to
//   those of the commit that it was for. Files that are neither here nor there are the user's.

#include "pipeline/develop/clone_files.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "support/files/scratch.h"
#include "support/text/text.h"

namespace ptpkg::pipeline {

namespace {

using Names = std::vector<std::string>;

/// Differences of one repository, without the content of its submodules.
struct Changes {
  Names staged;
  Names unstaged;
  Names moved;  ///< Submodules at another commit.
};

Result<Changes> ReadChanges(const CloneGit& git, const AbsPath& folder) {
  PTPKG_TRY(const std::string status,
            git.Lines(folder, {"status", "--porcelain=v2", "--no-renames", "--untracked-files=no",
                               "--ignore-submodules=dirty"}));
  Changes changes;
  for (const std::string& line : SplitLines(status)) {
    // "1 .M N... …five fields… PATH". The second field has a dot for "not staged", and the third begins with
    // S for a submodule. A conflict, "u UU", has two fields more.
    const std::vector<std::string> fields = Split(line, ' ');
    const std::ptrdiff_t before_path = line.starts_with('u') ? 10 : 8;
    if (std::ssize(fields) <= before_path) continue;
    const std::string path = Join({fields.begin() + before_path, fields.end()}, " ");
    const bool is_staged = !fields[1].starts_with('.');
    (is_staged                    ? changes.staged
     : fields[2].starts_with('S') ? changes.moved
                                  : changes.unstaged)
        .push_back(path);
  }
  return changes;
}

Result<std::set<std::string>> ReadNames(const CloneGit& git, const AbsPath& folder, CloneGit::Args args,
                                        const std::optional<AbsPath>& index = {}) {
  PTPKG_TRY(const std::string text, git.Lines(folder, std::move(args), index));
  const Names lines = SplitLines(text);
  return std::set<std::string>(lines.begin(), lines.end());
}

/// One repository of a clone.
struct Repository {
  AbsPath folder;
  AbsPath git_folder;
  std::string target;      ///< The commit to check out; "": it is not known.
  bool has_index = false;  ///< Something was checked out.
};

Result<Repository> OpenRepository(const CloneGit& git, const AbsPath& folder, const std::string& target) {
  PTPKG_TRY(const std::string git_folder, git.Read(folder, {"rev-parse", "--absolute-git-dir"}));
  PTPKG_TRY(const AbsPath parsed, AbsPath::Parse(git_folder));
  PTPKG_TRY(const bool has_index, Exists(git.env().fs, parsed / "index"));
  return Repository{.folder = folder, .git_folder = parsed, .target = target, .has_index = has_index};
}

/// The files, `unstaged` or in the way of a checkout, that are the user's and not left by a checkout of the
/// target.
Result<Names> UserFiles(const CloneGit& git, const Repository& repository, const Names& unstaged) {
  const AbsPath& folder = repository.folder;
  PTPKG_TRY(const bool known, git.HasCommit(folder, repository.target));
  if (!known) {
    if (repository.has_index) return unstaged;
    PTPKG_TRY(Names names, git.env().fs.ListDir(folder));
    std::erase(names, ".git");
    return names;
  }
  // An index of the target shows which of its files are here with other content, tracked or not.
  PTPKG_TRY(const TempDir scratch, TempDir::Create(git.env().fs, repository.git_folder, "index"));
  const AbsPath index = scratch.path() / "index";
  PTPKG_CHECK(git.Lines(folder, {"read-tree", repository.target}, index));
  const CloneGit::Args diff = {"diff", "--name-only", "--no-renames", "--no-ext-diff",
                               "--ignore-submodules=all"};
  CloneGit::Args present = diff;
  present.emplace_back("--diff-filter=MT");
  PTPKG_TRY(const std::set<std::string> others, ReadNames(git, folder, std::move(present), index));
  if (!repository.has_index) return Names(others.begin(), others.end());
  CloneGit::Args against = diff;
  against.push_back(repository.target);
  PTPKG_TRY(const std::set<std::string> differing, ReadNames(git, folder, std::move(against)));
  PTPKG_TRY(const std::set<std::string> tracked, ReadNames(git, folder, {"ls-files"}));
  Names files;
  std::ranges::copy_if(unstaged, std::back_inserter(files),
                       [&](const std::string& name) { return differing.contains(name); });
  std::ranges::copy_if(others, std::back_inserter(files),
                       [&](const std::string& name) { return !tracked.contains(name); });
  return files;
}

/// Looks at the repository `path` of the clone; "" is the clone itself.
Result<void> LookAtRepository(const CloneGit& git, const std::string& path, const std::string& target,
                              SourceClone& clone) {
  const AbsPath folder = path.empty() ? clone.path : clone.path / path;
  const std::string margin = path.empty() ? "" : path + "/";
  PTPKG_TRY(const Changes changes, ReadChanges(git, folder));
  for (const std::string& submodule : changes.moved) clone.unready.push_back(margin + submodule);
  PTPKG_TRY(const Repository repository, OpenRepository(git, folder, target));
  Names files = changes.staged;
  std::ranges::copy(changes.unstaged, std::back_inserter(files));
  if (!repository.has_index || (changes.staged.empty() && !changes.unstaged.empty())) {
    PTPKG_TRY(files, UserFiles(git, repository, changes.unstaged));
    if (files.empty()) {
      if (!target.empty()) clone.unfinished.push_back({.folder = folder, .commit = target});
      if (!path.empty()) clone.unready.push_back(path);
    }
  }
  if (!files.empty() && clone.edited.empty()) clone.edited_in = folder;
  for (const std::string& file : files) clone.edited.push_back(margin + file);
  return Ok();
}

/// Untracked files where a commit has new ones.
struct Obstacles {
  std::set<std::string> files;    ///< At the places of its files.
  std::set<std::string> parents;  ///< At the places of its directories.
};

Result<Obstacles> FindObstacles(const CloneGit& git, const AbsPath& folder, const std::string& target) {
  PTPKG_TRY(const std::string changes,
            git.Lines(folder, {"diff", "--name-status", "--no-renames", "--no-ext-diff", "--diff-filter=AD",
                               "HEAD", target}));
  Names added;
  std::set<std::string> removed;
  for (const std::string& line : SplitLines(changes)) {  // "A\tdata/new.txt"
    if (line.starts_with("A\t")) added.push_back(line.substr(2));
    if (line.starts_with("D\t")) removed.insert(line.substr(2));
  }
  Obstacles obstacles;
  for (const std::string& name : added) {
    std::string place = name;
    Result<FileStat> stat = git.env().fs.Lstat(folder / place);
    while (!stat && place.find('/') != std::string::npos) {
      place.erase(place.rfind('/'));
      stat = git.env().fs.Lstat(folder / place);
    }
    if (!stat || stat->kind == FileKind::kDirectory || removed.contains(place)) continue;
    (place == name ? obstacles.files : obstacles.parents).insert(place);
  }
  return obstacles;
}

/// Searches a clone and its submodules for files in the way.
class ObstacleSearch {
 public:
  ObstacleSearch(const CloneGit& git, bool submodules, SourceClone& clone)
      : git_(git), submodules_(submodules), clone_(clone) {}

  /// Looks at the repository `path` of the clone; "" is the clone itself.
  // NOLINTNEXTLINE(misc-no-recursion): as deep as the submodules are
  Result<void> Look(const std::string& path, const std::string& target) {
    const AbsPath folder = path.empty() ? clone_.path : clone_.path / path;
    PTPKG_TRY(bool known, git_.HasCommit(folder, target));
    if (!known) {
      PTPKG_CHECK(git_.Run(folder, {"fetch", "--quiet", "origin"}));
      PTPKG_TRY(known, git_.HasCommit(folder, target));
    }
    PTPKG_TRY(const bool has_head, git_.HasCommit(folder, "HEAD"));
    if (!known || !has_head) return Ok();
    const std::string margin = path.empty() ? "" : path + "/";
    PTPKG_CHECK(Compare(folder, margin, target));
    if (!submodules_) return Ok();
    PTPKG_TRY(const std::string tree, git_.Lines(folder, {"ls-tree", "-r", target}));
    for (const std::string& line : SplitLines(tree)) {  // "160000 commit 1a2b…\tthird_party/lib"
      constexpr std::string_view kSubmodule = "160000 commit ";
      const std::size_t tab = line.find('\t');
      if (!line.starts_with(kSubmodule) || tab == std::string::npos) continue;
      const std::string name = line.substr(tab + 1);
      PTPKG_TRY(const bool is_cloned, Exists(git_.env().fs, folder / name / ".git"));
      if (!is_cloned) continue;
      PTPKG_CHECK(Look(margin + name, line.substr(kSubmodule.size(), tab - kSubmodule.size())));
    }
    return Ok();
  }

  Names files;

 private:
  Result<void> Compare(const AbsPath& folder, const std::string& margin, const std::string& target) {
    PTPKG_TRY(const Obstacles obstacles, FindObstacles(git_, folder, target));
    if (obstacles.files.empty() && obstacles.parents.empty()) return Ok();
    PTPKG_TRY(const Repository repository, OpenRepository(git_, folder, target));
    PTPKG_TRY(Names found, UserFiles(git_, repository, {}));
    std::erase_if(found, [&](const std::string& name) { return !obstacles.files.contains(name); });
    found.insert(found.end(), obstacles.parents.begin(), obstacles.parents.end());
    if (found.empty()) clone_.unfinished.push_back({.folder = folder, .commit = target});
    for (const std::string& name : found) files.push_back(margin + name);
    return Ok();
  }

  const CloneGit& git_;
  bool submodules_;
  SourceClone& clone_;
};

}  // namespace

Result<Names> FilesInTheWay(const CloneGit& git, bool submodules, SourceClone& clone) {
  ObstacleSearch search(git, submodules, clone);
  PTPKG_CHECK(search.Look("", clone.wanted));
  return std::move(search.files);
}

Result<void> LookAtFiles(const CloneGit& git, bool submodules, SourceClone& clone) {
  PTPKG_CHECK(LookAtRepository(git, "", clone.wanted, clone));
  if (!submodules) {
    clone.unready.clear();
    return Ok();
  }
  auto listed = git.Lines(clone.path, {"submodule", "--quiet", "foreach", "--recursive",
                                       "printf '%s %s\\n' \"$sha1\" \"$displaypath\""});
  if (!listed) {
    return std::move(listed).error().WithHint(
        "if the clone of a submodule is damaged, remove it and its repository below .git/modules, and "
        "run 'ptpkg source update' again");
  }
  for (const std::string& line : SplitLines(*listed)) {
    const std::size_t blank = line.find(' ');
    if (blank == std::string::npos) continue;
    PTPKG_CHECK(LookAtRepository(git, line.substr(blank + 1), line.substr(0, blank), clone));
  }
  PTPKG_TRY(const std::string status, git.Lines(clone.path, {"submodule", "status", "--recursive"}));
  for (const std::string& line : SplitLines(status)) {
    const std::vector<std::string> fields = Split(std::string(Trim(line)), ' ');
    if (line.starts_with('-') && fields.size() > 1) clone.unready.push_back(fields[1]);
  }
  std::ranges::sort(clone.unready);
  clone.unready.erase(std::unique(clone.unready.begin(), clone.unready.end()), clone.unready.end());
  return Ok();
}

}  // namespace ptpkg::pipeline
