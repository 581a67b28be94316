#pragma once
// Reads and writes info/paths.json. Layer: conda. Source: CEP 34.

#include <optional>
#include <vector>

#include "model/staged_tree.h"
#include "support/text/json_fwd.h"

namespace ptpkg::conda {

enum class FileMode : std::uint8_t { kText, kBinary };
std::string_view FileModeName(FileMode mode);  ///< "text", "binary".

enum class PathType : std::uint8_t { kHardLink, kSoftLink, kDirectory };

struct PathsEntry {
  std::string path;
  PathType type = PathType::kHardLink;
  Sha256 sha256;                 ///< For a symlink, of its target file; if it dangles, of no bytes.
  std::uint64_t size_bytes = 0;  ///< For a symlink, of the same file.
  std::string placeholder;       ///< "" = none.
  FileMode mode = FileMode::kText;
  bool no_link = false;
  bool has_digest = true;  ///< False in packages of paths_version 1 that leave it out.
};

/// Entries in the given order.
Json MakePathsJson(const std::vector<PathsEntry>& entries);

/// Errors: kInvalidInput for a paths_version other than 1, an unknown path_type or file_mode, and an invalid
/// digest. Also for a path that could leave the tree, a path below info/, and a duplicate path.
Result<std::vector<PathsEntry>> ParsePathsJson(const Json& document, std::string_view where);

/// The file that gives a symlink its size and digest in paths.json: the regular file inside `tree` that it
/// leads to. The path can go through links of links and of directories. nullptr when it leads to a directory,
/// nowhere, out of the tree, or in a circle. CEP 34 then requires the digest of no bytes and size 0
/// (conda-build utils.sha256_checksum).
const TreeEntry* LinkedFile(const StagedTree& tree, const TreeEntry& link);

}  // namespace ptpkg::conda
