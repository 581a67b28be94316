// The stages after packing: check, test, publish, index. Layer: pipeline.
//
// Artifacts wait in the cache until all checks and tests of their variant passed. Then `publish` gives all of
// them their names in one journal, or none. The manifest then holds the keys of the checks that passed.
// FindChecked looks there, so a check runs again only if the artifact or the check has changed.
//
// Forbidden texts come from the build, not from the artifact: an artifact that is already published has no
// such list. A library that a required package of the plan contains is not missing, so its files may stay
// unresolved.
//
// Invariants: `kCheckVersion` rises when equal artifacts can get other findings. `index` runs after failures
// too, because other variants may have been published.

#include <algorithm>
#include <fmt/core.h>

#include "conda/info/package_info.h"
#include "conda/info/paths_json.h"
#include "index/conda_channel/patch_instructions.h"
#include "index/index.h"
#include "model/finding_json.h"
#include "pipeline/edit_wheel/wheel_form.h"
#include "pipeline/plan/publication.h"
#include "pipeline/stages/pack_result.h"
#include "pipeline/stages/package_inputs.h"
#include "pipeline/stages/stages.h"
#include "pipeline/stages/work_folder.h"
#include "publish/output/gate.h"
#include "publish/output/output_folder.h"
#include "recipe/recipe_codec.h"
#include "support/text/plural.h"

