// The matrix, walked lazily: an axis is unfolded only when the evaluation of the recipe reads one of its
// keys, so the keys that a recipe uses need no analysis of their own. Layer: variant.

#include "variant/render.h"

#include <algorithm>
#include <fmt/core.h>
#include <set>

#include "recipe/evaluate.h"
#include "support/json.h"
#include "support/text.h"
#include "variant/build_hash.h"
#include "variant/config.h"

namespace ptpkg::variant {
namespace {

using recipe::NormalizedKey;
using recipe::Value;

constexpr std::size_t kMaxVariants = 10000;
// Read by rattler-build and conda-build whether or not the recipe mentions them.
constexpr const char* kAlwaysRead[] = {"channel_targets", "channel_sources"};

/// Axis → index of the value chosen on it.
using Choice = std::map<std::size_t, std::size_t>;

/// The values of one choice; notes what is read.
class ChosenValues final : public recipe::VariantValues {
 public:
  ChosenValues(const std::vector<Axis>& axes, const Choice& choice) : axes_(axes), choice_(choice) {}

  std::optional<Value> Read(const std::string& key) override {
    const std::string normal = NormalizedKey(key);
    for (std::size_t i = 0; i < axes_.size(); ++i) {
      for (const Axis::Column& column : axes_[i].columns) {
        if (column.key != normal) continue;
        const auto chosen = choice_.find(i);
        if (chosen == choice_.end()) open_.insert(i);
        const Value& value = column.values[chosen == choice_.end() ? 0 : chosen->second];
        used_.insert_or_assign(normal, value);
        return value;
      }
    }
    return std::nullopt;
  }

  void NoteBuiltin(const std::string& key, const Value& value) override {
    used_.insert_or_assign(key, value);
  }

  [[nodiscard]] std::vector<std::string> Keys() const override {
    std::vector<std::string> keys;
    for (const Axis& axis : axes_) {
      for (const Axis::Column& column : axis.columns) keys.push_back(column.key);
    }
    return keys;
  }

  /// Axes that were read without a choice on them: the evaluation says nothing yet.
  [[nodiscard]] const std::set<std::size_t>& open() const { return open_; }
  [[nodiscard]] std::map<std::string, Value>& used() { return used_; }

 private:
  const std::vector<Axis>& axes_;
  const Choice& choice_;
  std::set<std::size_t> open_;
  std::map<std::string, Value> used_;
};

std::string DescribeVariant(const std::map<std::string, std::string>& variant) {
  std::vector<std::string> parts;
  for (const auto& [key, value] : variant) {
    if (key != "target_platform") parts.push_back(fmt::format("{}={}", key, value));
  }
  return Join(parts, ", ");
}

class Renderer {
 public:
  Renderer(Fs& fs, const recipe::Document& document, const VariantConfig& config,
           const RenderOptions& options)
      : fs_(fs), document_(document), config_(config), options_(options) {}

  Result<std::vector<recipe::Recipe>> Run() {
    PTPKG_CHECK(Visit({}));
    // Axes open up in the order in which the recipe reads them; the matrix order is that of the files.
    std::stable_sort(found_.begin(), found_.end(),
                     [](const Found& a, const Found& b) { return a.order < b.order; });
    std::vector<recipe::Recipe> recipes;
    std::set<std::map<std::string, std::string>> seen;
    for (Found& found : found_) {
      if (seen.insert(found.recipe.variant).second) recipes.push_back(std::move(found.recipe));
    }
    PTPKG_CHECK(CheckNames(recipes));
    return recipes;
  }

 private:
  struct Found {
    std::vector<std::size_t> order;
    recipe::Recipe recipe;
  };

