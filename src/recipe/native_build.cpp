// Each field that is left out here can change without a new build. To keep too much costs a build; to leave
// out too much gives a wrong result from the cache. So a name that occurs anywhere in the texts counts as
// used, in a comment as well.

#include "recipe/native_build.h"

#include <algorithm>

#include "recipe/expression/scope.h"

namespace ptpkg::recipe {

namespace {

bool IsWordByte(char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') ||
         byte == '_';
}

/// True if the build uses `key` without any text that names it: `python` decides which interpreter runs,
/// target_platform is the subdir.
bool IsAlwaysKept(const Recipe& recipe, const std::string& key) {
  const auto has = [&](const auto& specs) {
    return std::any_of(specs.begin(), specs.end(),
                       [&](const auto& spec) { return NormalizedKey(spec.name) == key; });
  };
  return recipe.build_keys.contains(key) || key == "target_platform" || has(recipe.requirements.build) ||
         has(recipe.requirements.host);
}

}  // namespace

// Whole words: a name with '_' around it is another variable (PKG_HASH in MY_PKG_HASHES).
bool MentionsVariable(std::string_view text, std::string_view name) {
  for (std::size_t at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1)) {
    const bool starts = at == 0 || !IsWordByte(text[at - 1]);
    const std::size_t end = at + name.size();
    if (starts && (end == text.size() || !IsWordByte(text[end]))) return true;
  }
  return false;
}

NativeBuild NativeBuildOf(const Recipe& recipe, const std::vector<std::string>& texts) {
  const auto mentioned = [&](std::string_view name) {
    return std::any_of(texts.begin(), texts.end(),
                       [&](const std::string& text) { return MentionsVariable(text, name); });
  };
  NativeBuild native;
  Recipe& part = native.recipe;
  part.name = recipe.name;
  part.version = recipe.version;
  part.subdir = recipe.subdir;
  part.staging = recipe.staging;
  part.noarch_python = recipe.noarch_python;
  part.python_version_independent = recipe.python_version_independent;
  // The build copies the files of tests into the package. The rest of a test matters only when it runs.
  for (const Test& test : recipe.tests) {
    const auto* script = std::get_if<ScriptTest>(&test);
    if (script == nullptr || !script->HasFiles()) continue;
    part.tests.emplace_back(ScriptTest{.source_files = script->source_files,
                                       .recipe_files = script->recipe_files,
                                       .position = script->position});
  }
  part.script = recipe.script;
  part.python_entry_points = recipe.python_entry_points;
  part.files_include = recipe.files_include;
  part.files_exclude = recipe.files_exclude;
  part.always_include_files = recipe.always_include_files;
  part.requirements.build = recipe.requirements.build;
  part.requirements.host = recipe.requirements.host;
  part.about.license_files = recipe.about.license_files;
  part.ptpkg.system_packages = recipe.ptpkg.system_packages;
  part.ptpkg.allow_empty = recipe.ptpkg.allow_empty;
  if (recipe.inherited != nullptr) {  // a wheel and a zip also take what build.files leaves out
    part.ptpkg.formats = recipe.ptpkg.formats;
    part.ptpkg.formats_given = recipe.ptpkg.formats_given;
  }
  part.recipe_dir = recipe.recipe_dir;
  part.recipe_file = recipe.recipe_file;
  // A script that doesn't mention them gets none, and the build is shared by all of their values.
  for (const char* name : {"PKG_BUILDNUM", "PKG_BUILD_STRING", "PKG_HASH"}) {
    if (mentioned(name)) native.mentioned.insert(name);
  }
  if (native.mentioned.contains("PKG_BUILDNUM")) part.build_number = recipe.build_number;
  if (native.mentioned.contains("PKG_BUILD_STRING")) part.build_string = recipe.build_string;
  if (native.mentioned.contains("PKG_HASH")) part.hash = recipe.hash;
  for (const auto& [key, value] : recipe.variant) {
    if (IsAlwaysKept(recipe, key) || mentioned(key)) part.variant.emplace(key, value);
  }
  return native;
}

}  // namespace ptpkg::recipe