namespace ptpkg::pipeline {

namespace {

using graph::Node;
using graph::NodeResult;
using graph::NodeRun;

// Raise it when equal artifacts can get other findings or severities than before: ptpkg then checks artifacts
// again that passed an older check.
constexpr int kCheckVersion = 11;

/// Texts that no file of the artifacts may hold. They come from the build, because artifacts in the output
/// directory have no such list. A repacked package has the list of its packing.
Result<std::vector<std::string>> ForbiddenIn(const NodeRun& run, const Packed& packed) {
  const auto staged = run.needs().find("staged tree");
  if (staged == run.needs().end()) return packed.forbidden;
  const Json& value = staged->second.value;
  PTPKG_TRY(std::vector<std::string> texts, JsonStringsOr(value, "forbidden", {}, "the staged tree"));
  PTPKG_TRY(std::string prefix, JsonString(value, "prefix", "the staged tree"));
  PTPKG_TRY(const Json may_stay, run.Input("prefix may stay"));
  if (may_stay != true) texts.push_back(std::move(prefix));
  return texts;
}

/// Adds the names of all files in the packages that the artifacts depend on, as far as the plan has these.
Result<void> AllowWhatDependenciesHave(Env& env, const NodeRun& run, verify::CheckOptions& options) {
  if (!run.Input("packages").has_value()) return Ok();
  PTPKG_TRY(const std::vector<builder::LocalPackage> packages, ReadPackages(env, run));
  for (const builder::LocalPackage& package : packages) {
    PTPKG_TRY(const conda::PackageInfo info, conda::ReadPackageInfo(env, package.path));
    if (info.paths.empty()) continue;
    PTPKG_TRY(const std::vector<conda::PathsEntry> files,
              conda::ParsePathsJson(info.paths, package.path.str()));
    for (const conda::PathsEntry& file : files)
      options.allow_unresolved.push_back(file.path.substr(file.path.rfind('/') + 1));
  }
  return Ok();
}

Result<NodeResult> RunCheck(Env& env, const NodeRun& run) {
  PTPKG_TRY(const NodeResult artifacts, run.Need("artifacts"));
  PTPKG_TRY(const Packed packed, ReadPacked(artifacts));
  verify::CheckOptions options;
  PTPKG_TRY(options.allow_unresolved, run.Texts("allow unresolved"));
  PTPKG_TRY(options.device_code, run.Texts("device code"));
  PTPKG_TRY(options.forbidden_paths, ForbiddenIn(run, packed));
  if (run.Input("never errors").has_value()) {
    PTPKG_TRY(options.never_errors, run.Texts("never errors"));
  }
  PTPKG_CHECK(AllowWhatDependenciesHave(env, run, options));
  PTPKG_TRY(const Json linux_may, run.Input("linux may need more"));
  Json reports = Json::array();
  for (const ArtifactRecord& record : packed.artifacts) {
    const AbsPath file = FileOf(artifacts, record);
    verify::CheckOptions here = options;
    // The tag shows that public indexes refuse it, and 'ptpkg repair' needs the wheel to begin with.
    if (linux_may == true && IsForLinuxAlone(file.Name()))
      here.never_errors.emplace_back("elf-unresolved-needed");
    PTPKG_TRY(const Report report, publish::PassGate(env, file, here));
    if (!report.findings.empty()) reports.push_back(ReportToJson(report));
  }
  return NodeResult{.value = {{"reports", reports}}};
}

/// A check need not run again while what passed it is in the output directory.
Result<std::optional<NodeResult>> FindChecked(Env& env, const Node& node, const std::string& key) {
  const std::optional<AbsPath> place = OutputOf(node);
  if (!place) return std::optional<NodeResult>();
  PTPKG_TRY(const publish::OutputFolder output, publish::OutputFolder::Open(env, *place));
  if (output.CheckedArtifacts(key).empty()) return std::optional<NodeResult>();
  return std::optional(NodeResult{.value = {{"reports", Json::array()}}});
}

Result<NodeResult> RunTest(Env& env, const NodeRun& run) {
  PTPKG_TRY(const NodeResult artifacts, run.Need("artifacts"));
  PTPKG_TRY(const Packed packed, ReadPacked(artifacts));
  PTPKG_TRY(const Json encoded, run.Input("recipe"));
  PTPKG_TRY(recipe::Recipe recipe, recipe::DecodeRecipe(encoded, run.subject()));
  PTPKG_TRY(recipe.recipe_dir, run.Place("recipe"));
  PTPKG_TRY(const std::vector<builder::LocalPackage> packages, ReadPackages(env, run));
  PTPKG_TRY(const builder::RecipeFolder folder, ReadRecipeFolder(env, run));
  PTPKG_TRY(const builder::HostRequest request, ReadHostRequest(run));
  PTPKG_TRY(const builder::HostPlan host, builder::CheckTestTools(env, recipe, request));
  PTPKG_CHECK(CheckToolsUnchanged(env, run, host));
  PTPKG_TRY(const AbsPath log, run.Place("log"));
  PTPKG_TRY(WorkFolder work, WorkFolder::Create(env, run));
  PTPKG_TRY(const ArtifactRecord record, FirstArtifact(packed, run));
  PTPKG_TRY(const Sha256 sha256, Sha256::FromHex(record.sha256));
  auto tested = builder::TestPackage(
      env, {.recipe = recipe,
            .package = {.name = recipe.name, .path = FileOf(artifacts, record), .sha256 = sha256},
            .packages = packages,
            .unpack = UnpackInto,
            .host_env = request.host_env,
            .options = request.options,
            .wheels = request.given,
            .work = work.path(),
            .log_file = log,
            .recipe_folder = folder});
  PTPKG_CHECK(std::move(work).Finish());
  PTPKG_TRY(Report report, std::move(tested));
  report.subject = record.path.substr(record.path.rfind('/') + 1);
  if (report.HasErrors()) return publish::RefusedBy(report);
  Json reports = Json::array();
  if (!report.findings.empty()) reports.push_back(ReportToJson(report));
  return NodeResult{.value = {{"reports", reports}}};
}

/// All artifacts of a variant get their names, or none does.
Result<NodeResult> RunPublish(Env& env, const NodeRun& run) {
  PTPKG_TRY(const AbsPath root, run.Place("output"));
  PTPKG_TRY(publish::OutputFolder output, publish::OutputFolder::Open(env, root));
  std::vector<publish::PublishItem> items;
  for (const auto& [role, need] : run.needs()) {
    // These needs are approvals, without artifacts.
    if (role.starts_with("passed ")) continue;
    PTPKG_TRY(const Packed packed, ReadPacked(need));
    for (const ArtifactRecord& made : packed.artifacts) {
      publish::PublishItem item{
          .file = FileOf(need, made), .record = made, .build_number = run.Option("build-number")};
      item.record.key = need.key;
      item.record.publication = run.key();
      item.record.variant = run.subject();
      item.record.siblings = run.Option("siblings");
      item.record.checks.clear();
      for (const auto& [other, passed] : run.needs()) {
        if (IsApprovalOf(other, role)) item.record.checks.push_back(passed.key);
      }
      items.push_back(std::move(item));
    }
  }
  std::vector<index::NewPackage> packages;
  for (const publish::PublishItem& item : items) {
    const auto format = ParseArtifactFormat(item.record.format);
    if (!format || !IsCondaPackage(*format)) continue;
    PTPKG_TRY(const Digests digests, DigestsOf(item.record));
    packages.push_back({.file = item.file,
                        .subdir = std::string((root / item.record.path).Parent().Name()),
                        .digests = digests});
  }
  // A bad patch would end the run between the artifacts and their index.
  PTPKG_CHECK(index::CheckPatches(env, output.CondaRoot(), packages),
              fmt::format("while publishing '{}'", run.subject()));
  // Lets a later run tell a complete publication from a part of one.
  for (publish::PublishItem& item : items) item.record.publication_size = items.size();
  PTPKG_CHECK(output.Publish(items, run.Has("force") ? publish::ForeignFilePolicy::kReplace
                                                     : publish::ForeignFilePolicy::kRefuse),
              fmt::format("while publishing '{}'", run.subject()));
  std::vector<ArtifactRecord> records;
  for (const publish::PublishItem& item : items) records.push_back(item.record);
  return PublishedResult(root, records);
}

Result<std::optional<NodeResult>> FindPublished(Env& env, const Node& node, const std::string& key) {
  const std::optional<AbsPath> place = OutputOf(node);
  if (!place) return std::optional<NodeResult>();
  PTPKG_TRY(publish::OutputFolder output, publish::OutputFolder::Open(env, *place));
  PTPKG_TRY(const std::vector<ArtifactRecord> records, output.ArtifactsOfPublication(key));
  if (records.empty()) return std::optional<NodeResult>();
  return std::optional(PublishedResult(*place, records));
}

/// Artifacts of this run's publications, so that the index need not hash them.
Result<std::vector<Artifact>> KnownArtifacts(const NodeRun& run, const AbsPath& root) {
  std::vector<Artifact> known;
  for (const auto& [role, need] : run.needs()) {
    PTPKG_TRY(const Packed packed, ReadPacked(need));
    for (const ArtifactRecord& record : packed.artifacts) {
      const auto format = ParseArtifactFormat(record.format);
      if (!format) continue;
      PTPKG_TRY(const Digests digests, DigestsOf(record));
      known.push_back({.format = *format, .path = root / record.path, .digests = digests});
    }
  }
  return known;
}

Result<NodeResult> RunIndex(Env& env, const NodeRun& run) {
  PTPKG_TRY(const AbsPath root, run.Place("output"));
  PTPKG_TRY(const publish::OutputFolder output, publish::OutputFolder::Open(env, root));
  PTPKG_TRY(const std::vector<Artifact> known, KnownArtifacts(run, root));
  Task task(env.reporter, {.stage = "index", .subject = run.subject()});
  // Both, so that the failure of one leaves no file of the other without its row.
  auto conda_index = index::IndexConda(env, output.CondaRoot(), {.known = known});
  PTPKG_TRY(const index::IndexSummary wheels, index::IndexWheels(env, output.WheelRoot(), {.known = known}));
  PTPKG_TRY(const index::IndexSummary conda, std::move(conda_index));
  std::vector<std::string> packages;
  for (const Artifact& artifact : known)
    packages.push_back(fmt::format("{}/{}", artifact.path.Parent().Name(), artifact.path.Name()));
  index::WarnOfHidden(env, conda.hidden, packages);
  const std::size_t written = conda.written.size() + wheels.written.size();
  Json left_out = Json::array();
  for (const index::IndexSummary* index : {&conda, &wheels}) {
    for (const index::SkippedPackage& package : index->left_out) left_out.push_back(package.package.str());
  }
  NodeResult result{.value = {{"written", written}, {"left_out", left_out}}};
  if (written == 0) {
    result.idle = "no package changed";
    task.Skipped(result.idle);
  } else {
    task.Done(Plural(written, "index file") + " written");
  }
  return result;
}

}  // namespace

void AddPublishStages(graph::StageTable& stages) {
  // Findings wait with the artifacts for their publication, which may run on another machine.
  stages.Add({.name = "check",
              .version = kCheckVersion,
              .keep = graph::Keep::kStaging,
              .parallel = true,
              .run = RunCheck,
              .find = FindChecked});
  stages.Add(
      {.name = "test", .keep = graph::Keep::kStaging, .parallel = true, .run = RunTest, .find = FindChecked});
  stages.Add({.name = "publish", .run = RunPublish, .find = FindPublished});
  stages.Add({.name = "index", .parallel = true, .after_failures = true, .run = RunIndex});
}

}  // namespace ptpkg::pipeline
