// A statement must be equal for equal artifacts, on any machine, and must not leak secrets. So it has no
// times and no paths of this machine. Local sources without a declared digest appear only in the digest of
// all sources. URLs lose users, passwords, channel tokens, queries and fragments.
//
// resolvedDependencies lists everything that the build read: recipe files, sources, packages of the channel,
// wheels, and one digest for all tools. Staging outputs are followed to their own inputs. Packages that the
// same plan makes have no digest yet, so the node `sign` adds them when it runs (`packages`).
//
// The materials of a wheel's bill of materials are the same facts in another form. They are inputs of the
// wheel's node, while a definition is an input of `sign`: only signing depends on it.
// docs/formats/provenance.md has each field.

#include "pipeline/stages/provenance.h"

#include <fmt/core.h>

#include "conda/info/about_json.h"
#include "pipeline/stages/pack_result.h"
#include "provenance/key_file.h"
#include "source/prepare.h"
#include "support/digest/hash.h"
#include "support/text/json.h"

namespace ptpkg::pipeline {
namespace {

constexpr const char* kBuildType = "urn:ptpkg:build:v1";
constexpr const char* kRepackType = "urn:ptpkg:repack:v1";

Json Dependency(const std::string& name, const std::string& algorithm, const std::string& digest) {
  return {{"name", name}, {"digest", {{algorithm, digest}}}};
}

/// A URL that says something on other machines.
bool IsRemote(const std::string& url) {
  return url.find("://") != std::string::npos && !url.starts_with("file:");
}

/// Without possible secrets: queries and fragments (tokens of signed URLs), users, passwords, channel tokens.
std::string UrlWithoutSecrets(const std::string& url) {
  return conda::WithoutCredentials(url.substr(0, url.find_first_of("?#")));
}

/// The last part of a URL or path. A repository may be named as ssh has it: git@host:repository.
std::string NameIn(std::string_view place) {
  while (place.ends_with('/')) place.remove_suffix(1);
  const std::size_t slash = place.rfind('/');
  return std::string(place.substr((slash == std::string_view::npos ? place.rfind(':') : slash) + 1));
}

/// nullopt: a directory of this machine, which the digest of all sources covers.
std::optional<Json> DependencyOf(const recipe::Source& source) {
  if (!source.git.url.empty()) {
    const std::string url = UrlWithoutSecrets(source.git.url);
    Json item = Dependency(NameIn(url), "gitCommit", source.git.commit);
    if (IsRemote(url)) item["uri"] = fmt::format("git+{}@{}", url, source.git.commit);
    return item;
  }
  // A path of this machine means nothing elsewhere.
  if (!source.sha256 && !source.md5) return std::nullopt;
  const std::string kind = source.sha256 ? "sha256" : "md5";
  const std::string digest = source.sha256 ? source.sha256->Hex() : source.md5->Hex();
  if (source.urls.empty()) {
    const std::string name = source.path.substr(source.path.rfind('/') + 1);  // '?' and ':' may be in it
    return Dependency(name, kind, digest);
  }
  const std::string url = UrlWithoutSecrets(source.urls.front());
  Json item = Dependency(NameIn(url), kind, digest);
  if (IsRemote(url)) item["uri"] = url;
  return item;
}

bool IsReplaced(const BuildRequest& request, const recipe::Recipe& recipe) {
  for (const auto& [name, path] : request.sources) {
    if (source::OverrideApplies(recipe, name)) return true;
  }
  return false;
}

void AddSources(const BuildRequest& request, const recipe::Recipe& recipe, const graph::Node& node,
                Json& dependencies) {
  // The first one gave way to what --source names.
  const bool replaced = IsReplaced(request, recipe);
  for (std::size_t i = replaced ? 1 : 0; i < recipe.sources.size(); ++i) {
    if (auto item = DependencyOf(recipe.sources[i])) dependencies.push_back(*std::move(item));
  }
  if (recipe.sources.empty() && !replaced) return;
  dependencies.push_back(
      Dependency("sources of " + recipe.name, "ptpkgSources", node.inputs.value("source", "")));
}

void AddWheels(const graph::Node& node, Json& dependencies) {
  if (!node.inputs.contains("wheels")) return;
  for (const Json& wheel : node.inputs["wheels"].value("wheels", Json::array()))
    dependencies.push_back(Dependency(wheel.value("file", ""), "sha256", wheel.value("sha256", "")));
}

/// All inputs of the build of `recipe`, and of the staging outputs that it inherits.
void AddBuild(const graph::Plan& plan, const std::string& id, const BuildRequest& request,
              const recipe::Recipe& recipe, BuildDescription& making) {
  const graph::Node* const node = plan.Find(id);
  if (node == nullptr) return;
  Json& dependencies = (*making.definition)["resolvedDependencies"];
  for (const Json& entry : node->inputs.value("recipe folder", Json::array())) {
    if (entry.contains("sha256"))
      dependencies.push_back(
          Dependency("recipe/" + entry.value("path", ""), "sha256", entry.value("sha256", "")));
  }
  AddSources(request, recipe, *node, dependencies);
  for (const Json& package : node->inputs.value("packages", Json::array())) {
    const std::string file = package.value("file", "");
    if (!file.empty()) dependencies.push_back(Dependency(file, "sha256", package.value("sha256", "")));
  }
  AddWheels(*node, dependencies);
  dependencies.push_back(
      Dependency("tools of " + recipe.name, "ptpkgTools", HashText(node->inputs.value("tools", "")).Hex()));
  for (const auto& [role, other] : node->needs) {
    if (role.starts_with(kBuiltWithRole)) making.packages.emplace(std::string(kBuiltWithRole) + other, other);
  }
  const auto staging = node->needs.find("staging");
  if (staging != node->needs.end() && recipe.inherited != nullptr)
    AddBuild(plan, staging->second, request, *recipe.inherited, making);
}

/// The digest of `path` among the files of the recipe's directory, "" if it is not one of them.
std::string FolderDigest(const graph::Node& node, const std::string& path) {
  for (const Json& entry : node.inputs.value("recipe folder", Json::array())) {
    if (entry.value("path", "") == path) return entry.value("sha256", "");
  }
  return "";
}

/// Source of the materials of all nodes of a build.
struct MaterialsFrom {
  const graph::Plan& plan;
  const BuildRequest& request;
  const Toolchains& toolchains;
};

void AddMaterials(const MaterialsFrom& from, const std::string& id, const recipe::Recipe& recipe,
                  Json& materials) {
  const graph::Node* const node = from.plan.Find(id);
  if (node == nullptr) return;
  AddSources(from.request, recipe, *node, materials["sources"]);
  for (const recipe::Source& source : recipe.sources) {
    const auto item = DependencyOf(source);
    for (const std::string& patch : source.patches) {
      Json entry = {{"name", patch}, {"of", item ? item->value("name", "") : ""}};
      if (std::string digest = FolderDigest(*node, patch); !digest.empty())
        entry["sha256"] = std::move(digest);
      materials["patches"].push_back(std::move(entry));
    }
  }
  const auto toolchain = from.toolchains.find(id);
  if (toolchain != from.toolchains.end()) {
    for (const auto& [name, version] : toolchain->second)
      materials["tools"].push_back({{"name", name}, {"version", version}});
  }
  AddWheels(*node, materials["tools"]);
  materials["tools"].push_back(
      Dependency("tools of " + recipe.name, "ptpkgTools", node->inputs.value("tools", "")));
  const auto staging = node->needs.find("staging");
  if (staging != node->needs.end() && recipe.inherited != nullptr)
    AddMaterials(from, staging->second, *recipe.inherited, materials);
}

}  // namespace

Json MaterialsOfBuild(const graph::Plan& plan, const std::string& built, const BuildRequest& request,
                      const recipe::Recipe& recipe, const Toolchains& toolchains) {
  Json materials = {{"sources", Json::array()}, {"patches", Json::array()}, {"tools", Json::array()}};
  AddMaterials({.plan = plan, .request = request, .toolchains = toolchains}, built, recipe, materials);
  return materials;
}

Result<Signer> ReadSigner(Env& env, const AbsPath& key) {
  PTPKG_TRY(const SigningKey read, provenance::ReadSigningKey(env, key));
  return Signer{.key = key, .key_id = read.id()};
}

Result<BuildDescription> DescribeBuild(Env& env, const graph::Plan& plan, const std::string& built,
                                       const BuildRequest& request, const recipe::Recipe& recipe) {
  PTPKG_TRY(const Digests file, HashFile(env.fs, recipe.recipe_file));
  const std::string file_name(recipe.recipe_file.Name());
  BuildDescription making;
  making.definition = Json{{"buildType", kBuildType},
                           {"externalParameters",
                            {{"recipe", file_name},
                             {"package", recipe.name},
                             {"version", recipe.version},
                             {"build", recipe.build_string},
                             {"subdir", recipe.subdir},
                             {"variant", recipe.variant}}},
                           {"resolvedDependencies", Json::array()}};
  (*making.definition)["resolvedDependencies"].push_back(
      Dependency("recipe/" + file_name, "sha256", file.sha256.Hex()));
  AddBuild(plan, built, request, recipe, making);
  return making;
}

BuildDescription DescribeRepack(const graph::Node& node) {
  const bool is_tree = node.inputs.contains("tree");
  const std::string key = is_tree ? "tree" : "artifact";
  const Json artifact = node.inputs.value(key, Json::object());
  const std::string name = artifact.value("name", "");
  const Json made_of = is_tree ? Dependency(name, "ptpkgTree", artifact.value("digest", ""))
                               : Dependency(name, "sha256", artifact.value("sha256", ""));
  Json parameters = {{key, name}};
  for (const auto& [input, value] : node.inputs.items()) {
    if (input != key && input != "source_date_epoch") parameters[input] = value;
  }
  BuildDescription making;
  making.definition = Json{{"buildType", kRepackType},
                           {"externalParameters", std::move(parameters)},
                           {"resolvedDependencies", Json::array({made_of})}};
  return making;
}

std::string AddSigning(const graph::StageTable& stages, const Signing& signing, const std::string& pack,
                       graph::Plan& plan) {
  const graph::Node* const packed = plan.Find(pack);
  graph::Node node = stages.MakeNode("sign", pack.substr(pack.find('/') + 1));
  node.id = "sign/" + pack;
  node.inputs["key"] = signing.signer.key_id;
  node.inputs["definition"] = *signing.making.definition;
  // Named as no need is: the key has one digest a name.
  node.inputs["count"] = packed == nullptr ? 1 : ArtifactCount(*packed);
  if (packed != nullptr && packed->inputs.contains("slices"))
    node.inputs["definition"]["externalParameters"]["slices"] = packed->inputs["slices"];
  node.places.emplace("sign key", signing.signer.key);
  if (packed != nullptr && packed->places.contains("output"))
    node.places.emplace("output", packed->places.at("output"));
  node.needs = signing.making.packages;
  node.needs.insert_or_assign("artifacts", pack);
  std::string id = node.id;
  plan.nodes.push_back(std::move(node));
  return id;
}

}  // namespace ptpkg::pipeline
