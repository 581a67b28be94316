// ptpkg rebuild. Layer: pipeline.
//
// A package of ptpkg holds its recipe, the values of its variant and the digests of everything that its build
// read (stages/build_inputs.h). So a rebuild is a build of the restored recipe with three additions:
//   - before it, each digest of the plan is compared with the package's, so no difference goes unnamed;
//   - wheels of the Python index are those that the package lists, whatever the index offers today;
//   - stored results count for nothing, because one of them may be the artifact itself.

#include "pipeline/commands/rebuild.h"

#include <algorithm>
#include <fmt/core.h>

#include "builder/outside_files.h"
#include "builder/resume/work_layout.h"
#include "conda/info/package_info.h"
#include "pipeline/commands/inspect.h"
#include "pipeline/commands/render.h"
#include "pipeline/plan/input_output_overlap.h"
#include "pipeline/plan/run_plan.h"
#include "pipeline/stages/build_inputs.h"
#include "publish/output/output_folder.h"
#include "recipe/expression/scope.h"
#include "recipe/git_url.h"
#include "source/prepare.h"
#include "support/files/scratch.h"
#include "support/text/json.h"
#include "support/text/text.h"

namespace ptpkg::pipeline {
namespace {

constexpr const char* kInputsName = "info/recipe/build_inputs.json";

/// What a package says about its build.
struct Origin {
  AbsPath package;
  std::map<std::string, std::string> files;  ///< By name below info/.
  std::string stem = {};                     ///< "name-version-build".
  std::string name = {};
  std::int64_t source_date_epoch = 0;
  Json inputs = {};  ///< build_inputs.json
};

Error CannotRebuild(const AbsPath& artifact, const std::string& why) {
  return Error(ErrorCode::kUnsupported, fmt::format("cannot rebuild '{}': {}", artifact.Name(), why));
}

Result<void> RequireOwn(const AbsPath& package, const std::map<std::string, std::string>& files) {
  const auto tool = files.find("used_build_tool.json");
  const auto parsed =
      tool == files.end() ? Result<Json>(Json()) : ParseJson(tool->second, "used_build_tool.json");
  if (!parsed || !parsed->is_object() || parsed->value("name", Json()) != "ptpkg") {
    return CannotRebuild(package, "another program made it, so it does not list its build inputs")
        .WithHint("'ptpkg diff' compares it with a package that you build yourself");
  }
  if (!files.contains("recipe/recipe.yaml")) {
    return CannotRebuild(package, "it has no 'info/recipe/recipe.yaml'")
        .WithHint("converted packages have no recipe: rebuild the wheel that it was converted from");
  }
  if (!files.contains(kBuildInputsFile)) {
    return CannotRebuild(package, fmt::format("it has no '{}'", kInputsName))
        .WithHint("an earlier ptpkg made it: build it again from its recipe");
  }
  return Ok();
}

Result<Origin> ReadOrigin(Env& env, const AbsPath& package) {
  PTPKG_TRY(conda::PackageInfo info, conda::ReadPackageInfo(env, package));
  PTPKG_CHECK(RequireOwn(package, info.info_files));
  Origin origin{.package = package, .files = std::move(info.info_files)};
  constexpr std::string_view kIndex = "info/index.json";
  PTPKG_TRY(origin.name, JsonString(info.index, "name", kIndex));
  PTPKG_TRY(const std::string version, JsonString(info.index, "version", kIndex));
  PTPKG_TRY(const std::string build, JsonString(info.index, "build", kIndex));
  PTPKG_TRY(const std::int64_t timestamp, JsonInteger(info.index, "timestamp", kIndex));
  origin.stem = fmt::format("{}-{}-{}", origin.name, version, build);
  origin.source_date_epoch = timestamp / 1000;
  PTPKG_TRY(origin.inputs, ParseJson(origin.files.at(kBuildInputsFile), kInputsName));
  PTPKG_TRY(const auto missing, JsonStringsOr(origin.inputs, "not_packed", {}, kInputsName));
  if (!missing.empty()) {
    return CannotRebuild(package,
                         fmt::format("it lacks files of the recipe's directory: {}", Join(missing, ", ")))
        .WithHint("packages leave out links, and files of more than 1 MiB");
  }
  if (!origin.inputs.contains("builds") || !origin.inputs["builds"].is_array() ||
      origin.inputs["builds"].empty()) {
    return CannotRebuild(package, fmt::format("'{}' lists no build", kInputsName));
  }
  for (const Json& one : origin.inputs["builds"]) {
    const bool has_lists = one.is_object() && one.value("programs", Json::object()).is_object() &&
                           one.value("packages", Json::array()).is_array();
    if (!has_lists)
      return CannotRebuild(package, fmt::format("'{}' has a build of another form", kInputsName));
    for (const char* text : {"source", "env", "tools"}) PTPKG_CHECK(JsonString(one, text, kInputsName));
  }
  return origin;
}

/// The variant file: each key that the package used, with its one value.
Result<Json> VariantKeys(const Origin& origin) {
  const auto used = origin.files.find("hash_input.json");
  if (used == origin.files.end()) return CannotRebuild(origin.package, "it has no 'info/hash_input.json'");
  PTPKG_TRY(const Json values, ParseJson(used->second, "info/hash_input.json"));
  Json keys = Json::object();
  for (const auto& [key, value] : values.items()) {
    // The platform of a noarch package is its directory, and no platform that a build can have.
    const bool is_noarch = key == "target_platform" && value == "noarch";
    if (!key.starts_with("__") && !is_noarch) keys[key] = Json::array({value});
  }
  return keys;
}

/// Writes the variant file of a recipe. Exact pins of its outputs are among the keys, too, but the recipe
/// makes them again. Only a recipe that was rendered shows the names of its outputs.
Result<void> RestoreVariant(Env& env, const Origin& origin, const AbsPath& folder) {
  const AbsPath file = folder / recipe::kVariantFileNames[0];
  PTPKG_TRY(Json keys, VariantKeys(origin));
  PTPKG_CHECK(WriteFile(env.fs, file, DumpJson(keys)));  // JSON is YAML
  PTPKG_TRY(const std::vector<recipe::Recipe> recipes,
            Render(env, {.recipes = {folder}, .variant_files = {}, .select = {}}));
  for (const recipe::Recipe& recipe : recipes) {
    if (!recipe.recipe_name.empty()) keys.erase(recipe::NormalizedKey(recipe.name));
  }
  return WriteFile(env.fs, file, DumpJson(keys));
}

/// Writes the recipe's directory as deep below `root` as its outside files need.
Result<AbsPath> RestoreRecipe(Env& env, const Origin& origin, const AbsPath& root) {
  constexpr std::string_view kFolder = "recipe/";
  std::size_t levels = 0;
  std::map<std::string, const std::string*> files;
  for (const auto& [name, text] : origin.files) {
    if (!name.starts_with(kFolder)) continue;
    const std::string below = name.substr(kFolder.size());
    levels = std::max(levels, builder::LevelsAbove(below));
    files.emplace(below, &text);
  }
  for (const char* made : {"rendered_recipe.yaml", "variant_config.yaml", "build_inputs.json"})
    files.erase(made);
  AbsPath folder = root;
  for (std::size_t i = 0; i < levels; ++i) folder = folder / "above";
  folder = folder / origin.name;
  for (const auto& [name, text] : files) {
    PTPKG_TRY(const RelPath path, RelPath::Parse(name));
    AbsPath target = folder / path;
    if (builder::IsOutsideFile(name)) {
      PTPKG_TRY(target, builder::PlaceOfOutsideFile(folder, name));
    }
    PTPKG_CHECK(env.fs.MakeDirs(target.Parent()));
    PTPKG_CHECK(WriteFile(env.fs, target, *text));
  }
  PTPKG_TRY(const auto executable, JsonStringsOr(origin.inputs, "executable", {}, kInputsName));
  for (const std::string& name : executable) {
    if (!files.contains(name)) continue;
    PTPKG_TRY(const RelPath path, RelPath::Parse(name));
    PTPKG_CHECK(env.fs.SetMode(folder / path, 0755));
  }
  PTPKG_CHECK(RestoreVariant(env, origin, folder));
  return folder;
}

bool IsGiven(const BuildRequest& request, const recipe::Recipe& recipe) {
  const auto applies = [&](const auto& item) { return source::OverrideApplies(recipe, item.first); };
  return std::any_of(request.sources.begin(), request.sources.end(), applies) ||
         std::any_of(request.git_sources.begin(), request.git_sources.end(), applies);
}

/// Directories and repositories of the first machine are in no package: --source has to name them.
Result<void> RequireLocalSources(const Origin& origin, const BuildRequest& request,
                                 const recipe::Recipe& recipe) {
  for (std::size_t i = 0; i < recipe.sources.size(); ++i) {
    const recipe::Source& source = recipe.sources[i];
    std::string place = source.path;
    if (!source.git.url.empty()) {
      PTPKG_TRY(const recipe::GitUrl url, recipe::ParseGitUrl(source.git.url, recipe.recipe_dir));
      if (url.is_local) place = source.git.url;
    }
    if (place.empty() || (i == 0 && IsGiven(request, recipe))) continue;
    if (i > 0) {
      return CannotRebuild(
          origin.package,
          fmt::format("its recipe reads '{}', and --source replaces only the first source", place));
    }
    return Error(ErrorCode::kNotFound,
                 fmt::format("the source '{}' of '{}' is not in its package", place, recipe.name))
        .WithHint(fmt::format("ptpkg rebuild {} --source {}=PATH", origin.package.str(), recipe.name));
  }
  return recipe.inherited == nullptr ? Ok() : RequireLocalSources(origin, request, *recipe.inherited);
}

Result<void> RequireLocalSources(Env& env, const Origin& origin, const BuildRequest& request) {
  PTPKG_TRY(const std::vector<recipe::Recipe> recipes,
            Render(env, {.recipes = request.recipes, .variant_files = {}, .select = {}}));
  for (const recipe::Recipe& recipe : recipes) PTPKG_CHECK(RequireLocalSources(origin, request, recipe));
  return Ok();
}

/// Copies the packages that the build used into the channel of the rebuild.
Result<void> CopyPackages(Env& env, const Origin& origin, const AbsPath& channel, const AbsPath& output) {
  for (const Json& build : origin.inputs["builds"]) {
    for (const Json& package : build.value("packages", Json::array())) {
      PTPKG_TRY(const std::string file, JsonString(package, "file", kInputsName));
      PTPKG_TRY(const std::string sha256, JsonString(package, "sha256", kInputsName));
      PTPKG_TRY(const RelPath name, RelPath::Parse(file));
      bool there = false;
      for (const char* subdir : {"linux-64", "noarch"}) {
        const AbsPath from = channel / subdir / name;
        PTPKG_TRY(const bool exists, Exists(env.fs, from));
        if (!exists) continue;
        there = true;
        PTPKG_TRY(const Digests digests, HashFile(env.fs, from));
        if (digests.sha256.Hex() != sha256) {
          return Error(ErrorCode::kHashMismatch,
                       fmt::format("'{}' has sha256 {}, but '{}' was built with {}", from.str(),
                                   digests.sha256.Hex(), origin.stem, sha256))
              .WithHint("name the channel that has the other one: --channel DIR");
        }
        const AbsPath to = publish::OutputFolder::CondaRootOf(output) / subdir / name;
        PTPKG_CHECK(env.fs.MakeDirs(to.Parent()));
        PTPKG_TRY(const bool copied, Exists(env.fs, to));
        if (!copied) PTPKG_CHECK(env.fs.CopyFile(from, to));
      }
      if (there) continue;
      return Error(ErrorCode::kNotFound,
                   fmt::format("'{}' was built with '{}', which is not in the channel '{}'", origin.stem,
                               file, channel.str()))
          .WithHint("name the channel that has it: --channel DIR");
    }
  }
  return Ok();
}

/// "cmake 3.25.1, g++ 12.2.0": the programs of the first build.
std::string ProgramsOf(const Json& build) {
  std::vector<std::string> parts;
  const Json programs = build.value("programs", Json::object());
  for (const auto& [program, version] : programs.items())
    parts.push_back(fmt::format("{} {}", program, version.is_string() ? version.get<std::string>() : ""));
  return parts.empty() ? "packages of a conda client" : Join(parts, ", ");
}

/// Compares one build node with the record of the first build, and gives it the recorded wheels.
Result<void> LockNode(const Origin& origin, const Json& build, graph::Node& node) {
  PTPKG_TRY(const std::string source, JsonString(build, "source", kInputsName));
  const std::string source_now = node.inputs.value("source", "");
  if (source_now != source) {
    return Error(ErrorCode::kHashMismatch, fmt::format("the sources of '{}' have the digest {}, but '{}' was "
                                                       "built from sources with the digest {}",
                                                       node.subject, source_now, origin.stem, source))
        .WithHint("name the sources of the first build: --source NAME=PATH");
  }
  PTPKG_TRY(const std::string tools, JsonString(build, "tools", kInputsName));
  const Json wheels = build.value("wheels", Json());
  if (!wheels.is_null() && node.inputs.contains("wheels") && node.inputs["wheels"] != wheels) {
    node.inputs["wheels"] = wheels;
    node.inputs["tools"] = tools;  // the stage compares the digest of all tools again, with these wheels
  }
  if (node.inputs.value("tools", "") == tools) return Ok();
  return Error(ErrorCode::kHashMismatch,
               fmt::format("this machine's tools differ from those that built '{}': {}", origin.stem,
                           ProgramsOf(build)))
      .WithHint(fmt::format("install these versions; the first build had --env {}", build.value("env", "")));
}

/// Holds the build of the artifact, and those of the staging outputs that it inherits, to the package's list.
Result<void> LockBuilds(const Origin& origin, graph::Plan& plan) {
  std::string id = "build/" + origin.stem;
  for (const Json& build : origin.inputs["builds"]) {
    const auto node = std::find_if(plan.nodes.begin(), plan.nodes.end(),
                                   [&](const graph::Node& one) { return one.id == id; });
    if (node == plan.nodes.end()) {
      return CannotRebuild(origin.package, fmt::format("its recipe does not build '{}'", origin.stem))
          .WithHint("slices and edited packages have no recipe of their own: rebuild the whole package");
    }
    PTPKG_CHECK(LockNode(origin, build, *node));
    const auto staging = node->needs.find("staging");
    id = staging == node->needs.end() ? "" : staging->second;
  }
  return Ok();
}

Result<AbsPath> PackageWithRecipe(const RebuildRequest& request, ArtifactFormat format) {
  if (format == ArtifactFormat::kZip) return CannotRebuild(request.artifact, "a zip has no metadata");
  if (format != ArtifactFormat::kWheel) {
    if (request.recipe)
      return Error(ErrorCode::kUsage, "--recipe is for wheels: a conda package holds its own recipe")
          .WithHint("leave out --recipe");
    return request.artifact;
  }
  if (request.recipe) return *request.recipe;
  return CannotRebuild(request.artifact, "a wheel does not hold its recipe")
      .WithHint("name the conda package of the same build: --recipe PACKAGE.conda");
}

/// Name of the file that the rebuild has to make. A renamed package gets the name that its metadata says.
std::string WantedName(const RebuildRequest& request, const Origin& origin, ArtifactFormat format) {
  if (format == ArtifactFormat::kWheel) return std::string(request.artifact.Name());
  return origin.stem + std::string(ArtifactExtension(format));
}

Result<AbsPath> RebuiltFile(const BuildSummary& summary, const RebuildRequest& request, const AbsPath& output,
                            const std::string& wanted) {
  std::vector<std::string> names;
  for (const ArtifactRecord& record : summary.artifacts) {
    PTPKG_TRY(const RelPath path, RelPath::Parse(record.path));
    if (path.Name() == wanted) return output / path;
    names.emplace_back(path.Name());
  }
  return CannotRebuild(request.artifact,
                       fmt::format("its recipe makes {}", names.empty() ? "nothing" : Join(names, ", ")))
      .WithHint(
          "edited artifacts (repair, retag, relink, slice) cannot be rebuilt: rebuild the one they were made "
          "of");
}

Result<void> RequireEmpty(Env& env, const AbsPath& output) {
  PTPKG_TRY(const bool exists, Exists(env.fs, output));
  if (!exists) return Ok();
  PTPKG_TRY(const std::vector<std::string> names, env.fs.ListDir(output));
  if (names.empty()) return Ok();
  return Error(ErrorCode::kAlreadyExists, fmt::format("'{}' is not empty", output.str()))
      .WithHint("name a new directory: --output DIR");
}

/// Builds and returns the path of the new artifact.
Result<AbsPath> BuildAgain(Env& env, const RebuildRequest& request, const Origin& origin,
                           const AbsPath& scratch) {
  PTPKG_CHECK(builder::CheckWorkFolder(ResolveExistingPart(env, env.cache_dir)));
  PTPKG_TRY(const ArtifactFormat format, RequireFormat(request.artifact));
  BuildRequest build = request.build;
  build.output = request.output.value_or(scratch / "output");
  build.formats = {format};
  build.fresh = true;
  build.refresh = true;
  build.test = false;
  const bool from_conda = origin.inputs["builds"].front().value("env", "") == "conda";
  if (from_conda && build.host_env == builder::HostEnv::kAuto) build.host_env = builder::HostEnv::kConda;
  PTPKG_TRY(const AbsPath recipe, RestoreRecipe(env, origin, scratch / "recipe"));
  build.recipes = {recipe};
  for (const Json& one : origin.inputs["builds"]) {
    PTPKG_TRY(const auto names, JsonStringsOr(one, kNotSources, {}, kInputsName));
    for (const std::string& name : names) {
      PTPKG_TRY(RelPath path, RelPath::Parse(name));
      build.not_sources.push_back(std::move(path));
    }
  }
  PTPKG_CHECK(RequireLocalSources(env, origin, build));
  PTPKG_CHECK(
      CopyPackages(env, origin, request.channel.value_or(origin.package.Parent().Parent()), build.output));
  PTPKG_TRY(BuildPlan planned, PlanBuild(env, build));
  PTPKG_CHECK(LockBuilds(origin, planned.plan));
  PTPKG_TRY(const BuildSummary summary, RunPlan(env, planned.plan, build.output, {}));
  if (summary.failure) return Error(*summary.failure);
  return RebuiltFile(summary, request, build.output, WantedName(request, origin, format));
}

}  // namespace

Result<RebuildOutcome> Rebuild(Env& env, const RebuildRequest& request) {
  PTPKG_TRY(const ArtifactFormat format, RequireFormat(request.artifact));
  PTPKG_TRY(const AbsPath package, PackageWithRecipe(request, format));
  PTPKG_TRY(const Digests before, HashFile(env.fs, request.artifact));
  PTPKG_TRY(const Origin origin, ReadOrigin(env, package));
  if (request.output) PTPKG_CHECK(RequireEmpty(env, *request.output));
  PTPKG_TRY(const TempDir scratch, TempDir::Create(env.fs, env.cache_dir / "work", "rebuild"));
  Env then = env;
  then.source_date_epoch = origin.source_date_epoch;
  PTPKG_TRY(const AbsPath rebuilt, BuildAgain(then, request, origin, scratch.path()));
  PTPKG_TRY(const Digests after, HashFile(env.fs, rebuilt));
  RebuildOutcome outcome{.identical = before == after,
                         .sha256 = before.sha256.Hex(),
                         .rebuilt_sha256 = after.sha256.Hex(),
                         .rebuilt = std::nullopt,
                         .difference = {}};
  if (request.output) outcome.rebuilt = rebuilt;
  if (outcome.identical) return outcome;
  PTPKG_TRY(DiffOutcome difference, Diff(env, request.artifact, rebuilt));
  outcome.difference = std::move(difference.document);
  return outcome;
}

}  // namespace ptpkg::pipeline
