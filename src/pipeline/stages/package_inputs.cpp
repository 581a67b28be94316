// A plan may run hours after it was made, or on another machine, so content at a place counts twice: its
// digest is an input of the node, and the node compares again when it runs. A difference is an error
// (ChangedSince), never a rebuild under the old key.
//
// Each kind of content has a pair of functions: Set… while planning, Read… in the node. A new kind needs
// both, or a result could come from bytes that its key doesn't describe. Paths are places and stay out of the
// key.
//
// Packages that the same plan makes have no digest yet: the node needs their nodes, whose keys then enter its
// own.
//
// A tree of gigabytes is read only once if it is packed unchanged: ListTreePlace lists it without digests,
// and CompareTree takes the digests from the packed wheel.

#include "pipeline/stages/package_inputs.h"

#include <fmt/core.h>

#include "builder/tools/tool_key.h"
#include "conda/info/package_info.h"
#include "conda/package.h"
#include "model/tree_json.h"
#include "pipeline/stages/pack_result.h"

namespace ptpkg::pipeline {

namespace {

constexpr std::string_view kPlannedRole = "package ";
constexpr std::string_view kPackageList = "the packages of a plan";

Error ChangedSince(const std::string& what) {
  return Error(ErrorCode::kRefused, fmt::format("{} changed after planning", what))
      .WithHint("run the command again; don't edit the recipe during a build");
}

std::string HostEnvName(builder::HostEnv host_env) {
  if (host_env == builder::HostEnv::kWheels) return "wheels";
  return host_env == builder::HostEnv::kConda ? "conda" : "system";
}

/// The list written by SetPackages.
Result<Json> PackageList(const graph::NodeRun& run) {
  PTPKG_TRY(Json list, run.Input("packages"));
  if (list.is_array()) return list;
  return Error(ErrorCode::kInvalidInput,
               fmt::format("the packages of '{}' in its plan are not a list", run.subject()));
}

/// The file of a planned package: its .conda form where there is one.
Result<builder::LocalPackage> PlannedPackage(const graph::NodeRun& run, const std::string& name) {
  PTPKG_TRY(const graph::NodeResult made, run.Need(std::string(kPlannedRole) + name));
  PTPKG_TRY(const Packed packed, ReadPacked(made));
  PTPKG_TRY(const ArtifactRecord record, FirstArtifact(packed, run));
  PTPKG_TRY(const Sha256 sha256, Sha256::FromHex(record.sha256));
  return builder::LocalPackage{.name = name, .path = FileOf(made, record), .sha256 = sha256};
}

}  // namespace

void SetPackages(graph::Node& node, const std::vector<index::Candidate>& packages, const AbsPath& channel) {
  Json list = Json::array();
  for (const index::Candidate& package : packages) {
    Json item = {{"name", package.name}};
    if (package.planned_by.empty()) {
      item["file"] = fmt::format("{}/{}", package.subdir, package.file_name);
      item["sha256"] = package.sha256 ? package.sha256->Hex() : "";
    } else {
      // A package of this plan has no digest yet: the key of its node stands for it.
      node.needs.emplace(std::string(kPlannedRole) + package.name, package.planned_by);
    }
    list.push_back(std::move(item));
  }
  node.inputs["packages"] = std::move(list);
  node.places.insert_or_assign("channel", channel);
}

Result<std::vector<builder::LocalPackage>> ReadPackages(Env& env, const graph::NodeRun& run) {
  PTPKG_TRY(const Json list, PackageList(run));
  PTPKG_TRY(const AbsPath channel, run.Place("channel"));
  std::vector<builder::LocalPackage> packages;
  for (const Json& item : list) {
    PTPKG_TRY(const std::string name, JsonString(item, "name", kPackageList));
    if (!item.contains("file")) {
      PTPKG_TRY(builder::LocalPackage package, PlannedPackage(run, name));
      packages.push_back(std::move(package));
      continue;
    }
    PTPKG_TRY(const std::string file, JsonString(item, "file", kPackageList));
    PTPKG_TRY(const std::string sha256, JsonString(item, "sha256", kPackageList));
    PTPKG_TRY(const RelPath path, RelPath::Parse(file));
    builder::LocalPackage package{.name = name, .path = channel / path, .sha256 = {}};
    PTPKG_TRY(const Digests digests, HashFile(env.fs, package.path),
              fmt::format("while reading package '{}' of the output channel", file));
    package.sha256 = digests.sha256;
    if (sha256 != digests.sha256.Hex()) return ChangedSince(fmt::format("'{}'", package.path.str()));
    packages.push_back(std::move(package));
  }
  return packages;
}

void SetRecipeFolder(graph::Node& node, const builder::RecipeFolder& folder) {
  node.inputs["recipe folder"] = TreeToJson(folder.tree);
  node.places.insert_or_assign("recipe", folder.tree.root);
}

namespace {

/// A file that is gone has changed; one that cannot be read is an error of its own.
Result<bool> IsAsListed(Env& env, const AbsPath& path, const TreeEntry& entry) {
  const auto gone = [](const Error& error) {
    return error.code() == ErrorCode::kNotFound || error.code() == ErrorCode::kInvalidInput;
  };
  if (entry.kind == FileKind::kSymlink) {
    const Result<std::string> target = env.fs.ReadLink(path);
    if (target) return *target == entry.link_target;
    if (gone(target.error())) return false;
    return target.error();
  }
  const Result<Digests> digests = HashFile(env.fs, path);
  if (digests) return digests->sha256 == entry.sha256;
  if (gone(digests.error())) return false;
  return digests.error();
}

}  // namespace

Result<builder::RecipeFolder> ReadRecipeFolder(Env& env, const graph::NodeRun& run) {
  PTPKG_TRY(const AbsPath root, run.Place("recipe"));
  PTPKG_TRY(const Json listed, run.Input("recipe folder"));
  builder::RecipeFolder folder;
  PTPKG_TRY(folder.tree, TreeFromJson(listed, root, "the recipe directory of a plan"));
  for (const TreeEntry& entry : folder.tree.entries) {
    PTPKG_CHECK(env.cancel.Check());
    PTPKG_TRY(const bool same, IsAsListed(env, root / entry.path, entry),
              "while reading the recipe directory");
    if (!same) return ChangedSince(fmt::format("'{}'", (root / entry.path).str()));
  }
  return folder;
}

Result<void> SetRecipeFile(Env& env, graph::Node& node, const AbsPath& file) {
  PTPKG_TRY(const Digests digests, HashFile(env.fs, file));
  node.inputs["recipe file"] = digests.sha256.Hex();
  node.places.insert_or_assign("recipe file", file);
  return Ok();
}

Result<std::string> ReadRecipeFile(Env& env, const graph::NodeRun& run) {
  PTPKG_TRY(const AbsPath file, run.Place("recipe file"));
  PTPKG_TRY(const std::string planned, run.Text("recipe file"));
  PTPKG_TRY(std::string text, ReadFile(env.fs, file));
  if (HashText(text).Hex() != planned) return ChangedSince(fmt::format("'{}'", file.str()));
  return text;
}

Result<void> SetArtifact(Env& env, graph::Node& node, const AbsPath& file) {
  PTPKG_TRY(const Digests digests, HashFile(env.fs, file));
  node.inputs["artifact"] = {{"name", file.Name()}, {"sha256", digests.sha256.Hex()}};
  node.places.insert_or_assign("artifact", file);
  return Ok();
}

Result<AbsPath> ReadArtifactPlace(Env& env, const graph::NodeRun& run) {
  PTPKG_TRY(AbsPath file, run.Place("artifact"));
  PTPKG_TRY(const Json planned, run.Input("artifact"));
  PTPKG_TRY(const std::string sha256, JsonString(planned, "sha256", "the artifact of a plan"));
  PTPKG_TRY(const Digests digests, HashFile(env.fs, file));
  if (digests.sha256.Hex() != sha256) return ChangedSince(fmt::format("'{}'", file.str()));
  return file;
}

Result<void> SetTree(Env& env, graph::Node& node, const AbsPath& folder) {
  PTPKG_TRY(const StagedTree tree, ScanTree(env, folder));
  node.inputs["tree"] = {{"name", folder.Name()}, {"digest", TreeDigest(tree).Hex()}};
  node.places.insert_or_assign("tree", folder);
  return Ok();
}

namespace {

Result<void> CompareDigests(const graph::NodeRun& run, const StagedTree& tree) {
  PTPKG_TRY(const Json planned, run.Input("tree"));
  PTPKG_TRY(const std::string digest, JsonString(planned, "digest", "the tree of a plan"));
  if (TreeDigest(tree).Hex() == digest) return Ok();
  return ChangedSince(fmt::format("'{}'", tree.root.str()));
}

}  // namespace

Result<StagedTree> ReadTreePlace(Env& env, const graph::NodeRun& run) {
  PTPKG_TRY(const AbsPath folder, run.Place("tree"));
  PTPKG_TRY(StagedTree tree, ScanTree(env, folder));
  PTPKG_CHECK(CompareDigests(run, tree));
  return tree;
}

Result<StagedTree> ListTreePlace(Env& env, const graph::NodeRun& run) {
  PTPKG_TRY(const AbsPath folder, run.Place("tree"));
  return ScanTree(env, folder, {.hash = false});
}

Result<void> CompareTree(Env& env, const graph::NodeRun& run, StagedTree tree,
                         const std::map<std::string, Sha256>& digests) {
  for (TreeEntry& entry : tree.entries) {
    if (entry.kind != FileKind::kRegular) continue;
    PTPKG_CHECK(env.cancel.Check());
    const auto known = digests.find(entry.path.str());
    if (known != digests.end()) {
      entry.sha256 = known->second;
      continue;
    }
    const Result<Digests> read = HashFile(env.fs, tree.root / entry.path);
    if (!read && read.error().code() == ErrorCode::kNotFound)
      return ChangedSince(fmt::format("'{}'", (tree.root / entry.path).str()));
    if (!read) return read.error();
    entry.sha256 = read->sha256;
  }
  return CompareDigests(run, tree);
}

namespace {

void SetOptions(graph::Node& node, const builder::ToolOptions& options) {
  if (!options.python.empty()) node.options["python"] = options.python;
  if (!options.conda_exe.empty()) node.options["conda"] = options.conda_exe;
  if (!options.cuda_home.empty()) node.options["cuda"] = options.cuda_home;
}

}  // namespace

void SetCachedHost(graph::Node& node, const std::string& tools, const builder::ToolOptions& options) {
  node.inputs["tools"] = tools;
  node.inputs["env"] = HostEnvName(builder::HostEnv::kSystem);
  SetOptions(node, options);
}

Result<void> SetHost(Env& env, graph::Node& node, const builder::HostPlan& host,
                     const builder::ToolOptions& options) {
  PTPKG_TRY(node.inputs["tools"], builder::ToolKey(env, host));
  node.inputs["env"] = HostEnvName(host.host_env);
  // So a node on another machine takes the same bytes, whatever the index says by then.
  if (host.wheels) node.inputs["wheels"] = builder::LockedWheelsToJson(host.wheels->wheels);
  SetOptions(node, options);
  return Ok();
}

Result<builder::HostRequest> ReadHostRequest(const graph::NodeRun& run) {
  builder::HostRequest request{
      .options = {.python = run.Option("python"),
                  .conda_exe = run.Option("conda"),
                  .cuda_home = run.Option("cuda")},
  };
  PTPKG_TRY(const Json packages, PackageList(run));
  for (const Json& item : packages) {
    PTPKG_TRY(std::string provided, JsonString(item, "name", kPackageList));
    request.provided.insert(std::move(provided));
  }
  PTPKG_TRY(const std::string name, run.Text("env"));
  for (const builder::HostEnv host_env :
       {builder::HostEnv::kSystem, builder::HostEnv::kConda, builder::HostEnv::kWheels}) {
    if (HostEnvName(host_env) != name) continue;
    request.host_env = host_env;
    if (host_env != builder::HostEnv::kWheels) return request;
    PTPKG_TRY(const Json wheels, run.Input("wheels"));
    PTPKG_TRY(request.given, builder::LockedWheelsFromJson(wheels, "the wheels of a plan"));
    return request;
  }
  return Error(ErrorCode::kInvalidInput, fmt::format("'{}' is not a host environment", name));
}

Result<void> CheckToolsUnchanged(Env& env, const graph::NodeRun& run, const builder::HostPlan& host) {
  PTPKG_TRY(const std::string key, builder::ToolKey(env, host));
  PTPKG_TRY(const std::string planned, run.Text("tools"));
  if (key != planned) return ChangedSince("the machine's tools");
  return Ok();
}

Result<void> UnpackInto(Env& env, const AbsPath& package, const builder::UnpackInto& target) {
  PTPKG_TRY([[maybe_unused]] const conda::PackageInfo info,
            conda::UnpackPackage(env, package, target.prefix,
                                 {.prefix = target.prefix.str(), .python_version = target.python_version}));
  return Ok();
}

}  // namespace ptpkg::pipeline
