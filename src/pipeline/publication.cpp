#include "pipeline/publication.h"

#include <fmt/core.h>

#include "support/json.h"

namespace ptpkg::pipeline {

namespace {

/// "conda" of "conda/toy-1.0-0": the role of a pack's artifacts in its publication.
std::string RoleOf(const std::string& pack_id) { return pack_id.substr(0, pack_id.find('/')); }

}  // namespace

std::string CheckIdOf(const std::string& pack_id) { return "check/" + pack_id; }

std::string AddPublication(const graph::StageTable& stages, const PublicationRequest& request,
                           graph::Plan& plan) {
  graph::Node publish = stages.MakeNode("publish", request.subject);
  publish.places.emplace("output", request.output);
  if (request.force) publish.options.emplace("force", "");
  for (const std::string& pack : request.packs) {
    const std::string role = RoleOf(pack);
    graph::Node check = stages.MakeNode("check", request.subject);
    check.id = CheckIdOf(pack);
    check.inputs["allow unresolved"] = request.allow_unresolved;
    check.places.emplace("output", request.output);
    check.needs.emplace("artifacts", pack);
    if (!request.staged.empty()) check.needs.emplace("staged tree", request.staged);
    if (role == "wheel") check.options.emplace("wheel", "");
    publish.needs.emplace(role, pack);
    publish.needs.emplace("passed check " + role, check.id);
    plan.nodes.push_back(std::move(check));
  }
  if (!request.test.empty())
    publish.needs.emplace("passed test " + RoleOf(request.packs.front()), request.test);
  std::string id = publish.id;
  plan.nodes.push_back(std::move(publish));
  return id;
}

void AddIndex(const graph::StageTable& stages, const AbsPath& output,
              const std::vector<std::string>& publications, graph::Plan& plan) {
  graph::Node index = stages.MakeNode("index", std::string(output.Name()));
  index.places.emplace("output", output);
  for (const std::string& id : publications) index.needs.emplace(id, id);
  plan.nodes.push_back(std::move(index));
}

}  // namespace ptpkg::pipeline
