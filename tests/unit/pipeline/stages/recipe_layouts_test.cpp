// The search paths of recipes/pytorch/torch.yaml are the built-in layouts of PyTorch:
// src/convert/data/layouts.yaml.

#include <algorithm>
#include <gtest/gtest.h>

#include "convert/layout_rules.h"
#include "convert/layouts.h"
#include "support/matchers.h"
#include "support/paths.h"
#include "support/test_env.h"
#include "variant/render_variants.h"

namespace ptpkg::pipeline {
namespace {

class RecipeLayouts : public ::testing::Test {
 protected:
  /// The recipe for `platform`: "", "cuda" or "rocm", and the variants in `mine`.
  Result<std::vector<recipe::Recipe>> RenderTorch(const std::string& platform, const std::string& mine) {
    const AbsPath folder = test::Repository() / "recipes/pytorch";
    variant::RenderOptions options;
    options.variant_files = {folder / "variants_torch.yaml"};
    if (!platform.empty()) options.variant_files.push_back(folder / ("variants_torch_" + platform + ".yaml"));
    options.variant_files.push_back(
        env_.dir().WriteFile("mine.yaml",
                             "torch_version: [\"2.9.1\"]\npython: [\"3.11\"]\nzip_keys: []\n"
                             "torch_gpu_archs: [native]\ntorch_wheel_requires: [none]\n" +
                                 mine));
    PTPKG_TRY(std::vector<recipe::Recipe> recipes, variant::Render(env_->fs, folder / "torch.yaml", options));
    std::erase_if(recipes, [](const recipe::Recipe& recipe) { return recipe.skip; });
    return recipes;
  }

  test::TestEnv env_;
};

TEST_F(RecipeLayouts, AreThoseOfTheTable) {
  const struct {
    const char* format;
    const char* name;  ///< Of the built-in layout.
    const char* platform;
    const char* mine;
  } cases[] = {{"conda", "pytorch-conda", "", ""},
               {"conda", "pytorch-conda", "cuda", "cuda_compiler_version: [\"13.0\"]\n"},
               {"wheel", "pytorch-wheel-cpu", "", ""},
               {"wheel", "pytorch-wheel-cuda12", "cuda", "cuda_compiler_version: [\"12.6\"]\n"},
               {"wheel", "pytorch-wheel-cuda13", "cuda", "cuda_compiler_version: [\"13.0\"]\n"},
               {"wheel", "pytorch-wheel-rocm-bundled", "rocm", "rocm_version: [\"6.4\"]\n"},
               {"wheel", "pytorch-wheel-rocm", "rocm", "rocm_version: [\"7.0\"]\n"}};
  for (const auto& [format, name, platform, mine] : cases) {
    SCOPED_TRACE(name);
    ASSERT_OK_AND_ASSIGN(const auto recipes, RenderTorch(platform, mine));
    ASSERT_EQ(recipes.size(), 1U);
    const std::vector<elf::PathRule> rules = convert::LayoutRules(recipes.front().ptpkg.layouts.at(format));
    ASSERT_OK_AND_ASSIGN(const std::vector<elf::PathRule> built_in, convert::BuiltInLayout(name));
    for (const elf::PathRule& wanted : built_in) {
      // The first rule that matches counts, and no other of the recipe matches these files.
      const auto rule = std::find_if(rules.begin(), rules.end(),
                                     [&](const auto& one) { return one.files == wanted.files; });
      ASSERT_NE(rule, rules.end()) << wanted.files;
      EXPECT_EQ(*rule, wanted) << wanted.files;
    }
  }
}

}  // namespace
}  // namespace ptpkg::pipeline
