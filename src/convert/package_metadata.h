#pragma once
// Derives package metadata from a recipe. Layer: convert.

#include <map>
#include <string>
#include <vector>

#include "conda/package.h"
#include "convert/tree/python_layout.h"
#include "recipe/package_output.h"
#include "wheel/wheel.h"

namespace ptpkg::convert {

/// info/index.json, info/about.json, info/tests and info/ptpkg.json of a package. `run_exports` come from
/// build and host packages.
conda::PackageMetadata CondaMetadataOf(const recipe::CondaOutput& output,
                                       const std::vector<std::string>& run_exports);

struct WheelDescription {
  wheel::CoreMetadata metadata = {};
  std::string metadata_text = {};  ///< WheelInput::metadata_text.
  wheel::Tag tag = {};
  bool root_is_purelib = false;
  std::map<std::string, std::string> dist_info = {};  ///< Files that the recipe adds to .dist-info.
};
/// The distribution of `prefix` that becomes the wheel: the only one, or the one among several that the
/// recipe names. Adds build.python.entry_points to its own. Errors: as FindDistribution and WithScripts.
Result<Distribution> DistributionOf(Env& env, const recipe::WheelOutput& output, const StagedTree& prefix);

/// METADATA and tag of the staged distribution, with the recipe's name and requirements applied, and
/// ptpkg.json. Errors: kInvalidInput when the distribution's version is not the recipe's, or WHEEL is
/// malformed.
Result<WheelDescription> WheelDescriptionOf(const recipe::WheelOutput& output,
                                            const Distribution& distribution);

/// ptpkg.json of a zip, if the recipe has content for it.
std::map<std::string, std::string> NoteFilesForZip(const recipe::ZipOutput& output);

/// Files of info/ for the .dist-info of a wheel made from the package: ptpkg.json.
std::map<std::string, std::string> NoteFilesForWheel(const conda::PackageInfo& info);

/// Tag and Root-Is-Purelib of a staged WHEEL file. Several tags become one compressed tag set. Errors:
/// kInvalidInput, also for tags that no such set can express without extra tags.
Result<WheelDescription> DescribeWheelFile(const Distribution& distribution);

}  // namespace ptpkg::convert
