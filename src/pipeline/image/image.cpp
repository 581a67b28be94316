// A run has two phases. Phase one, for a recipe only, builds the stage `artifacts` and takes the wheels out.
// Phase two builds the images from a context that holds wheels, so that no engine, whatever its cache,
// compiles a recipe once for each image, and so that labels can name digests.
//
// Everything happens in one scratch directory. Files of a context get one time and mode, so that the same
// inputs write the same context.

#include "pipeline/image/image.h"

#include <algorithm>
#include <fmt/core.h>

#include "archive/tar/tar_writer.h"
#include "conda/info/package_info.h"
#include "index/index.h"
#include "pipeline/image/base_facts.h"
#include "pipeline/image/containerfile.h"
#include "pipeline/image/engine.h"
#include "publish/artifact_id.h"
#include "support/files/scratch.h"
#include "support/text/json.h"
#include "support/text/text.h"
#include "verify/wheel/declared_platform.h"
#include "wheel/file_name.h"

namespace ptpkg::pipeline {
namespace {

/// An artifact and its place in the context.
struct PlacedArtifact {
  AbsPath file;
  std::string subdir = {};  ///< "" for a wheel.
  ImageArtifact facts;
};

struct ImagePlan {
  ImageFile file;
  std::optional<AbsPath> recipe = {};  ///< Its directory.
  std::string recipe_file = {};        ///< File in `recipe`; "": the directory itself.
  std::optional<AbsPath> description = {};
  std::optional<AbsPath> base_tar = {};
  std::optional<AbsPath> build_tar = {};
  std::vector<PlacedArtifact> artifacts = {};
  std::optional<GlibcNeed> need = {};
};

Result<void> AddArtifact(Env& env, const AbsPath& path, const verify::PlatformPolicies& policies,
                         ImagePlan& plan) {
  const std::string name(path.Name());
  PTPKG_TRY(const ArtifactFormat format, RequireFormat(path));
  PTPKG_TRY(const Digests digests, HashFile(env.fs, path));
  PlacedArtifact placed{.file = path, .facts = {.file_name = name, .sha256 = digests.sha256.Hex()}};
  verify::DeclaredPlatform declared;
  if (IsCondaPackage(format)) {
    PTPKG_TRY(const conda::PackageInfo info, conda::ReadPackageInfo(env, path));
    PTPKG_TRY(placed.subdir, JsonString(info.index, "subdir", name));
    PTPKG_TRY(const std::string package, JsonString(info.index, "name", name));
    PTPKG_TRY(const std::string version, JsonString(info.index, "version", name));
    PTPKG_TRY(const std::string build, JsonString(info.index, "build", name));
    placed.facts.conda_spec = fmt::format("{}={}={}", package, version, build);
    PTPKG_TRY(const auto depends, JsonStringsOr(info.index, "depends", {}, name));
    declared = verify::DeclaredBySpecs(depends, placed.subdir);
  } else if (format == ArtifactFormat::kWheel) {
    PTPKG_TRY(const wheel::FileName wheel, wheel::FileName::Parse(name));
    declared = verify::DeclaredByTags(policies, Split(wheel.tag.platform, '.'));
  } else {
    return Error(ErrorCode::kUsage, fmt::format("'{}' is neither a wheel nor a conda package", path.str()));
  }
  if (declared.glibc && (!plan.need || plan.need->version < *declared.glibc)) {
    plan.need = GlibcNeed{.version = *declared.glibc, .artifact = name};
  }
  plan.artifacts.push_back(std::move(placed));
  return Ok();
}

Result<void> AddArtifacts(Env& env, const std::vector<AbsPath>& paths, ImagePlan& plan) {
  PTPKG_TRY(const verify::PlatformPolicies policies, verify::PlatformPolicies::BuiltIn());
  for (const AbsPath& path : paths) PTPKG_CHECK(AddArtifact(env, path, policies, plan));
  std::ranges::sort(plan.artifacts, {}, [](const PlacedArtifact& one) { return one.facts.file_name; });
  const auto twice = std::ranges::adjacent_find(
      plan.artifacts, {}, [](const PlacedArtifact& one) { return one.facts.file_name; });
  if (twice == plan.artifacts.end()) return Ok();
  return Error(ErrorCode::kUsage, fmt::format("two inputs are called '{}'", twice->facts.file_name));
}

/// Fills in the recipe, if `inputs` is one.
Result<void> FindRecipe(Env& env, const std::vector<AbsPath>& inputs, ImagePlan& plan) {
  for (const AbsPath& input : inputs) {
    PTPKG_TRY(const FileStat stat, env.fs.Stat(input));
    const bool is_directory = stat.kind == FileKind::kDirectory;
    if (!is_directory && !input.Name().ends_with(".yaml")) continue;
    if (inputs.size() > 1) {
      return Error(ErrorCode::kUsage, "a recipe is the only input of a run")
          .WithHint("build the recipe first, and name the wheels in its output directory");
    }
    plan.recipe = is_directory ? input : input.Parent();
    if (!is_directory) plan.recipe_file = input.Name();
    if (is_directory) PTPKG_CHECK(env.fs.Stat(input / "recipe.yaml"), "while looking for the recipe");
  }
  return Ok();
}

/// A name that ends in ".tar" is a root file system, relative to `folder`; any other is a registry reference.
Result<std::optional<AbsPath>> RootFileSystem(Env& env, const std::string& base, const AbsPath& folder) {
  if (!base.ends_with(".tar")) return std::optional<AbsPath>();
  PTPKG_TRY(const AbsPath path, AbsPath::Resolve(folder, base));
  PTPKG_CHECK(env.fs.Stat(path), "while looking for the base");
  return std::optional(path);
}

Result<void> ReadDescription(Env& env, const ImageRequest& request, ImagePlan& plan) {
  plan.description = request.file;
  if (!plan.description && plan.recipe) plan.description = *plan.recipe / "image.yaml";
  if (plan.description) {
    PTPKG_TRY(plan.file, LoadImageFile(env.fs, *plan.description), "while reading the image description");
  } else {
    const std::string& stem = plan.artifacts.front().facts.file_name;
    plan.file.images = {{.name = ToLower(stem.substr(0, stem.find('-'))), .settings = {}}};
  }
  const AbsPath folder = plan.description ? plan.description->Parent() : env.cwd;
  if (!plan.file.build_base.empty()) {
    PTPKG_TRY(plan.build_tar, RootFileSystem(env, plan.file.build_base, folder));
  }
  if (request.base) plan.file.base = *request.base;
  if (plan.file.base.empty()) {
    return Error(ErrorCode::kInvalidInput, "the images have no base")
        .WithHint("add 'base: docker.io/library/python:3.11-slim', or use --base ROOTFS.tar");
  }
  PTPKG_TRY(plan.base_tar, RootFileSystem(env, plan.file.base, request.base ? env.cwd : folder));
  return CheckTimeZones(env.fs, plan.file);
}

Result<void> CopyInto(Env& env, const AbsPath& from, const AbsPath& to) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  PTPKG_CHECK(env.fs.MakeDirs(to.Parent()));
  PTPKG_CHECK(env.fs.CopyFile(from, to));
  PTPKG_CHECK(env.fs.SetMode(to, 0644));
  return env.fs.SetMtime(to, env.source_date_epoch * kSecond);
}

/// The recipe's directory without the image description: editing that must not start a build.
Result<void> PackRecipe(Env& env, const ImagePlan& plan, const AbsPath& to) {
  PTPKG_TRY(const StagedTree tree, ScanTree(env, *plan.recipe, {.hash = false}));
  archive::EntrySet entries;
  for (const TreeEntry& entry : tree.entries) {
    if (*plan.recipe / entry.path != plan.description) PTPKG_CHECK(entries.AddTreeEntry(tree, entry));
  }
  PTPKG_TRY(const std::unique_ptr<File> file, env.fs.Open(to, OpenMode::kCreateNew));
  FileSink sink(*file);
  PTPKG_TRY(archive::TarWriter tar, archive::TarWriter::Create(env, sink, env.source_date_epoch));
  for (const archive::Entry* entry : entries.Sorted()) PTPKG_CHECK(tar.Append(*entry));
  PTPKG_CHECK(tar.Finish());
  return file->Close();
}

/// Fills the empty directory `to`. Without artifacts, the Containerfile builds the recipe.
Result<void> WriteContext(Env& env, const ImagePlan& plan, const AbsPath& to) {
  ContainerfileInput input{.file = plan.file,
                           .runs_recipe = plan.artifacts.empty(),
                           .recipe_file = plan.recipe_file,
                           .need = plan.need,
                           .epoch = env.source_date_epoch};
  if (plan.base_tar) {
    input.base_rootfs = "base.tar";
    PTPKG_CHECK(CopyInto(env, *plan.base_tar, to / "base.tar"));
  }
  if (plan.build_tar && input.runs_recipe) {
    input.build_rootfs = "build-base.tar";
    PTPKG_CHECK(CopyInto(env, *plan.build_tar, to / "build-base.tar"));
  }
  if (input.runs_recipe) PTPKG_CHECK(PackRecipe(env, plan, to / "recipe.tar"));
  bool has_packages = false;
  for (const PlacedArtifact& artifact : plan.artifacts) {
    const AbsPath folder = to / "artifacts";
    const AbsPath place = artifact.subdir.empty() ? folder : folder / artifact.subdir;
    PTPKG_CHECK(CopyInto(env, artifact.file, place / artifact.facts.file_name));
    has_packages = has_packages || !artifact.subdir.empty();
    input.artifacts.push_back(artifact.facts);
  }
  if (has_packages) {
    if (auto index = index::IndexConda(env, to / "artifacts"); !index) return index.error();
  }
  return WriteFile(env.fs, to / "Containerfile", ContainerfileText(input));
}

/// Phase one: the wheels of the recipe, in `scratch`.
Result<std::vector<AbsPath>> BuildWheels(Env& env, const Engine& engine, const ImagePlan& plan,
                                         const AbsPath& scratch) {
  const AbsPath context = scratch / "recipe";
  const AbsPath made = scratch / "made";
  PTPKG_CHECK(env.fs.MakeDirs(context));
  PTPKG_CHECK(env.fs.MakeDirs(made));
  PTPKG_CHECK(WriteContext(env, plan, context));
  PTPKG_CHECK(engine.Extract(context, "artifacts", made));
  PTPKG_CHECK(RemoveTree(env.fs, context));
  PTPKG_TRY(const std::vector<std::string> names, env.fs.ListDir(made));
  std::vector<AbsPath> wheels;
  for (const std::string& name : names) {
    if (name.ends_with(".whl")) wheels.push_back(made / name);
  }
  if (!wheels.empty()) return wheels;
  return Error(ErrorCode::kInvalidInput, fmt::format("the recipe '{}' made no wheel", plan.recipe->str()))
      .WithHint("add 'wheel' to extra.ptpkg.formats");
}

Result<void> CopyOut(Env& env, const ImagePlan& plan, const AbsPath& to) {
  PTPKG_TRY(TempDir copies, TempDir::Create(env.fs, to.Parent(), "extract"));
  for (const PlacedArtifact& artifact : plan.artifacts) {
    PTPKG_CHECK(CopyInto(env, artifact.file, copies.path() / artifact.facts.file_name));
  }
  return std::move(copies).MoveTo(to);
}

Result<std::vector<BuiltImage>> BuildImages(const Engine& engine, const ImagePlan& plan,
                                            const AbsPath& context) {
  const bool gpus = std::ranges::any_of(plan.artifacts, [](const PlacedArtifact& one) {
    return one.facts.file_name.find("+cu") != std::string::npos ||
           one.facts.conda_spec.find("cuda") != std::string::npos;
  });
  std::vector<BuiltImage> built;
  for (const NamedImage& image : plan.file.images) {
    PTPKG_TRY(std::string id, engine.Build(context, image.name));
    PTPKG_TRY(std::vector<std::string> layers, engine.Layers(id));
    built.push_back({.name = image.name,
                     .id = std::move(id),
                     .layers = std::move(layers),
                     .run = engine.RunLine(image.name, {.shm_size = image.settings.shm_size, .gpus = gpus})});
  }
  for (const BuiltImage& image : built) PTPKG_CHECK(engine.Tag(image.id, image.name));
  return built;
}

Result<void> CheckPlan(Env& env, const ImagePlan& plan, const AbsPath& scratch) {
  if (!plan.base_tar) return Ok();
  PTPKG_TRY(const BaseFacts facts, ReadBase(env, *plan.base_tar, scratch));
  return CheckBase(facts, plan.file, plan.need);
}

/// Looks at a directory to write before the build of a recipe, which can take hours.
Result<void> RequireNoContent(Fs& fs, const std::optional<AbsPath>& target) {
  if (!target) return Ok();
  PTPKG_TRY(const bool exists, Exists(fs, *target));
  if (!exists) return Ok();
  PTPKG_TRY(const std::vector<std::string> names, fs.ListDir(*target));
  if (names.empty()) return Ok();
  return Error(ErrorCode::kAlreadyExists, fmt::format("'{}' is not empty", target->str()))
      .WithHint("name a new directory");
}

}  // namespace

