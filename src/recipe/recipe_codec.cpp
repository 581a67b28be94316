// The codec decides what reaches a node and its key: a field that is missing here is invisible to every
// stage. The field lists below are the codec. tests/unit/recipe/recipe_codec_test.cpp counts the fields of
// each struct, so that a new one cannot be forgotten.
//
// Places (recipe_dir, spans) are not encoded, because equal recipes in different directories must have equal
// keys. The hash input is encoded apart, since it is shared by pointer.
//
// A plan may come from a file, so decoding trusts nothing: nlohmann's exceptions become errors, an unknown
// kind of test is refused, and names that become file names are checked again.

#include "recipe/recipe_codec.h"

#include <fmt/core.h>

#include "support/path.h"
#include "support/text/json.h"
#include "support/text/name_problem.h"

namespace ptpkg::versions {
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(MatchSpec, name, version, build)
}  // namespace ptpkg::versions

namespace ptpkg::recipe {

NLOHMANN_JSON_SERIALIZE_ENUM(RpathTag, {{RpathTag::kRpath, "rpath"}, {RpathTag::kRunpath, "runpath"}})

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(GitSource, url, tag, branch, rev, depth, lfs, submodules, expected_commit,
                                   commit)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Source, urls, path, file_name, target_directory, patches, git,
                                   filter_include,
                                   filter_exclude)  // and its digests, in EncodeSources
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RunExports, weak, strong, noarch, weak_constraints, strong_constraints)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(IgnoreRunExports, by_name, from_package)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Requirements, build, host, run, run_constraints, run_exports,
                                   ignore_run_exports)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(BuildScript, lines, file, interpreter, env, secrets)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(About, homepage, repository, documentation, license, license_family,
                                   license_files, summary, description)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(PythonTest, imports, pip_check, python_versions, requirements)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ScriptTest, script, requirements, build_requirements, source_files,
                                   recipe_files, position)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ModulesTest, language, modules)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ContentsTest, files, missing_files, site_packages, bin, lib, include,
                                   strict)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(LayoutRule, files, rpath, tag)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(DynamicLinking, rpaths, rpath_allowlist, relocates, relocated,
                                   overlinking_is_error)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(PrefixDetection, ignore_binary, ignore_all, ignore, force_text,
                                   force_binary)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(CondaOutput, name, version, build_number, build_string, subdir,
                                   noarch_python, python_version_independent, python_entry_points,
                                   track_features, always_copy_files, dynamic_linking, prefix_detection, run,
                                   run_constraints, run_exports, about, layout, allow_unresolved, device_code,
                                   rendered_recipe_yaml, variant_config_yaml,
                                   tests_yaml)  // and its hash input, below
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(WheelOutput, version, subdir, python_entry_points, wheel_name,
                                   wheel_requires, wheel_exclude, wheel_repair, allow_unresolved, device_code,
                                   layout)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ZipPart, name, root, top, files, exclude, texts)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ZipOutput, zip, allow_unresolved, device_code, layout)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(PtpkgExtra, formats, formats_given, layouts, wheel_name, wheel_requires,
                                   wheel_exclude, wheel_repair, system_packages, allow_unresolved,
                                   device_code, allow_empty, resume)

namespace {

Json EncodeTest(const Test& test) {
  return std::visit([&](const auto& kind) { return Json{{"kind", test.index()}, {"test", kind}}; }, test);
}

/// nullopt: a kind that this program does not know.
template <std::size_t kIndex = 0>
std::optional<Test> DecodeTest(const Json& json) {
  if constexpr (kIndex == std::variant_size_v<Test>) {
    return std::nullopt;
  } else {
    if (json.at("kind").get<std::size_t>() != kIndex) return DecodeTest<kIndex + 1>(json);
    return json.at("test").get<std::variant_alternative_t<kIndex, Test>>();
  }
}

/// Calls `visit(name, field)` for each field but places, spans, sources and tests.
void VisitFields(auto& recipe, const auto& visit) {
  visit("name", recipe.name);
  visit("version", recipe.version);
  visit("build_number", recipe.build_number);
  visit("build_string", recipe.build_string);
  visit("hash", recipe.hash);
  visit("hash_input", *recipe.hash_input);
  visit("variant", recipe.variant);
  visit("build_keys", recipe.build_keys);
  visit("noarch_python", recipe.noarch_python);
  visit("python_version_independent", recipe.python_version_independent);
  visit("skip", recipe.skip);
  visit("script", recipe.script);
  visit("python_entry_points", recipe.python_entry_points);
  visit("files_include", recipe.files_include);
  visit("files_exclude", recipe.files_exclude);
  visit("track_features", recipe.track_features);
  visit("always_include_files", recipe.always_include_files);
  visit("always_copy_files", recipe.always_copy_files);
  visit("dynamic_linking", recipe.dynamic_linking);
  visit("prefix_detection", recipe.prefix_detection);
  visit("requirements", recipe.requirements);
  visit("about", recipe.about);
  visit("ptpkg", recipe.ptpkg);
  visit("subdir", recipe.subdir);
}

}  // namespace

Json EncodeSources(const std::vector<Source>& sources) {
  Json list = Json::array();
  for (const Source& source : sources) {
    Json item = source;
    // Digest has no conversion to JSON, so both are written as text.
    item["sha256"] = source.sha256 ? source.sha256->Hex() : "";
    item["md5"] = source.md5 ? source.md5->Hex() : "";
    list.push_back(std::move(item));
  }
  return list;
}

