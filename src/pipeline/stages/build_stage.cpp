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

class BuildRun {
 public:
  BuildRun(Env& env, const NodeRun& run)
      : env_(env), run_(run), work_(dynamic_cast<BuildFolder&>(run.claim())) {}

  Result<NodeResult> Run() {
    PTPKG_TRY(const Json encoded, run_.Input("recipe"));
    PTPKG_TRY(recipe::NativeBuild native, recipe::DecodeNativeBuild(encoded, run_.subject()));
    PTPKG_TRY(native.recipe.recipe_dir, run_.Place("recipe"));
    PTPKG_TRY(native.recipe.sources, ReadSources(run_));
    PTPKG_TRY(const std::vector<builder::LocalPackage> packages, ReadPackages(env_, run_));
    PTPKG_TRY(const builder::RecipeFolder folder, ReadRecipeFolder(env_, run_));
    PTPKG_TRY(const builder::HostRequest request, ReadHostRequest(run_));
    PTPKG_TRY(const builder::HostPlan host, builder::CheckTools(env_, native.recipe, request));
    PTPKG_CHECK(CheckToolsUnchanged(env_, run_, host));
    const std::uint64_t memory_per_job = ParseBytes(run_.Option("memory-per-job")).value_or(0);
    PTPKG_TRY(const source::SourceOptions sources, Sources(native.recipe));
    if (run_.Has("ccache")) {
      PTPKG_TRY(builder::OpenCompilerCache cache, builder::PrepareCompilerCache(env_));
      cache_.emplace(std::move(cache));
    }

    auto made = BuildOrStartOver(native.recipe, sources,
                                 {.recipe = native.recipe,
                                  .subject = run_.subject(),
                                  .packages = packages,
                                  .unpack = UnpackInto,
                                  .host = host,
                                  .mentioned = native.mentioned,
                                  .source_commit = SourceCommit(native.recipe),
                                  .recipe_folder = folder,
                                  .memory_per_job = memory_per_job,
                                  .compiler_cache = cache_ ? std::optional(cache_->program) : std::nullopt});
    if (!made) {
      work_.Failed();
      return made;
    }
    PTPKG_TRY(made->value[kBuildInputs], BuildInputsOf(env_, run_, host, packages));
    return made;
  }

 private:
  [[nodiscard]] Result<source::SourceOptions> Sources(const recipe::Recipe& recipe) const {
    source::SourceOptions options;
    options.left_out = ReadSourceExclusions(run_);
    if (const auto place = run_.Place("source")) options.overrides.emplace(recipe.name, *place);
    PTPKG_TRY(const std::string planned, run_.Text("source"));
    PTPKG_TRY(options.planned, Sha256::FromHex(planned));
    return options;
  }

  /// Commit of the first source; "" for other sources, and for a directory that --source names.
  [[nodiscard]] std::string SourceCommit(const recipe::Recipe& recipe) const {
    return recipe.sources.empty() || run_.Place("source") ? "" : recipe.sources.front().git.commit;
  }

  Result<NodeResult> BuildOrStartOver(const recipe::Recipe& recipe, const source::SourceOptions& sources,
                                      const builder::BuildInput& input) {
    PTPKG_TRY(std::optional<NodeResult> made, BuildOnce(recipe, sources, input));
    if (!made) {
      PTPKG_CHECK(work_.StartOver());
      PTPKG_CHECK(RemoveTree(env_.fs, run_.folder() / "licenses"));
      PTPKG_TRY(made, BuildOnce(recipe, sources, input));
    }
    PTPKG_ASSERT(made.has_value());  // what starts anew has nothing to disagree with
    return *std::move(made);
  }

  /// nullopt: the run went on in what another had left, and cannot trust what came of it.
  Result<std::optional<NodeResult>> BuildOnce(const recipe::Recipe& recipe,
                                              const source::SourceOptions& sources,
                                              builder::BuildInput input) {
    PTPKG_TRY(const InheritedStaging inheritance, ReadInheritedStaging(run_));
    PTPKG_TRY(input.layout, builder::MakeWorkLayout(env_, work_.path()));
    PTPKG_CHECK(builder::WaitForEarlierScript(env_, input.layout));
    // In an inherited work directory, sources and half-written files cannot be told apart.
    if (inheritance.archives && work_.left().phase != builder::WorkPhase::kStarted) {
      env_.reporter.Note(fmt::format("'{}' starts over from the inherited files", run_.subject()));
      PTPKG_CHECK(work_.StartOver());
      PTPKG_TRY(input.layout, builder::MakeWorkLayout(env_, work_.path()));
    }
    PTPKG_CHECK(builder::EmptyAllExceptSource(env_, input.layout));
    PTPKG_TRY(input.log_file, run_.Place("log"));
    PTPKG_TRY(const builder::RecoveredSources left,
              PrepareOrTakeSources(recipe, sources, {inheritance, input.layout}));
    input.inherited = inheritance.archives;
    input.source_root = input.layout.source;
    StagedTree kept{.root = run_.folder()};
    if (!recipe.staging) {
      // Before the script, which may run for hours.
      PTPKG_TRY(const std::vector<builder::LicenseFile> licenses,
                builder::FindLicenseFiles(env_, recipe, input.source_root, &left.record));
      PTPKG_TRY(kept, KeepLicenses(licenses));
    }
    PTPKG_CHECK(work_.SetPhase(builder::WorkPhase::kScript));
    Result<Made> made = RunScript(input);
    // The script ended well, or has not begun: nothing is half-written, and the mistake costs no compilation.
    if (!made && made.error().code() == ErrorCode::kInvalidInput) {
      PTPKG_CHECK(work_.SetPhase(builder::WorkPhase::kInstalled));
    }
    if (!made) return left.script_ran ? ResumedRunError(std::move(made).error()) : std::move(made).error();
    PTPKG_TRY(const auto other, builder::FirstConflictingChange(env_, input.source_root, left));
    if (other) {
      env_.reporter.Warn(
          fmt::format("the script of '{}' changes its source '{}' differently when it runs again, so the "
                      "build starts over; set extra.ptpkg.resume: false to always start over",
                      run_.subject(), other->str()));
      return std::optional<NodeResult>();
    }
    // Should the result not fit on the disk, nothing is compiled again.
    PTPKG_CHECK(work_.SetPhase(builder::WorkPhase::kInstalled));
    if (made->staging) return Archived(*made->staging, input.layout, inheritance);
    PTPKG_TRY(const std::vector<builder::LicenseFile> of_prefix, NewLicenses(made->staged->licenses, kept));
    PTPKG_TRY(StagedTree more, KeepLicenses(of_prefix));
    std::ranges::move(more.entries, std::back_inserter(kept.entries));
    std::ranges::sort(kept.entries, {}, &TreeEntry::path);
    PTPKG_CHECK(MoveTree(made->staged->tree.root, run_.folder() / "tree", made->staged->tree));
    return std::optional(ResultOf(*made->staged, kept, inheritance));
  }

