// The matrix, walked lazily: an axis is unfolded only when the evaluation of the recipe reads one of its
// keys. Each output of a recipe has a matrix of its own. Another output that it needs is rendered for the
// same choice, and unfolds its axes too. Layer: variant.

#include "variant/render_variants.h"

#include <algorithm>
#include <fmt/core.h>
#include <iterator>
#include <numeric>
#include <set>

#include "recipe/document/data_files.h"
#include "recipe/expression/evaluate_recipe.h"
#include "recipe/outputs.h"
#include "recipe/recipe_codec.h"
#include "support/text/json.h"
#include "support/text/text.h"
#include "variant/build_hash.h"
#include "variant/config.h"
#include "variant/rendered_checks.h"

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
  /// Another output was read, for which these axes are open.
  void Open(const std::set<std::size_t>& axes) { open_.insert(axes.begin(), axes.end()); }
  [[nodiscard]] std::map<std::string, Value>& used() { return used_; }
  /// Outputs that are pinned exactly, which counts as a variant key (CEP 14).
  [[nodiscard]] std::map<std::string, Value>& pins() { return pins_; }

 private:
  const std::vector<Axis>& axes_;
  const Choice& choice_;
  std::set<std::size_t> open_;
  std::map<std::string, Value> used_;
  std::map<std::string, Value> pins_;
};

/// An output as it evaluates for a choice.
struct Rendered {
  std::set<std::size_t> open;         ///< Axes that it needs a choice on; then nothing else is filled.
  recipe::Recipe recipe = {};         ///< With hash and variant.
  std::map<std::string, Value> used;  ///< Keys that enter the hash.
  bool ignores_keys = false;          ///< build.variant.ignore_keys says something.
  /// It does not evaluate, and `select` leaves it out: `recipe` has its name and variant alone.
  bool refused = false;
};

class Renderer {
 public:
  Renderer(Fs& fs, const recipe::Document& document, const VariantConfig& config,
           const RenderOptions& options)
      : fs_(fs),
        document_(document),
        outputs_(recipe::OutputDocuments(document)),
        config_(config),
        options_(options),
        files_(fs, document.path.Parent()) {}

