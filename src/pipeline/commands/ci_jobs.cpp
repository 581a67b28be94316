#include "pipeline/commands/ci_jobs.h"

#include <algorithm>
#include <fmt/core.h>

#include "pipeline/commands/ci_workflow.h"
#include "pipeline/commands/render.h"
#include "recipe/document/document.h"
#include "source/override.h"
#include "source/prepare.h"
#include "support/digest/hash.h"
#include "support/reporter.h"
#include "support/text/display_text.h"
#include "support/text/text.h"

namespace ptpkg::pipeline {
namespace {

constexpr std::size_t kIdLength = 60;

std::string CommonName(const std::vector<recipe::Recipe>& recipes) {
  const recipe::Recipe& first = recipes.front();
  if (!first.recipe_name.empty()) return first.recipe_name;
  const bool one = std::all_of(recipes.begin(), recipes.end(),
                               [&](const recipe::Recipe& recipe) { return recipe.name == first.name; });
  return one ? first.name : std::string(first.recipe_dir.Name());
}

/// True if one of the variants of `group` has the rule's value.
bool Fits(const CiRule& rule, const CiRecipe& recipe, const VariantGroup& group) {
  return rule.key.empty() || std::any_of(group.recipes.begin(), group.recipes.end(), [&](std::size_t i) {
           const auto found = recipe.recipes[i].variant.find(rule.key);
           return found != recipe.recipes[i].variant.end() && found->second == rule.value;
         });
}

/// True if --source takes the place of the first source.
bool IsReplaced(const CiRequest& request, const recipe::Recipe& recipe) {
  return std::any_of(request.sources.begin(), request.sources.end(),
                     [&](const auto& source) { return source::OverrideApplies(recipe, source.first); });
}

/// A job has what the repository has: refuses sources outside it, and warns of sources that do not exist.
Result<void> LookAtSources(const CiInputs& inputs, const recipe::Recipe& recipe, std::set<AbsPath>& seen) {
  for (const recipe::Recipe* part = &recipe; part != nullptr; part = part->inherited.get()) {
    for (const recipe::Source& source : part->sources) {
      const bool replaced = &source == &part->sources.front() && IsReplaced(inputs.request, *part);
      if (source.path.empty() || replaced) continue;
      PTPKG_TRY(const AbsPath path, AbsPath::Resolve(part->recipe_dir, source.path));
      if (!seen.insert(path).second) continue;
      PTPKG_CHECK(CommandWord(path, inputs.root),
                  fmt::format("while looking for a source of '{}'", part->name));
      PTPKG_TRY(const bool there, Exists(inputs.env.fs, path));
      if (there) continue;
      inputs.env.reporter.Warn(fmt::format(
          "the source '{}' of '{}' does not exist here: jobs need it in the repository, or --source",
          path.str(), part->name));
    }
  }
  return Ok();
}

/// Adds the --source arguments for this job: `ptpkg build` takes no others.
Result<void> AddSources(const CiInputs& inputs, const CiRecipe& recipe, const VariantGroup& group,
                        std::vector<std::string>& arguments) {
  std::vector<recipe::Recipe> own;
  if (!inputs.request.sources.empty()) {
    for (const std::size_t i : group.recipes) own.push_back(recipe.recipes[i]);
  }
  for (const auto& [name, value] : inputs.request.sources) {
    BuildRequest one;
    PTPKG_CHECK(AddSource(inputs.env, name, value, one));
    if (!CheckSources(one, own)) continue;
    PTPKG_TRY(const std::string word, SourceWord(inputs.env, inputs.root, name, value));
    arguments.push_back(word);
  }
  return Ok();
}

/// Adds the arguments that select the variants of `group`, and their values to the title.
Result<void> AddSelection(const CiInputs& inputs, const VariantGroup& group, ci::Job& job) {
  for (const auto& [key, value] : group.select) {
    PTPKG_CHECK(CheckSingleLine("the variant key", key));
    PTPKG_CHECK(CheckSingleLine(fmt::format("the value of the variant key '{}'", key), value));
    job.title += fmt::format(" {}={}", key, value);
    job.arguments.push_back(fmt::format("--select={}={}", key, value));
  }
  for (const auto& [key, values] : inputs.request.build.select) {
    if (group.select.contains(key)) continue;
    for (const std::string& value : values) {
      PTPKG_CHECK(CheckSingleLine("--select", value));
      job.arguments.push_back(fmt::format("--select={}={}", key, value));
    }
  }
  return Ok();
}

/// An id that no job of `ids` has. `begin`: "1-toytorch".
std::string UniqueId(const std::string& begin, const VariantGroup& group,
                     const std::vector<std::string>& arguments, const std::set<std::string>& ids) {
  std::string id = begin;
  for (const auto& [key, value] : group.select) id += "-" + IdText(value);
  // Not only where it is too long: other values may look the same.
  if (id.size() > kIdLength || ids.contains(id)) {
    id = id.substr(0, kIdLength) + "-" + HashText(Join(arguments, "\n")).Hex().substr(0, 8);
  }
  return id;
}

/// A job without id, and the rules that fit it.
struct JobWithRules {
  ci::Job job;
  std::vector<const CiRule*> rules;
};

Result<JobWithRules> JobOf(const CiInputs& inputs, const CiRecipe& recipe, const VariantGroup& group) {
  const CiRequest& request = inputs.request;
  ci::Job job{.id = "",
              .title = recipe.name,
              .arguments = {recipe.word},
              .image = TextForAll(request.images),
              .labels = {}};
  PTPKG_TRY(job.labels, ParseLabels(TextForAll(request.runners)));
  job.arguments.insert(job.arguments.end(), inputs.common.begin(), inputs.common.end());
  PTPKG_CHECK(AddSelection(inputs, group, job));
  PTPKG_CHECK(AddSources(inputs, recipe, group, job.arguments));
  std::vector<const CiRule*> rules;
  for (const CiRule& rule : request.images) {
    if (!Fits(rule, recipe, group)) continue;
    job.image = rule.text;
    rules.push_back(&rule);
  }
  for (const CiRule& rule : request.runners) {
    if (!Fits(rule, recipe, group)) continue;
    PTPKG_TRY(job.labels, ParseLabels(rule.text));
    rules.push_back(&rule);
  }
  return JobWithRules{.job = std::move(job), .rules = std::move(rules)};
}

}  // namespace

Result<CiRecipe> ReadCiRecipe(const CiInputs& inputs, const AbsPath& path, std::set<AbsPath>& seen) {
  const BuildRequest& build = inputs.request.build;
  PTPKG_TRY(
      std::vector<recipe::Recipe> recipes,
      Render(inputs.env, {.recipes = {path}, .variant_files = build.variant_files, .select = build.select}));
  const bool skipped =
      std::all_of(recipes.begin(), recipes.end(), [](const recipe::Recipe& recipe) { return recipe.skip; });
  if (skipped) {
    return Error(ErrorCode::kInvalidInput, fmt::format("'{}' makes no package, so it has no job", path.str()))
        .WithHint("list its variants: ptpkg render");
  }
  PTPKG_TRY(const recipe::Document document,
            recipe::LoadDocument(inputs.env.fs, recipes.front().recipe_file));
  PTPKG_TRY(std::vector<VariantGroup> groups,
            GroupVariants(recipes, document.root.Find("outputs") != nullptr));
  for (const recipe::Recipe& recipe : recipes) PTPKG_CHECK(LookAtSources(inputs, recipe, seen));
  PTPKG_TRY(std::string word, CommandWord(path, inputs.root));
  std::string name = CommonName(recipes);
  PTPKG_CHECK(CheckSingleLine("the recipe's name", name));
  return CiRecipe{.word = std::move(word),
                  .name = std::move(name),
                  .recipes = std::move(recipes),
                  .groups = std::move(groups)};
}

Result<PlannedStage> PlanStage(const CiInputs& inputs, const CiRecipe& recipe, std::size_t number,
                               std::set<std::string>& ids) {
  PlannedStage planned{.stage = {.recipe = recipe.name, .jobs = {}}, .jobs = {}, .used = {}};
  const std::string begin = fmt::format("{}-{}", number, IdText(recipe.name));
  for (const VariantGroup& group : recipe.groups) {
    PTPKG_TRY(JobWithRules made, JobOf(inputs, recipe, group));
    ci::Job& job = made.job;
    job.id = UniqueId(begin, group, job.arguments, ids);
    ids.insert(job.id);
    planned.used.insert(made.rules.begin(), made.rules.end());
    CiJob told{.id = job.id, .arguments = job.arguments, .packages = {}};
    for (const std::size_t i : group.recipes) told.packages.push_back(recipe.recipes[i].FileStem());
    planned.jobs.push_back(std::move(told));
    planned.stage.jobs.push_back(std::move(job));
  }
  return planned;
}

Result<std::string> SourceWord(Env& env, const AbsPath& root, const std::string& name,
                               const std::string& value) {
  PTPKG_CHECK(CheckSingleLine("--source", fmt::format("{}={}", name, value)));
  PTPKG_TRY(const source::Override taken, source::ParseOverride(env, value));
  if (const auto* path = std::get_if<AbsPath>(&taken)) {
    PTPKG_TRY(const std::string word, CommandWord(*path, root));
    return fmt::format("--source={}={}", name, word);
  }
  if (value.find("://") == std::string::npos) {
    return Error(ErrorCode::kUsage, fmt::format("--source '{}' is a repository on this machine", value))
        .WithHint("use one that jobs can reach: git+https://…@TAG");
  }
  if (!CredentialsIn(value).empty()) {
    return Error(ErrorCode::kUsage,
                 fmt::format("--source '{}' contains a user name or password, and workflows are public",
                             MaskCredentials(value)))
        .WithHint("remove it: git uses its credential helper");
  }
  return fmt::format("--source={}={}", name, value);
}

std::string TextForAll(const std::vector<CiRule>& rules) {
  std::string text;
  for (const CiRule& rule : rules) {
    if (rule.key.empty()) text = rule.text;
  }
  return text;
}

Result<std::vector<std::string>> ParseLabels(const std::string& text) {
  if (text.empty()) return std::vector<std::string>();
  std::vector<std::string> labels = Split(text, ',');
  if (std::ranges::find(labels, "") == labels.end()) return labels;
  return Error(ErrorCode::kUsage, fmt::format("--runner '{}' has an empty label", text))
      .WithHint("separate labels with single commas: --runner self-hosted,gpu");
}

std::string IdText(std::string_view text) {
  std::string id;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("._-").find(c) != std::string_view::npos;
    id += plain ? c : '_';
  }
  return id;
}

}  // namespace ptpkg::pipeline