  /// Result of a script.
  struct Made {
    std::optional<builder::StagingBuild> staging = {};  ///< For a staging output;
    std::optional<builder::StagedBuild> staged = {};    ///< for a package.
  };
  Result<Made> RunScript(const builder::BuildInput& input) {
    Made made;
    if (input.recipe.staging) {
      PTPKG_TRY(made.staging, builder::RunStaging(env_, input));
    } else {
      PTPKG_TRY(made.staged, builder::Run(env_, input));
    }
    return made;
  }

  Result<std::optional<NodeResult>> Archived(const builder::StagingBuild& made,
                                             const builder::WorkLayout& layout,
                                             const InheritedStaging& inheritance) {
    PTPKG_TRY(NodeResult result, StoreStaging(env_, run_, layout, made, inheritance));
    return std::optional(std::move(result));
  }

  NodeResult ResultOf(const builder::StagedBuild& staged, const StagedTree& licenses,
                      const InheritedStaging& inheritance) {
    NodeResult result;
    result.files.root = run_.folder();
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

  /// The sources as an earlier run has left them, or else new ones.
  Result<builder::RecoveredSources> PrepareOrTakeSources(const recipe::Recipe& recipe,
                                                         const source::SourceOptions& sources,
                                                         const SourceOrigin& origin) {
    const builder::WorkLayout& layout = origin.layout;
    PTPKG_TRY(builder::ResumableWorkDir left,
              builder::RecoverSources(env_, layout, work_.record(), work_.left()));
    if (left.sources) {
      if (left.sources->script_ran) ReportResume(*left.sources);
      // Record of a killed shell: from here on the script writes, not a person.
      PTPKG_CHECK(RemoveTree(env_.fs, builder::ShellRecordFile(work_.record().Parent())));
      return *std::move(left.sources);
    }
    if (!left.why_not.empty()) {
      env_.reporter.Warn(
          fmt::format("'{}' starts over: cannot resume in the work directory of the interrupted run: {}",
                      run_.subject(), left.why_not));
      PTPKG_CHECK(work_.SetPhase(builder::WorkPhase::kStarted));
    }
    PTPKG_CHECK(RemoveTree(env_.fs, layout.source));
    PTPKG_CHECK(MakeSources(env_, recipe, sources, origin));
    PTPKG_TRY(builder::SourceRecord record, builder::SourceRecord::Take(env_, layout.source));
    PTPKG_CHECK(record.Write(env_.fs, work_.record()));
    PTPKG_CHECK(RemoveTree(env_.fs, builder::ShellRecordFile(work_.record().Parent())));
    PTPKG_CHECK(work_.SetPhase(builder::WorkPhase::kPrepared));
    return builder::RecoveredSources{.record = std::move(record)};
  }

  void ReportResume(const builder::RecoveredSources& left) {
    const std::string removed = left.removed_outputs == 0
                                    ? ""
                                    : fmt::format("; redoing files that may be half-written ({})",
                                                  Plural(left.removed_outputs, "file"));
    env_.reporter.Note(fmt::format("resuming the interrupted build of '{}'{}", run_.subject(), removed));
  }

  /// `error` of a script that ran in what another run had left: that may be the reason.
  static Error ResumedRunError(Error error) {
    if (error.code() != ErrorCode::kCommandFailed && error.code() != ErrorCode::kInvalidInput) return error;
    const std::string hint = fmt::format("{}{}this run resumed an interrupted build; start over with --fresh",
                                         error.hint(), error.hint().empty() ? "" : "; ");
    return std::move(error).WithHint(hint);
  }

  /// Copies them into the result as files: a licence text need not be UTF-8.
  Result<StagedTree> KeepLicenses(const std::vector<builder::LicenseFile>& licenses) {
    StagedTree tree{.root = run_.folder()};
    for (const builder::LicenseFile& file : licenses) {
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

  /// The files of the prefix that `kept`, the files of the sources, lacks. Two files of one name must have
  /// the same content.
  static Result<std::vector<builder::LicenseFile>> NewLicenses(
      const std::vector<builder::LicenseFile>& of_prefix, const StagedTree& kept) {
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
  BuildFolder& work_;
  std::optional<builder::OpenCompilerCache> cache_;
};

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
              .run = [](Env& env, const NodeRun& run) { return BuildRun(env, run).Run(); },
              .claim = BuildFolder::Take,
              .foresee = PreflightBuilds});
}

}  // namespace ptpkg::pipeline
