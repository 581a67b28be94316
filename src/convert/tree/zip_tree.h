#pragma once
// Builds the content of a plain zip. Layer: convert.

#include <optional>
#include <string>

#include "model/staged_tree.h"
#include "recipe/package_output.h"
#include "support/env.h"

namespace ptpkg::convert {

struct ZipTree {
  /// Paths below the directory that holds everything. Without symlinks: the files that they lead to have
  /// their names, because Windows and Python's zipfile unpack a symlink as a text.
  StagedTree tree;
  std::string root;  ///< Directory of the prefix that the paths are below; "" = the prefix.
};

/// The path that the file of the prefix at `path` has in the zip, below its top directory; nullopt: `part`
/// does not take it.
std::optional<std::string> PlaceInZip(const recipe::ZipPart& part, const RelPath& path);

/// Links what `output.zip` takes of `prefix` into the existing, empty directory `root`, and adds its texts
/// and what ptpkg itself has to remember of the recipe (model/package_note.h). conda's own files
/// (conda-meta/) are left out. A glob of `files` that matches nothing is warned of. Errors: kNotFound when
/// nothing is left; kInvalidInput for a symlink that leads to no file of `prefix`, for a root in the
/// site-packages of two Pythons; kAlreadyExists for a text with the name of a file or a directory, or below a
/// file; kIo.
Result<ZipTree> MakeZipTree(Env& env, const StagedTree& prefix, const recipe::ZipOutput& output,
                            const AbsPath& root);

}  // namespace ptpkg::convert