  Result<std::vector<recipe::Recipe>> Run() {
    std::vector<recipe::Recipe> all;
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      if (outputs_[i].staging) continue;
      found_.clear();
      PTPKG_CHECK(Visit(i, {}));
      PTPKG_TRY(std::vector<recipe::Recipe> recipes, TakeFound(outputs_[i]));
      std::move(recipes.begin(), recipes.end(), std::back_inserter(all));
    }
    return all;
  }

  [[nodiscard]] const std::vector<recipe::OutputDocument>& outputs() const { return outputs_; }
  /// Name and variant of what does not evaluate and `select` leaves out.
  [[nodiscard]] const std::vector<recipe::Recipe>& refused() const { return refused_; }

 private:
  struct Found {
    std::vector<std::size_t> order;
    recipe::Recipe recipe;
    bool ignores_keys = false;
  };

  /// The other outputs, as one of them sees them for its choice.
  class Others final : public recipe::OtherOutputs {
   public:
    Others(Renderer& renderer, std::size_t self, const Choice& choice, ChosenValues& values)
        : renderer_(renderer), self_(self), choice_(choice), values_(values) {}

    Result<Facts> Find(const std::string& name, bool exact) override {
      PTPKG_TRY(const std::size_t index, renderer_.IndexOf(name, self_, choice_, values_));
      if (!exact) {
        PTPKG_TRY(const recipe::Recipe head, renderer_.Head(index, choice_, values_));
        return Facts{.version = head.version, .build_string = ""};
      }
      PTPKG_TRY(const Rendered* other, renderer_.Render(index, choice_));
      values_.Open(other->open);
      if (!other->open.empty()) return Facts{.version = "0", .build_string = "0"};  // nothing counts yet
      if (other->refused) {
        values_.used().insert(other->used.begin(), other->used.end());
        return Error(ErrorCode::kInvalidInput, fmt::format("the output '{}' cannot be rendered", name));
      }
      const recipe::Recipe& recipe = other->recipe;
      if (!recipe.detects.empty()) return UndetectedVersionError(name);
      values_.pins().insert_or_assign(NormalizedKey(name), Value(recipe.version + " " + recipe.build_string));
      return Facts{.version = recipe.version, .build_string = recipe.build_string};
    }

   private:
    /// Outputs are rendered before anybody asks their tools.
    static Error UndetectedVersionError(const std::string& name) {
      return Error(
                 ErrorCode::kUnsupported,
                 fmt::format("the build string of '{}' uses detected(), so no pin can name it exactly", name))
          .WithHint("pin its version with bounds, or leave detected() out of that build string");
    }

    Renderer& renderer_;
    std::size_t self_;
    const Choice& choice_;
    ChosenValues& values_;
  };

  /// In matrix order; equal variants count once.
  Result<std::vector<recipe::Recipe>> TakeFound(const recipe::OutputDocument& output) {
    // Axes open up in the order in which the recipe reads them; the matrix order is that of the files.
    std::stable_sort(found_.begin(), found_.end(),
                     [](const Found& a, const Found& b) { return a.order < b.order; });
    std::vector<recipe::Recipe> recipes;
    std::map<std::map<std::string, std::string>, std::size_t> seen;
    for (Found& found : found_) {
      const auto [at, added] = seen.emplace(found.recipe.variant, recipes.size());
      if (added) {
        recipes.push_back(std::move(found.recipe));
        continue;
      }
      // An axis that another output alone reads must not change this one.
      const recipe::Recipe& first = recipes[at->second];
      if (!HasOutputs() || found.ignores_keys || found.recipe.skip) continue;
      if (recipe::EncodeRecipe(first) == recipe::EncodeRecipe(found.recipe)) continue;
      return Error(ErrorCode::kInvalidInput,
                   fmt::format("the output '{}' depends on a variant key through another output's version",
                               first.name))
          .At(output.span)
          .WithHint("name the key under 'build.variant.use_keys', or pin with exact=true");
    }
    return recipes;
  }

  Result<void> Visit(std::size_t index, const Choice& choice) {
    PTPKG_TRY(const Rendered* rendered, Render(index, choice));
    if (!rendered->open.empty()) return ExpandAxes(index, choice, rendered->open);
    if (rendered->refused) {
      refused_.push_back(rendered->recipe);
      return Ok();
    }
    found_.push_back({Order(choice), rendered->recipe, rendered->ignores_keys});
    return Ok();
  }

  /// The output for this choice. Errors: kInvalidInput for outputs that need each other to be rendered.
  Result<const Rendered*> Render(std::size_t index, const Choice& choice) {
    const auto key = std::pair(index, choice);
    if (const auto there = rendered_.find(key); there != rendered_.end()) return &there->second;
    if (std::find(active_.begin(), active_.end(), index) != active_.end()) return Cycle(index);
    active_.push_back(index);
    Result<Rendered> made = Make(index, choice);
    active_.pop_back();
    PTPKG_TRY(Rendered rendered, std::move(made));
    return &rendered_.emplace(key, std::move(rendered)).first->second;
  }

  Result<Rendered> Make(std::size_t index, const Choice& choice) {
    ChosenValues values(config_.axes, choice);
    for (const char* key : kAlwaysRead) static_cast<void>(values.Read(key));
    Others others(*this, index, choice, values);
    Result<recipe::Evaluation> first = Evaluate(index, values, others, {"0000000", ""});
    const Rendered* inherited = nullptr;
    if (first && !first->inherit.empty() && !first->recipe.skip) {
      PTPKG_TRY(inherited, Inherited(*first, choice, values));
    }
    if (!values.open().empty()) return Rendered{.open = values.open(), .recipe = {}, .used = {}};
    if (inherited != nullptr && inherited->refused) {
      values.used().insert(inherited->used.begin(), inherited->used.end());
      return SkippedVariant(index, values);
    }
    if (!first) return Refuse(index, std::move(first).error(), values);

    Rendered result{.open = {},
                    .recipe = std::move(first->recipe),
                    .used = values.used(),
                    .ignores_keys = !first->ignore_keys.empty()};
    NoteImplicit(result.recipe, first->ignore_keys, inherited, result.used);
    result.used.insert(values.pins().begin(), values.pins().end());
    Json hash_input = Json::object();
    std::map<std::string, std::string> variant;
    for (const auto& [key, value] : result.used) {
      hash_input[key] = value.ToJson();
      PTPKG_TRY(variant[key], value.ToText());
    }
    recipe::Recipe& recipe = result.recipe;
    if (!recipe.skip) {
      const std::string hash = BuildHash(hash_input);
      Result<recipe::Evaluation> second =
          Evaluate(index, values, others, {hash, BuildStringPrefix(result.used, recipe.noarch_python)});
      if (!second) return Refuse(index, std::move(second).error(), values);
      recipe = std::move(second->recipe);
      recipe.hash = hash;
      if (recipe.staging) recipe.build_string = "h" + hash;
      // Shared by the variants of all outputs that inherit from it, which only read it.
      if (inherited != nullptr) recipe.inherited = std::make_shared<recipe::Recipe>(inherited->recipe);
      PTPKG_CHECK(ChooseScript(second->default_script, recipe));
    }
    recipe.hash_input = std::move(hash_input);
    recipe.variant = std::move(variant);
    return result;
  }

  /// Only what is selected is judged: `error` counts unless `select` leaves these values out.
  Result<Rendered> Refuse(std::size_t index, Error error, ChosenValues& values) const {
    for (const auto& [key, wanted] : options_.select) {
      const auto used = values.used().find(NormalizedKey(key));
      if (used == values.used().end()) continue;
      PTPKG_TRY(const std::string text, used->second.ToText());
      if (std::find(wanted.begin(), wanted.end(), text) == wanted.end()) return SkippedVariant(index, values);
    }
    return Failure(std::move(error), values);
  }

  Result<Rendered> SkippedVariant(std::size_t index, ChosenValues& values) const {
    Rendered result{.open = {}, .used = values.used(), .refused = true};
    result.recipe.name = WrittenName(outputs_[index]);
    for (const auto& [key, value] : result.used) {
      PTPKG_TRY(result.recipe.variant[key], value.ToText());
    }
    return result;
  }

  struct HashTexts {
    std::string hash;
    std::string prefix;  ///< Prefix of the build string.
  };

  recipe::EvaluationInput InputOf(std::size_t index, ChosenValues& values, const HashTexts& texts) {
    return {.target_platform = options_.target_platform,
            .variants = values,
            .environment = options_.variables,
            .hash = texts.hash,
            .string_prefix = texts.prefix,
            .run_pins = config_.run_pins,
            .check_wheel_requirement = options_.check_wheel_requirement,
            .detected = options_.detected,
            .staging = outputs_[index].staging,
            .files = &files_};
  }

  Result<recipe::Evaluation> Evaluate(std::size_t index, ChosenValues& values, Others& others,
                                      const HashTexts& texts) {
    recipe::EvaluationInput input = InputOf(index, values, texts);
    if (HasOutputs()) input.others = &others;
    return recipe::Evaluate(outputs_[index].document, input);
  }

  [[nodiscard]] bool HasOutputs() const { return document_.root.Find("outputs") != nullptr; }

  /// Name, version and skip of another output. What they read is no key of who asks, but opens its axes.
  Result<recipe::Recipe> Head(std::size_t index, const Choice& choice, ChosenValues& asking) {
    ChosenValues values(config_.axes, choice);
    Result<recipe::Recipe> head =
        recipe::EvaluateHead(outputs_[index].document, InputOf(index, values, {"0000000", ""}));
    asking.Open(values.open());
    return head;
  }

  /// The output that a pin in `self` names. A name may stand at several outputs of which all but one skip.
  Result<std::size_t> IndexOf(const std::string& name, std::size_t self, const Choice& choice,
                              ChosenValues& values) {
    std::vector<std::string> names;
    bool skipped = false;
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      if (i == self || outputs_[i].staging) continue;
      PTPKG_TRY(const recipe::Recipe head, Head(i, choice, values));
      names.push_back(head.name);
      if (head.name != name) continue;
      if (!head.skip) return i;
      skipped = true;
    }
    if (skipped) {
      return Error(ErrorCode::kInvalidInput, fmt::format("the output '{}' is skipped in this variant", name))
          .WithHint("skip the output that pins it too, or pin it under the opposite condition");
    }
    Error error(ErrorCode::kInvalidInput, fmt::format("'{}' is not an output of this recipe", name));
    const std::optional<std::string> nearest = NearestMatch(name, names);
    return nearest ? std::move(error).WithHint(fmt::format("did you mean '{}'?", *nearest))
                   : std::move(error).WithHint(fmt::format("the outputs are {}", Join(names, ", ")));
  }

  /// The staging output that `heir` names.
  Result<const Rendered*> Inherited(const recipe::Evaluation& heir, const Choice& choice,
                                    ChosenValues& values) {
    std::vector<std::string> names;
    std::optional<std::size_t> found;
    bool package = false;
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      PTPKG_TRY(const recipe::Recipe head, Head(i, choice, values));
      package = package || (head.name == heir.inherit && !outputs_[i].staging);
      if (!outputs_[i].staging) continue;
      names.push_back(head.name);
      if (head.name != heir.inherit) continue;
      if (found) return NotUnique(heir);
      found = i;
    }
    if (found && package) return NotUnique(heir);
    if (!found) return NoStaging(heir, names, package);
    PTPKG_TRY(const Rendered* staging, Render(*found, choice));
    values.Open(staging->open);
    if (staging->open.empty()) PTPKG_CHECK(CheckNotItself(heir, *found, staging->recipe));
    return staging;
  }

  static Error NotUnique(const recipe::Evaluation& heir) {
    return Error(ErrorCode::kInvalidInput, fmt::format("two outputs have the name '{}'", heir.inherit))
        .At(heir.inherit_span)
        .WithHint("give the staging output its own name, for example '…-build'");
  }

  static Error NoStaging(const recipe::Evaluation& heir, const std::vector<std::string>& names,
                         bool package) {
    if (package) {
      return Error(
                 ErrorCode::kUnsupported,
                 fmt::format("'{}' is a package output: only staging outputs can be inherited", heir.inherit))
          .At(heir.inherit_span)
          .WithHint("move its script into a staging output, and let both packages inherit from that");
    }
    Error error =
        Error(ErrorCode::kInvalidInput, fmt::format("there is no staging output '{}'", heir.inherit))
            .At(heir.inherit_span);
    const std::optional<std::string> nearest = NearestMatch(heir.inherit, names);
    if (nearest) return std::move(error).WithHint(fmt::format("did you mean '{}'?", *nearest));
    return std::move(error).WithHint(names.empty()
                                         ? "add one to 'outputs': '- staging: {name: NAME}'"
                                         : fmt::format("the staging outputs are {}", Join(names, ", ")));
  }

  /// A staging output cannot be built from itself.
  [[nodiscard]] Result<void> CheckNotItself(const recipe::Evaluation& heir, std::size_t index,
                                            const recipe::Recipe& staging) const {
    for (const auto* specs : {&staging.requirements.build, &staging.requirements.host}) {
      for (const recipe::MatchSpec& spec : *specs) {
        if (spec.name != heir.recipe.name) continue;
        const recipe::Node* section = outputs_[index].document.root.Find("requirements");
        return Error(ErrorCode::kInvalidInput,
                     fmt::format("the outputs require each other: '{}' is built with '{}', which inherits it",
                                 staging.name, spec.name))
            .At(section == nullptr ? heir.inherit_span : section->span);
      }
    }
    return Ok();
  }

  [[nodiscard]] Error Cycle(std::size_t index) const {
    std::vector<std::string> names;
    for (auto i = std::find(active_.begin(), active_.end(), index); i != active_.end(); ++i) {
      names.push_back(WrittenName(outputs_[*i]));
    }
    names.push_back(WrittenName(outputs_[index]));
    Error error(ErrorCode::kInvalidInput,
                fmt::format("the outputs need each other to be rendered: {}", Join(names, " → ")));
    return outputs_[index].staging ? std::move(error).At(outputs_[index].span) : error;
  }

  /// Visits each combination of values of the axes in `open`.
  Result<void> ExpandAxes(std::size_t index, const Choice& choice, const std::set<std::size_t>& open) {
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
    for (const Choice& next : choices) PTPKG_CHECK(Visit(index, next));
    return Ok();
  }

  /// Notes keys that enter the hash without being read in an expression, and drops those that never do.
  static void NoteImplicit(const recipe::Recipe& recipe, const std::vector<std::string>& ignore_keys,
                           const Rendered* inherited, std::map<std::string, Value>& used) {
    if (recipe.noarch_python) used.erase("python");
    if (inherited != nullptr) used.insert(inherited->used.begin(), inherited->used.end());
    used.insert_or_assign("target_platform", Value(recipe.subdir));
    for (const recipe::MatchSpec& spec : recipe.requirements.run) {
      if (spec.name.starts_with("__")) used.insert_or_assign(NormalizedKey(spec.name), Value(spec.str()));
    }
    for (const std::string& key : ignore_keys) used.erase(NormalizedKey(key));
  }

  Result<void> ChooseScript(bool by_default, recipe::Recipe& recipe) {
    if (HasOutputs()) {
      // A build.sh cannot be meant for each of them. An output without script packs what it inherits, or is
      // empty, like a package that only requires others.
      const bool none = recipe.script.lines.empty() && recipe.script.file.empty();
      if (none) recipe.script.interpreter.clear();
      if (none && recipe.inherited == nullptr) recipe.ptpkg.allow_empty = true;
      return Ok();
    }
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

  Fs& fs_;
  const recipe::Document& document_;
  const std::vector<recipe::OutputDocument> outputs_;
  const VariantConfig& config_;
  const RenderOptions& options_;
  recipe::DataFiles files_;
  std::vector<Found> found_;  ///< Variants of the current output.
  std::vector<recipe::Recipe> refused_;
  std::vector<std::size_t> active_;  ///< Outputs that are being rendered, each for the one before it.
  std::map<std::pair<std::size_t, Choice>, Rendered> rendered_;
};

