#pragma once
// Packs an unpacked wheel or an installed prefix as a wheel. Layer: convert.

#include <string>

#include "convert/package_metadata.h"
#include "convert/tree/wheel_tree.h"
#include "elf/edit/relink_tree.h"

namespace ptpkg::convert {

/// Whether `folder` is one of those: a *.dist-info/METADATA lies at its top, or where a prefix has it.
/// Reads no file. Errors: kIo.
Result<bool> ContainsDistribution(Env& env, const AbsPath& folder);

/// Whether one .dist-info lies at the top of `tree`, of which digests are not looked at.
bool IsUnpackedWheel(const StagedTree& tree);

struct TreeToWheelOptions {
  std::string layout = {};        ///< Name of a built-in search-path layout; "" = none.
  std::string distribution = {};  ///< Which of several .dist-info of a prefix; "" = the only one.
};

struct TreeAsWheel {
  WheelDescription description = {};
  std::string build = {};         ///< Of WHEEL, "" = none.
  std::string entry_points = {};  ///< Text of entry_points.txt, "" if none.
  WheelTree tree = {};
  bool relink =
      false;  ///< Whether `relink_options` are to be carried out; the files of `tree` may be edited then.
  elf::RelinkOptions relink_options = {};
};

/// Of an unpacked wheel all files beside its .dist-info are payload and lie where they lay, unless `options`
/// name a layout; RECORD and what installers leave are made anew or left out. Of a prefix the files of the
/// distribution are linked into the existing, empty folder `root` as MakeWheelTree has them, and search paths
/// below the prefix become relative. Digests of `tree` are only needed for a prefix, or with a layout.
/// Errors: kNotFound and kInvalidInput (no distribution, several of them), kNotFound (layout), those of
/// DescribeWheelFile, MakeWheelTree and ParseCoreMetadata.
Result<TreeAsWheel> ConvertTreeToWheel(Env& env, const StagedTree& tree, const TreeToWheelOptions& options,
                                       const AbsPath& root);

}  // namespace ptpkg::convert
