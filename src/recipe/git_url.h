#pragma once
// Parses and validates git URLs and ref names. Layer: recipe. Source: git-fetch(1) "GIT URLS", gitmodules(5),
// git-check-ref-format(1).

#include <string>
#include <string_view>

#include "support/path.h"

namespace ptpkg::recipe {

/// Host and path of a URL: equal for "git@host:a/b.git" and "https://host/a/b".
std::string HostAndPath(std::string url);

struct GitUrl {
  std::string text;       ///< URL for git; a path is absolute.
  bool is_local = false;  ///< A path or file://: no server is contacted.

  bool operator==(const GitUrl&) const = default;
};

/// https://, http://, ssh://, git://, file://, "user@host:path", or a path: then relative to `base`. Errors:
/// kInvalidInput for any other scheme ("ext::…" runs programs), for control characters and blanks in a URL,
/// and for a text that git would read as an option.
Result<GitUrl> ParseGitUrl(std::string_view text, const AbsPath& base);

/// The `url` of a submodule: relative ones ("../x", "./x") to the repository that names it. Errors: any from
/// ParseGitUrl. Also kInvalidInput for a path above the parent's, for any other path, and for a local
/// repository named by a repository on a server: it would read this machine's files.
Result<GitUrl> SubmoduleUrl(const GitUrl& parent, std::string_view text);

/// The URL for messages, without user names, passwords and queries.
std::string ShownGitUrl(std::string_view text);
/// Any URL without user, password and secret parameters, for people and packages.
std::string ShownUrl(std::string_view text);

/// Errors: kInvalidInput unless `name` may name a tag or a branch.
Result<void> CheckRefName(std::string_view name);

/// 40 or 64 hexadecimal digits in lower case.
bool IsCommitId(std::string_view text);

}  // namespace ptpkg::recipe
