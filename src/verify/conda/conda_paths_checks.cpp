// Each row of paths.json is compared with its file, and then the prefix in the file is replaced. The checks
// that follow see the tree of a user, in which a build path is a fault. At each installation, conda compares
// sizes, and rattler sizes and digests.

#include "verify/conda/conda_paths_checks.h"

#include <algorithm>
#include <fmt/core.h>
#include <set>

#include "conda/info/package_info.h"
#include "conda/info/paths_json.h"
#include "conda/info/prefix.h"
#include "verify/unreadable.h"

namespace ptpkg::verify {
namespace {

constexpr const char* kPathsFile = "info/paths.json";
// Pretended install prefix of the unpacked files: traces of the build prefix that are left after
// that would reach users.
// Short, so that it fits into the room of a placeholder.
constexpr std::string_view kInstallPrefix = "/conda";
// A shorter one refuses installation below deep directories (conda-build: DEFAULT_PREFIX_LENGTH).
constexpr std::size_t kPlaceholderLength = 255;
constexpr std::size_t kOldestPlaceholder = 32;  ///< For conda-build 1.

/// Appends to `findings`, as many of each kind as LimitedFindings lists.
class PathFindings {
 public:
  explicit PathFindings(std::vector<Finding>& findings) : limited_(findings) {}
  void Add(std::string_view id, Severity severity, std::string_view file, std::string message,
           std::string_view fix = kRebuildInfo) {
    limited_.Add({std::string(id), severity, std::string(file), std::move(message), std::string(fix)});
  }

 private:
  LimitedFindings limited_;
};

/// Compares kind, size and digest.
void CheckPathContent(const conda::PathsEntry& entry, const conda::WrittenFile& file,
                      PathFindings& findings) {
  const bool link = entry.type == conda::PathType::kSoftLink;
  if (link != file.symlink) {
    findings.Add("conda-paths-kind", Severity::kError, entry.path,
                 fmt::format("paths.json says {}, but the archive has a {}", link ? "symlink" : "file",
                             file.symlink ? "symlink" : "file"));
    return;
  }
  if (!entry.has_digest) {
    findings.Add("conda-paths-digest", Severity::kWarning, entry.path, "paths.json gives no size or digest");
    return;
  }
  // The digest of a link is that of its target; builders disagree on it and no installer compares it.
  if (link || (file.size_bytes == entry.size_bytes && file.sha256 == entry.sha256)) return;
  findings.Add(
      "conda-paths-digest", Severity::kError, entry.path,
      "size or digest of the file differs from paths.json",
      fmt::format("{}; the file has {} bytes with sha256 {}, the list says {} bytes with {}", kRebuildInfo,
                  file.size_bytes, file.sha256.Hex(), entry.size_bytes, entry.sha256.Hex()));
}

/// `mode`: of the file's content.
void CheckPlaceholder(const conda::PathsEntry& entry, conda::FileMode mode, PathFindings& findings) {
  if (mode == conda::FileMode::kBinary && entry.mode == conda::FileMode::kText) {
    findings.Add("conda-placeholder", Severity::kError, entry.path,
                 "file_mode is text but the file is binary: replacing the prefix would move its bytes",
                 "list the file with file_mode binary");
  }
  if (mode == conda::FileMode::kText && entry.mode == conda::FileMode::kBinary) {
    findings.Add(
        "conda-placeholder", Severity::kError, entry.path,
        "file_mode is binary but the file is text: conda leaves the placeholder, rattler pads it with NUL",
        "list the file with file_mode text");
  }
  if (entry.placeholder.ends_with('/')) {
    findings.Add("conda-placeholder", Severity::kError, entry.path,
                 "prefix_placeholder ends with '/', but its replacement does not",
                 "list the placeholder without the '/'");
  }
  if (entry.mode == conda::FileMode::kBinary && entry.placeholder.size() < kPlaceholderLength) {
    findings.Add(
        "conda-placeholder-short",
        entry.placeholder.size() < kOldestPlaceholder ? Severity::kError : Severity::kWarning, entry.path,
        fmt::format("the placeholder has {} characters: the package cannot be installed below longer paths",
                    entry.placeholder.size()),
        "build in a prefix of 255 characters");
  }
}

/// Checks an entry against its file in `payload`. Gives the mode of the placeholder in the file; nullopt if
/// there is none to replace.
Result<std::optional<conda::FileMode>> CheckPathsEntry(Env& env, const conda::PathsEntry& entry,
                                                       const CondaPayload& payload, PathFindings& findings) {
  std::optional<conda::FileMode> nothing;
  if (entry.type == conda::PathType::kDirectory) {
    findings.Add("conda-paths-folder", Severity::kError, entry.path,
                 "paths.json lists a directory, which makes conda's verification fail",
                 "put a placeholder file into the directory instead");
    return nothing;
  }
  const auto found = payload.files.find(entry.path);
  if (found == payload.files.end()) {
    findings.Add("conda-paths-absent", Severity::kError, entry.path,
                 "the file is listed in info/paths.json but missing");
    return nothing;
  }
  CheckPathContent(entry, found->second, findings);
  if (entry.placeholder.empty() || found->second.symlink) return nothing;
  PTPKG_TRY(const std::optional<conda::FileMode> mode,
            conda::DetectPlaceholder(env.fs, payload.folder / entry.path, entry.placeholder));
  if (!mode) {
    findings.Add("conda-placeholder", Severity::kWarning, entry.path,
                 "the file does not contain its prefix_placeholder",
                 "remove prefix_placeholder from the entry");
    return nothing;
  }
  CheckPlaceholder(entry, *mode, findings);
  return mode;
}

}  // namespace

Result<void> CheckCondaPaths(Env& env, const conda::PackageInfo& info, const CondaPayload& payload,
                             std::vector<Finding>& findings) {
  PathFindings limited(findings);
  if (!info.info_files.contains("paths.json")) {
    limited.Add("conda-paths-missing", Severity::kError, kPathsFile, "the package has no list of its files");
    return Ok();
  }
  const auto paths = conda::ParsePathsJson(info.paths, kPathsFile);
  if (!paths) {
    limited.Add("conda-paths-invalid", Severity::kError, kPathsFile, paths.error().message());
    return Ok();
  }
  const bool sorted = std::is_sorted(paths->begin(), paths->end(), [](const auto& left, const auto& right) {
    return left.path < right.path;
  });
  if (!sorted) {
    limited.Add("conda-paths-order", Severity::kInfo, kPathsFile, "the entries are not sorted by path");
  }
  std::set<std::string> listed;
  for (const conda::PathsEntry& entry : *paths) {
    listed.insert(entry.path);
    PTPKG_TRY(const auto placeholder, CheckPathsEntry(env, entry, payload, limited));
    if (!placeholder) continue;
    if (auto replaced = conda::ReplacePrefix(env.fs, payload.folder / entry.path, entry, kInstallPrefix);
        !replaced) {
      // The package is at fault, not this machine: the file is too large for a text, for instance.
      PTPKG_CHECK(UnreadableFinding(std::move(replaced).error(), findings));
    }
  }
  for (const auto& [path, file] : payload.files) {
    if (listed.contains(path)) continue;
    limited.Add("conda-paths-unlisted", Severity::kError, path, "the file is not listed in info/paths.json");
  }
  return Ok();
}

}  // namespace ptpkg::verify
