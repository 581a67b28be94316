#include "pipeline/family.h"

#include <algorithm>
#include <fmt/core.h>
#include <functional>

#include "conda/package.h"
#include "convert/conda_tree.h"
#include "convert/layout_rules.h"
#include "convert/package_metadata.h"
#include "convert/relink_tree.h"
#include "convert/wheel_tree.h"
#include "pipeline/checked_publish.h"
#include "pipeline/stage_timer.h"
#include "pipeline/work_folder.h"
#include "support/json.h"

namespace ptpkg::pipeline {

namespace {

// Raised when the same inputs give other bytes.
constexpr int kCondaVersion = 1;
constexpr int kWheelVersion = 1;

std::string RulesText(const std::vector<elf::PathRule>& rules) {
  Json list = Json::array();
  for (const elf::PathRule& rule : rules) {
    list.push_back({rule.files, rule.search_path, rule.tag == elf::PathTag::kRpath});
  }
  return list.dump();
}

Json RecordsToJson(const std::vector<ArtifactRecord>& records) {
  Json list = Json::array();
  for (const ArtifactRecord& record : records) list.push_back(ArtifactRecordToJson(record));
  return list;
}

/// One family's work for one variant: skip when the artifacts of equal inputs are in the output folder.
class FamilyPacker {
 public:
  FamilyPacker(Env& env, const FamilyContext& context, BuildSummary& summary)
      : env_(env), context_(context), summary_(summary) {}

  /// `make` packs into the folder it is given and returns the artifacts.
  Result<void> Run(const graph::StageInputs& inputs,
                   const std::function<Result<std::vector<Artifact>>(const AbsPath& pack_folder)>& make) {
    StageTimer timer(env_, summary_, inputs.stage(), context_.recipe.FileStem());
    PTPKG_TRY(const bool present, TakeFromOutput(inputs));
    if (present) {
      timer.Skipped("inputs unchanged");
      return Ok();
    }
    PTPKG_TRY(const std::string reason, context_.store.WhyChanged(inputs));
    if (context_.dry_run) {
      timer.Skipped("would run: " + reason);
      return Ok();
    }
    PTPKG_TRY(const TempDir pack_folder, context_.output.MakePackFolder());
    PTPKG_TRY(const std::vector<Artifact> artifacts, make(pack_folder.path()));
    PTPKG_TRY(const std::vector<ArtifactRecord> records,
              CheckAndPublish(env_, context_.output, artifacts,
                              {.subdir = context_.recipe.subdir,
                               .check = {.forbidden_paths = Forbidden(inputs.stage()),
                                         .allow_unresolved = context_.recipe.ptpkg.allow_unresolved},
                               .inputs = inputs.digests()},
                              summary_));
    PTPKG_CHECK(context_.store.Record(inputs, RecordsToJson(records)));
    timer.Ran(reason);
    return Ok();
  }

 private:
  /// conda replaces the prefix at install; nobody does that for a wheel.
  [[nodiscard]] std::vector<std::string> Forbidden(const std::string& stage) const {
    std::vector<std::string> forbidden = context_.staged.forbidden_paths;
    if (stage == "wheel") forbidden.push_back(context_.staged.prefix);
    return forbidden;
  }

  Result<bool> TakeFromOutput(const graph::StageInputs& inputs) {
    PTPKG_TRY(const std::optional<Json> outcome, context_.store.Recall(inputs));
    if (!outcome || !outcome->is_array()) return false;
    std::vector<ArtifactRecord> records;
    for (const Json& item : *outcome) {
      auto record = ArtifactRecordFromJson(item, "stage record");
      if (!record) return false;
      PTPKG_TRY(const bool present, context_.output.IsPresent(*record));
      if (!present) return false;
      records.push_back(*std::move(record));
    }
    summary_.artifacts.insert(summary_.artifacts.end(), records.begin(), records.end());
    return true;
  }

