#pragma once
// Packs an unpacked wheel or an installed prefix as a wheel. Layer: convert.

#include <string>

#include "convert/package_metadata.h"
#include "convert/tree/wheel_tree.h"
#include "elf/edit/relink_tree.h"

namespace ptpkg::convert {

/// True if `folder` holds a distribution: a *.dist-info/METADATA at its top, or in a prefix's site-packages.
/// Reads no file. Errors: kIo.
Result<bool> ContainsDistribution(Env& env, const AbsPath& folder);

/// True if `tree` has exactly one .dist-info at its top; does not read the digests.
bool IsUnpackedWheel(const StagedTree& tree);

struct TreeToWheelOptions {
  std::string layout = {};        ///< Name of a built-in search-path layout; "" = none.
  std::string distribution = {};  ///< The one to take if a prefix has several .dist-info; "" = the only one.
};

struct TreeAsWheel {
  WheelDescription description = {};
  std::string build = {};         ///< Build tag in WHEEL, "" = none.
  std::string entry_points = {};  ///< Text of entry_points.txt, "" if none.
  WheelTree tree = {};
  bool relink = false;  ///< Apply `relink_options`, which can edit the files of `tree`.
  elf::RelinkOptions relink_options = {};
};

/// In an unpacked wheel, all files next to its .dist-info are payload. They keep their place, unless
/// `options` name a layout. RECORD and installers' files are regenerated or left out. From a prefix,
/// MakeWheelTree links the files of the distribution into the existing, empty directory `root`, and search
/// paths below the prefix become relative. Digests of `tree` are needed only for a prefix, or with a layout.
/// Errors: kNotFound and kInvalidInput (no distribution, several of them), kNotFound (layout), as
/// DescribeWheelFile, MakeWheelTree and ParseCoreMetadata.
Result<TreeAsWheel> ConvertTreeToWheel(Env& env, const StagedTree& tree, const TreeToWheelOptions& options,
                                       const AbsPath& root);

}  // namespace ptpkg::convert
