// Writes the files of a commit and of its submodules, without any .git. The files must depend on the commit
// alone, so neither `git archive` (export-ignore, export-subst) nor `git submodule` (a work tree with .git)
// fits. `read-tree -u` with an index of its own writes what a checkout would.
//
// Submodules are the links (mode 160000) of the tree, and .gitmodules only supplies their URLs. Each is
// fetched by its commit id into a mirror of its own, several at once, and its own submodules in turn, up to a
// limit of levels. A repository on a server must not name repositories of this machine (CVE-2022-39253):
// SubmoduleUrl refuses that.
//
// If git fails, fsck decides: a damaged mirror is fetched again, once. Any other cause, such as a full disk,
// would not go away by that. At the end all files get SOURCE_DATE_EPOCH as time, because the order in which
// git writes them would decide what make considers outdated. docs/decisions/0013-sources.md compares the
// alternatives.

#include "source/git_checkout.h"

#include <algorithm>
#include <fmt/core.h>
#include <map>

#include "source/local_tree.h"
#include "support/files/scratch.h"
#include "support/limits.h"
#include "support/process/parallel.h"
#include "support/text/text.h"

namespace ptpkg::source {

namespace {

using recipe::GitUrl;
using recipe::ShownGitUrl;

// They wait for servers, not for processors.
constexpr int kFetchesAtOnce = 8;

/// A directory of a commit that is another repository's commit.
struct Submodule {
  RelPath path;
  std::string commit;
};

/// One entry of .gitmodules.
struct Declared {
  std::string path;
  std::string url;
  std::string update;
};

class Exporter {
 public:
  Exporter(Env& env, const Git& git, const GitCheckout& checkout, AbsPath scratch)
      : env_(env), git_(git), checkout_(checkout), scratch_(std::move(scratch)) {}

  Result<void> Run(const GitRequest& wish, const AbsPath& destination, std::size_t level) {
    PTPKG_TRY(GitMirror mirror, GitMirror::Open(env_, git_, wish.url, wish.commit));
    auto taken = Take(mirror, wish, destination);
    if (!taken && taken.error().code() == ErrorCode::kCorrupt) {
      if (env_.offline && !wish.url.is_local) {
        return std::move(taken).error().WithHint(
            "the copy in the cache is damaged: build once without --offline to fetch it again");
      }
      env_.reporter.Warn(fmt::format("{}; fetching it again", taken.error().message()));
      PTPKG_CHECK(mirror.Refetch(wish));
      // The failed checkout may have written a part of the files.
      PTPKG_CHECK(Clear(destination));
      taken = Take(mirror, wish, destination);
    }
    PTPKG_CHECK(std::move(taken));
    if (!checkout_.submodules) return Ok();
    PTPKG_TRY(const std::vector<Submodule> submodules, SubmodulesOf(mirror, wish));
    if (submodules.empty()) return Ok();
    if (level == limits::kSubmoduleLevels) {
      return Error(ErrorCode::kInvalidInput,
                   fmt::format("'{}' has more than {} levels of submodules", ShownGitUrl(wish.url.text),
                               limits::kSubmoduleLevels));
    }
    PTPKG_TRY(const auto declared, ReadModules(destination));
    PTPKG_TRY(const GitUrl parent, BaseOfSubmodules(wish.url));
    return ParallelFor(kFetchesAtOnce, submodules.size(), [&](std::size_t i) -> Result<void> {
      const Submodule& submodule = submodules[i];
      PTPKG_TRY(const Declared entry, EntryOf(declared, submodule, wish));
      if (entry.update == "none") return Ok();
      const std::string frame = fmt::format("while fetching the submodule '{}' of '{}'", submodule.path.str(),
                                            ShownGitUrl(wish.url.text));
      // Relative URLs of a clone are relative to the URL that it was cloned from.
      const bool relative = entry.url.starts_with('.');
      PTPKG_TRY(const GitUrl url, recipe::SubmoduleUrl(relative ? parent : wish.url, entry.url), frame);
      PTPKG_TRY(const AbsPath folder, FolderOf(destination, submodule.path), frame);
      PTPKG_CHECK(Run({.url = url, .commit = submodule.commit, .lfs = wish.lfs}, folder, level + 1), frame);
      return Ok();
    });
  }

