// The stage that makes the files of a recipe: sources, host prefix, script, staged tree. Layer: pipeline.

#include <algorithm>
#include <fmt/core.h>

#include "build/license_files.h"
#include "pipeline/inheritance.h"
#include "pipeline/package_inputs.h"
#include "pipeline/stages.h"
#include "pipeline/work_folder.h"
#include "recipe/recipe_codec.h"
#include "source/prepare.h"
#include "support/text.h"

namespace ptpkg::pipeline {

namespace {

using graph::NodeResult;
using graph::NodeRun;

// Raised when equal inputs give another staged tree.
constexpr int kBuildVersion = 3;

class BuildRun {
 public:
  BuildRun(Env& env, const NodeRun& run) : env_(env), run_(run) {}

  Result<NodeResult> Run() {
    PTPKG_TRY(const Json encoded, run_.Input("recipe"));
    PTPKG_TRY(recipe::NativeBuild native, recipe::DecodeNativeBuild(encoded, run_.subject()));
    PTPKG_TRY(native.recipe.recipe_dir, run_.Place("recipe"));
    PTPKG_TRY(const PackageInputs packages, ReadPackages(env_, run_));
    PTPKG_TRY(const build::RecipeFolder folder, ReadRecipeFolder(env_, run_));
    PTPKG_TRY(const build::HostRequest request, ReadHostRequest(run_, packages));
    PTPKG_TRY(const build::HostPlan host, build::CheckTools(env_, native.recipe, request));
    PTPKG_CHECK(CompareHost(env_, run_, host));
    PTPKG_TRY(const source::SourceOptions sources, Sources(native.recipe));

    PTPKG_TRY(WorkFolder work, WorkFolder::Create(env_, run_));
    auto made = MakeIn(work.path(), native.recipe, sources,
                       {.recipe = native.recipe,
                        .subject = run_.subject(),
                        .packages = packages.packages,
                        .unpack = UnpackInto,
                        .host_env = request.host_env,
                        .options = request.options,
                        .wheels = request.given,
                        .offline = request.offline,
                        .mentioned = native.mentioned,
                        .recipe_folder = folder,
                        .memory_per_job = ParseBytes(run_.Option("memory-per-job")).value_or(0)});
    const Result<void> finished = std::move(work).Finish();
    if (made) PTPKG_CHECK(finished);  // else why it failed counts
    return made;
  }

 private:
  [[nodiscard]] Result<source::SourceOptions> Sources(const recipe::Recipe& recipe) const {
    source::SourceOptions options;
    if (const auto place = run_.Place("source")) options.overrides.emplace(recipe.name, *place);
    PTPKG_TRY(const std::string planned, run_.Text("source"));
    PTPKG_TRY(options.planned, Sha256::FromHex(planned));
    return options;
  }

  Result<NodeResult> MakeIn(const AbsPath& work, const recipe::Recipe& recipe,
                            const source::SourceOptions& sources, build::BuildInput input) {
    PTPKG_TRY(input.layout, build::MakeWorkLayout(env_, work));
    PTPKG_TRY(input.log_file, run_.Place("log"));
    PTPKG_TRY(Inheritance inheritance, ReadInheritance(run_));
    PTPKG_CHECK(MakeSources(env_, recipe, sources, {inheritance, input.layout}));
    input.inherited = inheritance.archives;
    input.source_root = input.layout.source;
    if (recipe.staging) return MakeStaging(env_, run_, input, inheritance);
    // Before the script, which may run for hours.
    PTPKG_TRY(const std::vector<build::KeptFile> licenses,
              build::FindLicenseFiles(env_, recipe, input.source_root));
    PTPKG_TRY(const StagedTree kept, KeepLicenses(licenses));
    PTPKG_TRY(const build::StagedBuild staged, build::Run(env_, input));
    PTPKG_CHECK(MoveTree(staged.tree.root, run_.folder() / "tree", staged.tree));

    NodeResult result;
    result.files.root = run_.folder();
    result.files.entries = kept.entries;
    for (TreeEntry entry : staged.tree.entries) {
      entry.path = RelPath::Literal("tree") / entry.path;
      result.files.entries.push_back(std::move(entry));
    }
    std::vector<std::string> forbidden = staged.forbidden_paths;
    forbidden.insert(forbidden.end(), inheritance.forbidden.begin(), inheritance.forbidden.end());
    result.value = {
        {"prefix", staged.prefix}, {"python_version", staged.python_version}, {"forbidden", forbidden}};
    if (!staged.wheel_only.empty()) result.value["wheel only"] = PathTexts(staged.wheel_only);
    return result;
  }

  /// Copies them into the result as files: a licence text need not be UTF-8.
  Result<StagedTree> KeepLicenses(const std::vector<build::KeptFile>& licenses) {
    StagedTree tree{.root = run_.folder()};
    for (const build::KeptFile& file : licenses) {
      PTPKG_TRY(const RelPath name, RelPath::Parse(file.name), "while keeping licence files");
      const RelPath path = RelPath::Literal("licenses") / name;
      PTPKG_CHECK(env_.fs.MakeDirs((tree.root / path).Parent()));
      PTPKG_CHECK(env_.fs.CopyFile(file.path, tree.root / path));
      PTPKG_CHECK(env_.fs.SetMode(tree.root / path, 0644));
      tree.entries.push_back({.path = path, .size_bytes = file.size_bytes, .sha256 = file.sha256});
    }
    std::sort(tree.entries.begin(), tree.entries.end(),
              [](const TreeEntry& a, const TreeEntry& b) { return a.path < b.path; });
    return tree;
  }

  /// Nothing of a result may share its bytes with a folder that somebody can still write to. No process of
  /// the script lives any more, so the tree is moved, unless the work folder is kept.
  Result<void> MoveTree(const AbsPath& from, const AbsPath& to, const StagedTree& tree) {
    if (!run_.Has("keep-work")) return env_.fs.Rename(from, to);
    PTPKG_CHECK(env_.fs.MakeDirs(to));
    for (const TreeEntry& entry : tree.entries) {
      PTPKG_CHECK(env_.cancel.Check());
      PTPKG_CHECK(env_.fs.MakeDirs((to / entry.path).Parent()));
      if (entry.kind == FileKind::kSymlink) {
        PTPKG_CHECK(env_.fs.CreateSymlink(entry.link_target, to / entry.path));
      } else {
        PTPKG_CHECK(env_.fs.CopyFile(from / entry.path, to / entry.path));
      }
    }
    return Ok();
  }

  Env& env_;
  const NodeRun& run_;
};

}  // namespace

void AddBuildStage(graph::StageTable& stages) {
  stages.Add({.name = "build",
              .version = kBuildVersion,
              .keep = graph::Keep::kStore,
              .parallel = true,
              .run = [](Env& env, const NodeRun& run) { return BuildRun(env, run).Run(); }});
}

}  // namespace ptpkg::pipeline
