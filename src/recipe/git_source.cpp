// The git keys of a source. Layer: recipe.
//
// A key without effect is an error here too: a tag on a URL source, or a digest on a git source. An
// abbreviated commit id is refused, because it can come to mean two commits and servers don't look it up. A
// rev counts as abbreviated if it has 7 to 39 hexadecimal digits with at least one letter: "20240101" is more
// likely a tag. Ids are compared in lower case.

#include <array>
#include <fmt/core.h>

#include "recipe/document/sections.h"
#include "recipe/git_url.h"
#include "support/text/text.h"

namespace ptpkg::recipe {

namespace {

constexpr std::array<std::string_view, 3> kRefKeys = {"tag", "branch", "rev"};
constexpr std::array<std::string_view, 7> kOnlyGit = {"tag",        "branch",         "rev", "depth", "lfs",
                                                      "submodules", "expected_commit"};
constexpr std::array<std::string_view, 2> kNeverGit = {"sha256", "file_name"};

Error InvalidGit(std::string message, const SourceSpan& span) {
  return Error(ErrorCode::kInvalidInput, std::move(message)).At(span);
}

/// A key that is there and would mean nothing.
template <std::size_t kCount>
Result<void> RefuseKeys(const Node& item, const std::array<std::string_view, kCount>& keys,
                        std::string_view why) {
  for (const std::string_view key : keys) {
    const Node* node = item.Find(key);
    if (node != nullptr) return InvalidGit(fmt::format("'source.{}' {}", key, why), node->span);
  }
  return Ok();
}

Result<std::string> ReadName(Reader& reader, const Node& item, std::string_view key) {
  PTPKG_TRY(std::string name, reader.TextOf(&item, key));
  const Node* node = item.Find(key);
  if (node == nullptr) return name;
  if (key == "rev" && IsCommitId(ToLower(name))) return ToLower(name);
  const Result<void> checked = CheckRefName(name);
  if (!checked) return Error(checked.error()).At(node->span);
  const bool short_id = key == "rev" && name.size() >= 7 && name.size() < 40 &&
                        name.find_first_not_of("0123456789abcdef") == std::string::npos &&
                        name.find_first_of("abcdef") != std::string::npos;
  if (!short_id) return name;
  return InvalidGit(fmt::format("'source.rev' is '{}', an abbreviated commit id", name), node->span)
      .WithHint("write all digits: an abbreviation can become ambiguous, and servers don't look it up");
}

Result<std::string> ReadCommit(Reader& reader, const Node& item) {
  PTPKG_TRY(std::string text, reader.TextOf(&item, "expected_commit"));
  if (text.empty()) return text;
  text = ToLower(text);
  if (IsCommitId(text)) return text;
  return InvalidGit(fmt::format("'{}' is not a commit id", text), item.Find("expected_commit")->span)
      .WithHint("a commit id is 40 hexadecimal digits, or 64 where the repository uses SHA-256");
}

}  // namespace

Result<GitSource> ReadGitSource(Reader& reader, const Node& item) {
  GitSource git;
  const Node* url = item.Find("git");
  if (url == nullptr) {
    PTPKG_CHECK(RefuseKeys(item, kOnlyGit, "belongs to a source with 'git'"));
    return git;
  }
  PTPKG_CHECK(RefuseKeys(item, kNeverGit, "does not belong to a source with 'git'"));
  PTPKG_TRY(git.url, reader.TextOf(&item, "git"));
  // The target of a path does not matter here.
  const Result<GitUrl> parsed = ParseGitUrl(git.url, AbsPath::Literal("/"));
  if (!parsed) return Error(parsed.error()).At(url->span);
  const Node* first = nullptr;
  for (const std::string_view key : kRefKeys) {
    const Node* node = item.Find(key);
    if (node != nullptr && first != nullptr) {
      return InvalidGit("a source with 'git' has at most one of 'tag', 'branch' and 'rev'", node->span);
    }
    if (node != nullptr) first = node;
  }
  PTPKG_TRY(git.tag, ReadName(reader, item, "tag"));
  PTPKG_TRY(git.branch, ReadName(reader, item, "branch"));
  PTPKG_TRY(git.rev, ReadName(reader, item, "rev"));
  if (const Node* depth = item.Find("depth")) {
    PTPKG_TRY(git.depth, reader.ReadCount(*depth, "source.depth"));
    constexpr std::uint64_t kMostCommits = 0x7fffffff;  // which git takes for all of them
    if (git.depth == 0 || git.depth > kMostCommits) {
      return InvalidGit(fmt::format("'source.depth' is a number of commits from 1 to {}", kMostCommits),
                        depth->span);
    }
  }
  PTPKG_TRY(git.lfs, reader.BoolOf(&item, "lfs", false));
  PTPKG_TRY(git.submodules, reader.BoolOf(&item, "submodules", true));
  PTPKG_TRY(git.expected_commit, ReadCommit(reader, item));
  // Known without the server; a tag or branch is compared once it is fetched.
  if (IsCommitId(git.rev) && !git.expected_commit.empty() && git.rev != git.expected_commit) {
    return InvalidGit("'source.rev' and 'source.expected_commit' name different commits", item.span);
  }
  return git;
}

}  // namespace ptpkg::recipe
