// JSON view of an evaluated recipe. Layer: variant.

#include "variant/render_json.h"

#include "recipe/recipe_json.h"
#include "support/json.h"

namespace ptpkg::variant {
namespace {

Json SourcesToJson(const std::vector<recipe::Source>& sources) {
  Json array = Json::array();
  for (const recipe::Source& source : sources) {
    Json item = Json::object();
    if (source.urls.empty()) {
      item["path"] = source.path;
    } else {
      item["url"] = source.urls;
    }
    if (source.sha256) item["sha256"] = source.sha256->Hex();
    if (!source.patches.empty()) item["patches"] = source.patches;
    if (!source.target_directory.empty()) item["target_directory"] = source.target_directory;
    array.push_back(std::move(item));
  }
  return array;
}

}  // namespace

Json RenderedToJson(const recipe::Recipe& recipe) {
  Json json = Json::object();
  json["name"] = recipe.name;
  json["version"] = recipe.version;
  json["build_number"] = recipe.build_number;
  json["build_string"] = recipe.build_string;
  json["hash"] = recipe.hash;
  json["hash_input"] = *recipe.hash_input;
  json["subdir"] = recipe.subdir;
  json["noarch"] = recipe.noarch_python        ? Json("python")
                   : recipe.subdir == "noarch" ? Json("generic")
                                               : Json(nullptr);
  json["skip"] = recipe.skip;
  json["variant"] = recipe.variant;
  json["file_stem"] = recipe.skip ? Json(nullptr) : Json(recipe.FileStem());
  json["requirements"] = {{"build", recipe::SpecsToJson(recipe.requirements.build)},
                          {"host", recipe::SpecsToJson(recipe.requirements.host)},
                          {"run", recipe::SpecsToJson(recipe.requirements.run)},
                          {"run_constraints", recipe::SpecsToJson(recipe.requirements.run_constraints)},
                          {"run_exports", recipe::RunExportsToJson(recipe.requirements.run_exports)}};
  json["sources"] = SourcesToJson(recipe.sources);
  json["license"] = recipe.about.license;
  json["formats"] = recipe.ptpkg.formats;
  return json;
}

}  // namespace ptpkg::variant
