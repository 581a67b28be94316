#pragma once
// Packs an unpacked wheel or an installed prefix as a wheel. Layer: convert.

#include <string>

#include "convert/package_metadata.h"
#include "convert/tree/wheel_tree.h"
#include "elf/edit/relink_tree.h"

namespace ptpkg::convert {

/// True if `folder` holds a distribution: a *.dist-info/METADATA at its top, or where a prefix has it.
/// Reads no file. Errors: kIo.
Result<bool> ContainsDistribution(Env& env, const AbsPath& folder);

/// True if exactly one .dist-info lies at the top of `tree`, whose digests are not read.
bool IsUnpackedWheel(const StagedTree& tree);

struct TreeToWheelOptions {
  std::string layout = {};        ///< Name of a built-in search-path layout; "" = none.
  std::string distribution = {};  ///< Which of several .dist-info of a prefix; "" = the only one.
};

struct TreeAsWheel {
  WheelDescription description = {};
  std::string build = {};         ///< Build tag in WHEEL, "" = none.
  std::string entry_points = {};  ///< Text of entry_points.txt, "" if none.
  WheelTree tree = {};
  bool relink = false;  ///< Whether to apply `relink_options`; the files of `tree` may be edited then.
  elf::RelinkOptions relink_options = {};
};

/// In an unpacked wheel, all files beside its .dist-info are payload and keep their place, unless `options`
/// name a layout; RECORD and what installers leave are made anew or left out. Of a prefix the files of the
/// distribution are linked into the existing, empty directory `root` as MakeWheelTree has them, and search
/// paths below the prefix become relative. Digests of `tree` are only needed for a prefix, or with a layout.
/// Errors: kNotFound and kInvalidInput (no distribution, several of them), kNotFound (layout), those of
/// DescribeWheelFile, MakeWheelTree and ParseCoreMetadata.
Result<TreeAsWheel> ConvertTreeToWheel(Env& env, const StagedTree& tree, const TreeToWheelOptions& options,
                                       const AbsPath& root);

}  // namespace ptpkg::convert
