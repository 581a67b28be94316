// `git submodule sync` alone would replace the URLs of mirrors and forks that users set in their clones. git
// does not record who set a URL. But a URL from .gitmodules is in the history of that file, and this holds
// also after an interruption between checkout and sync.

#include "pipeline/develop/clone_submodules.h"

#include <algorithm>
#include <fmt/core.h>
#include <map>
#include <set>

#include "support/process/process.h"
#include "support/text/text.h"

namespace ptpkg::pipeline {

namespace {

using Values = std::map<std::string, std::string>;

/// Values of the keys "submodule.NAME." + `field`, by NAME.
Result<Values> SubmoduleValues(const CloneGit& git, const AbsPath& folder, CloneGit::Args file,
                               const std::string& field) {
  file.insert(file.begin(), "config");
  file.insert(file.end(), {"--get-regexp", fmt::format("^submodule\\..*\\.{}$", field)});
  PTPKG_TRY(const ExitStatus status, git.Run(folder, std::move(file)));
  Values values;
  if (!status.ok()) return values;  // no such key
  constexpr std::string_view kStart = "submodule.";
  for (const std::string& line : SplitLines(status.output)) {
    const std::size_t end = line.find(fmt::format(".{} ", field));
    if (!line.starts_with(kStart) || end == std::string::npos) continue;
    values[line.substr(kStart.size(), end - kStart.size())] = line.substr(end + field.size() + 2);
  }
  return values;
}

/// The URL as git takes it from .gitmodules of the repository with this remote; "" if it cannot be one.
std::string ResolvedUrl(const std::string& remote, const std::string& url) {
  if (!url.starts_with("./") && !url.starts_with("../")) return url;
  const auto parent = recipe::ParseGitUrl(remote, AbsPath::Literal("/"));
  if (!parent) return "";
  const auto resolved = recipe::SubmoduleUrl(*parent, url);
  return resolved ? resolved->text : "";
}

/// All URLs that a .gitmodules of this repository ever had.
Result<std::set<std::string>> FormerUrls(const CloneGit& git, const AbsPath& folder,
                                         const std::string& remote) {
  PTPKG_TRY(const std::string log,
            git.Lines(folder, {"log", "--all", "--format=", "--patch", "--unified=0", "--no-color",
                               "--no-ext-diff", "--no-textconv", "--", ".gitmodules"}));
  std::set<std::string> urls;
  for (const std::string& line : SplitLines(log)) {
    const std::size_t equals = line.find('=');
    if (!line.starts_with('+') || equals == std::string::npos || Trim(line.substr(1, equals - 1)) != "url")
      continue;
    urls.insert(ResolvedUrl(remote, std::string(Trim(line.substr(equals + 1)))));
  }
  return urls;
}

/// Takes changed URLs from .gitmodules, before git fetches from them.
Result<void> SyncUrls(const CloneGit& git, const AbsPath& folder) {
  PTPKG_TRY(const Values declared, SubmoduleValues(git, folder, {"--file", ".gitmodules"}, "url"));
  PTPKG_TRY(const Values paths, SubmoduleValues(git, folder, {"--file", ".gitmodules"}, "path"));
  PTPKG_TRY(const Values set, SubmoduleValues(git, folder, {"--local"}, "url"));
  PTPKG_TRY(const std::string remote, git.Origin(folder));
  std::optional<std::set<std::string>> former;
  for (const auto& [name, written] : declared) {
    const std::string url = ResolvedUrl(remote, written);
    const auto own = set.find(name);
    const auto path = paths.find(name);
    if (own == set.end() || path == paths.end() || url.empty() || own->second == url) continue;
    if (!former) {
      PTPKG_TRY(former, FormerUrls(git, folder, remote));
    }
    PTPKG_TRY(const AbsPath submodule, AbsPath::Resolve(folder, path->second));
    if (!submodule.IsWithin(folder)) continue;  // git does not check it out
    // sync sets the submodule's own remote, too.
    PTPKG_TRY(const bool is_cloned, Exists(git.env().fs, submodule / ".git"));
    PTPKG_TRY(const std::string fetched, is_cloned ? git.Origin(submodule) : Result<std::string>(url));
    const bool is_theirs =
        former->contains(own->second) && (fetched == url || fetched.empty() || former->contains(fetched));
    if (is_theirs) {
      PTPKG_CHECK(git.Read(folder, {"submodule", "--quiet", "sync", "--", path->second}));
      continue;
    }
    git.env().reporter.Note(
        fmt::format("'{}' keeps its URL '{}', which no .gitmodules had; to fetch from '{}' instead: git -C "
                    "{} submodule sync {}",
                    submodule.str(), recipe::ShownGitUrl(own->second), recipe::ShownGitUrl(url),
                    ShellQuote({folder.str()}), ShellQuote({path->second})));
  }
  return Ok();
}

/// `git submodule update` as a command that writes over no ignored file: git has an option for this only in
/// 'git checkout'. Another way to update that .gitmodules or the user chose stays.
Result<CloneGit::Args> UpdateCommand(const CloneGit& git, const AbsPath& folder) {
  PTPKG_TRY(const Values paths, SubmoduleValues(git, folder, {"--file", ".gitmodules"}, "path"));
  PTPKG_TRY(const Values declared, SubmoduleValues(git, folder, {"--file", ".gitmodules"}, "update"));
  PTPKG_TRY(const Values set, SubmoduleValues(git, folder, {}, "update"));
  const auto is_checkout = [](const Values& values, const std::string& name) {
    const auto value = values.find(name);
    return value == values.end() || value->second == "checkout";
  };
  CloneGit::Args args;
  for (const auto& [name, path] : paths) {
    // git takes the name of a setting up to the first '='.
    if (name.find('=') != std::string::npos || !is_checkout(declared, name) || !is_checkout(set, name))
      continue;
    args.insert(args.end(),
                {"-c", fmt::format("submodule.{}.update=!git checkout --quiet --no-overwrite-ignore --detach",
                                   name)});
  }
  args.insert(args.end(), {"submodule", "update", "--init", "--jobs", "4"});
  return args;
}

}  // namespace

// NOLINTNEXTLINE(misc-no-recursion): as deep as the submodules are
Result<void> UpdateSubmodules(const CloneGit& git, const WantedSource& source, const AbsPath& folder) {
  PTPKG_CHECK(SyncUrls(git, folder));
  // Level by level, because only a submodule that is checked out has its .gitmodules.
  PTPKG_TRY(CloneGit::Args update, UpdateCommand(git, folder));
  PTPKG_CHECK(git.Fetch(folder, source, std::move(update), "fetch the submodules of"));
  PTPKG_TRY(const std::string paths, git.Lines(folder, {"submodule", "--quiet", "foreach",
                                                        "test ! -e .gitmodules || echo \"$sm_path\""}));
  for (const std::string& path : SplitLines(paths)) PTPKG_CHECK(UpdateSubmodules(git, source, folder / path));
  return Ok();
}

}  // namespace ptpkg::pipeline
