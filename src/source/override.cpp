// --source NAME=VALUE takes a path, or a repository with a name. Existing paths come first, since '@' may be
// part of a directory's name. Only if nothing is there, the part after the last '@' is a tag, branch or
// commit, and the rest must be a repository. In a URL the '@' counts only after the host, because a user name
// comes before it.
//
// A bare repository has no files to copy, so it becomes a git source, like a clone with a name. A clone
// without a name is a directory: its files count, uncommitted edits included.

#include "source/override.h"

#include <fmt/core.h>

#include "recipe/git_url.h"
#include "support/text/text.h"

namespace ptpkg::source {

namespace {

Error Usage(std::string message) { return {ErrorCode::kUsage, std::move(message)}; }

Result<Override> GitOverride(std::string url, const std::string& name) {
  recipe::GitSource git{.url = std::move(url), .rev = name};
  if (recipe::IsCommitId(ToLower(name))) {
    git.rev = ToLower(name);
  } else if (!name.empty()) {
    const Result<void> checked = recipe::CheckRefName(name);
    if (!checked) return Usage(fmt::format("--source: {}", checked.error().message()));
  }
  return Override(std::move(git));
}

/// "git+…": the last '@' behind the host begins the name.
Result<Override> FromUrl(const AbsPath& cwd, const std::string& value) {
  std::string url = value.substr(4);
  std::string name;
  const std::size_t scheme_end = url.find("://");
  const std::size_t host = scheme_end == std::string::npos ? 0 : scheme_end + 3;
  const std::size_t path = url.find('/', host);
  const std::size_t at = url.rfind('@');
  if (at != std::string::npos && path != std::string::npos && at > path) {
    name = url.substr(at + 1);
    url.resize(at);
    if (name.empty()) return Usage(fmt::format("--source '{}' has nothing after the '@'", value));
  }
  const auto parsed = recipe::ParseGitUrl(url, cwd);
  if (!parsed) return Usage(fmt::format("--source: {}", parsed.error().message()));
  return GitOverride(parsed->text, name);
}

Result<bool> IsRepository(Fs& fs, const AbsPath& path) {
  PTPKG_TRY(const bool has_git, Exists(fs, path / ".git"));
  return has_git ? Result<bool>(true) : IsBareRepository(fs, path);
}

}  // namespace

Result<bool> IsBareRepository(Fs& fs, const AbsPath& path) {
  for (const char* folder : {"objects", "refs"}) {
    const auto stat = fs.Lstat(path / folder);
    if (!stat || stat->kind != FileKind::kDirectory) return false;
  }
  const auto head = ReadFile(fs, path / "HEAD");
  if (!head) return false;
  return head->starts_with("ref: ") || recipe::IsCommitId(Trim(*head));
}

Result<Override> ParseOverride(Env& env, const std::string& value) {
  if (value.starts_with("git+")) return FromUrl(env.cwd, value);
  const auto path = AbsPath::Resolve(env.cwd, value);
  if (!path) return Usage(path.error().message());
  PTPKG_TRY(const bool there, Exists(env.fs, *path));
  if (there) {
    PTPKG_TRY(const bool bare, IsBareRepository(env.fs, *path));
    return bare ? GitOverride(path->str(), "") : Result<Override>(*path);
  }
  if (value.find("://") != std::string::npos) {
    return Usage(fmt::format("--source takes a path or git+URL, found '{}'", recipe::ShownGitUrl(value)))
        .WithHint("write git+URL or git+URL@TAG for a repository; declare archives in the recipe with 'url'");
  }
  const std::size_t at = value.rfind('@');
  if (at == std::string::npos || at == 0 || at + 1 == value.size()) return Override(*path);
  PTPKG_TRY(const AbsPath repository, AbsPath::Resolve(env.cwd, value.substr(0, at)));
  PTPKG_TRY(const bool is_repository, IsRepository(env.fs, repository));
  return is_repository ? GitOverride(repository.str(), value.substr(at + 1)) : Result<Override>(*path);
}

}  // namespace ptpkg::source
