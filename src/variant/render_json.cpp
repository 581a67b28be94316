// JSON view of an evaluated recipe. Layer: variant.

#include "variant/render_json.h"

#include "recipe/recipe_json.h"
#include "support/text/json.h"

namespace ptpkg::variant {

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
  json["sources"] = recipe::SourcesToJson(recipe.sources);
  json["inherits"] = nullptr;
  if (recipe.inherited != nullptr) {
    json["inherits"] = {{"name", recipe.inherited->name},
                        {"file_stem", recipe.inherited->FileStem()},
                        {"variant", recipe.inherited->variant},
                        {"run_exports", recipe.inherit_run_exports}};
  }
  json["license"] = recipe.about.license;
  // Without a list the build decides: only it knows whether there is something to make a wheel of.
  json["formats"] = recipe.ptpkg.formats_given ? Json(recipe.ptpkg.formats) : Json(nullptr);
  if (!recipe.ptpkg.slices.gpus.empty()) json["slices"] = recipe.ptpkg.slices.gpus;
  return json;
}

}  // namespace ptpkg::variant
