#pragma once
// Builds the content of a plain zip. Layer: convert.

#include <optional>
#include <string>

#include "model/staged_tree.h"
#include "recipe/package_output.h"
#include "support/env.h"

namespace ptpkg::convert {

struct ZipTree {
  /// Paths below the directory that holds everything. Without symlinks: a copy of the target takes the link's
  /// name, because Windows and Python's zipfile unpack a symlink as a text.
  StagedTree tree;
  std::string root;  ///< Directory of the prefix that the paths are below; "" = the prefix.
};

/// The path in the zip of the prefix file at `path`, below the zip's top directory; nullopt if `part` does
/// not include it.
std::optional<std::string> PlaceInZip(const recipe::ZipPart& part, const RelPath& path);

/// Links the files of `prefix` that `output.zip` selects into the existing, empty directory `root`. Adds its
/// texts, and ptpkg's own record of the recipe (model/package_note.h). Leaves out conda's own files
/// (conda-meta/). Warns of a glob of `files` that matches nothing. Errors:
/// - kNotFound: nothing is left
/// - kInvalidInput: a symlink that leads to no file of `prefix`, a root in the site-packages of two Pythons
/// - kAlreadyExists: a text with the name of a file or a directory, or below a file
/// - kIo
Result<ZipTree> MakeZipTree(Env& env, const StagedTree& prefix, const recipe::ZipOutput& output,
                            const AbsPath& root);

}  // namespace ptpkg::convert
