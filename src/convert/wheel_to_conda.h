#pragma once
// Converts a wheel into a conda package. Layer: convert.

#include <string>
#include <vector>

#include "conda/package.h"
#include "elf/edit/relink_tree.h"
#include "wheel/wheel.h"

namespace ptpkg::convert {

struct WheelToCondaOptions {
  std::string layout = {};        ///< Name of a built-in search-path layout; "" = by the distribution's name.
  std::string build_string = {};  ///< "" = derived: "py311_0", or by the project's custom (projects.h).
  std::uint64_t build_number = 0;
  std::string python = "3.11";  ///< Selects the site-packages for a wheel that fits several versions (abi3).
};

struct WheelAsConda {
  conda::PackageMetadata metadata = {};
  StagedTree tree = {};            ///< The files in conda's layout; RECORD is still missing.
  std::string placeholder = {};    ///< Placeholder for the prefix in generated scripts.
  elf::RelinkOptions relink = {};  ///< The search paths of the layout.
  std::vector<std::string> unknown_requirements = {};  ///< Kept under their own names.
};

/// Links the unpacked wheel into the existing, empty directory `root` in conda's layout, with dependencies
/// from data/conda_names.yaml and licences from .dist-info. Errors: as TargetOf, MapRequirements and
/// MakeCondaTreeOfWheel; kNotFound (layout).
Result<WheelAsConda> ConvertWheelToConda(Env& env, const wheel::UnpackedWheel& unpacked,
                                         const WheelToCondaOptions& options, const AbsPath& root);

}  // namespace ptpkg::convert
