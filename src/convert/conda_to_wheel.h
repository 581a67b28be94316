#pragma once
// Converts a conda package into a wheel. Layer: convert.

#include <string>

#include "conda/package.h"
#include "convert/package_metadata.h"
#include "convert/tree/python_layout.h"
#include "convert/tree/wheel_tree.h"
#include "elf/edit/relink_tree.h"

namespace ptpkg::convert {

struct CondaToWheelOptions {
  std::string layout = {};        ///< Name of a built-in search-path layout; "" = by the distribution's name.
  std::string distribution = {};  ///< Which of several .dist-info; "" = the only one.
};

struct CondaAsWheel {
  WheelDescription description = {};
  std::string entry_points = {};  ///< Text of entry_points.txt, "" if none.
  WheelTree tree = {};
  elf::RelinkOptions relink = {};
  std::string placeholder =
      {};  ///< The package's prefix placeholder, "" without one. No file of a wheel may hold it.
};

/// Links the unpacked package `prefix` (as packed, with placeholders) into the existing, empty directory
/// `root` in the layout of a wheel. Errors: as FindDistribution, DescribeWheelFile and MakeWheelTree;
/// kNotFound (layout).
Result<CondaAsWheel> ConvertCondaToWheel(Env& env, const StagedTree& prefix, const conda::PackageInfo& info,
                                         const CondaToWheelOptions& options, const AbsPath& root);

}  // namespace ptpkg::convert