Result<ImageOutcome> MakeImages(Env& env, const ImageRequest& request) {
  ImagePlan plan;
  PTPKG_CHECK(FindRecipe(env, request.inputs, plan));
  if (!plan.recipe) PTPKG_CHECK(AddArtifacts(env, request.inputs, plan));
  if (plan.recipe && request.context && request.extract) {
    return Error(ErrorCode::kUsage,
                 "--context builds nothing, so --extract has no wheels of the recipe to copy");
  }
  if (request.context && request.engine != "auto") {
    return Error(ErrorCode::kUsage,
                 fmt::format("--context builds nothing, so --engine {} has no effect", request.engine))
        .WithHint("leave one of the two out");
  }
  PTPKG_CHECK(RequireNoContent(env.fs, request.context));
  PTPKG_CHECK(RequireNoContent(env.fs, request.extract));
  PTPKG_CHECK(ReadDescription(env, request, plan));
  const AbsPath parent = request.context ? request.context->Parent() : env.cache_dir / "work";
  PTPKG_TRY(TempDir scratch, TempDir::Create(env.fs, parent, "image"));
  PTPKG_CHECK(CheckPlan(env, plan, scratch.path()));

  ImageOutcome outcome;
  if (request.context) {
    PTPKG_CHECK(WriteContext(env, plan, scratch.path()));
    if (request.extract) PTPKG_CHECK(CopyOut(env, plan, *request.extract));
    PTPKG_CHECK(std::move(scratch).MoveTo(*request.context));
  } else {
    PTPKG_TRY(const Engine engine, Engine::Find(env, request.engine));
    if (plan.recipe) {
      PTPKG_TRY(const std::vector<AbsPath> wheels, BuildWheels(env, engine, plan, scratch.path()));
      PTPKG_CHECK(AddArtifacts(env, wheels, plan));
      PTPKG_CHECK(CheckPlan(env, plan, scratch.path()));
    }
    if (request.extract) PTPKG_CHECK(CopyOut(env, plan, *request.extract));
    const AbsPath context = scratch.path() / "context";
    PTPKG_CHECK(env.fs.MakeDirs(context));
    PTPKG_CHECK(WriteContext(env, plan, context));
    PTPKG_TRY(outcome.images, BuildImages(engine, plan, context));
  }
  for (const PlacedArtifact& artifact : plan.artifacts) outcome.artifacts.push_back(artifact.facts.file_name);
  return outcome;
}

}  // namespace ptpkg::pipeline