Json EncodeRecipe(const Recipe& recipe) {
  Json json = Json::object();
  VisitFields(recipe, [&](const char* name, const auto& field) { json[name] = field; });
  json["sources"] = EncodeSources(recipe.sources);
  Json tests = Json::array();
  for (const Test& test : recipe.tests) tests.push_back(EncodeTest(test));
  json["tests"] = std::move(tests);
  if (recipe.staging) json["staging"] = true;
  return json;
}

namespace {

Error Unreadable(std::string_view where, std::string_view what) {
  return Error(ErrorCode::kInvalidInput, fmt::format("the recipe in {} cannot be read: {}", where, what))
      .WithHint("make the plan again with this version of ptpkg");
}

/// Decodes the fields that VisitFields does not reach. May throw what nlohmann throws.
Result<void> DecodeRest(const Json& json, std::string_view where, Recipe& recipe) {
  PTPKG_TRY(recipe.sources, DecodeSources(json.at("sources"), where));
  for (const Json& item : json.at("tests")) {
    std::optional<Test> test = DecodeTest(item);
    if (!test) return Unreadable(where, "a test has an unknown kind");
    recipe.tests.push_back(*std::move(test));
  }
  recipe.staging = json.contains("staging") && json.at("staging").get<bool>();
  return Ok();
}

/// Files and directories are called by `names`.
Result<void> CheckNames(const std::vector<std::string>& names, std::string_view where) {
  for (const std::string& name : names) {
    const auto path = RelPath::Parse(name);
    // A plan from a file could name "../x" here, and the name becomes a path.
    if (path && path->ParentText().empty() && !NameProblem(name)) continue;
    return Unreadable(where, fmt::format("'{}' is not a file name", ShownName(name)));
  }
  return Ok();
}

}  // namespace

Result<std::vector<Source>> DecodeSources(const Json& json, std::string_view where) {
  if (!json.is_array()) return Unreadable(where, "its sources are not a list");
  std::vector<Source> sources;
  try {
    for (const Json& item : json) {
      sources.push_back(item.get<Source>());
      const auto sha256 = item.at("sha256").get<std::string>();
      const auto md5 = item.at("md5").get<std::string>();
      if (!sha256.empty()) {
        PTPKG_TRY(sources.back().sha256, Sha256::FromHex(sha256));
      }
      if (!md5.empty()) {
        PTPKG_TRY(sources.back().md5, Md5::FromHex(md5));
      }
    }
  } catch (const Json::exception& error) {
    return Unreadable(where, error.what());
  }
  return sources;
}

Result<Recipe> DecodeRecipe(const Json& json, std::string_view where) {
  Recipe recipe;
  try {
    VisitFields(recipe, [&](const char* name, auto& field) { json.at(name).get_to(field); });
    PTPKG_CHECK(DecodeRest(json, where, recipe));
  } catch (const Json::exception& error) {
    return Unreadable(where, error.what());
  }
  PTPKG_CHECK(CheckNames({recipe.FileStem(), recipe.subdir}, where));
  return recipe;
}

Json EncodeNativeBuild(const NativeBuild& native) {
  Json json = EncodeRecipe(native.recipe);
  json["mentioned variables"] = native.mentioned;
  return json;
}

Result<NativeBuild> DecodeNativeBuild(const Json& json, std::string_view where) {
  PTPKG_TRY(Recipe recipe, DecodeRecipe(json, where));
  if (!json.contains("mentioned variables")) return Unreadable(where, "'mentioned variables' is missing");
  PTPKG_TRY(const std::vector<std::string> names, JsonStringsOr(json, "mentioned variables", {}, where));
  return NativeBuild{.recipe = std::move(recipe), .mentioned = {names.begin(), names.end()}};
}

Json EncodeOutput(const CondaOutput& output) {
  Json json = output;
  json["hash_input"] = *output.hash_input;
  return json;
}

Json EncodeOutput(const WheelOutput& output) { return output; }

Json EncodeOutput(const ZipOutput& output) { return output; }

Result<CondaOutput> DecodeCondaOutput(const Json& json, std::string_view where) {
  CondaOutput output;
  try {
    json.get_to(output);
    *output.hash_input = json.at("hash_input");
  } catch (const Json::exception& error) {
    return Unreadable(where, error.what());
  }
  PTPKG_CHECK(CheckNames({output.name, output.version, output.build_string, output.subdir}, where));
  return output;
}

Result<WheelOutput> DecodeWheelOutput(const Json& json, std::string_view where) {
  WheelOutput output;
  try {
    json.get_to(output);
  } catch (const Json::exception& error) {
    return Unreadable(where, error.what());
  }
  PTPKG_CHECK(CheckNames({output.subdir}, where));
  return output;
}

Result<ZipOutput> DecodeZipOutput(const Json& json, std::string_view where) {
  ZipOutput output;
  try {
    json.get_to(output);
  } catch (const Json::exception& error) {
    return Unreadable(where, error.what());
  }
  PTPKG_CHECK(CheckNames({output.zip.name, output.zip.top}, where));
  return output;
}

}  // namespace ptpkg::recipe
