#pragma once
// Builds the payload of a wheel. Layer: convert.

#include "convert/tree/python_layout.h"
#include "wheel/wheel.h"

namespace ptpkg::convert {

struct WheelTree {
  StagedTree payload;                            ///< Paths as in the wheel, without .dist-info.
  std::map<std::string, std::string> dist_info;  ///< Further files of .dist-info: licenses, top_level.txt, …
};

struct WheelTreeOptions {
  std::string stem = {};                  ///< "toy-1.0" of the wheel; "" = the .dist-info's.
  std::vector<std::string> exclude = {};  ///< Globs of prefix paths.
  /// Text that replaces the prefix in files: conda's placeholder, or the build's. A file of bin/ whose first
  /// line names an interpreter below it gets "#!python", which installers replace.
  std::string prefix_placeholder = {};
};

/// Links `prefix` into `root`. site-packages become the wheel's top, and bin/ (python-scripts/ of a noarch
/// package) goes to .data/scripts, without scripts that an entry point makes. Everything else goes to
/// .data/data. Leaves out conda's own files (conda-meta/) and files recorded by other distributions of the
/// prefix. Links in bin/ become copies. A link that leads to no file is left out with a warning.
Result<WheelTree> MakeWheelTree(Env& env, const StagedTree& prefix, const Distribution& distribution,
                                const WheelTreeOptions& options, const AbsPath& root);

}  // namespace ptpkg::convert