  Env& env_;
  const FamilyContext& context_;
  BuildSummary& summary_;
};

}  // namespace

Result<void> PackCondaFamily(Env& env, const FamilyContext& context, const std::set<ArtifactFormat>& formats,
                             BuildSummary& summary) {
  const recipe::Recipe& recipe = context.recipe;
  conda::PackageMetadata metadata = convert::CondaMetadataOf(recipe, context.run_exports);
  metadata.license_files = context.staged.license_files;
  const auto rules = convert::LayoutRules(recipe, "conda").value_or(std::vector<elf::PathRule>());
  const conda::WriteOptions options{.conda = formats.contains(ArtifactFormat::kConda),
                                    .tar_bz2 = formats.contains(ArtifactFormat::kTarBz2)};

  graph::StageInputs inputs("conda", recipe.FileStem(), kCondaVersion);
  inputs.Add("staged tree", context.staged_key)
      .Add("layout", RulesText(rules))
      .Add("metadata", conda::DescribeMetadata(metadata))
      .Add("formats", fmt::format("{} {}", options.conda, options.tar_bz2))
      .Add("source_date_epoch", std::to_string(env.source_date_epoch));

  const auto make = [&](const AbsPath& pack_folder) -> Result<std::vector<Artifact>> {
    PTPKG_TRY(const TempDir work, MakeWorkFolder(env));
    PTPKG_TRY(StagedTree tree,
              convert::MakeCondaTree(env, context.staged.tree, context.staged.prefix, work.path()));
    PTPKG_CHECK(convert::RelinkTree(env, tree, {.rules = rules, .build_prefix = context.staged.prefix},
                                    recipe.FileStem()));
    PTPKG_CHECK(convert::AddInstalledRecords(env, context.staged.tree, tree));
    return conda::WritePackages(env,
                                {.metadata = metadata,
                                 .tree = tree,
                                 .prefix_placeholder = context.staged.prefix,
                                 .binary_placeholders = !recipe.prefix_detection_ignore_binary},
                                pack_folder, options);
  };
  return FamilyPacker(env, context, summary).Run(inputs, make);
}

Result<void> PackWheelFamily(Env& env, const FamilyContext& context, BuildSummary& summary) {
  const recipe::Recipe& recipe = context.recipe;
  PTPKG_TRY(const convert::Distribution distribution,
            convert::FindDistribution(env, context.staged.tree, recipe.ptpkg.wheel_name));
  PTPKG_TRY(const convert::WheelDescription description, convert::WheelDescriptionOf(recipe, distribution));
  const auto rules = convert::LayoutRules(recipe, "wheel").value_or(std::vector<elf::PathRule>());

  graph::StageInputs inputs("wheel", recipe.FileStem(), kWheelVersion);
  inputs.Add("staged tree", context.staged_key)
      .Add("layout", RulesText(rules))
      .Add("metadata", wheel::FormatCoreMetadata(description.metadata))
      .Add("tag", description.tag.str())
      .Add("exclude", Json(recipe.ptpkg.wheel_exclude).dump())
      .Add("source_date_epoch", std::to_string(env.source_date_epoch));

  const auto make = [&](const AbsPath& pack_folder) -> Result<std::vector<Artifact>> {
    PTPKG_TRY(const TempDir work, MakeWorkFolder(env));
    PTPKG_TRY(convert::WheelTree tree, convert::MakeWheelTree(env, context.staged.tree, distribution,
                                                              {.exclude = recipe.ptpkg.wheel_exclude,
                                                               .prefix_placeholder = context.staged.prefix},
                                                              work.path()));
    const std::string site_packages = context.staged.prefix + "/" + distribution.site_packages;
    PTPKG_CHECK(convert::RelinkTree(env, tree.payload, {.rules = rules, .build_prefix = site_packages},
                                    recipe.FileStem()));
    PTPKG_TRY(Artifact artifact, wheel::WriteWheel(env,
                                                   {.metadata = description.metadata,
                                                    .tag = description.tag,
                                                    .root_is_purelib = description.root_is_purelib,
                                                    .entry_points = distribution.entry_points,
                                                    .tree = tree.payload,
                                                    .dist_info = tree.dist_info},
                                                   pack_folder));
    return std::vector<Artifact>{std::move(artifact)};
  };
  return FamilyPacker(env, context, summary).Run(inputs, make);
}

}  // namespace ptpkg::pipeline
