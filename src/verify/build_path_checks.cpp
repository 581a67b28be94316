#include "verify/build_path_checks.h"

#include <array>
#include <fmt/core.h>

#include "conda/byte_search.h"
#include "support/parallel.h"

namespace ptpkg::verify {
namespace {

/// A character that would make the text before it part of a longer name.
bool ContinuesName(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

/// What differs from file to file stands in the fix, so that equal messages can be counted together.
Finding Found(const TreeEntry& entry, const std::string& path, std::string_view where,
              std::string_view first = "") {
  return {
      "artifact-build-path", Severity::kError, entry.path.str(),
      fmt::format("the build path '{}' occurs in the {}", path, where),
      fmt::format("build with a prefix map (-ffile-prefix-map), or have the file rewritten before packing{}",
                  first)};
}

/// The offset of the first occurrence of each path that ends there.
Result<void> SearchContent(Env& env, const AbsPath& file, const std::vector<std::string>& paths,
                           std::vector<std::optional<std::uint64_t>>& first) {
  PTPKG_TRY(const std::unique_ptr<File> handle, env.fs.Open(file, OpenMode::kRead));
  Result<void> failure = Ok();
  const auto on_hit = [&](const conda::SearchHit& hit) {
    if (first[hit.needle]) return true;
    std::array<std::byte, 1> next{};
    const Result<std::size_t> got = handle->ReadAt(hit.offset + paths[hit.needle].size(), next);
    if (!got) {
      failure = got.error();
      return false;
    }
    if (*got == 0 || !ContinuesName(static_cast<char>(next[0]))) first[hit.needle] = hit.offset;
    return true;
  };
  PTPKG_CHECK(conda::SearchFile(env.fs, file, paths, on_hit));
  return failure;
}

Result<void> SearchEntry(Env& env, const StagedTree& tree, const TreeEntry& entry,
                         const std::vector<std::string>& paths, std::vector<Finding>& findings) {
  if (entry.kind == FileKind::kSymlink) {
    for (const std::string& path : paths) {
      if (entry.link_target == path || entry.link_target.starts_with(path + "/")) {
        findings.push_back(Found(entry, path, "link's target"));
      }
    }
    return Ok();
  }
  std::vector<std::optional<std::uint64_t>> first(paths.size());
  PTPKG_CHECK(SearchContent(env, tree.root / entry.path, paths, first));
  for (std::size_t i = 0; i < paths.size(); ++i) {
    if (first[i])
      findings.push_back(Found(entry, paths[i], "file", fmt::format("; it is at byte {}", *first[i])));
  }
  return Ok();
}

}  // namespace

Result<void> CheckBuildPaths(Env& env, const StagedTree& tree,
                             const std::vector<std::string>& forbidden_paths,
                             std::vector<Finding>& findings) {
  std::vector<std::string> paths;
  for (std::string path : forbidden_paths) {
    while (path.size() > 1 && path.back() == '/') path.pop_back();
    // "/" and "" would be found everywhere and say nothing.
    if (path.size() > 1) paths.push_back(std::move(path));
  }
  if (paths.empty()) return Ok();
  std::vector<std::vector<Finding>> found(tree.entries.size());
  const auto search = [&](std::size_t i) -> Result<void> {
    PTPKG_CHECK(env.cancel.Check());
    return SearchEntry(env, tree, tree.entries[i], paths, found[i]);
  };
  PTPKG_CHECK(ParallelFor(env.jobs, tree.entries.size(), search));
  for (std::vector<Finding>& of_entry : found) {
    findings.insert(findings.end(), std::make_move_iterator(of_entry.begin()),
                    std::make_move_iterator(of_entry.end()));
  }
  return Ok();
}

}  // namespace ptpkg::verify
