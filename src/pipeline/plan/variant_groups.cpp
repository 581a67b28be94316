// CI builds variants in parallel jobs, each with `--select`. So each group needs a selection that reaches
// exactly its variants, with few keys, and no variant may be left out.
//
// - Keys that follow from others don't help to select: the platform, virtual packages, and exact pins of
//   other outputs.
// - ChooseKeys starts with all keys that vary, and drops each one without which the number of jobs and
//   variants stays the same. The first by name of zipped keys stays.
// - An output may read fewer keys than another. Only choices that are part of no other become groups, and
//   such an output is in several of them.
// - If a group pins an output outside of it, no selection separates them, and all variants form one group.
//
// CheckComplete is the safeguard: a variant that no job builds would be missing without anybody noticing.

#include "pipeline/plan/variant_groups.h"

#include <algorithm>
#include <fmt/core.h>
#include <set>

#include "recipe/expression/scope.h"
#include "support/text/text.h"
#include "variant/render_variants.h"

namespace ptpkg::pipeline {
namespace {

using Choice = std::map<std::string, std::string>;

bool IsPartOf(const Choice& part, const Choice& whole) {
  return std::includes(whole.begin(), whole.end(), part.begin(), part.end());
}

class Grouping {
 public:
  Grouping(const std::vector<recipe::Recipe>& recipes, bool has_outputs)
      : recipes_(recipes), has_outputs_(has_outputs) {
    for (const recipe::Recipe& recipe : recipes) {
      if (!recipe.skip) names_.insert(recipe::NormalizedKey(recipe.name));
    }
  }

  Result<std::vector<VariantGroup>> Groups() {
    ChooseKeys();
    const std::vector<Choice> choices = Widest();
    if (choices.size() > kMostVariantGroups) {
      return Error(ErrorCode::kUnsupported,
                   fmt::format("'{}' has {} variants, but a workflow can have at most {} jobs",
                               recipes_.front().recipe_file.str(), choices.size(), kMostVariantGroups))
          .WithHint("choose some with --select");
    }
    std::vector<VariantGroup> groups;
    for (const Choice& choice : choices) {
      PTPKG_TRY(VariantGroup group, GroupOf(choice));
      if (!IsClosed(group)) return std::vector<VariantGroup>{All()};
      groups.push_back(std::move(group));
    }
    PTPKG_CHECK(CheckComplete(groups));
    return groups;
  }

 private:
  /// Keys that the variant files give. Others follow from these: the platform, virtual packages, exact pins.
  [[nodiscard]] bool IsGiven(const std::string& key) const {
    return key != "target_platform" && !key.starts_with("__") && !IsPin(key);
  }
  [[nodiscard]] bool IsPin(const std::string& key) const { return has_outputs_ && names_.contains(key); }

  /// The keys that vary, less those that follow from the rest: of zipped keys the first by name stays.
  void ChooseKeys() {
    std::map<std::string, std::set<std::string>> values;
    for (const recipe::Recipe& recipe : recipes_) {
      if (recipe.skip) continue;
      for (const auto& [key, value] : recipe.variant) {
        if (IsGiven(key)) values[key].insert(value);
      }
    }
    for (const auto& [key, distinct] : values) {
      if (distinct.size() > 1) keys_.insert(key);
    }
    const std::set<std::string> varying = keys_;
    const auto wanted = Shape();
    for (auto key = varying.rbegin(); key != varying.rend(); ++key) {
      keys_.erase(*key);
      if (Shape() != wanted) keys_.insert(*key);
    }
  }

  [[nodiscard]] Choice ChoiceOf(const recipe::Recipe& recipe) const {
    Choice choice;
    for (const auto& [key, value] : recipe.variant) {
      if (keys_.contains(key)) choice.emplace(key, value);
    }
    return choice;
  }

  /// Number of jobs, and of the outputs' variants in them.
  [[nodiscard]] std::pair<std::size_t, std::size_t> Shape() const {
    std::set<std::pair<std::string, Choice>> found;
    for (const recipe::Recipe& recipe : recipes_) {
      if (!recipe.skip) found.emplace(has_outputs_ ? recipe.name : "", ChoiceOf(recipe));
    }
    return {Widest().size(), found.size()};
  }

  /// The choices that are part of no other, in the order in which they come.
  [[nodiscard]] std::vector<Choice> Widest() const {
    std::vector<Choice> all;
    std::set<Choice> seen;
    for (const recipe::Recipe& recipe : recipes_) {
      if (recipe.skip) continue;
      Choice choice = ChoiceOf(recipe);
      if (seen.insert(choice).second) all.push_back(std::move(choice));
    }
    // Too many in any case, and the comparison below is quadratic.
    if (all.size() > kMostVariantGroups) return all;
    std::vector<Choice> widest;
    for (const Choice& choice : all) {
      const bool narrower = std::any_of(all.begin(), all.end(), [&](const Choice& other) {
        return other.size() > choice.size() && IsPartOf(choice, other);
      });
      if (!narrower) widest.push_back(choice);
    }
    return widest;
  }

  [[nodiscard]] Result<VariantGroup> GroupOf(const Choice& choice) const {
    std::map<std::string, std::vector<std::string>> select;
    for (const auto& [key, value] : choice) select[key] = {value};
    VariantGroup group{.select = choice};
    PTPKG_TRY(group.recipes, variant::Selected(recipes_, select, has_outputs_));
    std::erase_if(group.recipes, [&](std::size_t i) { return recipes_[i].skip; });
    return group;
  }

  [[nodiscard]] VariantGroup All() const {
    VariantGroup group;
    for (std::size_t i = 0; i < recipes_.size(); ++i) {
      if (!recipes_[i].skip) group.recipes.push_back(i);
    }
    return group;
  }

  /// All that its outputs pin exactly is in it.
  [[nodiscard]] bool IsClosed(const VariantGroup& group) const {
    std::set<std::pair<std::string, std::string>> made;
    for (const std::size_t i : group.recipes) {
      made.emplace(recipe::NormalizedKey(recipes_[i].name),
                   recipes_[i].version + " " + recipes_[i].build_string);
    }
    return std::all_of(group.recipes.begin(), group.recipes.end(), [&](std::size_t i) {
      return std::all_of(recipes_[i].variant.begin(), recipes_[i].variant.end(),
                         [&](const auto& entry) { return !IsPin(entry.first) || made.contains(entry); });
    });
  }

  /// A variant without a job would be missing at the end, and nobody would notice.
  [[nodiscard]] Result<void> CheckComplete(const std::vector<VariantGroup>& groups) const {
    std::set<std::size_t> reached;
    for (const VariantGroup& group : groups) reached.insert(group.recipes.begin(), group.recipes.end());
    for (std::size_t i = 0; i < recipes_.size(); ++i) {
      if (recipes_[i].skip || reached.contains(i)) continue;
      return Error(ErrorCode::kUnsupported,
                   fmt::format("no selection of variants includes '{}'", recipes_[i].FileStem()))
          .WithHint("add the missing keys under 'build.variant.use_keys'");
    }
    return Ok();
  }

  const std::vector<recipe::Recipe>& recipes_;
  bool has_outputs_;
  std::set<std::string> names_;  ///< Names of packages, as keys.
  std::set<std::string> keys_;   ///< Keys that tell variants apart.
};

}  // namespace

Result<std::vector<VariantGroup>> GroupVariants(const std::vector<recipe::Recipe>& recipes,
                                                bool has_outputs) {
  return Grouping(recipes, has_outputs).Groups();
}

}  // namespace ptpkg::pipeline
