// URLs of git reach git's command line, and come from recipes and .gitmodules. So they are parsed here, and
// refused if they could mean more than a repository: a leading '-' is an option, "ext::" and other transport
// helpers run programs, and control characters have no place in a URL.
//
// git's own rules decide what text is: "host:path" is scp's form if the colon comes before the first slash,
// and everything without it or a scheme is a path. A relative URL of a submodule removes segments from its
// parent's path, never from the host. Only a local parent may have a submodule on this machine
// (CVE-2022-39253).
//
// ShownUrl is for people and packages: users, passwords and tokens are left out.

#include "recipe/git_url.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>

#include "support/text/display_text.h"
#include "support/text/text.h"

namespace ptpkg::recipe {

namespace {

// char may be signed, and names are UTF-8.
bool IsControl(char byte) { return static_cast<unsigned char>(byte) < 0x20U || byte == '\x7f'; }
bool IsPlainByte(char byte) { return !IsControl(byte) && byte != ' '; }

Error NoGitUrl(std::string_view text, std::string_view why) {
  return Error(ErrorCode::kInvalidInput,
               fmt::format("'{}' is not the URL of a git repository: {}", ShownGitUrl(text), why))
      .WithHint("write https://, http://, ssh://, git://, file://, user@host:path, or a path");
}

/// Position of the colon in "user@host:path"; npos for everything else.
std::size_t ScpColon(std::string_view text) {
  const std::size_t colon = text.find(':');
  return colon < text.find('/') ? colon : std::string_view::npos;
}

Result<void> CheckHost(std::string_view text, std::string_view host) {
  host = host.substr(host.rfind('@') + 1);  // npos + 1 is 0
  if (host.empty()) return NoGitUrl(text, "it has no host");
  // ssh would read it as an option (CVE-2017-1000117).
  if (host.starts_with('-')) return NoGitUrl(text, "its host begins with '-'");
  return Ok();
}

bool IsRelative(std::string_view text) { return text.starts_with("./") || text.starts_with("../"); }

}  // namespace

std::string HostAndPath(std::string url) {
  const std::size_t scheme = url.find("://");
  if (scheme != std::string::npos) {
    url.erase(0, scheme + 3);
  } else if (const std::size_t colon = ScpColon(url); colon != std::string::npos) {
    url[colon] = '/';
  }
  const std::size_t at = url.find('@');
  if (at < url.find('/')) url.erase(0, at + 1);
  while (url.ends_with('/')) url.pop_back();
  if (url.ends_with(".git")) url.erase(url.size() - 4);
  return url;
}

Result<GitUrl> ParseGitUrl(std::string_view text, const AbsPath& base) {
  if (text.empty()) return NoGitUrl(text, "it is empty");
  if (text.starts_with('-')) return NoGitUrl(text, "it begins with '-'");
  if (std::any_of(text.begin(), text.end(), IsControl))
    return NoGitUrl("…", "it contains a control character");
  const std::size_t scheme_end = text.find("://");
  const std::size_t scp = ScpColon(text);
  if (scheme_end == std::string_view::npos && scp == std::string_view::npos) {
    PTPKG_TRY(const AbsPath path, AbsPath::Resolve(base, text));
    return GitUrl{.text = path.str(), .is_local = true};
  }
  if (!std::all_of(text.begin(), text.end(), IsPlainByte)) return NoGitUrl(text, "it contains a blank");
  if (scheme_end == std::string_view::npos || scp < scheme_end) {
    // "ext::sh -c …" runs a command (git-remote-ext).
    if (text.substr(scp).starts_with("::")) return NoGitUrl(text, "transport helpers are not allowed");
    PTPKG_CHECK(CheckHost(text, text.substr(0, scp)));
    return GitUrl{.text = std::string(text)};
  }
  const std::string scheme = ToLower(text.substr(0, scheme_end));
  if (scheme == "file") return GitUrl{.text = std::string(text), .is_local = true};
  constexpr std::array<std::string_view, 4> kSchemes = {"https", "http", "ssh", "git"};
  if (std::find(kSchemes.begin(), kSchemes.end(), scheme) == kSchemes.end()) {
    return NoGitUrl(text, fmt::format("'{}' is not a URL scheme of git", scheme));
  }
  const std::string_view rest = text.substr(scheme_end + 3);
  PTPKG_CHECK(CheckHost(text, rest.substr(0, rest.find('/'))));
  return GitUrl{.text = std::string(text)};
}

Result<GitUrl> SubmoduleUrl(const GitUrl& parent, std::string_view text) {
  const AbsPath no_base = AbsPath::Literal("/");
  if (!IsRelative(text)) {
    PTPKG_TRY(GitUrl url, ParseGitUrl(text, no_base));
    const bool is_path = url.is_local && !text.starts_with("file:") && !text.starts_with('/');
    if (is_path) return NoGitUrl(text, "a relative URL of a submodule begins with './' or '../'");
    if (!url.is_local || parent.is_local) return url;
    return Error(ErrorCode::kInvalidInput,
                 fmt::format("'{}' has the submodule '{}', a repository on this machine",
                             ShownGitUrl(parent.text), text))
        .WithHint("if you mean it, clone the repository and give the clone as 'git'");
  }
  std::string base = parent.text;
  while (base.ends_with('/')) base.pop_back();
  // Path segments are removed from the end, down to `root`; the host stays.
  const std::size_t scheme = base.find("://");
  std::size_t root = ScpColon(base) + 1;  // 0 for a path
  if (scheme != std::string::npos) root = std::min(base.find('/', scheme + 3), base.size());
  char separator = '/';
  while (IsRelative(text)) {
    const bool up = text.starts_with("../");
    text.remove_prefix(up ? 3 : 2);
    if (!up) continue;
    const std::size_t slash = base.rfind('/');
    if (base.size() <= root) return NoGitUrl(parent.text, "a submodule's URL leaves it");
    const bool to_root = slash == std::string::npos || slash < root;
    base.resize(to_root ? root : slash);
    if (to_root && root > 0 && base.ends_with(':')) separator = '\0';  // "host:" takes no slash
  }
  std::string joined = base;
  if (separator != '\0') joined += separator;
  joined += text;
  while (joined.size() > 1 && joined.ends_with('/')) joined.pop_back();
  return ParseGitUrl(joined, no_base);
}

std::string ShownGitUrl(std::string_view text) {
  if (text.find("://") == std::string_view::npos) return std::string(text);
  return ShownUrl(text.substr(0, text.find_first_of("?#")));
}

std::string ShownUrl(std::string_view text) {
  const std::size_t scheme_end = text.find("://");
  std::string shown(text);
  if (scheme_end == std::string_view::npos) return shown;
  const std::size_t authority = scheme_end + 3;
  const std::size_t authority_end = std::min(shown.find_first_of("/?#", authority), shown.size());
  const std::size_t at = shown.rfind('@', authority_end);
  if (at != std::string::npos && at >= authority) shown.erase(authority, at + 1 - authority);
  return DropCredentials(shown);
}

Result<void> CheckRefName(std::string_view name) {
  const bool bytes = std::all_of(name.begin(), name.end(), [](char byte) {
    return IsPlainByte(byte) && std::string_view("~^:?*[\\").find(byte) == std::string_view::npos;
  });
  bool parts = !name.empty();
  for (const std::string& part : Split(name, '/')) {
    parts = parts && !part.empty() && !part.starts_with('.') && !part.ends_with(".lock");
  }
  const bool rest = !name.starts_with('-') && !name.ends_with('.') && name != "@" &&
                    name.find("..") == std::string_view::npos && name.find("@{") == std::string_view::npos;
  if (bytes && parts && rest) return Ok();
  return Error(ErrorCode::kInvalidInput, fmt::format("'{}' cannot be the name of a tag or a branch", name));
}

bool IsCommitId(std::string_view text) {
  return (text.size() == 40 || text.size() == 64) &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace ptpkg::recipe
