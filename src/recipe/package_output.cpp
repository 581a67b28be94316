#include "recipe/package_output.h"

#include "recipe/document/yaml_text.h"
#include "recipe/recipe_json.h"
#include "support/text/json.h"

namespace ptpkg::recipe {

namespace {

Layout LayoutOf(const Recipe& recipe, const char* format) {
  const auto layout = recipe.ptpkg.layouts.find(format);
  return layout == recipe.ptpkg.layouts.end() ? Layout() : layout->second;
}

std::string TestsYaml(const Recipe& recipe) {
  std::vector<Test> tests;
  for (const Test& test : recipe.tests) {
    // About the package's files, which are fixed when it is packed.
    if (!std::holds_alternative<ContentsTest>(test)) tests.push_back(test);
  }
  return tests.empty() ? std::string() : YamlText(TestsToJson(tests));
}

/// The files of tests are for conda packages.
std::vector<std::string> WheelExclude(const Recipe& recipe) {
  std::vector<std::string> globs = recipe.ptpkg.wheel_exclude;
  for (const Test& test : recipe.tests) {
    const auto* script = std::get_if<ScriptTest>(&test);
    if (script != nullptr && script->HasFiles())
      globs.push_back(TestFilesFolder(recipe.name, script->position) + "/**");
  }
  return globs;
}

}  // namespace

CondaOutput CondaOutputOf(const Recipe& recipe) {
  return {.name = recipe.name,
          .version = recipe.version,
          .build_number = recipe.build_number,
          .build_string = recipe.build_string,
          .subdir = recipe.subdir,
          .hash_input = recipe.hash_input,
          .noarch_python = recipe.noarch_python,
          .python_version_independent = recipe.python_version_independent,
          .python_entry_points = recipe.python_entry_points,
          .track_features = recipe.track_features,
          .always_copy_files = recipe.always_copy_files,
          .dynamic_linking = recipe.dynamic_linking,
          .prefix_detection = recipe.prefix_detection,
          .run = recipe.requirements.run,
          .run_constraints = recipe.requirements.run_constraints,
          .run_exports = recipe.requirements.run_exports,
          .about = recipe.about,
          .layout = LayoutOf(recipe, "conda"),
          .allow_unresolved = recipe.ptpkg.allow_unresolved,
          .device_code = recipe.ptpkg.device_code,
          // The texts are made here, so that the packer needs no rules of recipes.
          .rendered_recipe_yaml = YamlText(RecipeToJson(recipe)),
          .variant_config_yaml = YamlText(Json(recipe.variant)),
          .tests_yaml = TestsYaml(recipe)};
}

WheelOutput WheelOutputOf(const Recipe& recipe) {
  return {.version = recipe.version,
          .subdir = recipe.subdir,
          .python_entry_points = recipe.python_entry_points,
          .wheel_name = recipe.ptpkg.wheel_name,
          .wheel_requires = recipe.ptpkg.wheel_requires,
          .wheel_exclude = WheelExclude(recipe),
          .wheel_repair = recipe.ptpkg.wheel_repair,
          .allow_unresolved = recipe.ptpkg.allow_unresolved,
          .device_code = recipe.ptpkg.device_code,
          .layout = LayoutOf(recipe, "wheel")};
}

ZipOutput ZipOutputOf(const Recipe& recipe) {
  return {.zip = recipe.ptpkg.zip,
          .allow_unresolved = recipe.ptpkg.allow_unresolved,
          .device_code = recipe.ptpkg.device_code,
          .layout = LayoutOf(recipe, "zip")};
}

}  // namespace ptpkg::recipe