using Variants = std::vector<const std::map<std::string, std::string>*>;

/// A key or value that no variant has is a typing error: it would select nothing.
Result<void> CheckSelected(const Variants& variants, const std::string& key,
                           const std::vector<std::string>& wanted) {
  const std::string normal = NormalizedKey(key);
  std::set<std::string> keys;
  std::set<std::string> values;
  for (const auto* variant : variants) {
    for (const auto& [name, value] : *variant) {
      keys.insert(name);
      if (name == normal) values.insert(value);
    }
  }
  if (!keys.contains(normal)) {
    const std::vector<std::string> known(keys.begin(), keys.end());
    Error error(ErrorCode::kUsage, fmt::format("no variant has the key '{}'", key));
    const std::optional<std::string> nearest = NearestMatch(normal, known);
    return nearest ? std::move(error).WithHint(fmt::format("did you mean '{}'?", *nearest))
                   : std::move(error).WithHint(fmt::format("the keys are {}", Join(known, ", ")));
  }
  const std::vector<std::string> known(values.begin(), values.end());
  for (const std::string& value : wanted) {
    if (values.contains(value)) continue;
    return Error(ErrorCode::kUsage, fmt::format("no variant has the value '{}' of '{}'", value, key))
        .WithHint(fmt::format("the values are {}", Join(known, ", ")));
  }
  return Ok();
}

