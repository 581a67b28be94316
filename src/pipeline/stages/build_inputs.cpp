// info/recipe/build_inputs.json states all that `ptpkg rebuild` needs to make the same package again. It has
// the digests of sources, tools and packages of each build in the chain, the own one first. The packed recipe
// files show neither modes nor the files that are not packed, so both are stated too.

#include "pipeline/stages/build_inputs.h"

#include <fmt/core.h>

#include "builder/outside_files.h"
#include "builder/tools/tool_key.h"
#include "support/text/json.h"

namespace ptpkg::pipeline {

Result<Json> BuildInputsOf(Env& env, const graph::NodeRun& run, const builder::HostPlan& host,
                           const std::vector<builder::LocalPackage>& packages) {
  Json own = Json::object();
  for (const char* name : {"source", "env", "tools"}) {
    PTPKG_TRY(own[name], run.Text(name));
  }
  PTPKG_TRY(own["programs"], builder::ToolVersions(env, host));
  if (host.wheels) {
    PTPKG_TRY(own["wheels"], run.Input("wheels"));
  }
  if (Result<Json> not_sources = run.Input(kNotSources)) own[kNotSources] = *std::move(not_sources);
  own["packages"] = Json::array();
  for (const builder::LocalPackage& package : packages)
    own["packages"].push_back({{"file", package.path.Name()}, {"sha256", package.sha256.Hex()}});
  Json all = Json::array({std::move(own)});
  const auto staging = run.needs().find("staging");
  if (staging == run.needs().end()) return all;
  for (const Json& inherited : staging->second.value.value(kBuildInputs, Json::array()))
    all.push_back(inherited);
  return all;
}

Result<void> SetOutsideFiles(Env& env, graph::Node& node, const recipe::Recipe& recipe) {
  PTPKG_TRY(const auto files, builder::OutsideFiles(env, recipe));
  for (const auto& [name, digest] : files) node.inputs["outside files"][name] = digest.Hex();
  return Ok();
}

namespace {

/// True if builder::RecipeFiles packs the entry.
bool IsPacked(const TreeEntry& entry, const std::map<std::string, std::string>& files) {
  return entry.kind == FileKind::kRegular && files.contains("recipe/" + entry.path.str());
}

Result<void> AddOutsideFiles(Env& env, const graph::NodeRun& run, std::map<std::string, std::string>& files) {
  const Result<Json> listed = run.Input("outside files");
  if (!listed) return Ok();  // the recipe reads none
  PTPKG_TRY(const AbsPath root, run.Place("recipe"));
  for (const auto& [name, digest] : listed->items()) {
    PTPKG_TRY(const AbsPath place, builder::PlaceOfOutsideFile(root, name));
    PTPKG_TRY(std::string text, ReadFile(env.fs, place));
    // The plan's digest is part of the key, so the package must hold exactly these bytes.
    if (HashText(text).Hex() != digest) {
      return Error(ErrorCode::kRefused, fmt::format("'{}' changed while ptpkg was running", place.str()))
          .WithHint("run ptpkg again");
    }
    files.insert_or_assign("recipe/" + name, std::move(text));
  }
  return Ok();
}

}  // namespace

Result<void> AddBuildInputs(Env& env, const graph::NodeRun& run, const builder::RecipeFolder& folder,
                            const graph::NodeResult& built, std::map<std::string, std::string>& files) {
  Json executable = Json::array();
  Json not_packed = Json::array();
  for (const TreeEntry& entry : folder.tree.entries) {
    if (!IsPacked(entry, files)) {
      not_packed.push_back(entry.path.str());
    } else if (entry.mode != 0644) {
      executable.push_back(entry.path.str());
    }
  }
  PTPKG_CHECK(AddOutsideFiles(env, run, files));
  files.insert_or_assign(kBuildInputsFile,
                         DumpJson({{"builds", built.value.value(kBuildInputs, Json::array())},
                                   {"executable", std::move(executable)},
                                   {"not_packed", std::move(not_packed)}}));
  return Ok();
}

}  // namespace ptpkg::pipeline
