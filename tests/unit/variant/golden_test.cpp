// Whole recipes against fixtures/golden: the exact text of diagnostics, and what good recipes render to.
// PTPKG_UPDATE_GOLDEN=1 rewrites the expected files, and is refused where CI is set.

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <set>

#include "support/json.h"
#include "support/matchers.h"
#include "support/mem_fs.h"
#include "support/paths.h"
#include "variant/render.h"
#include "variant/render_json.h"

namespace ptpkg::variant {
namespace {

namespace files = std::filesystem;

const files::path kFixtures = test::Fixtures().str();

std::string ReadText(const files::path& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in.good()) << path;
  return {std::istreambuf_iterator<char>(in), {}};
}

bool IsSet(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): before any thread is started
  return value != nullptr && *value != '\0';
}

void CompareWithGolden(const files::path& golden, const std::string& actual) {
  if (IsSet("PTPKG_UPDATE_GOLDEN")) {
    ASSERT_FALSE(IsSet("CI")) << "expected files are not rewritten in CI";
    files::create_directories(golden.parent_path());
    std::ofstream(golden, std::ios::binary) << actual;
    return;
  }
  ASSERT_TRUE(files::exists(golden)) << golden << " is missing; PTPKG_UPDATE_GOLDEN=1 writes it";
  EXPECT_EQ(ReadText(golden), actual) << golden;
}

/// Renders `recipe` in memory, so that no path of this machine gets into messages.
Result<std::vector<recipe::Recipe>> RenderInMemory(const files::path& recipe, const files::path& variants) {
  test::MemFs fs;
  fs.AddFile("/recipe/recipe.yaml", ReadText(recipe));
  if (files::exists(variants)) fs.AddFile("/recipe/variants.yaml", ReadText(variants));
  return Render(fs, AbsPath::Literal("/recipe/recipe.yaml"), {});
}

/// Names without the ending `suffix` of the entries of `folder` that have it.
std::set<std::string> NamesIn(const files::path& folder, const std::string& suffix) {
  std::set<std::string> names;
  for (const files::directory_entry& entry : files::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(suffix)) names.insert(name.substr(0, name.size() - suffix.size()));
  }
  return names;
}

TEST(Golden, DiagnosticsOfBadRecipes) {
  std::set<std::string> cases = NamesIn(kFixtures / "recipes/errors", ".yaml");
  std::erase_if(cases, [](const std::string& name) { return name.ends_with(".variants"); });
  EXPECT_GE(cases.size(), 25U);
  for (const std::string& name : cases) {
    SCOPED_TRACE(name);
    const files::path folder = kFixtures / "recipes/errors";
    const auto recipes = RenderInMemory(folder / (name + ".yaml"), folder / (name + ".variants.yaml"));
    ASSERT_FALSE(recipes.has_value());
    EXPECT_TRUE(recipes.error().code() == ErrorCode::kInvalidInput ||
                recipes.error().code() == ErrorCode::kUnsupported);
    EXPECT_TRUE(recipes.error().span().has_value());
    CompareWithGolden(kFixtures / "golden/recipe_errors" / (name + ".txt"),
                      FormatError(recipes.error()) + "\n");
  }
  EXPECT_EQ(NamesIn(kFixtures / "golden/recipe_errors", ".txt"), cases)
      << "an expected file without its recipe";
}

TEST(Golden, RenderingOfGoodRecipes) {
  const std::set<std::string> cases = NamesIn(kFixtures / "recipes/ok", "");
  EXPECT_GE(cases.size(), 8U);
  for (const std::string& name : cases) {
    SCOPED_TRACE(name);
    const files::path folder = kFixtures / "recipes/ok" / name;
    const auto recipes = RenderInMemory(folder / "recipe.yaml", folder / "variants.yaml");
    ASSERT_OK(recipes);
    Json rendered = Json::array();
    for (const recipe::Recipe& recipe : *recipes) rendered.push_back(RenderedToJson(recipe));
    CompareWithGolden(kFixtures / "golden/recipe_ok" / (name + ".json"), DumpJson(rendered));
  }
  EXPECT_EQ(NamesIn(kFixtures / "golden/recipe_ok", ".json"), cases) << "an expected file without its recipe";
}

/// recipes/magma with variants.yaml and, after it, `variants`.
Result<std::vector<recipe::Recipe>> RenderMagma(const std::string& variants) {
  const files::path folder = kFixtures.parent_path() / "recipes/magma";
  test::MemFs fs;
  RenderOptions options;
  for (const std::string& file : {std::string("variants.yaml"), variants}) {
    const AbsPath path = AbsPath::Literal("/recipe") / file;
    fs.AddFile(path.str(), ReadText(folder / file));
    options.variant_files.push_back(path);
  }
  fs.AddFile("/recipe/recipe.yaml", ReadText(folder / "recipe.yaml"));
  return Render(fs, AbsPath::Literal("/recipe/recipe.yaml"), options);
}

TEST(Golden, RenderingOfMagma) {
  for (const std::string name :
       {"variants", "variants_smoke", "variants_pytorch", "variants_native", "variants_rocm"}) {
    SCOPED_TRACE(name);
    const auto recipes = RenderMagma(name + ".yaml");
    ASSERT_OK(recipes);
    Json rendered = Json::array();
    for (const recipe::Recipe& recipe : *recipes) {
      Json one = RenderedToJson(recipe);
      one["script_env"] = recipe.script.env;
      one["device_code"] = recipe.ptpkg.device_code;
      rendered.push_back(std::move(one));
    }
    CompareWithGolden(kFixtures / "golden/magma" / (name + ".json"), DumpJson(rendered));
  }
}

}  // namespace
}  // namespace ptpkg::variant
