// The stage that makes the files of a recipe: sources, host prefix, script, staged tree. Layer: pipeline.

#include <algorithm>
#include <fmt/core.h>

#include "builder/license_files.h"
#include "builder/resume/resume.h"
#include "pipeline/plan/build_analysis.h"
#include "pipeline/plan/plan_sources.h"
#include "pipeline/stages/build_folder.h"
#include "pipeline/stages/build_inputs.h"
#include "pipeline/stages/package_inputs.h"
#include "pipeline/stages/stages.h"
#include "pipeline/stages/staging_inputs.h"
#include "recipe/recipe_codec.h"
#include "source/prepare.h"
#include "support/text/plural.h"
#include "support/text/text.h"

namespace ptpkg::pipeline {

namespace {

using graph::NodeResult;
using graph::NodeRun;

// Raised when equal inputs give another staged tree.
constexpr int kBuildVersion = 5;

/// Inputs of a build node, read and found to be those of the plan.
struct BuildInputs {
  recipe::NativeBuild native;
  std::vector<builder::LocalPackage> packages;
  builder::RecipeFolder recipe_folder;
  builder::HostPlan host;
  source::SourceOptions sources;
  std::optional<builder::OpenCompilerCache> cache;
};

Result<source::SourceOptions> ReadSourceOptions(const NodeRun& run, const recipe::Recipe& recipe) {
  source::SourceOptions options;
  options.left_out = ReadSourceExclusions(run);
  if (const auto place = run.Place("source")) options.overrides.emplace(recipe.name, *place);
  PTPKG_TRY(const std::string planned, run.Text("source"));
  PTPKG_TRY(options.planned, Sha256::FromHex(planned));
  return options;
}

Result<BuildInputs> ReadBuildInputs(Env& env, const NodeRun& run) {
  PTPKG_TRY(const Json encoded, run.Input("recipe"));
  PTPKG_TRY(recipe::NativeBuild native, recipe::DecodeNativeBuild(encoded, run.subject()));
  PTPKG_TRY(native.recipe.recipe_dir, run.Place("recipe"));
  PTPKG_TRY(native.recipe.sources, ReadSources(run));
  PTPKG_TRY(std::vector<builder::LocalPackage> packages, ReadPackages(env, run));
  PTPKG_TRY(builder::RecipeFolder folder, ReadRecipeFolder(env, run));
  PTPKG_TRY(const builder::HostRequest request, ReadHostRequest(run));
  PTPKG_TRY(builder::HostPlan host, builder::CheckTools(env, native.recipe, request));
  PTPKG_CHECK(CheckToolsUnchanged(env, run, host));
  PTPKG_TRY(source::SourceOptions sources, ReadSourceOptions(run, native.recipe));
  std::optional<builder::OpenCompilerCache> cache;
  if (run.Has("ccache")) {
    PTPKG_TRY(builder::OpenCompilerCache opened, builder::PrepareCompilerCache(env));
    cache.emplace(std::move(opened));
  }
  return BuildInputs{.native = std::move(native),
                     .packages = std::move(packages),
                     .recipe_folder = std::move(folder),
                     .host = std::move(host),
                     .sources = std::move(sources),
                     .cache = std::move(cache)};
}

/// Input for the builder, apart from what the staging output gives.
Result<builder::BuildInput> MakeBuildInput(const NodeRun& run, const BuildInputs& inputs,
                                           const builder::WorkLayout& layout) {
  PTPKG_TRY(const AbsPath log, run.Place("log"));
  return builder::BuildInput{
      .recipe = inputs.native.recipe,
      .subject = run.subject(),
      .source_root = layout.source,
      .packages = inputs.packages,
      .unpack = UnpackInto,
      .host = inputs.host,
      .layout = layout,
      .log_file = log,
      .mentioned = inputs.native.mentioned,
      .source_commit = SourceCommit(run, inputs.native.recipe.sources),
      .recipe_folder = inputs.recipe_folder,
      .memory_per_job = ParseBytes(run.Option("memory-per-job")).value_or(0),
      .compiler_cache = inputs.cache ? std::optional(inputs.cache->program) : std::nullopt};
}

/// Empties the work directory but for sources that can be resumed in. In an inherited work directory, sources
/// and half-written files cannot be told apart.
Result<builder::WorkLayout> PrepareWorkFolder(Env& env, const NodeRun& run, bool inherits,
                                              BuildFolder& work) {
  PTPKG_TRY(builder::WorkLayout layout, builder::MakeWorkLayout(env, work.path()));
  PTPKG_CHECK(builder::WaitForEarlierScript(env, layout));
  if (inherits && work.left().phase != builder::WorkPhase::kStarted) {
    env.reporter.Note(fmt::format("'{}' starts over from the inherited files", run.subject()));
    PTPKG_CHECK(work.StartOver());
    PTPKG_TRY(layout, builder::MakeWorkLayout(env, work.path()));
  }
  PTPKG_CHECK(builder::EmptyAllExceptSource(env, layout));
  return layout;
}

void ReportResume(Env& env, const NodeRun& run, const builder::RecoveredSources& left) {
  const std::string removed = left.removed_outputs == 0
                                  ? ""
                                  : fmt::format("; redoing files that may be half-written ({})",
                                                Plural(left.removed_outputs, "file"));
  env.reporter.Note(fmt::format("resuming the interrupted build of '{}'{}", run.subject(), removed));
}

/// The sources as an earlier run has left them, or else new ones.
Result<builder::RecoveredSources> PrepareOrTakeSources(Env& env, const NodeRun& run,
                                                       const BuildInputs& inputs, const SourceOrigin& origin,
                                                       BuildFolder& work) {
  const builder::WorkLayout& layout = origin.layout;
  PTPKG_TRY(builder::ResumableWorkDir left, builder::RecoverSources(env, layout, work.record(), work.left()));
  if (left.sources) {
    if (left.sources->script_ran) ReportResume(env, run, *left.sources);
    // Record of a killed shell: from here on the script writes, not a person.
    PTPKG_CHECK(RemoveTree(env.fs, builder::ShellRecordFile(work.record().Parent())));
    return *std::move(left.sources);
  }
  if (!left.why_not.empty()) {
    env.reporter.Warn(
        fmt::format("'{}' starts over: cannot resume in the work directory of the interrupted run: {}",
                    run.subject(), left.why_not));
    PTPKG_CHECK(work.SetPhase(builder::WorkPhase::kStarted));
  }
  PTPKG_CHECK(RemoveTree(env.fs, layout.source));
  PTPKG_CHECK(MakeSources(env, inputs.native.recipe, inputs.sources, origin));
  PTPKG_TRY(builder::SourceRecord record, builder::SourceRecord::Take(env, layout.source));
  PTPKG_CHECK(record.Write(env.fs, work.record()));
  PTPKG_CHECK(RemoveTree(env.fs, builder::ShellRecordFile(work.record().Parent())));
  PTPKG_CHECK(work.SetPhase(builder::WorkPhase::kPrepared));
  return builder::RecoveredSources{.record = std::move(record)};
}

/// `error` of a script that ran in what another run had left: that may be the reason.
Error ResumedRunError(Error error) {
  if (error.code() != ErrorCode::kCommandFailed && error.code() != ErrorCode::kInvalidInput) return error;
  const std::string hint = fmt::format("{}{}this run resumed an interrupted build; start over with --fresh",
                                       error.hint(), error.hint().empty() ? "" : "; ");
  return std::move(error).WithHint(hint);
}

/// Result of a script.
struct MadeFiles {
  std::optional<builder::StagingBuild> staging = {};  ///< For a staging output;
  std::optional<builder::StagedBuild> staged = {};    ///< for a package.
};

Result<MadeFiles> MakeFiles(Env& env, const builder::BuildInput& input) {
  MadeFiles made;
  if (input.recipe.staging) {
    PTPKG_TRY(made.staging, builder::RunStaging(env, input));
  } else {
    PTPKG_TRY(made.staged, builder::Run(env, input));
  }
  return made;
}

/// Runs the script in the sources `left`. nullopt: it changed them in another way than an earlier run, so
/// that nobody can trust the files.
Result<std::optional<MadeFiles>> RunScriptOnce(Env& env, const builder::BuildInput& input,
                                               const builder::RecoveredSources& left, BuildFolder& work) {
  PTPKG_CHECK(work.SetPhase(builder::WorkPhase::kScript));
  Result<MadeFiles> made = MakeFiles(env, input);
  // The script ended well, or has not begun: nothing is half-written, and the mistake costs no compilation.
  if (!made && made.error().code() == ErrorCode::kInvalidInput) {
    PTPKG_CHECK(work.SetPhase(builder::WorkPhase::kInstalled));
  }
  if (!made) return left.script_ran ? ResumedRunError(std::move(made).error()) : std::move(made).error();
  PTPKG_TRY(const auto other, builder::FirstConflictingChange(env, input.source_root, left));
  if (other) {
    env.reporter.Warn(
        fmt::format("the script of '{}' changes its source '{}' differently when it runs again, so the "
                    "build starts over; set extra.ptpkg.resume: false to always start over",
                    input.subject, other->str()));
    return std::optional<MadeFiles>();
  }
  // Should the result not fit on the disk, nothing is compiled again.
  PTPKG_CHECK(work.SetPhase(builder::WorkPhase::kInstalled));
  return std::optional(*std::move(made));
}

/// Copies licence files into `folder`, the result's: a licence text need not be UTF-8.
Result<StagedTree> KeepLicenses(Env& env, const AbsPath& folder,
                                const std::vector<builder::LicenseFile>& licenses) {
  StagedTree tree{.root = folder};
  for (const builder::LicenseFile& file : licenses) {
    PTPKG_TRY(const RelPath name, RelPath::Parse(file.name), "while keeping licence files");
    const RelPath path = RelPath::Literal("licenses") / name;
    PTPKG_CHECK(env.fs.MakeDirs((tree.root / path).Parent()));
    PTPKG_CHECK(env.fs.CopyFile(file.path, tree.root / path));
    PTPKG_CHECK(env.fs.SetMode(tree.root / path, 0644));
    tree.entries.push_back({.path = path, .size_bytes = file.size_bytes, .sha256 = file.sha256});
  }
  std::sort(tree.entries.begin(), tree.entries.end(),
            [](const TreeEntry& a, const TreeEntry& b) { return a.path < b.path; });
  return tree;
}

/// The files of the prefix that `kept`, the files of the sources, lacks. Two files of one name must have
/// the same content.
Result<std::vector<builder::LicenseFile>> NewLicenses(const std::vector<builder::LicenseFile>& of_prefix,
                                                      const StagedTree& kept) {
  std::vector<builder::LicenseFile> added;
  for (const builder::LicenseFile& file : of_prefix) {
    const auto same = std::ranges::find_if(
        kept.entries, [&](const TreeEntry& entry) { return entry.path.str() == "licenses/" + file.name; });
    if (same == kept.entries.end()) {
      added.push_back(file);
    } else if (same->sha256 != file.sha256) {
      return Error(ErrorCode::kInvalidInput, fmt::format("two licence files have the name '{}'", file.name))
          .WithHint("install one of them under another name");
    }
  }
  return added;
}

/// Nothing of a result may share its bytes with a directory that somebody can still write to. No process of
/// the script lives any more, so the tree is moved, unless the work directory is kept.
Result<void> MoveTree(Env& env, const NodeRun& run, const StagedTree& tree, const AbsPath& to) {
  if (!run.Has("keep-work")) return env.fs.Rename(tree.root, to);
  PTPKG_CHECK(env.fs.MakeDirs(to));
  for (const TreeEntry& entry : tree.entries) {
    PTPKG_CHECK(env.cancel.Check());
    PTPKG_CHECK(env.fs.MakeDirs((to / entry.path).Parent()));
    if (entry.kind == FileKind::kSymlink) {
      PTPKG_CHECK(env.fs.CreateSymlink(entry.link_target, to / entry.path));
    } else {
      PTPKG_CHECK(env.fs.CopyFile(tree.root / entry.path, to / entry.path));
    }
  }
  return Ok();
}

/// The result of a package: its files below "tree", and its licence files.
NodeResult ResultOf(const builder::StagedBuild& staged, const StagedTree& licenses,
                    const InheritedStaging& inheritance) {
  NodeResult result;
  result.files.root = licenses.root;
  result.files.entries = licenses.entries;
  for (TreeEntry entry : staged.tree.entries) {
    entry.path = RelPath::Literal("tree") / entry.path;
    result.files.entries.push_back(std::move(entry));
  }
  std::vector<std::string> forbidden = staged.forbidden_paths;
  forbidden.insert(forbidden.end(), inheritance.forbidden.begin(), inheritance.forbidden.end());
  result.value = {
      {"prefix", staged.prefix}, {"python_version", staged.python_version}, {"forbidden", forbidden}};
  result.counts = staged.counts;
  if (!staged.wheel_only.empty()) result.value["wheel only"] = PathTexts(staged.wheel_only);
  return result;
}

/// Moves the files of a package into the result. `kept`: the licence files of its sources, which are there.
Result<NodeResult> StorePackage(Env& env, const NodeRun& run, const builder::StagedBuild& staged,
                                StagedTree kept, const InheritedStaging& inheritance) {
  PTPKG_TRY(const std::vector<builder::LicenseFile> of_prefix, NewLicenses(staged.licenses, kept));
  PTPKG_TRY(StagedTree more, KeepLicenses(env, run.folder(), of_prefix));
  std::ranges::move(more.entries, std::back_inserter(kept.entries));
  std::ranges::sort(kept.entries, {}, &TreeEntry::path);
  PTPKG_CHECK(MoveTree(env, run, staged.tree, run.folder() / "tree"));
  return ResultOf(staged, kept, inheritance);
}

/// nullopt: the run went on in what another had left, and cannot trust what came of it.
Result<std::optional<NodeResult>> BuildOnce(Env& env, const NodeRun& run, const BuildInputs& inputs,
                                            BuildFolder& work) {
  const recipe::Recipe& recipe = inputs.native.recipe;
  PTPKG_TRY(const InheritedStaging inheritance, ReadInheritedStaging(run));
  PTPKG_TRY(const builder::WorkLayout layout,
            PrepareWorkFolder(env, run, inheritance.archives.has_value(), work));
  PTPKG_TRY(builder::BuildInput input, MakeBuildInput(run, inputs, layout));
  input.inherited = inheritance.archives;
  PTPKG_TRY(const builder::RecoveredSources left,
            PrepareOrTakeSources(env, run, inputs, {inheritance, layout}, work));
  StagedTree kept{.root = run.folder()};
  if (!recipe.staging) {
    // Before the script, which may run for hours.
    PTPKG_TRY(const std::vector<builder::LicenseFile> licenses,
              builder::FindLicenseFiles(env, recipe, layout.source, &left.record));
    PTPKG_TRY(kept, KeepLicenses(env, run.folder(), licenses));
  }
  PTPKG_TRY(const std::optional<MadeFiles> made, RunScriptOnce(env, input, left, work));
  if (!made) return std::optional<NodeResult>();
  if (made->staging) {
    PTPKG_TRY(NodeResult result, StoreStaging(env, run, layout, *made->staging, inheritance));
    return std::optional(std::move(result));
  }
  PTPKG_TRY(NodeResult result, StorePackage(env, run, *made->staged, std::move(kept), inheritance));
  return std::optional(std::move(result));
}

Result<NodeResult> BuildOrStartOver(Env& env, const NodeRun& run, const BuildInputs& inputs,
                                    BuildFolder& work) {
  PTPKG_TRY(std::optional<NodeResult> made, BuildOnce(env, run, inputs, work));
  if (!made) {
    PTPKG_CHECK(work.StartOver());
    PTPKG_CHECK(RemoveTree(env.fs, run.folder() / "licenses"));
    PTPKG_TRY(made, BuildOnce(env, run, inputs, work));
  }
  PTPKG_ASSERT(made.has_value());  // what starts anew has nothing to disagree with
  return *std::move(made);
}

Result<NodeResult> RunBuildNode(Env& env, const NodeRun& run) {
  auto& work = dynamic_cast<BuildFolder&>(run.claim());
  PTPKG_TRY(const BuildInputs inputs, ReadBuildInputs(env, run));
  PTPKG_TRY(Json recorded, BuildInputsOf(env, run, inputs.host, inputs.packages));
  Result<NodeResult> made = BuildOrStartOver(env, run, inputs, work);
  if (!made) {
    work.Failed();
    return made;
  }
  made->value[kBuildInputs] = std::move(recorded);
  return made;
}

}  // namespace

void AddBuildStage(graph::StageTable& stages) {
  stages.Add({.name = "build",
              .version = kBuildVersion,
              .keep = graph::Keep::kStore,
              .parallel = true,
              // A package that only requires others is done at once.
              .is_light =
                  [](const graph::Node& node) {
                    const auto script = node.inputs.find("script");
                    return script != node.inputs.end() && *script == "";
                  },
              .run = RunBuildNode,
              .claim = BuildFolder::Take,
              .foresee = PreflightBuilds});
}

}  // namespace ptpkg::pipeline