/// The variant file beside the recipe, if any: the newer form, else conda-build's.
Result<std::vector<AbsPath>> FileBeside(Fs& fs, const AbsPath& recipe_path) {
  for (const char* name : recipe::kVariantFileNames) {
    const AbsPath beside = recipe_path.Parent() / name;
    PTPKG_TRY(const bool exists, Exists(fs, beside));
    if (exists) return std::vector<AbsPath>{beside};
  }
  return std::vector<AbsPath>();
}

Result<VariantConfig> ConfigOf(Fs& fs, const AbsPath& recipe_path, const RenderOptions& options) {
  std::vector<AbsPath> files = options.variant_files;
  if (files.empty()) {
    PTPKG_TRY(files, FileBeside(fs, recipe_path));
  }
  return LoadVariantConfig(fs, files, options.target_platform, options.variables);
}

}  // namespace

Result<std::vector<std::size_t>> Selected(const std::vector<recipe::Recipe>& recipes,
                                          const std::map<std::string, std::vector<std::string>>& select,
                                          bool has_outputs, const std::vector<recipe::Recipe>& refused) {
  std::vector<std::size_t> kept(recipes.size());
  std::iota(kept.begin(), kept.end(), std::size_t{0});
  Variants others;
  for (const recipe::Recipe& recipe : refused) others.push_back(&recipe.variant);
  for (const auto& [key, wanted] : select) {
    Variants known = others;
    for (const std::size_t i : kept) known.push_back(&recipes[i].variant);
    PTPKG_CHECK(CheckSelected(known, key, wanted));
    const std::string normal = NormalizedKey(key);
    std::erase_if(others, [&, &allowed = wanted](const auto* variant) {
      const auto found = variant->find(normal);
      return found == variant->end() ||
             std::find(allowed.begin(), allowed.end(), found->second) == allowed.end();
    });
    // An output that never reads the key is the same for all its values, and the others may need it.
    std::set<std::string> readers;
    for (const std::size_t i : kept) {
      if (recipes[i].variant.contains(normal)) readers.insert(recipes[i].name);
    }
    std::erase_if(kept, [&, &allowed = wanted](std::size_t i) {
      const auto found = recipes[i].variant.find(normal);
      if (has_outputs && !readers.contains(recipes[i].name)) return false;
      return found == recipes[i].variant.end() ||
             std::find(allowed.begin(), allowed.end(), found->second) == allowed.end();
    });
  }
  return kept;
}

