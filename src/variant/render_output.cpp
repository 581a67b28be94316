// An output is evaluated twice. The first evaluation finds the keys that it reads, and from them its hash;
// the second one uses the hash. An axis that is read without a choice on it ends the rendering early: the
// caller chooses a value there, and asks again. Layer: variant.

#include "variant/render_output.h"

#include <algorithm>
#include <fmt/core.h>
#include <memory>
#include <optional>

#include "recipe/expression/evaluate_recipe.h"
#include "support/text/json.h"
#include "support/text/text.h"
#include "variant/build_hash.h"
#include "variant/rendered_checks.h"

namespace ptpkg::variant {
namespace {

using recipe::NormalizedKey;
using recipe::Value;
using UsedKeys = std::map<std::string, Value>;

// Read by rattler-build and conda-build whether or not the recipe mentions them.
constexpr const char* kAlwaysRead[] = {"channel_targets", "channel_sources"};

/// Used keys in the forms that a recipe holds.
struct HashedKeys {
  Json hash_input = Json::object();
  std::map<std::string, std::string> variant;
};

Result<std::map<std::string, std::string>> VariantOf(const UsedKeys& used) {
  std::map<std::string, std::string> variant;
  for (const auto& [key, value] : used) {
    PTPKG_TRY(variant[key], value.ToText());
  }
  return variant;
}

Result<HashedKeys> HashedKeysOf(const UsedKeys& used) {
  HashedKeys keys;
  for (const auto& [key, value] : used) keys.hash_input[key] = value.ToJson();
  PTPKG_TRY(keys.variant, VariantOf(used));
  return keys;
}

Error InVariant(Error error, const UsedKeys& used) {
  const Result<std::map<std::string, std::string>> variant = VariantOf(used);
  if (!variant) return variant.error();
  const std::string description = DescribeVariant(*variant);
  if (description.empty()) return error;
  return std::move(error).WithContext(fmt::format("while rendering the variant {}", description));
}

Result<Rendered> SkippedVariant(const recipe::OutputDocument& output, const UsedKeys& used) {
  Rendered result{.open = {}, .used = used, .refused = true};
  result.recipe.name = WrittenName(output);
  PTPKG_TRY(result.recipe.variant, VariantOf(used));
  return result;
}

/// Only selected variants are judged: `error` counts unless `select` leaves these values out.
Result<Rendered> Refuse(Error error, const RenderInputs& inputs, std::size_t index, const UsedKeys& used) {
  for (const auto& [key, wanted] : inputs.options.select) {
    const auto found = used.find(NormalizedKey(key));
    if (found == used.end()) continue;
    PTPKG_TRY(const std::string text, found->second.ToText());
    if (std::find(wanted.begin(), wanted.end(), text) == wanted.end()) {
      return SkippedVariant(inputs.outputs[index], used);
    }
  }
  return InVariant(std::move(error), used);
}

Result<recipe::Evaluation> EvaluateOutput(const RenderInputs& inputs, std::size_t index, ChosenValues& values,
                                          recipe::OtherOutputs& others, const HashTexts& texts) {
  recipe::EvaluationInput input = InputOf(inputs, index, values, texts);
  if (inputs.HasOutputs()) input.others = &others;
  return recipe::Evaluate(inputs.outputs[index].document, input);
}

/// The keys that enter the hash: those that were read, those that enter it without being read in an
/// expression, and the pins; without those that never enter it.
UsedKeys KeysOfHash(const recipe::Evaluation& evaluation, const Rendered* inherited, ChosenValues& values) {
  const recipe::Recipe& recipe = evaluation.recipe;
  UsedKeys used = values.used();
  // A noarch package is the same for each Python, also where its recipe reads the key.
  if (recipe.noarch_python) used.erase("python");
  if (inherited != nullptr) used.insert(inherited->used.begin(), inherited->used.end());
  used.insert_or_assign("target_platform", Value(recipe.subdir));
  for (const recipe::MatchSpec& spec : recipe.requirements.run) {
    if (spec.name.starts_with("__")) used.insert_or_assign(NormalizedKey(spec.name), Value(spec.str()));
  }
  for (const std::string& key : evaluation.ignore_keys) used.erase(NormalizedKey(key));
  used.insert(values.pins().begin(), values.pins().end());
  return used;
}

Result<void> ChooseScript(const RenderInputs& inputs, bool by_default, recipe::Recipe& recipe) {
  if (inputs.HasOutputs()) {
    // A build.sh cannot be meant for each of them. An output without script packs what it inherits, or is
    // empty, like a package that only requires others.
    const bool none = recipe.script.lines.empty() && recipe.script.file.empty();
    if (none) recipe.script.interpreter.clear();
    if (none && recipe.inherited == nullptr) recipe.ptpkg.allow_empty = true;
    return Ok();
  }
  if (!by_default) return Ok();
  PTPKG_TRY(const bool exists, Exists(inputs.fs, recipe.recipe_dir / "build.sh"));
  if (exists) recipe.script.file = "build.sh";
  return Ok();
}

/// The recipe of the second evaluation, as it is with its hash.
Result<recipe::Recipe> WithHash(const RenderInputs& inputs, recipe::Evaluation second,
                                const std::string& hash, const Rendered* inherited) {
  recipe::Recipe recipe = std::move(second.recipe);
  recipe.hash = hash;
  if (recipe.staging) recipe.build_string = "h" + hash;
  // Shared by the variants of all outputs that inherit from it, which only read it.
  if (inherited != nullptr) recipe.inherited = std::make_shared<recipe::Recipe>(inherited->recipe);
  PTPKG_CHECK(ChooseScript(inputs, second.default_script, recipe));
  return recipe;
}

Error CycleError(const std::vector<recipe::OutputDocument>& outputs, const std::vector<std::size_t>& active,
                 std::size_t index) {
  std::vector<std::string> names;
  for (auto i = std::find(active.begin(), active.end(), index); i != active.end(); ++i) {
    names.push_back(WrittenName(outputs[*i]));
  }
  names.push_back(WrittenName(outputs[index]));
  Error error(ErrorCode::kInvalidInput,
              fmt::format("the outputs need each other to be rendered: {}", Join(names, " → ")));
  return outputs[index].staging ? std::move(error).At(outputs[index].span) : error;
}

/// Outputs are rendered before anybody asks their tools.
Error UndetectedVersionError(const std::string& name) {
  return Error(ErrorCode::kUnsupported,
               fmt::format("the build string of '{}' uses detected(), so no pin can name it exactly", name))
      .WithHint("pin its version with bounds, or leave detected() out of that build string");
}

}  // namespace

/// The other outputs, as the output `self` sees them for its choice.
class OutputRenderer::Others final : public recipe::OtherOutputs {
 public:
  Others(OutputRenderer& renderer, std::size_t self, const Choice& choice, ChosenValues& values)
      : renderer_(renderer), self_(self), choice_(choice), values_(values) {}