 private:
  /// Errors: kCorrupt, which another mirror may mend.
  Result<void> Take(GitMirror& mirror, const GitRequest& wish, const AbsPath& destination) {
    PTPKG_CHECK(mirror.Fetch(wish));
    return Export(mirror, wish, destination);
  }

  Result<void> Export(const GitMirror& mirror, const GitRequest& wish, const AbsPath& destination) {
    GitCall call{.args = {"read-tree", "--reset", "-u", wish.commit},
                 .repository = mirror.repository(),
                 .work_tree = destination,
                 .index = scratch_ / NewScratchFileName("index")};
    if (wish.lfs) {
      PTPKG_CHECK(mirror.CheckLfs(wish));
      // Calls on the cache read no configuration, so the filters are given here.
      call.settings = {"filter.lfs.process=git-lfs filter-process", "filter.lfs.smudge=git-lfs smudge -- %f",
                       "filter.lfs.required=true"};
    }
    PTPKG_TRY(const ExitStatus status, git_.Run(call));
    if (status.ok()) return Ok();
    // A full disk, a quota, a name that is too long: none is a reason to fetch anything again.
    PTPKG_TRY(const bool damaged, status.signal != 0 ? Result<bool>(false) : mirror.IsDamaged(wish));
    return Error(damaged ? ErrorCode::kCorrupt : ErrorCode::kIo,
                 fmt::format("cannot check out commit {} of '{}': {}", wish.commit,
                             ShownGitUrl(wish.url.text), GitReason(status)));
  }

  Result<void> Clear(const AbsPath& folder) {
    PTPKG_CHECK(RemoveTree(env_.fs, folder));
    return env_.fs.MakeDir(folder);
  }

  Result<std::vector<Submodule>> SubmodulesOf(const GitMirror& mirror, const GitRequest& wish) {
    std::vector<Submodule> found;
    Result<void> read = Ok();
    const auto on_line = [&](std::string_view line) {
      constexpr std::string_view kLink = "160000 commit ";
      const std::size_t tab = line.find('\t');
      if (!read || !line.starts_with(kLink) || tab == std::string_view::npos) return;
      auto path = RelPath::Parse(line.substr(tab + 1));
      if (!path || line.substr(tab + 1).starts_with('"')) {
        read = Error(ErrorCode::kUnsupported,
                     fmt::format("'{}' has a submodule at {}, which is not a valid directory name",
                                 ShownGitUrl(wish.url.text), line.substr(tab + 1)));
        return;
      }
      found.push_back(
          {.path = *std::move(path), .commit = std::string(line.substr(kLink.size(), tab - kLink.size()))});
    };
    PTPKG_TRY(const std::string said, git_.Read({.args = {"ls-tree", "-r", wish.commit},
                                                 .repository = mirror.repository(),
                                                 .settings = {"core.quotePath=false"},
                                                 .on_line = on_line}));
    static_cast<void>(said);
    PTPKG_CHECK(std::move(read));
    return found;
  }

  /// Base of submodules' relative URLs: for a clone, the URL that it was cloned from, as in git itself.
  Result<GitUrl> BaseOfSubmodules(const GitUrl& url) {
    constexpr std::string_view kScheme = "file://";
    if (!url.is_local) return url;
    const std::string path = url.text.starts_with(kScheme) ? url.text.substr(kScheme.size()) : url.text;
    PTPKG_TRY(const ExitStatus status,
              git_.Run({.args = {"-C", path, "config", "--local", "remote.origin.url"}}));
    const std::string origin(Trim(status.output));
    if (!status.ok() || origin.empty()) return url;
    PTPKG_TRY(const AbsPath folder, AbsPath::Parse(path));
    PTPKG_TRY(GitUrl base, recipe::ParseGitUrl(origin, folder),
              fmt::format("while reading where '{}' was cloned from", path));
    return base;
  }