Result<std::vector<std::string>> VariantKeys(Fs& fs, const AbsPath& recipe_path,
                                             const RenderOptions& options) {
  PTPKG_TRY(const VariantConfig config, ConfigOf(fs, recipe_path, options));
  std::vector<std::string> keys;
  for (const Axis& axis : config.axes) {
    for (const Axis::Column& column : axis.columns) keys.push_back(column.key);
  }
  return keys;
}

Result<std::vector<recipe::Recipe>> Render(Fs& fs, const AbsPath& recipe_path, const RenderOptions& options) {
  PTPKG_TRY(const recipe::Document document, recipe::LoadDocument(fs, recipe_path));
  PTPKG_TRY(const VariantConfig config, ConfigOf(fs, recipe_path, options));
  Renderer renderer(fs, document, config, options);
  PTPKG_TRY(std::vector<recipe::Recipe> recipes, renderer.Run());
  PTPKG_TRY(const std::vector<std::size_t> kept,
            Selected(recipes, options.select, document.root.Find("outputs") != nullptr, renderer.refused()));
  std::vector<recipe::Recipe> selected;
  for (const std::size_t i : kept) selected.push_back(recipes[i]);
  recipes.insert(recipes.end(), renderer.refused().begin(), renderer.refused().end());
  PTPKG_CHECK(CheckRendered(document, renderer.outputs(), recipes, selected));
  return selected;
}

}  // namespace ptpkg::variant
