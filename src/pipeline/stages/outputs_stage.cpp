// The stages that compare the outputs of one recipe. Layer: pipeline.
//
// - "outputs" compares the files of a staging output with the files that its heirs pack. A file that nobody
//   packs is probably forgotten in some `build.files`, so it gets a warning.
// - "clashes" compares outputs with each other. Packages with a common file cannot be installed together,
//   which is a warning, because they may be alternatives. It is an error if one requires the other at run
//   time, and their contents differ in every variant of the other: then no choice of variant helps.
//
// Variants are compared together, because it isn't known which of them meet in one environment. Both results
// are kept in the store, so a run that builds nothing need not read the trees.

#include <algorithm>
#include <fmt/core.h>
#include <iterator>
#include <map>
#include <set>

#include "builder/post_process.h"
#include "convert/tree/zip_tree.h"
#include "pipeline/stages/stages.h"
#include "recipe/recipe_codec.h"
#include "support/text/json.h"
#include "support/text/plural.h"

namespace ptpkg::pipeline {

namespace {

using graph::NodeResult;
using graph::NodeRun;

constexpr std::size_t kShown = 5;

/// Path → what tells its content: a digest, or where a symlink leads.
using Files = std::map<std::string, std::string>;

/// The files of a build.
struct Built {
  Files conda;
  Files wheel_only;  ///< Files that its conda package leaves out.
};

/// The zip's part of the files that the conda package leaves out; nullopt: a wheel may take them all.
Result<std::optional<recipe::ZipPart>> ZipOf(const NodeRun& run, const std::string& built) {
  PTPKG_TRY(const Json zips, run.Input("zips"));
  if (!zips.contains(built)) return std::optional<recipe::ZipPart>();
  PTPKG_TRY(recipe::ZipOutput zip, recipe::DecodeZipOutput(zips[built], run.subject()));
  return std::optional(std::move(zip.zip));
}

Result<Built> FilesOfBuild(const NodeResult& node) {
  PTPKG_TRY(const std::vector<std::string> wheel_only,
            JsonStringsOr(node.value, "wheel only", {}, "the staged tree"));
  Built built;
  for (const TreeEntry& entry : node.files.entries) {
    if (!entry.path.str().starts_with("tree/")) continue;
    std::string path = entry.path.str().substr(5);
    const bool left_out = std::binary_search(wheel_only.begin(), wheel_only.end(), path);
    const bool is_link = entry.kind == FileKind::kSymlink;
    (left_out ? built.wheel_only : built.conda)
        .emplace(std::move(path), is_link ? "-> " + entry.link_target : entry.sha256.Hex());
  }
  return built;
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
  PTPKG_TRY(const std::vector<RelPath> selected, builder::SelectFiles(recipe::Recipe(), paths));
  std::set<std::string> packable;
  for (const RelPath& path : selected) packable.insert(path.str());
  return packable;
}

Result<NodeResult> RunOutputs(Env& env, const NodeRun& run) {
  PTPKG_TRY(const NodeResult staging, run.Need("staging"));
  PTPKG_TRY(std::set<std::string> left, Packable(staging));
  for (const auto& [role, need] : run.needs()) {
    if (role == "staging") continue;
    PTPKG_TRY(const std::optional<recipe::ZipPart> zip, ZipOf(run, role));
    PTPKG_TRY(const Built built, FilesOfBuild(need));
    for (const auto& [path, content] : built.conda) left.erase(path);
    for (const auto& [path, content] : built.wheel_only) {
      if (!zip || convert::PlaceInZip(*zip, RelPath::Literal(path))) left.erase(path);
    }
  }
  const std::vector<std::string> unpacked(left.begin(), left.end());
  if (!unpacked.empty()) {
    env.reporter.Warn(fmt::format("no output packs {} from '{}': {}", Plural(unpacked.size(), "file"),
                                  run.subject(), FirstNames(unpacked, kShown)));
  }
  return NodeResult{.value = {{"unpacked", unpacked}}};
}

/// Paths that both have.
std::vector<std::string> Common(const Files& one, const Files& two) {
  std::vector<std::string> both;
  for (const auto& [path, content] : one) {
    if (two.contains(path)) both.push_back(path);
  }
  return both;
}

/// The common files whose content differs.
std::vector<std::string> Differing(const Files& one, const Files& two) {
  std::vector<std::string> both = Common(one, two);
  std::erase_if(both, [&](const std::string& path) { return one.at(path) == two.at(path); });
  return both;
}

/// By package: what its conda packages hold, each variant by the id of its build.
using FilesOfPackages = std::map<std::string, std::map<std::string, Files>>;

/// Warns of two that cannot be installed together, over all variants: which of them meet is not known.
Json WarnOfClashes(Env& env, const FilesOfPackages& packages) {
  std::map<std::string, Files> all;
  for (const auto& [name, builds] : packages) {
    for (const auto& [id, files] : builds) all[name].insert(files.begin(), files.end());
  }
  Json shared = Json::array();
  for (auto one = all.begin(); one != all.end(); ++one) {
    for (auto two = std::next(one); two != all.end(); ++two) {
      const std::vector<std::string> both = Common(one->second, two->second);
      if (both.empty()) continue;
      env.reporter.Warn(
          fmt::format("the packages '{}' and '{}' both contain {}, so they cannot be installed together",
                      one->first, two->first, FirstNames(both, kShown)));
      shared.push_back({{"packages", {one->first, two->first}}, {"files", both}});
    }
  }
  return shared;
}

/// An error if `files`, of a package that requires `other` to run, meet others in all of its variants: then
/// no choice of one helps.
Result<void> CheckBeside(const std::string& name, const Files& files, const std::string& other,
                         const std::map<std::string, Files>& builds) {
  std::vector<std::string> both;
  for (const auto& [id, theirs] : builds) {
    both = Differing(files, theirs);
    if (both.empty()) return Ok();
  }
  if (both.empty()) return Ok();
  return Error(ErrorCode::kInvalidInput,
               fmt::format("'{}' requires '{}' at run time, but both contain {} with different content", name,
                           other, FirstNames(both, kShown)))
      .WithHint("pack the shared files in one output only: list them in 'build.files'");
}

Result<NodeResult> RunClashes(Env& env, const NodeRun& run) {
  PTPKG_TRY(const Json names, run.Input("packages"));
  PTPKG_TRY(const Json required, run.Input("requires"));
  FilesOfPackages packages;
  for (const auto& [id, need] : run.needs()) {
    PTPKG_TRY(const std::string name, JsonString(names, id, "the outputs of a plan"));
    PTPKG_TRY(Built built, FilesOfBuild(need));
    packages[name].emplace(id, std::move(built.conda));
  }
  for (const auto& [name, builds] : packages) {
    for (const auto& [id, files] : builds) {
      PTPKG_TRY(const std::vector<std::string> others,
                JsonStringsOr(required, id, {}, "the outputs of a plan"));
      for (const std::string& other : others) PTPKG_CHECK(CheckBeside(name, files, other, packages[other]));
    }
  }
  return NodeResult{.value = {{"shared", WarnOfClashes(env, packages)}}};
}

}  // namespace

void AddOutputsStages(graph::StageTable& stages) {
  // Kept, so that a run in which nothing is built need not read the results that it compares.
  stages.Add({.name = "outputs", .keep = graph::Keep::kStore, .run = RunOutputs});
  stages.Add({.name = "clashes", .keep = graph::Keep::kStore, .run = RunClashes});
}

}  // namespace ptpkg::pipeline
