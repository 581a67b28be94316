// The rendered recipe in the form of a recipe, with all values filled in, for `ptpkg render` and for conda
// packages.
//
// Empty members are left out, so the text of a recipe without some key doesn't change when that key is added
// to ptpkg. URLs lose their credentials. A branch or HEAD becomes the commit that it meant, and a tag keeps
// its name next to `expected_commit`.

#include "recipe/recipe_json.h"

#include <utility>

#include "recipe/git_url.h"
#include "support/text/json.h"

namespace ptpkg::recipe {
namespace {

/// Collects the members that are not empty.
class Members {
 public:
  // 0 and false count as given.
  Members& Add(const char* key, Json value) {
    const bool empty = value.is_null() ||
                       (value.is_string() && value.get_ref<const std::string&>().empty()) ||
                       (value.is_structured() && value.empty());
    if (!empty) json_[key] = std::move(value);
    return *this;
  }
  Members& AddIf(bool given, const char* key) {
    if (given) json_[key] = true;
    return *this;
  }
  [[nodiscard]] Json Take() { return std::move(json_); }

 private:
  Json json_ = Json::object();
};

Json SourceToJson(const Source& source) {
  Members members;
  Json urls = Json::array();
  // This text ends up in public packages.
  for (const std::string& url : source.urls) urls.push_back(ShownUrl(url));
  members.Add("url", std::move(urls)).Add("path", source.path).Add("file_name", source.file_name);
  members.Add("target_directory", source.target_directory).Add("patches", source.patches);
  if (source.sha256) members.Add("sha256", source.sha256->Hex());
  if (source.md5) members.Add("md5", source.md5->Hex());
  members.Add("filter",
              Members().Add("include", source.filter_include).Add("exclude", source.filter_exclude).Take());
  if (source.git.url.empty()) return members.Take();
  const GitSource& git = source.git;
  // A ref that moves is written as the commit that it was.
  const bool keeps_name = git.commit.empty() || !git.tag.empty();
  members.Add("git", ShownGitUrl(git.url)).Add("tag", git.tag).Add("branch", keeps_name ? git.branch : "");
  // A recipe has one of tag, branch and rev, so the commit takes the place of the branch.
  members.Add("rev", keeps_name ? git.rev : git.commit);
  members.Add("expected_commit", git.commit.empty() ? git.expected_commit : git.commit);
  if (git.depth != 0) members.Add("depth", git.depth);
  members.AddIf(git.lfs, "lfs");
  if (!git.submodules) members.Add("submodules", false);
  return members.Take();
}

Json ScriptToJson(const BuildScript& script) {
  if (script.lines.empty() && script.file.empty()) return Json();
  Members members;
  members.Add("content", script.lines).Add("file", script.file).Add("env", script.env);
  members.Add("interpreter", script.interpreter).Add("secrets", script.secrets);
  return members.Take();
}

Json DynamicLinkingToJson(const DynamicLinking& linking) {
  Members members;
  members.Add("rpaths", linking.rpaths).Add("rpath_allowlist", linking.rpath_allowlist);
  // No glob means all files, which is the default and thus left out.
  members.Add("binary_relocation", linking.relocates ? Json(linking.relocated) : Json(false));
  return members.Add("overlinking_behavior", linking.overlinking_is_error ? "" : "ignore").Take();
}

Json PrefixDetectionToJson(const PrefixDetection& detection) {
  Members members;
  members.AddIf(detection.ignore_binary, "ignore_binary_files");
  members.Add("ignore", detection.ignore_all ? Json(true) : Json(detection.ignore));
  return members
      .Add("force_file_type",
           Members().Add("text", detection.force_text).Add("binary", detection.force_binary).Take())
      .Take();
}

Json BuildToJson(const Recipe& recipe) {
  Members members;
  members.Add("number", recipe.build_number).Add("string", recipe.build_string);
  if (recipe.subdir == "noarch") members.Add("noarch", recipe.noarch_python ? "python" : "generic");
  members.Add("script", ScriptToJson(recipe.script));
  members.Add("files",
              Members().Add("include", recipe.files_include).Add("exclude", recipe.files_exclude).Take());
  members.Add("python", Members()
                            .Add("entry_points", recipe.python_entry_points)
                            .AddIf(recipe.python_version_independent, "version_independent")
                            .Take());
  members.Add("prefix_detection", PrefixDetectionToJson(recipe.prefix_detection));
  members.Add("dynamic_linking", DynamicLinkingToJson(recipe.dynamic_linking));
  members.Add("always_include_files", recipe.always_include_files);
  members.Add("always_copy_files", recipe.always_copy_files);
  // The names of the features follow from their number and the package's name.
  if (!recipe.track_features.empty()) {
    members.Add("variant", Json{{"down_prioritize_variant", recipe.track_features.size()}});
  }
  return members.Take();
}

Json RequirementsToJson(const Requirements& requirements) {
  const IgnoreRunExports& ignore = requirements.ignore_run_exports;
  return Members()
      .Add("build", SpecsToJson(requirements.build))
      .Add("host", SpecsToJson(requirements.host))
      .Add("run", SpecsToJson(requirements.run))
      .Add("run_constraints", SpecsToJson(requirements.run_constraints))
      .Add("run_exports", RunExportsToJson(requirements.run_exports))
      .Add("ignore_run_exports",
           Members().Add("by_name", ignore.by_name).Add("from_package", ignore.from_package).Take())
      .Take();
}

Json AboutToJson(const About& about) {
  return Members()
      .Add("homepage", about.homepage)
      .Add("repository", about.repository)
      .Add("documentation", about.documentation)
      .Add("license", about.license)
      .Add("license_family", about.license_family)
      .Add("license_file", about.license_files)
      .Add("summary", about.summary)
      .Add("description", about.description)
      .Take();
}

Json LayoutToJson(const Layout& layout) {
  Json rules = Json::array();
  for (const LayoutRule& rule : layout) {
    rules.push_back({{"files", rule.files},
                     {"rpath", rule.rpath},
                     {"tag", rule.tag == RpathTag::kRpath ? "rpath" : "runpath"}});
  }
  return rules;
}

Json SlicesToJson(const GpuSlices& slices) {
  if (slices.gpus.empty()) return Json();
  Members members;
  members.Add("gpus", slices.gpus).Add("ptx", slices.keep_ptx ? "keep" : "").Add("allow", slices.allow);
  members.AddIf(slices.compact, "compact").AddIf(slices.variant, "variant");
  return members.Add("cuda", slices.cuda).Take();
}

Json ResourcesToJson(const JobResources& resources) {
  Members members;
  for (const auto& [name, value] :
       {std::pair("cores", resources.cores), std::pair("memory", resources.memory_bytes),
        std::pair("disk", resources.disk_bytes), std::pair("gpus", resources.gpus),
        std::pair("minutes", resources.minutes)}) {
    if (value > 0) members.Add(name, value);
  }
  return members.Take();
}

Json PtpkgToJson(const PtpkgExtra& extra) {
  Members layouts;
  for (const auto& [family, layout] : extra.layouts) layouts.Add(family.c_str(), LayoutToJson(layout));
  Members members;
  // Without a list, the build decides.
  if (extra.formats_given) members.Add("formats", extra.formats);
  if (extra.memory_per_job > 0) members.Add("memory_per_job", extra.memory_per_job);
  members.Add("resources", ResourcesToJson(extra.resources));
  if (!extra.resume) members.Add("resume", false);
  members.Add("dev", Members().Add("script", ScriptToJson(extra.dev_script)).Take());
  return members.Add("layouts", layouts.Take())
      .Add("wheel", Members()
                        .Add("name", extra.wheel_name)
                        .Add("requires", extra.wheel_requires)
                        .Add("exclude", extra.wheel_exclude)
                        .Add("repair", extra.wheel_repair)
                        .Take())
      .Add("zip", Members()
                      .Add("name", extra.zip.name)
                      .Add("root", extra.zip.root)
                      .Add("top", extra.zip.top)
                      .Add("files", extra.zip.files)
                      .Add("exclude", extra.zip.exclude)
                      .Add("texts", extra.zip.texts)
                      .Take())
      .Add("system_packages", extra.system_packages)
      .Add("allow_unresolved", extra.allow_unresolved)
      .Add("device_code", extra.device_code)
      .Add("slices", SlicesToJson(extra.slices))
      .AddIf(extra.allow_empty, "allow_empty")
      .Take();
}

Json InheritToJson(const Recipe& recipe) {
  if (recipe.inherited == nullptr) return Json();
  return {{"from", recipe.inherited->name}, {"run_exports", recipe.inherit_run_exports}};
}

/// Recipe key for the modules of a language.
const char* ModulesKey(const std::string& language) {
  if (language == "perl") return "uses";
  return language == "r" ? "libraries" : "requires";
}

Json TestToJson(const PythonTest& test) {
  // Always written: false is not the default, and an item without any key would be no test.
  Json python = {{"pip_check", test.pip_check}};
  if (!test.imports.empty()) python["imports"] = test.imports;
  if (!test.python_versions.empty()) python["python_version"] = test.python_versions;
  return Members()
      .Add("python", std::move(python))
      .Add("requirements", Members().Add("run", SpecsToJson(test.requirements)).Take())
      .Take();
}

Json TestToJson(const ScriptTest& test) {
  Members members;
  members.Add("script", ScriptToJson(test.script));
  members.Add("requirements", Members()
                                  .Add("run", SpecsToJson(test.requirements))
                                  .Add("build", SpecsToJson(test.build_requirements))
                                  .Take());
  members.Add("files", Members().Add("source", test.source_files).Add("recipe", test.recipe_files).Take());
  return members.Take();
}

Json TestToJson(const ModulesTest& test) {
  return {{test.language, {{ModulesKey(test.language), test.modules}}}};
}

Json TestToJson(const ContentsTest& test) {
  Json contents =
      Members()
          .Add("files", Members().Add("exists", test.files).Add("not_exists", test.missing_files).Take())
          .Add("site_packages", test.site_packages)
          .Add("bin", test.bin)
          .Add("lib", test.lib)
          .Add("include", test.include)
          .AddIf(test.strict, "strict")
          .Take();
  return {{"package_contents", std::move(contents)}};
}

}  // namespace

Json SpecsToJson(const std::vector<MatchSpec>& specs) {
  Json array = Json::array();
  for (const MatchSpec& spec : specs) array.push_back(spec.str());
  return array;
}

Json RunExportsToJson(const RunExports& exports) {
  return Members()
      .Add("weak", SpecsToJson(exports.weak))
      .Add("strong", SpecsToJson(exports.strong))
      .Add("noarch", SpecsToJson(exports.noarch))
      .Add("weak_constraints", SpecsToJson(exports.weak_constraints))
      .Add("strong_constraints", SpecsToJson(exports.strong_constraints))
      .Take();
}

Json SourcesToJson(const std::vector<Source>& sources) {
  Json array = Json::array();
  for (const Source& source : sources) array.push_back(SourceToJson(source));
  return array;
}

Json TestsToJson(const std::vector<Test>& tests) {
  Json array = Json::array();
  for (const Test& test : tests) {
    array.push_back(std::visit([](const auto& kind) { return TestToJson(kind); }, test));
  }
  return array;
}

Json RecipeToJson(const Recipe& recipe) {
  return Members()
      .Add("schema_version", 1)
      .Add("package", Json{{"name", recipe.name}, {"version", recipe.version}})
      .Add("inherit", InheritToJson(recipe))
      .Add("source", SourcesToJson(recipe.sources))
      .Add("build", BuildToJson(recipe))
      .Add("requirements", RequirementsToJson(recipe.requirements))
      .Add("tests", TestsToJson(recipe.tests))
      .Add("about", AboutToJson(recipe.about))
      .Add("extra", Members().Add("ptpkg", PtpkgToJson(recipe.ptpkg)).Take())
      .Take();
}

}  // namespace ptpkg::recipe
