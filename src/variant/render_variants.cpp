// The matrix, walked lazily: an axis is unfolded only when the evaluation of the recipe reads one of its
// keys. Each output of a recipe has a matrix of its own. Another output that it needs is rendered for the
// same choice, and unfolds its axes too. Layer: variant.

#include "variant/render_variants.h"

#include <algorithm>
#include <fmt/core.h>
#include <iterator>
#include <numeric>
#include <optional>
#include <set>

#include "recipe/document/data_files.h"
#include "recipe/outputs.h"
#include "recipe/recipe_codec.h"
#include "support/text/text.h"
#include "variant/other_outputs.h"
#include "variant/render_output.h"
#include "variant/rendered_checks.h"

namespace ptpkg::variant {
namespace {

using recipe::NormalizedKey;

// Far above real matrices. Without zip_keys, the lists of a channel's variant file multiply beyond any
// memory.
constexpr std::size_t kMaxVariants = 10000;

/// A complete choice, and the output for it.
struct Leaf {
  std::vector<std::size_t> order;  ///< Index of the value on each axis: the place in the matrix.
  recipe::Recipe recipe;
  bool ignores_keys = false;
};

/// The matrix of one output.
struct Leaves {
  std::vector<Leaf> rendered;
  std::vector<recipe::Recipe> refused;  ///< Rendered::refused: name and variant only.
};

std::vector<std::size_t> OrderOf(const Choice& choice, std::size_t axes) {
  std::vector<std::size_t> order(axes, 0);
  for (const auto& [axis, index] : choice) order[axis] = index;
  return order;
}

/// `choice` with each combination of values of the axes in `open`. `others`: how many variants the output
/// has already.
Result<std::vector<Choice>> UnfoldAxes(const RenderInputs& inputs, const Choice& choice,
                                       const std::set<std::size_t>& open, std::size_t others) {
  std::vector<Choice> choices = {choice};
  for (const std::size_t axis : open) {
    std::vector<Choice> longer;
    for (const Choice& base : choices) {
      for (std::size_t i = 0; i < inputs.config.axes[axis].size(); ++i) {
        longer.push_back(base);
        longer.back()[axis] = i;
      }
    }
    choices = std::move(longer);
    if (choices.size() + others > kMaxVariants) {
      return Error(ErrorCode::kInvalidInput, fmt::format("the matrix of '{}' has more than {} variants",
                                                         inputs.document.path.str(), kMaxVariants))
          .WithHint("pair keys with 'zip_keys', or give a smaller variant file");
    }
  }
  return choices;
}

/// Adds the leaves below `choice` of the output `index`. Each level chooses on at least one more axis, so it
/// is at most as deep as there are axes.
Result<void> AddLeaves(const RenderInputs& inputs, OutputRenderer& renderer, std::size_t index,
                       const Choice& choice, Leaves& leaves) {
  PTPKG_TRY(const Rendered* rendered, renderer.Render(index, choice));
  if (!rendered->open.empty()) {
    PTPKG_TRY(const std::vector<Choice> choices,
              UnfoldAxes(inputs, choice, rendered->open, leaves.rendered.size()));
    for (const Choice& next : choices) PTPKG_CHECK(AddLeaves(inputs, renderer, index, next, leaves));
    return Ok();
  }
  if (rendered->refused) {
    leaves.refused.push_back(rendered->recipe);
    return Ok();
  }
  leaves.rendered.push_back(
      {OrderOf(choice, inputs.config.axes.size()), rendered->recipe, rendered->ignores_keys});
  return Ok();
}

/// The variants of `output` in matrix order. Equal variants count once.
Result<std::vector<recipe::Recipe>> DistinctVariants(std::vector<Leaf> leaves,
                                                     const recipe::OutputDocument& output, bool has_outputs) {
  // Axes open up in the order in which the recipe reads them; the matrix order is that of the files.
  std::stable_sort(leaves.begin(), leaves.end(),
                   [](const Leaf& a, const Leaf& b) { return a.order < b.order; });
  std::vector<recipe::Recipe> recipes;
  std::map<std::map<std::string, std::string>, std::size_t> seen;
  for (Leaf& leaf : leaves) {
    const auto [at, added] = seen.emplace(leaf.recipe.variant, recipes.size());
    if (added) {
      recipes.push_back(std::move(leaf.recipe));
      continue;
    }
    // An axis that another output alone reads must not change this one.
    const recipe::Recipe& first = recipes[at->second];
    if (!has_outputs || leaf.ignores_keys || leaf.recipe.skip) continue;
    if (recipe::EncodeRecipe(first) == recipe::EncodeRecipe(leaf.recipe)) continue;
    return Error(ErrorCode::kInvalidInput,
                 fmt::format("the output '{}' depends on a variant key through another output's version",
                             first.name))
        .At(output.span)
        .WithHint("name the key under 'build.variant.use_keys', or pin with exact=true");
  }
  return recipes;
}

/// The variants of all outputs.
struct Matrix {
  std::vector<recipe::Recipe> recipes;
  std::vector<recipe::Recipe> refused;  ///< As in Leaves.
};

Result<Matrix> RenderMatrix(const RenderInputs& inputs) {
  OutputRenderer renderer(inputs);
  Matrix matrix;
  for (std::size_t i = 0; i < inputs.outputs.size(); ++i) {
    if (inputs.outputs[i].staging) continue;
    Leaves leaves;
    PTPKG_CHECK(AddLeaves(inputs, renderer, i, {}, leaves));
    PTPKG_TRY(std::vector<recipe::Recipe> recipes,
              DistinctVariants(std::move(leaves.rendered), inputs.outputs[i], inputs.HasOutputs()));
    std::move(recipes.begin(), recipes.end(), std::back_inserter(matrix.recipes));
    std::move(leaves.refused.begin(), leaves.refused.end(), std::back_inserter(matrix.refused));
  }
  return matrix;
}

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
  return LoadVariantConfig(fs, files, options.target_platform, options.variables, options.settings);
}

}  // namespace

Result<std::vector<std::size_t>> Selected(const std::vector<recipe::Recipe>& recipes,
                                          const std::map<std::string, std::vector<std::string>>& select,
                                          bool has_outputs, const std::vector<recipe::Recipe>& refused) {
  std::vector<std::size_t> kept(recipes.size());
  std::iota(kept.begin(), kept.end(), std::size_t{0});
  Variants others;
  for (const recipe::Recipe& recipe : refused) others.push_back(&recipe.variant);
  // Keys narrow one after the other, so a value counts as unknown if the keys before it left no variant with
  // that value.
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
  const std::vector<recipe::OutputDocument> outputs = recipe::OutputDocuments(document);
  recipe::DataFiles files(fs, document.path.Parent());
  const RenderInputs inputs{.fs = fs,
                            .document = document,
                            .outputs = outputs,
                            .config = config,
                            .options = options,
                            .files = files};
  PTPKG_TRY(Matrix matrix, RenderMatrix(inputs));
  PTPKG_TRY(const std::vector<std::size_t> kept,
            Selected(matrix.recipes, options.select, inputs.HasOutputs(), matrix.refused));
  std::vector<recipe::Recipe> selected;
  for (const std::size_t i : kept) selected.push_back(matrix.recipes[i]);
  std::vector<recipe::Recipe> all = std::move(matrix.recipes);
  all.insert(all.end(), matrix.refused.begin(), matrix.refused.end());
  // The names of outputs are checked against all variants, file names only among the selected ones: the
  // others are not built.
  PTPKG_CHECK(CheckRendered(document, outputs, all, selected));
  return selected;
}

}  // namespace ptpkg::variant