  Result<Facts> Find(const std::string& name, bool exact) override {
    const RenderInputs& inputs = renderer_.inputs_;
    // An exact pin holds the other output's build string and thus its hash, so it needs the whole rendering.
    // A version needs only the head, which opens fewer axes.
    PTPKG_TRY(const std::size_t index, PinnedOutput(inputs, name, self_, choice_, values_));
    if (!exact) {
      PTPKG_TRY(const recipe::Recipe head, HeadOf(inputs, index, choice_, values_));
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
  OutputRenderer& renderer_;
  std::size_t self_;
  const Choice& choice_;
  ChosenValues& values_;
};

Result<const Rendered*> OutputRenderer::Render(std::size_t index, const Choice& choice) {
  // An output that is still being rendered and is asked for again waits for itself.
  const auto key = std::pair(index, choice);
  if (const auto there = rendered_.find(key); there != rendered_.end()) return &there->second;
  if (std::find(active_.begin(), active_.end(), index) != active_.end()) {
    return CycleError(inputs_.outputs, active_, index);
  }
  active_.push_back(index);
  Result<Rendered> made = Make(index, choice);
  active_.pop_back();
  PTPKG_TRY(Rendered rendered, std::move(made));
  return &rendered_.emplace(key, std::move(rendered)).first->second;
}

Result<Rendered> OutputRenderer::Make(std::size_t index, const Choice& choice) {
  ChosenValues values(inputs_.config.axes, choice);
  for (const char* key : kAlwaysRead) static_cast<void>(values.Read(key));
  Others others(*this, index, choice, values);
  Result<recipe::Evaluation> first = EvaluateOutput(inputs_, index, values, others, HashTexts{});
  const Rendered* inherited = nullptr;
  // The staging output is rendered even if axes are open already: it opens its own, and the caller unfolds
  // all of them in one step.
  if (first && !first->inherit.empty() && !first->recipe.skip) {
    PTPKG_TRY(inherited, Inherited(*first, choice, values));
  }
  // Before any error counts: with open axes, it might come from a first value that was never chosen.
  if (!values.open().empty()) return Rendered{.open = values.open(), .recipe = {}, .used = {}};
  if (inherited != nullptr && inherited->refused) {
    values.used().insert(inherited->used.begin(), inherited->used.end());
    return SkippedVariant(inputs_.outputs[index], values.used());
  }
  if (!first) return Refuse(std::move(first).error(), inputs_, index, values.used());

  UsedKeys used = KeysOfHash(*first, inherited, values);
  PTPKG_TRY(HashedKeys hashed, HashedKeysOf(used));
  const bool ignores_keys = !first->ignore_keys.empty();
  recipe::Recipe recipe = std::move(first->recipe);
  if (!recipe.skip) {
    const HashTexts texts{.hash = BuildHash(hashed.hash_input),
                          .prefix = BuildStringPrefix(used, recipe.noarch_python)};
    Result<recipe::Evaluation> second = EvaluateOutput(inputs_, index, values, others, texts);
    if (!second) return Refuse(std::move(second).error(), inputs_, index, values.used());
    PTPKG_TRY(recipe, WithHash(inputs_, *std::move(second), texts.hash, inherited));
  }
  recipe.hash_input = std::move(hashed.hash_input);
  recipe.variant = std::move(hashed.variant);
  return Rendered{
      .open = {}, .recipe = std::move(recipe), .used = std::move(used), .ignores_keys = ignores_keys};
}

/// The staging output that `heir` names.
Result<const Rendered*> OutputRenderer::Inherited(const recipe::Evaluation& heir, const Choice& choice,
                                                  ChosenValues& values) {
  PTPKG_TRY(const std::size_t index, StagingOutput(inputs_, heir, choice, values));
  PTPKG_TRY(const Rendered* staging, Render(index, choice));
  values.Open(staging->open);
  if (staging->open.empty()) PTPKG_CHECK(CheckNotItself(heir, inputs_.outputs[index], staging->recipe));
  return staging;
}

}  // namespace ptpkg::variant
