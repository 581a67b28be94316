#pragma once
// What packages say about themselves, derived from a recipe. Layer: convert.

#include <map>
#include <string>
#include <vector>

#include "conda/package.h"
#include "convert/python_layout.h"
#include "recipe/recipe.h"
#include "wheel/wheel.h"

namespace ptpkg::convert {

/// info/index.json, info/about.json and info/ptpkg.json of a recipe. `run_exports` come from packages of
/// build and host. A bare "python" in run gets the variant's version as ">=3.11,<3.12.0a0", as conda-build's
/// pin_run_as_build does.
conda::PackageMetadata CondaMetadataOf(const recipe::Recipe& recipe,
                                       const std::vector<std::string>& run_exports);

struct WheelDescription {
  wheel::CoreMetadata metadata = {};
  wheel::Tag tag = {};
  bool root_is_purelib = false;
  std::map<std::string, std::string> dist_info = {};  ///< Files that the recipe adds to .dist-info.
};
/// METADATA and tag of the staged distribution, with the recipe's name and requirements applied; ptpkg.json.
/// Errors: kInvalidInput when the distribution's version is not the recipe's, or WHEEL is malformed.
Result<WheelDescription> WheelDescriptionOf(const recipe::Recipe& recipe, const Distribution& distribution);

/// Files of info/ that go into the .dist-info of a wheel made of the package: ptpkg.json.
std::map<std::string, std::string> CarriedNotes(const conda::PackageInfo& info);

/// Tag and Root-Is-Purelib of a staged WHEEL file. Several tags become one compressed tag set.
/// Errors: kInvalidInput.
Result<WheelDescription> DescribeWheelFile(const Distribution& distribution);

}  // namespace ptpkg::convert