  Result<void> Visit(const Choice& choice) {
    ChosenValues values(config_.axes, choice);
    for (const char* key : kAlwaysRead) static_cast<void>(values.Read(key));
    Result<recipe::Evaluation> first = Evaluate(values, "0000000", "");
    if (!values.open().empty()) return Unfold(choice, values.open());
    if (!first) return Failure(std::move(first).error(), values);

    recipe::Recipe recipe = std::move(first->recipe);
    NoteImplicit(recipe, first->ignore_keys, values.used());
    Json hash_input = Json::object();
    std::map<std::string, std::string> variant;
    for (const auto& [key, value] : values.used()) {
      hash_input[key] = value.ToJson();
      PTPKG_TRY(variant[key], value.ToText());
    }
    if (!recipe.skip) {
      const std::string hash = BuildHash(hash_input);
      Result<recipe::Evaluation> second =
          Evaluate(values, hash, BuildStringPrefix(values.used(), recipe.noarch_python));
      if (!second) return Failure(std::move(second).error(), values);
      recipe = std::move(second->recipe);
      recipe.hash = hash;
      PTPKG_CHECK(ChooseScript(second->default_script, recipe));
    }
    recipe.hash_input = std::move(hash_input);
    recipe.variant = std::move(variant);
    found_.push_back({Order(choice), std::move(recipe)});
    return Ok();
  }

  Result<recipe::Evaluation> Evaluate(ChosenValues& values, const std::string& hash,
                                      const std::string& prefix) {
    const recipe::EvaluationInput input{options_.target_platform,
                                        values,
                                        options_.variables,
                                        hash,
                                        prefix,
                                        config_.run_pins,
                                        options_.check_wheel_requirement,
                                        options_.detected};
    return recipe::Evaluate(document_, input);
  }

  /// Visits each combination of values of the axes in `open`.
  Result<void> Unfold(const Choice& choice, const std::set<std::size_t>& open) {
    std::vector<Choice> choices = {choice};
    for (const std::size_t axis : open) {
      std::vector<Choice> longer;
      for (const Choice& base : choices) {
        for (std::size_t i = 0; i < config_.axes[axis].size(); ++i) {
          longer.push_back(base);
          longer.back()[axis] = i;
        }
      }
      choices = std::move(longer);
      if (choices.size() + found_.size() > kMaxVariants) {
        return Error(ErrorCode::kInvalidInput, fmt::format("the matrix of '{}' has more than {} variants",
                                                           document_.path.str(), kMaxVariants))
            .WithHint("pair keys with 'zip_keys', or give a smaller variant file");
      }
    }
    for (const Choice& next : choices) PTPKG_CHECK(Visit(next));
    return Ok();
  }

  /// What enters the hash without being read in an expression, and what never does.
  void NoteImplicit(const recipe::Recipe& recipe, const std::vector<std::string>& ignore_keys,
                    std::map<std::string, Value>& used) const {
    if (recipe.noarch_python) used.erase("python");
    used.insert_or_assign("target_platform", Value(recipe.subdir));
    for (const recipe::MatchSpec& spec : recipe.requirements.run) {
      if (spec.name.starts_with("__")) used.insert_or_assign(NormalizedKey(spec.name), Value(spec.str()));
    }
    for (const std::string& key : ignore_keys) used.erase(NormalizedKey(key));
  }

  Result<void> ChooseScript(bool by_default, recipe::Recipe& recipe) {
    if (!by_default) return Ok();
    PTPKG_TRY(const bool exists, Exists(fs_, recipe.recipe_dir / "build.sh"));
    if (exists) recipe.script.file = "build.sh";
    return Ok();
  }

  [[nodiscard]] std::vector<std::size_t> Order(const Choice& choice) const {
    std::vector<std::size_t> order(config_.axes.size(), 0);
    for (const auto& [axis, index] : choice) order[axis] = index;
    return order;
  }

  static Error Failure(Error error, ChosenValues& values) {
    std::map<std::string, std::string> variant;
    for (const auto& [key, value] : values.used()) {
      PTPKG_TRY(variant[key], value.ToText());
    }
    const std::string description = DescribeVariant(variant);
    if (description.empty()) return error;
    return std::move(error).WithContext(fmt::format("while rendering the variant {}", description));
  }

