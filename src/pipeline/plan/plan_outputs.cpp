// Packages of one plan may require each other, so they are candidates before they exist: PlannedCandidate has
// no digest, and names the node that makes it. Dependencies are resolved for the checks only, so a failure to
// resolve gives an empty list.
//
// InsertAfterNeeds keeps the order of a plan: a node comes after all nodes that it needs.

#include "pipeline/plan/plan_outputs.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "support/text/json.h"

namespace ptpkg::pipeline {

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
    for (auto later = InsertAfterNeeds(std::move(node), plan); later != plan.nodes.end(); ++later) {
      if (publications.contains(later->id)) later->after.insert(id);
    }
  }
}

}  // namespace ptpkg::pipeline
