#pragma once
// Plans the jobs of one recipe in a CI workflow. Layer: pipeline, internal to `ptpkg ci`.

#include <set>
#include <string>
#include <vector>

#include "ci/workflow.h"
#include "pipeline/commands/ci.h"
#include "pipeline/plan/variant_groups.h"

namespace ptpkg::pipeline {

/// Inputs that are the same for all recipes.
struct CiInputs {
  Env& env;
  const CiRequest& request;
  const AbsPath& root;              ///< The repository.
  std::vector<std::string> common;  ///< Arguments of `ptpkg build` in all jobs.
};

/// A recipe with all its variants.
struct CiRecipe {
  std::string word;  ///< Its path, as an argument.
  std::string name;  ///< For people.
  std::vector<recipe::Recipe> recipes;
  std::vector<VariantGroup> groups;  ///< Groups of `recipes`, one for each job.
};

/// Renders the recipe at `path`. Warns of local sources that do not exist, once for all recipes: `seen` holds
/// the sources of earlier calls. Errors: as Render, GroupVariants and CommandWord; kInvalidInput for a recipe
/// that makes no package.
Result<CiRecipe> ReadCiRecipe(const CiInputs& inputs, const AbsPath& path, std::set<AbsPath>& seen);

struct PlannedStage {
  ci::Stage stage;
  std::vector<CiJob> jobs;       ///< The same jobs, for CiOutcome.
  std::set<const CiRule*> used;  ///< Rules of the request that fit a job.
};

/// The jobs of the `number`-th recipe, from 1. `ids` holds the ids of earlier jobs.
/// Errors: kInvalidInput, kUsage for an argument that no job can have.
Result<PlannedStage> PlanStage(const CiInputs& inputs, const CiRecipe& recipe, std::size_t number,
                               std::set<std::string>& ids);

/// "--source=NAME=VALUE" with a VALUE that a job finds. Errors: kUsage, kInvalidInput; as
/// source::ParseOverride.
Result<std::string> SourceWord(Env& env, const AbsPath& root, const std::string& name,
                               const std::string& value);

/// The text of the last rule for all jobs; "": none.
std::string TextForAll(const std::vector<CiRule>& rules);

/// "self-hosted,gpu" → its labels; "" → none. Errors: kUsage for an empty label.
Result<std::vector<std::string>> ParseLabels(const std::string& text);

/// `text` with '_' for all but letters, digits, '.', '_' and '-'.
std::string IdText(std::string_view text);

}  // namespace ptpkg::pipeline
