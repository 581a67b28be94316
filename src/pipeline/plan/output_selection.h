#pragma once
// Selects the packages that a recipe makes. Layer: pipeline.

#include <string>
#include <vector>

#include "pipeline/plan/build_plan.h"
#include "recipe/recipe.h"

namespace ptpkg::pipeline {

struct OutputSelection {
  std::vector<std::string> conda = {};  ///< Published: "conda", "tar.bz2": in this order.
  bool wheel = false;
  bool wheel_named = false;  ///< By the recipe or the user: then it is an error when there is none.
  bool zip = false;
  bool for_others = false;  ///< Another recipe of the plan is built with its conda package.
  bool for_tests = false;   ///< Its tests run, and they run on the conda package.

  [[nodiscard]] bool Publishes() const { return !conda.empty() || wheel || zip; }
  /// Formats that the conda node makes, also for use in this plan alone. Empty: there is no such node.
  [[nodiscard]] std::vector<std::string> Packed() const;
};

/// Errors: kUsage with a hint when `recipe` makes none of the formats asked for, and no other recipe of the
/// plan needs it.
Result<OutputSelection> SelectOutputs(const BuildRequest& request, const recipe::Recipe& recipe,
                                      bool required_by_other);

/// True if `recipe` makes one of the requested formats; a request that names none asks for all.
bool MakesRequestedFormat(const BuildRequest& request, const recipe::Recipe& recipe);

}  // namespace ptpkg::pipeline
