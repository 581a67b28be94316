// A publication needs its artifacts, and approvals of them: checks, tests, and earlier tests of packages that
// it was built with. Both are needs of one node, told apart by their roles: "conda" is an artifact, "passed
// check conda" approves it. The manifest records which approvals belong to which artifact, so the form of the
// roles is an interface (IsApprovalOf).
//
// Slices start only after checks and tests of the whole package: slicing takes minutes, lost on a package
// that is not published. They are checked like their whole, except for device code, which a slice lacks on
// purpose.
//
// JoinPublications links the variants of a package by a digest of their keys. Wheels of two variants may have
// one name, and one must not silently replace the other.

#include "pipeline/plan/publication.h"

#include <algorithm>
#include <fmt/core.h>
#include <set>

#include "pipeline/edit_wheel/wheel_form.h"
#include "pipeline/stages/package_inputs.h"
#include "pipeline/stages/slice_stage.h"
#include "publish/output/output_folder.h"
#include "support/digest/hash.h"
#include "support/text/json.h"

namespace ptpkg::pipeline {

namespace {

// Roles of a publication's needs that are verdicts, not artifacts.
constexpr std::string_view kPassed = "passed ";
constexpr std::string_view kBefore = "passed before ";

/// Findings that a recipe accepts for its conda package.
std::vector<std::string> AcceptedFindings(const recipe::DynamicLinking& linking) {
  std::vector<std::string> ids;
  if (!linking.overlinking_is_error) ids.emplace_back("elf-unresolved-needed");
  if (!linking.rpath_allowlist.empty() || !linking.relocates || !linking.relocated.empty())
    ids.emplace_back("elf-search-path-absolute");
  return ids;
}

/// "conda" of "conda/toy-1.0-0": the role of a pack's artifacts in its publication.
std::string RoleOf(const std::string& pack_id) { return pack_id.substr(0, pack_id.find('/')); }

/// `publish` brings the artifacts of `pack` once they are checked, and signed if anything is.
void AddArtifacts(const graph::StageTable& stages, const PublicationRequest& request, const std::string& pack,
                  graph::Plan& plan, graph::Node& publish) {
  const std::string role = RoleOf(pack);
  publish.needs.emplace(role, pack);
  publish.needs.emplace(fmt::format("{}check {}", kPassed, role), AddCheck(stages, request, pack, plan));
  if (request.signing)
    publish.needs.emplace("signed " + role, AddSigning(stages, *request.signing, pack, plan));
}

}  // namespace

std::string CheckIdOf(const std::string& pack_id) { return "check/" + pack_id; }

bool IsApprovalOf(const std::string& role, const std::string& artifacts) {
  // Approvals of earlier packages count for all artifacts, others for the one that they name.
  return role.starts_with(kBefore) || (role.starts_with(kPassed) && role.ends_with(" " + artifacts));
}

std::string AddCheck(const graph::StageTable& stages, const PublicationRequest& request,
                     const std::string& pack, graph::Plan& plan) {
  graph::Node check = stages.MakeNode("check", request.subject);
  check.id = CheckIdOf(pack);
  check.inputs["allow unresolved"] = request.allow_unresolved;
  const graph::Node& whole = WholeOf(plan, pack);
  // A slice lacks code that its recipe asks for.
  check.inputs["device code"] = whole.id == pack ? request.device_code : std::vector<std::string>{"any"};
  check.inputs["linux may need more"] = MayBeTaggedLinux(whole);
  check.places.emplace("output", request.output);
  check.needs.emplace("artifacts", pack);
  const bool is_conda = RoleOf(whole.id) == "conda";
  const std::vector<std::string> accepted = AcceptedFindings(request.linking);
  if (is_conda && !accepted.empty()) check.inputs["never errors"] = accepted;
  if (is_conda && !request.dependencies.empty())
    SetPackages(check, request.dependencies, publish::OutputFolder::CondaRootOf(request.output));
  if (!request.staged.empty()) {
    check.needs.emplace("staged tree", request.staged);
    // conda replaces it at install; no installer does that for a wheel or a zip.
    check.inputs["prefix may stay"] = is_conda;
  }
  std::string id = check.id;
  plan.nodes.push_back(std::move(check));
  return id;
}

std::string AddPublication(const graph::StageTable& stages, const PublicationRequest& request,
                           graph::Plan& plan) {
  graph::Node publish = stages.MakeNode("publish", request.subject);
  publish.places.emplace("output", request.output);
  if (request.force) publish.options.emplace("force", "");
  if (!request.build_number.empty()) publish.options.emplace("build-number", request.build_number);
  for (const std::string& pack : request.packs) AddArtifacts(stages, request, pack, plan, publish);
  for (const std::string& pack : request.packs) {
    if (request.slices.gpus.empty() || !CanSlice(*plan.Find(pack))) continue;
    // Minutes of slicing are lost on a package that is not published.
    std::set<std::string> passed = {CheckIdOf(pack)};
    passed.insert(request.tests.begin(), request.tests.end());
    const std::string slices = AddSlicing(stages, request.slices, pack, std::move(passed), plan);
    AddArtifacts(stages, request, slices, plan, publish);
  }
  for (std::size_t i = 0; i < request.tests.size(); ++i) {
    const std::string number = i == 0 ? "" : fmt::format("{} ", i + 1);
    publish.needs.emplace(fmt::format("{}test {}{}", kPassed, number, RoleOf(request.packs.front())),
                          request.tests[i]);
  }
  for (const std::string& id : request.passed) publish.needs.emplace(std::string(kBefore) + id, id);
  std::string id = publish.id;
  plan.nodes.push_back(std::move(publish));
  return id;
}

void JoinPublications(const std::vector<std::string>& publications, graph::Plan& plan) {
  const std::vector<graph::NodeKey> keys = graph::KeysOf(plan);
  const std::set<std::string> ids(publications.begin(), publications.end());
  KeyHasher hasher;
  for (std::size_t i = 0; i < plan.nodes.size(); ++i) {
    if (ids.contains(plan.nodes[i].id)) hasher.Add(plan.nodes[i].id, keys[i].key);
  }
  const std::string digest = hasher.Finish().Hex();
  for (graph::Node& node : plan.nodes) {
    if (ids.contains(node.id)) node.options.insert_or_assign("siblings", digest);
  }
}

void AddIndex(const graph::StageTable& stages, const AbsPath& output,
              const std::vector<std::string>& publications, graph::Plan& plan) {
  graph::Node index = stages.MakeNode("index", std::string(output.Name()));
  index.places.emplace("output", output);
  for (const std::string& id : publications) index.needs.emplace(id, id);
  plan.nodes.push_back(std::move(index));
}

}  // namespace ptpkg::pipeline
