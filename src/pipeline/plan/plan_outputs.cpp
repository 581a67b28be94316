// Packages of one plan may require each other, so they are candidates before they exist: PlannedCandidate has
// no digest, and names the node that makes it. Dependencies are resolved for the checks only, so a failure to
// resolve gives an empty list.
//
// InsertAfterNeeds keeps the order of a plan: a node comes after all nodes that it needs.

#include "pipeline/plan/plan_outputs.h"

#include <algorithm>
#include <fmt/core.h>
#include <iterator>

#include "pipeline/plan/input_output_overlap.h"
#include "pipeline/stages/package_inputs.h"
#include "publish/output/output_folder.h"
#include "support/text/json.h"

namespace ptpkg::pipeline {

namespace {

index::Request HostRequestOf(const recipe::Recipe& recipe) {
  return {.host = recipe.requirements.host,
          .build = recipe.requirements.build,
          .ignore_by_name = recipe.requirements.ignore_run_exports.by_name,
          .ignore_from_package = recipe.requirements.ignore_run_exports.from_package,
          .subdir = recipe.subdir};
}

}  // namespace

void AppendNew(const std::vector<std::string>& more, std::vector<std::string>& list) {
  for (const std::string& text : more) {
    if (std::find(list.begin(), list.end(), text) == list.end()) list.push_back(text);
  }
}

Result<index::Resolution> ResolveRequirements(const std::vector<index::Candidate>& candidates,
                                              const recipe::Recipe& recipe) {
  return index::Resolve(candidates, HostRequestOf(recipe));
}

Result<index::Resolution> WithInheritedRunExports(const std::vector<index::Candidate>& candidates,
                                                  const recipe::Recipe& recipe,
                                                  index::Resolution resolution) {
  bool taken = recipe.inherit_run_exports;
  // A chain of staging outputs passes run exports on as far as each link takes them.
  for (const recipe::Recipe* base = recipe.inherited.get(); base != nullptr && taken;
       taken = base->inherit_run_exports, base = base->inherited.get()) {
    index::Request request = HostRequestOf(*base);
    const index::Request own = HostRequestOf(recipe);
    AppendNew(own.ignore_by_name, request.ignore_by_name);
    AppendNew(own.ignore_from_package, request.ignore_from_package);
    request.subdir = recipe.subdir;
    PTPKG_TRY(const index::Resolution inherited, index::Resolve(candidates, request),
              fmt::format("while resolving the requirements of the staging output '{}'", base->name));
    AppendNew(inherited.run_exports, resolution.run_exports);
    AppendNew(inherited.run_constrains, resolution.run_constrains);
  }
  return resolution;
}

bool RequiresToRun(const recipe::Recipe& recipe, const std::string& name) {
  const auto& run = recipe.requirements.run;
  return std::any_of(run.begin(), run.end(),
                     [&](const versions::MatchSpec& spec) { return spec.name == name; });
}

index::Candidate PlannedCandidate(const recipe::Recipe& recipe, const conda::PackageMetadata& metadata,
                                  ArtifactFormat format, const std::string& packed) {
  return {.name = recipe.name,
          .version = recipe.version,
          .build = recipe.build_string,
          .build_number = recipe.build_number,
          .subdir = recipe.subdir,
          .depends = metadata.depends,
          .constrains = metadata.constrains,
          .run_exports = metadata.run_exports,
          .format = format,
          .file_name = recipe.FileStem() + std::string(ArtifactExtension(format)),
          .sha256 = std::nullopt,
          .path = std::nullopt,
          .planned_by = packed,
          .damage = {}};
}

std::vector<index::Candidate> DependenciesOf(const std::vector<index::Candidate>& candidates,
                                             const recipe::Recipe& recipe,
                                             const index::Resolution& built_with) {
  index::Request request;
  request.host = recipe.requirements.run;
  request.subdir = recipe.subdir;
  for (const std::string& text : built_with.run_exports) {
    auto spec = versions::MatchSpec::Parse(text);
    if (spec) request.host.push_back(*std::move(spec));
  }
  auto resolved = index::Resolve(candidates, request);
  return resolved ? std::move(resolved->packages) : std::vector<index::Candidate>();
}

Result<PlannedPackages> PlannedPackages::Read(Env& env, const AbsPath& output) {
  AbsPath channel = publish::OutputFolder::CondaRootOf(output);
  PTPKG_TRY(std::vector<index::Candidate> candidates, index::ReadChannel(env, channel, kBuildPlatform));
  return PlannedPackages(std::move(channel), std::move(candidates));
}

void PlannedPackages::Approve(const std::string& packed, PackageApprovals approvals) {
  approvals_.insert_or_assign(packed, std::move(approvals));
}

std::set<std::string> PlannedPackages::Require(graph::Node& node,
                                               const std::vector<index::Candidate>& packages) const {
  SetPackages(node, packages, channel_);
  std::set<std::string> unpublished;
  for (const index::Candidate& package : packages) {
    const auto found = approvals_.find(package.planned_by);
    if (found == approvals_.end()) continue;
    node.after.insert(found->second.own.begin(), found->second.own.end());
    unpublished.insert(found->second.unpublished.begin(), found->second.unpublished.end());
  }
  return unpublished;
}

std::vector<graph::Node>::iterator InsertAfterNeeds(graph::Node node, graph::Plan& plan) {
  const auto last = std::find_if(plan.nodes.rbegin(), plan.nodes.rend(), [&](const graph::Node& other) {
    return std::any_of(node.needs.begin(), node.needs.end(),
                       [&](const auto& need) { return need.second == other.id; });
  });
  return std::next(plan.nodes.insert(last.base(), std::move(node)));
}

void AddClashes(const graph::StageTable& stages, const OutputsTogether& together, graph::Plan& plan) {
  for (const auto& [file, outputs] : together) {
    std::set<std::string> names;
    std::set<std::string> publications;
    for (const auto& [built, recipe] : outputs) {
      names.insert(recipe->name);
      publications.insert("publish/" + recipe->FileStem());
    }
    if (names.size() < 2) continue;
    graph::Node node = stages.MakeNode("clashes", outputs.begin()->second->FileStem());
    node.inputs["requires"] = Json::object();
    for (const auto& [built, recipe] : outputs) {
      node.needs.emplace(built, built);
      node.inputs["packages"][built] = recipe->name;
      for (const std::string& name : names) {
        if (name != recipe->name && RequiresToRun(*recipe, name))
          node.inputs["requires"][built].push_back(name);
      }
    }
    const std::string id = node.id;
    // A publication that comes earlier in the list cannot wait for the new node (CheckPlan).
    for (auto later = InsertAfterNeeds(std::move(node), plan); later != plan.nodes.end(); ++later) {
      if (publications.contains(later->id)) later->after.insert(id);
    }
  }
}

}  // namespace ptpkg::pipeline
