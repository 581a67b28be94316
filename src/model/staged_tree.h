#pragma once
// Tree of files with digests, as staged by a build. Layer: model. build/ makes it, elf/ edits copies of it,
// conda/ and wheel/ pack it.

#include <string>
#include <vector>

#include "support/digest/hash.h"
#include "support/env.h"

namespace ptpkg {

struct TreeEntry {
  RelPath path;
  FileKind kind = FileKind::kRegular;  ///< kRegular or kSymlink. Directories exist through their members.
  std::uint32_t mode = 0644;           ///< Regular files: 0644 or 0755, normalised.
  std::uint64_t size_bytes = 0;        ///< Regular files.
  Sha256 sha256 = {};                  ///< Regular files: of the content.
  std::string link_target = {};        ///< Symlinks: the text of the link.

  bool operator==(const TreeEntry&) const = default;
};

/// Entries are sorted by path, byte-wise, without duplicates. No symlink leaves the tree, except to
/// ScanOptions::allowed_link_roots.
struct StagedTree {
  AbsPath root = AbsPath::Literal("/nonexistent");
  std::vector<TreeEntry> entries = {};

  [[nodiscard]] const TreeEntry* Find(std::string_view path) const;
  [[nodiscard]] std::uint64_t TotalBytes() const;
};

struct ScanOptions {
  /// Symlinks may point here too (absolute targets below a host prefix, say).
  std::vector<AbsPath> allowed_link_roots = {};
  /// False: digests stay zero, no file is read. For readers that look at a few pages of large files.
  bool hash = true;
};

/// Lists and hashes (in parallel, env.jobs) everything below `root`. Mode: 0755 if the owner can execute the
/// file, else 0644. Errors: kInvalidInput for a socket, device or fifo, for an absolute symlink or one that
/// leaves the tree, and for a name that is not valid UTF-8. Also kInvalidInput for a leftover of a killed
/// ptpkg call (".ptpkg-" in its name).
Result<StagedTree> ScanTree(Env& env, const AbsPath& root, const ScanOptions& options = {});

/// Digest over all entries (path, kind, mode, content or target), independent of the root.
Sha256 TreeDigest(const StagedTree& tree);

}  // namespace ptpkg