  /// Two variants with one file name would overwrite each other.
  [[nodiscard]] Result<void> CheckNames(const std::vector<recipe::Recipe>& recipes) const {
    std::map<std::string, const recipe::Recipe*> names;
    for (const recipe::Recipe& recipe : recipes) {
      // Names with what tools say are compared when every variant has met its own tools.
      if (recipe.skip || !recipe.detects.empty()) continue;
      const auto [at, added] = names.emplace(recipe.subdir + "/" + recipe.FileStem(), &recipe);
      if (added) continue;
      const recipe::Node* build = document_.root.Find("build");
      const recipe::Node* string = build == nullptr ? nullptr : build->Find("string");
      return Error(ErrorCode::kInvalidInput,
                   fmt::format("the variants '{}' and '{}' would both be named '{}'",
                               DescribeVariant(at->second->variant), DescribeVariant(recipe.variant),
                               recipe.FileStem()))
          .At(string != nullptr ? string->span : document_.root.span)
          .WithHint("put ${{ hash }} into 'build.string'");
    }
    return Ok();
  }

  Fs& fs_;
  const recipe::Document& document_;
  const VariantConfig& config_;
  const RenderOptions& options_;
  std::vector<Found> found_;
};

/// Keeps the recipes that `select` asks for.
Result<std::vector<recipe::Recipe>> Select(std::vector<recipe::Recipe> recipes,
                                           const std::map<std::string, std::vector<std::string>>& select) {
  for (const auto& [key, wanted] : select) {
    const std::string normal = NormalizedKey(key);
    std::set<std::string> keys;
    std::set<std::string> values;
    for (const recipe::Recipe& recipe : recipes) {
      for (const auto& [name, value] : recipe.variant) {
        keys.insert(name);
        if (name == normal) values.insert(value);
      }
    }
    if (!keys.contains(normal)) {
      const std::vector<std::string> known(keys.begin(), keys.end());
      Error error(ErrorCode::kInvalidInput, fmt::format("no variant has the key '{}'", key));
      const std::optional<std::string> nearest = NearestMatch(normal, known);
      return nearest ? std::move(error).WithHint(fmt::format("did you mean '{}'?", *nearest))
                     : std::move(error).WithHint(fmt::format("the keys are {}", Join(known, ", ")));
    }
    const std::vector<std::string> known(values.begin(), values.end());
    for (const std::string& value : wanted) {
      if (values.contains(value)) continue;
      return Error(ErrorCode::kInvalidInput, fmt::format("no variant has the value '{}' of '{}'", value, key))
          .WithHint(fmt::format("the values are {}", Join(known, ", ")));
    }
    std::erase_if(recipes, [&, &allowed = wanted](const recipe::Recipe& recipe) {
      const auto found = recipe.variant.find(normal);
      return found == recipe.variant.end() ||
             std::find(allowed.begin(), allowed.end(), found->second) == allowed.end();
    });
  }
  return recipes;
}

/// The variant file beside the recipe, if any. One of the old format is refused by its name, with what to do.
Result<std::vector<AbsPath>> FileBeside(Fs& fs, const AbsPath& recipe_path) {
  for (const char* name : {"variants.yaml", "conda_build_config.yaml"}) {
    const AbsPath beside = recipe_path.Parent() / name;
    PTPKG_TRY(const bool exists, Exists(fs, beside));
    if (exists) return std::vector<AbsPath>{beside};
  }
  return std::vector<AbsPath>();
}

}  // namespace

Result<std::vector<recipe::Recipe>> Render(Fs& fs, const AbsPath& recipe_path, const RenderOptions& options) {
  PTPKG_TRY(const recipe::Document document, recipe::LoadDocument(fs, recipe_path));
  std::vector<AbsPath> files = options.variant_files;
  if (files.empty()) {
    PTPKG_TRY(files, FileBeside(fs, recipe_path));
  }
  PTPKG_TRY(const VariantConfig config, LoadVariantConfig(fs, files, options.target_platform));
  PTPKG_TRY(std::vector<recipe::Recipe> recipes, Renderer(fs, document, config, options).Run());
  return Select(std::move(recipes), options.select);
}

}  // namespace ptpkg::variant
