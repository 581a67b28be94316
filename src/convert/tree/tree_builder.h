#pragma once
// Builds new trees from existing files, with hard links. Layer: convert. Files are hard links until somebody
// changes one: elf/ splits a link before it writes.

#include <map>
#include <string>

#include "model/staged_tree.h"
#include "support/env.h"

namespace ptpkg::convert {

class TreeBuilder {
 public:
  /// `root` must exist and be empty.
  TreeBuilder(Env& env, AbsPath root) : env_(env), root_(std::move(root)) {}

  /// Adds `entry` of `from` under `path`. Its digest and size are taken over, nothing is read.
  /// Errors: kAlreadyExists for a path already added, below one, or above one; kIo.
  Result<void> Link(const StagedTree& from, const TreeEntry& entry, const RelPath& path);
  /// Adds a copy of the regular file `entry` of `from`, for a mode of its own. Same errors.
  Result<void> Copy(const StagedTree& from, const TreeEntry& entry, const RelPath& path, std::uint32_t mode);
  /// Adds a generated file. Same errors.
  Result<void> AddText(const RelPath& path, std::string_view text, std::uint32_t mode = 0644);
  /// The finished tree, sorted.
  StagedTree Finish() &&;

 private:
  Result<void> Reserve(const RelPath& path);

  Env& env_;
  AbsPath root_;
  std::map<std::string, TreeEntry> entries_;  // by path
};

/// Adds a generated file to a finished tree, on disk and in its entries, in order.
/// Errors: kAlreadyExists, kIo.
Result<void> AddTextToTree(Env& env, StagedTree& tree, const RelPath& path, std::string_view text);

}  // namespace ptpkg::convert
