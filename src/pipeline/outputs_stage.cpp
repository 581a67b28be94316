// The stage that compares what a staging output made with what its outputs hold. Layer: pipeline.

#include <algorithm>
#include <fmt/core.h>
#include <iterator>

#include "build/post_process.h"
#include "convert/zip_tree.h"
#include "pipeline/stages.h"
#include "recipe/recipe_codec.h"
#include "support/json.h"
#include "support/plural.h"

namespace ptpkg::pipeline {

namespace {

using graph::NodeResult;
using graph::NodeRun;

constexpr std::size_t kShown = 5;

/// The files of one package, over all variants that are built.
struct Package {
  std::set<std::string> conda;
  std::set<std::string> any;  ///< With those that only its wheel and zip take.
};

/// What a zip takes of the files that the conda package leaves out; nullopt: a wheel may take them all.
Result<std::optional<recipe::ZipPart>> ZipOf(const NodeRun& run, const std::string& built) {
  PTPKG_TRY(const Json zips, run.Input("zips"));
  if (!zips.contains(built)) return std::optional<recipe::ZipPart>();
  PTPKG_TRY(recipe::ZipOutput zip, recipe::DecodeZipOutput(zips[built], run.subject()));
  return std::optional(std::move(zip.zip));
}

Result<void> AddFiles(const NodeResult& built, const std::optional<recipe::ZipPart>& zip, Package& package) {
  PTPKG_TRY(const std::vector<std::string> wheel_only,
            JsonStringsOr(built.value, "wheel only", {}, "the staged tree"));
  for (const TreeEntry& entry : built.files.entries) {
    if (!entry.path.str().starts_with("tree/")) continue;
    std::string path = entry.path.str().substr(5);
    if (!std::binary_search(wheel_only.begin(), wheel_only.end(), path)) {
      package.conda.insert(path);
    } else if (zip && !convert::PlaceInZip(*zip, RelPath::Literal(path))) {
      continue;
    }
    package.any.insert(std::move(path));
  }
  return Ok();
}

/// Files of the staging output that belong into some package.
Result<std::set<std::string>> Packable(const NodeResult& staging) {
  PTPKG_TRY(const std::vector<std::string> files,
            JsonStringsOr(staging.value, "files", {}, "the result of a staging output"));
  std::vector<RelPath> paths;
  for (const std::string& file : files) {
    PTPKG_TRY(RelPath path, RelPath::Parse(file));
    paths.push_back(std::move(path));
  }
  PTPKG_TRY(const std::vector<RelPath> selected, build::SelectFiles(recipe::Recipe(), paths));
  std::set<std::string> packable;
  for (const RelPath& path : selected) packable.insert(path.str());
  return packable;
}

Result<NodeResult> RunOutputs(Env& env, const NodeRun& run) {
  PTPKG_TRY(const NodeResult staging, run.Need("staging"));
  PTPKG_TRY(std::set<std::string> left, Packable(staging));
  PTPKG_TRY(const Json names, run.Input("packages"));
  std::map<std::string, Package> packages;
  for (const auto& [role, need] : run.needs()) {
    if (role == "staging") continue;
    PTPKG_TRY(const std::string name, JsonString(names, role, "the outputs of a plan"));
    PTPKG_TRY(const std::optional<recipe::ZipPart> zip, ZipOf(run, role));
    PTPKG_CHECK(AddFiles(need, zip, packages[name]));
  }
  Json shared = Json::array();
  for (auto one = packages.begin(); one != packages.end(); ++one) {
    for (const std::string& path : one->second.any) left.erase(path);
    for (auto two = std::next(one); two != packages.end(); ++two) {
      std::vector<std::string> both;
      std::set_intersection(one->second.conda.begin(), one->second.conda.end(), two->second.conda.begin(),
                            two->second.conda.end(), std::back_inserter(both));
      if (both.empty()) continue;
      env.reporter.Warn(
          fmt::format("the packages '{}' and '{}' both hold {}: they cannot be installed together",
                      one->first, two->first, SomeOf(both, kShown)));
      shared.push_back({{"packages", {one->first, two->first}}, {"files", both}});
    }
  }
  const std::vector<std::string> unpacked(left.begin(), left.end());
  if (!unpacked.empty()) {
    env.reporter.Warn(fmt::format("no output packs {} of '{}': {}", Plural(unpacked.size(), "file"),
                                  run.subject(), SomeOf(unpacked, kShown)));
  }
  return NodeResult{.value = {{"unpacked", unpacked}, {"shared", shared}}};
}

}  // namespace

void AddOutputsStage(graph::StageTable& stages) {
  // Kept, so that a run in which nothing is built need not read the results that it compares.
  stages.Add({.name = "outputs", .keep = graph::Keep::kStore, .run = RunOutputs});
}

}  // namespace ptpkg::pipeline