  /// .gitmodules of an exported commit, by the submodules' names.
  Result<std::map<std::string, Declared>> ReadModules(const AbsPath& folder) {
    std::map<std::string, Declared> modules;
    const AbsPath file = folder / ".gitmodules";
    PTPKG_TRY(const bool there, Exists(env_.fs, file));
    if (!there) return modules;
    PTPKG_TRY(const FileStat stat, env_.fs.Lstat(file));
    if (stat.kind != FileKind::kRegular) {
      return Error(ErrorCode::kInvalidInput, "'.gitmodules' of a git source is not a regular file");
    }
    std::string text;
    PTPKG_TRY(const std::string said,
              git_.Read({.args = {"config", "--file", file.str(), "--no-includes", "--null", "--list"},
                         .on_line = [&](std::string_view line) { text += std::string(line) + "\n"; }}),
              "while reading '.gitmodules'");
    static_cast<void>(said);
    for (const std::string& record : Split(text, '\0')) {
      const std::size_t end = record.find('\n');
      const std::string key = record.substr(0, end);
      constexpr std::string_view kSection = "submodule.";
      const std::size_t dot = key.rfind('.');
      if (!key.starts_with(kSection) || dot < kSection.size() || end == std::string::npos) continue;
      Declared& entry = modules[key.substr(kSection.size(), dot - kSection.size())];
      const std::string name = key.substr(dot + 1);
      const std::string value = record.substr(end + 1);
      if (name == "path") entry.path = value;
      if (name == "url") entry.url = value;
      if (name == "update") entry.update = value;
    }
    return modules;
  }

  static Result<Declared> EntryOf(const std::map<std::string, Declared>& modules, const Submodule& submodule,
                                  const GitRequest& wish) {
    for (const auto& [name, entry] : modules) {
      if (entry.path == submodule.path.str() && !entry.url.empty()) return entry;
    }
    return Error(ErrorCode::kInvalidInput,
                 fmt::format("'{}' has the submodule '{}', but its .gitmodules gives no URL for it",
                             ShownGitUrl(wish.url.text), submodule.path.str()))
        .WithHint("if the build does not need submodules, add 'submodules: false' beside 'git'");
  }

  /// The empty directory that git made for a submodule. No part of its path is a symlink: git tracks nothing
  /// below one.
  Result<AbsPath> FolderOf(const AbsPath& destination, const RelPath& path) {
    AbsPath folder = destination;
    for (const std::string& component : path.Components()) {
      folder = folder / component;
      PTPKG_CHECK(env_.fs.MakeDirs(folder));
      PTPKG_TRY(const FileStat stat, env_.fs.Lstat(folder));
      if (stat.kind == FileKind::kDirectory) continue;
      return Error(ErrorCode::kInvalidInput,
                   fmt::format("cannot check out a submodule: '{}' already exists", folder.str()));
    }
    return folder;
  }

  Env& env_;
  const Git& git_;
  const GitCheckout& checkout_;
  AbsPath scratch_;
};

}  // namespace

Result<void> CheckOut(Env& env, const GitCheckout& checkout, const AbsPath& destination) {
  PTPKG_TRY(const Git git, Git::Find(env));
  PTPKG_TRY(const TempDir scratch, TempDir::Create(env.fs, destination.Parent(), "index"));
  PTPKG_CHECK(Exporter(env, git, checkout, scratch.path()).Run(checkout.wish, destination, 0));
  PTPKG_TRY(const FolderList list, ListFolder(env, destination));
  constexpr std::int64_t kNanoseconds = 1'000'000'000;
  for (const TreeEntry& entry : list.entries) {
    if (entry.kind != FileKind::kRegular) continue;
    PTPKG_CHECK(env.fs.SetMtime(destination / entry.path, env.source_date_epoch * kNanoseconds));
  }
  return Ok();
}

}  // namespace ptpkg::source
