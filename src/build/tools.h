#pragma once
// The machine's tools for one recipe: found, or reported by name. Layer: build.

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "build/python.h"
#include "recipe/recipe.h"
#include "support/env.h"

namespace ptpkg::build {

struct Tool {
  std::string requirement;
  AbsPath path = AbsPath::Literal("/nonexistent");
  std::string variable;  ///< "CC", "CXX", …; "" = none.
};

/// One requirement that the machine does not meet.
struct MissingTool {
  std::string requirement;     ///< "ninja", "setuptools >=77"
  std::string reason;          ///< "program 'ninja' is not on PATH"
  std::string debian_package;  ///< "" if none is known.
  std::string python_package;  ///< "" unless it is one.
  std::string python;          ///< The interpreter that lacks the package.
};

struct ToolSet {
  std::vector<Tool> tools;
  std::optional<Python> python;  ///< Set when the recipe requires Python and one was found.
  std::vector<MissingTool> missing;
  /// dpkg's file lists of the recipe's system packages: their times tell when a package was changed.
  std::vector<AbsPath> debian_records;
};

/// Looks for everything that `recipe` requires for build and host, but the names in `provided` (packages
/// of our own channel), on PATH of env.variables and in the usual include folders; then for the Debian
/// packages of extra.ptpkg.system_packages, on machines that have dpkg.
/// Errors: kCancelled, kIo; a tool that is not there is no error here.
Result<ToolSet> FindTools(Env& env, const recipe::Recipe& recipe, const std::set<std::string>& provided);

/// All of `missing` as one kNotFound error with the commands that install them. REQUIRES: not empty.
Error MissingToolsError(const recipe::Recipe& recipe, const std::vector<MissingTool>& missing);

/// "3.11" when the recipe is for that Python: from the variant, else from its host or build
/// requirement; "" when it does not say.
std::string WantedPython(const recipe::Recipe& recipe);

}  // namespace ptpkg::build
