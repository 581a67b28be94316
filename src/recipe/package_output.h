#pragma once
// Part of a recipe that affects packaging. Layer: recipe.
//
// Packing decodes nothing else of the evaluated recipe, so another field can reach a package only in the
// staged tree or as text of the rendered recipe. A field that is forgotten here fails to compile where it is
// read. Wheel and zip need fewer fields. A new build number, another test, or another `about` except its
// `license_file` does not change a wheel. A zip also does not depend on the version, unless its name has it.

#include <cstdint>
#include <string>
#include <vector>

#include "recipe/recipe.h"

namespace ptpkg::recipe {

struct CondaOutput {
  std::string name = {};
  std::string version = {};
  std::uint64_t build_number = 0;
  std::string build_string = {};
  std::string subdir = {};
  JsonBox hash_input = {};
  bool noarch_python = false;
  bool python_version_independent = false;
  std::vector<std::string> python_entry_points = {};
  std::vector<std::string> track_features = {};
  std::vector<std::string> always_copy_files = {};
  DynamicLinking dynamic_linking = {};
  PrefixDetection prefix_detection = {};
  std::vector<MatchSpec> run = {};
  std::vector<MatchSpec> run_constraints = {};
  RunExports run_exports = {};
  About about = {};
  Layout layout = {};                              ///< extra.ptpkg.layouts.conda; empty: none.
  std::vector<std::string> allow_unresolved = {};  ///< See PtpkgExtra.
  std::vector<std::string> device_code = {};       ///< See PtpkgExtra.
  /// Texts of the same names in info/recipe and info/tests, ready to be packed. `tests_yaml` is in the form
  /// of rattler-build, and empty without tests that an installed package can run.
  std::string rendered_recipe_yaml = {};
  std::string variant_config_yaml = {};
  std::string tests_yaml = {};
};

struct WheelOutput {
  std::string version = {};
  std::string subdir = {};
  std::vector<std::string> python_entry_points = {};
  std::string wheel_name = {};  ///< These six as in PtpkgExtra.
  std::vector<std::string> wheel_requires = {};
  std::vector<std::string> wheel_exclude = {};
  std::string wheel_repair = {};
  std::vector<std::string> allow_unresolved = {};
  std::vector<std::string> device_code = {};
  Layout layout = {};  ///< extra.ptpkg.layouts.wheel; empty: none.
};

struct ZipOutput {
  ZipPart zip = {};  ///< These three as in PtpkgExtra.
  std::vector<std::string> allow_unresolved = {};
  std::vector<std::string> device_code = {};
  Layout layout = {};  ///< extra.ptpkg.layouts.zip; empty: none.
};

CondaOutput CondaOutputOf(const Recipe& recipe);
WheelOutput WheelOutputOf(const Recipe& recipe);
ZipOutput ZipOutputOf(const Recipe& recipe);

}  // namespace ptpkg::recipe
