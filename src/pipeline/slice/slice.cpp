#include "pipeline/slice/slice.h"

#include <algorithm>
#include <fmt/core.h>
#include <set>

#include "pipeline/edit_wheel/vendor_code.h"
#include "pipeline/plan/result_names.h"
#include "pipeline/slice/slice_file.h"
#include "pipeline/slice/slice_source.h"
#include "support/digest/hash.h"
#include "support/files/scratch.h"
#include "support/process/parallel.h"
#include "support/text/plural.h"
#include "support/text/text.h"
#include "versions/gpu_slice.h"

namespace ptpkg::pipeline {
namespace {

/// Files of one slice. A plan takes up to 32 MB (elf::PlanSlice), a verification 16 MB.
constexpr int kFilesAtOnce = 2;
/// While one slice is written and held against the original, by one core, another one is packed.
constexpr int kSlicesAtOnce = 2;

bool IsAllowed(const std::vector<std::string>& globs, const RelPath& path) {
  return std::any_of(globs.begin(), globs.end(), [&](const std::string& glob) {
    return GlobMatch(glob, path.str()) || GlobMatch("**/" + glob, path.str());
  });
}

class Slicing {
 public:
  Slicing(Env& env, const SliceRun& run)
      : env_(env),
        run_(run),
        folder_(run.output.value_or(run.artifact.Parent())),
        placement_(env, run.force ? ExistingFilePolicy::kReplace : ExistingFilePolicy::kRefuse) {
    outcome_.from = run.artifact;
  }

  Result<SliceOutcome> Run() {
    PTPKG_CHECK(ReadRequest());
    // The gate of the build checks the slices of a recipe.
    const SliceSourceOptions options{.variant = run_.variant, .cuda = run_.cuda, .check = !run_.of_recipe};
    PTPKG_TRY(source_, OpenSliceSource(env_, run_.artifact, options));
    PTPKG_TRY(const FileStat before, env_.fs.Stat(run_.artifact));
    outcome_.size_bytes = before.size_bytes;
    if (!run_.dry_run) PTPKG_CHECK(placement_.MakeDirs(folder_));
    // Beside the result, where there is room for it: what is unpacked may have gigabytes.
    PTPKG_TRY(const TempDir scratch,
              TempDir::Create(env_.fs, run_.dry_run ? env_.cache_dir : folder_, "slice"));
    PTPKG_CHECK(ReadFiles(scratch.path()));
    PTPKG_CHECK(ChooseSlices());
    PTPKG_CHECK(PlanTargets());
    PTPKG_CHECK(MakeSlices(scratch.path()));
    if (!run_.dry_run) PTPKG_CHECK(StageFallback(scratch.path()));
    PTPKG_CHECK(CheckUnchanged(before));
    PTPKG_CHECK(placement_.Place(scratch.path() / "replaced"));
    ReportInheritedErrors();
    return std::move(outcome_);
  }

 private:
  Result<void> ReadRequest() {
    if (!run_.cuda.empty() && !run_.variant) {
      return Error(ErrorCode::kUsage, "--cuda needs --variant").WithHint("give --variant with it");
    }
    if (run_.each != run_.gpus.empty()) {
      return Error(ErrorCode::kUsage,
                   run_.each ? "--all-archs cannot be combined with --gpu" : "no GPU given")
          .WithHint(
              "add --gpu 9.0 once per slice, or --all-archs for one slice per GPU that the artifact "
              "supports");
    }
    const auto slices = versions::ParseGpuSlices(run_.gpus);
    if (!slices) {
      return Error(ErrorCode::kUsage, "--gpu: " + slices.error().message()).WithHint(slices.error().hint());
    }
    slices_ = *slices;
    return Ok();
  }

  Result<void> ReadFiles(const AbsPath& scratch) {
    const AbsPath unpacked = scratch / "unpacked";
    PTPKG_CHECK(env_.fs.MakeDirs(unpacked));
    PTPKG_TRY(const std::vector<UnpackedFile> places, source_->Unpack(unpacked));
    Task task(env_.reporter, {.stage = "scan", .subject = std::string(run_.artifact.Name())});
    PTPKG_TRY(const std::string licence, source_->VendorLicence());
    std::vector<std::optional<DeviceFile>> read(places.size());
    PTPKG_CHECK(ParallelFor(env_.jobs, places.size(), [&](std::size_t i) -> Result<void> {
      auto file = ReadDeviceFile(env_, places[i]);
      if (file) {
        read[i] = *std::move(file);
        return Ok();
      }
      const ErrorCode code = file.error().code();
      const bool damaged =
          code == ErrorCode::kInvalidInput || code == ErrorCode::kCorrupt || code == ErrorCode::kUnsupported;
      if (!damaged || places[i].file == run_.artifact) return file.error();
      // In a package, this can be the data of a test, which slicing need not judge.
      env_.reporter.Warn(fmt::format("'{}' is unchanged: {}", places[i].path.str(), file.error().message()));
      return Ok();
    }));
    for (std::optional<DeviceFile>& file : read) {
      if (!file) continue;
      outcome_.files.push_back({.path = file->place.path.str(),
                                .size_bytes = file->place.size_bytes,
                                .code = SizesOf(file->code),
                                .kept_because = KeptReason(*file, licence)});
      files_.push_back(*std::move(file));
    }
    task.Done(Plural(files_.size(), "file") + " with GPU code");
    WarnOfUnusedGlobs();
    return CheckFiles();
  }

  /// A typing error in --allow must not pass for a library that may not be changed.
  void WarnOfUnusedGlobs() const {
    for (const std::string& glob : run_.allow) {
      const bool matches = std::any_of(files_.begin(), files_.end(), [&](const DeviceFile& file) {
        return IsAllowed({glob}, file.place.path);
      });
      if (matches) continue;
      env_.reporter.Warn(fmt::format("{} '{}' matches no file with GPU code of '{}'", AllowName(), glob,
                                     run_.artifact.Name()));
    }
  }

  [[nodiscard]] std::string AllowName() const {
    return run_.of_recipe ? "extra.ptpkg.slices.allow" : "--allow";
  }

  [[nodiscard]] std::string KeptReason(const DeviceFile& file, const std::string& licence) const {
    if (file.code.HasAmd()) return "ptpkg does not slice code for AMD GPUs";
    const RelPath& path = file.place.path;
    if (IsAllowed(run_.allow, path)) return {};
    if (IsVendorLibrary(path.Name())) return "NVIDIA's licence does not allow changes";
    if (!licence.empty())
      return fmt::format("the licence '{}' is NVIDIA's and does not allow changes", licence);
    return {};
  }

  Result<void> CheckFiles() const {
    if (files_.empty() && run_.of_recipe) {
      return Error(ErrorCode::kRefused, fmt::format("'{}' has no GPU code", run_.artifact.Name()))
          .WithHint("make extra.ptpkg.slices empty for outputs and variants without GPU code");
    }
    if (files_.empty()) {
      return Error(ErrorCode::kUnsupported, fmt::format("'{}' has no GPU code", run_.artifact.str()))
          .WithHint(
              "ptpkg looks for GPU code in sections .nv_fatbin and __nv_relfatbin of ELF files and static "
              "archives, but not in nested archives");
    }
    const auto kept = [](const SliceableFile& file) { return !file.kept_because.empty(); };
    if (!std::all_of(outcome_.files.begin(), outcome_.files.end(), kept)) return Ok();
    std::vector<std::string> lines;
    for (const SliceableFile& file : outcome_.files)
      lines.push_back(fmt::format("\n    {}: {}", file.path, file.kept_because));
    if (std::all_of(files_.begin(), files_.end(),
                    [](const DeviceFile& file) { return file.code.HasAmd(); })) {
      return Error(ErrorCode::kRefused,
                   fmt::format("ptpkg does not slice code for AMD GPUs, and '{}' has no other GPU code",
                               run_.artifact.Name()))
          .WithHint("build one package per architecture, with a variant key that lists them");
    }
    return Error(ErrorCode::kRefused,
                 fmt::format("all GPU code of '{}' is in files that must not be changed:{}",
                             run_.artifact.Name(), Join(lines, "")))
        .WithHint(AllowName() + (run_.of_recipe ? " names" : " GLOB slices") +
                  " the files that you have the right to change");
  }

  /// --all-archs, and whether there is code for every GPU.
  Result<void> ChooseSlices() {
    std::set<std::uint32_t> gpus;
    for (std::size_t i = 0; i < files_.size(); ++i) {
      if (!outcome_.files[i].kept_because.empty()) continue;
      for (const std::uint32_t gpu : GpusOf(files_[i].code)) gpus.insert(gpu);
    }
    if (run_.each) {
      for (const std::uint32_t gpu : gpus) slices_.push_back({.gpus = {gpu}});
      if (slices_.empty()) {
        return Error(ErrorCode::kRefused,
                     fmt::format("'{}' has no machine code, only PTX", run_.artifact.Name()))
            .WithHint("choose GPUs with --gpu");
      }
    }
    for (const versions::GpuSlice& slice : slices_) {
      for (const std::uint32_t gpu : slice.gpus) PTPKG_CHECK(CheckGpu(gpu));
    }
    return Ok();
  }

  Result<void> CheckGpu(std::uint32_t gpu) const {
    versions::ArchitectureNames names;
    for (std::size_t i = 0; i < files_.size(); ++i) {
      if (!outcome_.files[i].kept_because.empty()) continue;
      if (HasCodeFor(files_[i].code, gpu)) return Ok();
      for (const auto& [name, size_bytes] : outcome_.files[i].code) names.insert(name);
    }
    return Error(ErrorCode::kRefused,
                 fmt::format("'{}' has no code that runs on a GPU of compute capability {}",
                             run_.artifact.Name(), versions::CapabilityOf(gpu)))
        .WithHint("it has " + Join(std::vector<std::string>(names.begin(), names.end()), ", "));
  }

  /// `what`: the artifact under that name, for an error.
  Result<AbsPath> TargetOf(const RelPath& name, const std::string& what) const {
    AbsPath target = folder_ / name;
    const Result<FileStat> there = env_.fs.Lstat(target);
    if (!there && there.error().code() == ErrorCode::kNotFound) return target;
    if (!there) return there.error();
    if (there->kind == FileKind::kDirectory) {
      return Error(ErrorCode::kAlreadyExists, fmt::format("'{}' is a directory", target.str()))
          .WithHint("choose another directory with --output DIR");
    }
    const Result<bool> same = IsOneFile(env_, run_.artifact, target);
    if (same && *same) {
      return Error(ErrorCode::kUsage, fmt::format("'{}' is {}", target.str(), what))
          .WithHint(
              "choose another directory with --output DIR, or slice the artifact that it was made from");
    }
    if (run_.force) return target;
    return NameTakenError(target, true);
  }

  Result<void> PlanTargets() {
    for (const versions::GpuSlice& slice : slices_) {
      PTPKG_TRY(RelPath name, source_->NameOf(slice));
      PTPKG_TRY(AbsPath target, TargetOf(name, "the slice for " + slice.str()));
      targets_.push_back({.name = std::move(name), .path = std::move(target)});
    }
    PTPKG_TRY(const std::optional<RelPath> name, source_->FallbackName());
    if (!name) return Ok();
    const AbsPath target = folder_ / *name;
    if (target == run_.artifact) return Ok();  // a null variant, which is there
    outcome_.fallback.emplace();
    PTPKG_TRY(outcome_.fallback->to, TargetOf(*name, "the null variant"));
    for (const SliceableFile& file : outcome_.files) {
      outcome_.fallback->files.push_back({.path = file.path,
                                          .size_bytes = file.size_bytes,
                                          .code = file.code,
                                          .kept_because = "the null variant keeps all of it"});
    }
    return Ok();
  }

  Result<void> MakeSlices(const AbsPath& scratch) {
    if (!run_.dry_run) PTPKG_CHECK(source_->Expect(slices_.size(), scratch));
    outcome_.slices.resize(slices_.size());
    staged_.assign(slices_.size(), {.file = scratch});
    PTPKG_CHECK(
        ParallelFor(std::min(env_.jobs, kSlicesAtOnce), slices_.size(), [&](std::size_t i) -> Result<void> {
          PTPKG_CHECK(env_.cancel.Check());
          PTPKG_CHECK(MakeSlice(i, scratch / "slices" / slices_[i].Label()),
                      fmt::format("while slicing '{}' for {}", run_.artifact.Name(), slices_[i].str()));
          return Ok();
        }));
    for (std::size_t i = 0; i < slices_.size() && !run_.dry_run; ++i)
      placement_.Add(staged_[i].file, targets_[i].path);
    return Ok();
  }

  Result<void> StageFallback(const AbsPath& scratch) {
    if (!outcome_.fallback) return Ok();
    SliceOfArtifact& fallback = *outcome_.fallback;
    Task task(env_.reporter, {.stage = "slice", .subject = std::string(fallback.to.Name())});
    PTPKG_TRY(StagedSlice staged, source_->StageFallback(scratch));
    PTPKG_TRY(const FileStat stat, env_.fs.Stat(staged.file));
    fallback.size_bytes = stat.size_bytes;
    task.Done("the whole wheel");
    placement_.Add(staged.file, fallback.to);
    staged_.push_back(std::move(staged));
    return Ok();
  }

  /// The artifact, and what was unpacked of it, are what they were when they were read: all slices were made
  /// of the same bytes, and those are what the artifact lists.
  Result<void> CheckUnchanged(const FileStat& before) const {
    PTPKG_TRY(const FileStat now, env_.fs.Stat(run_.artifact));
    if (!now.IsUnchangedSince(before)) {
      return Error(ErrorCode::kRefused, fmt::format("'{}' changed while it was sliced", run_.artifact.str()))
          .WithHint("slice it again when no other program writes to it");
    }
    if (run_.dry_run) return Ok();
    return ParallelFor(env_.jobs, files_.size(), [&](std::size_t i) -> Result<void> {
      const UnpackedFile& place = files_[i].place;
      if (!place.sha256) return Ok();
      PTPKG_TRY(const Digests digests, HashFile(env_.fs, place.file));
      if (digests.sha256 == *place.sha256) return Ok();
      return Error(ErrorCode::kIo, fmt::format("'{}' changed after it was unpacked from '{}'",
                                               place.path.str(), run_.artifact.Name()))
          .WithHint(fmt::format("check the disk of '{}', or find the program that changed the file",
                                folder_.str()));
    });
  }

  void ReportInheritedErrors() const {
    std::uint64_t errors = 0;
    for (const StagedSlice& one : staged_) errors = std::max(errors, one.errors);
    if (errors == 0) return;
    env_.reporter.Warn(fmt::format("'{}' has {} that its slices have too; list them with 'ptpkg check'",
                                   run_.artifact.Name(), Plural(errors, "error")));
  }

  /// The GPUs of the slice that a file has nothing for.
  [[nodiscard]] std::string UnchangedReason(std::size_t index, const versions::GpuSlice& slice) const {
    if (!outcome_.files[index].kept_because.empty()) return outcome_.files[index].kept_because;
    std::vector<std::string> missing;
    for (const std::uint32_t gpu : slice.gpus) {
      if (!HasCodeFor(files_[index].code, gpu)) missing.push_back(versions::CapabilityOf(gpu));
    }
    return missing.empty() ? "" : "it has no code for " + Join(missing, " and ");
  }

  /// Makes one file of the slice. `place`: path for the changed file.
  Result<SliceOfFile> MakeFile(std::size_t index, const versions::GpuSlice& slice,
                               const AbsPath& place) const {
    const SliceableFile& before = outcome_.files[index];
    if (std::string why = UnchangedReason(index, slice); !why.empty()) {
      return SliceOfFile{.told = {.path = before.path,
                                  .size_bytes = before.size_bytes,
                                  .code = before.code,
                                  .kept_because = std::move(why)}};
    }
    const elf::SliceRequest request{
        .gpus = slice.gpus,
        .form = run_.compact ? elf::SliceForm::kCompact : elf::SliceForm::kInPlace,
        .keep_ptx = run_.keep_ptx};
    std::optional<SliceTarget> to;
    if (!run_.dry_run) to = {.path = place / files_[index].place.path, .is_written = source_->WantsFiles()};
    PTPKG_TRY(SliceOfFile made, SliceDeviceFile(env_, files_[index], request, to),
              fmt::format("while slicing '{}'", before.path));
    return made;
  }

  /// Makes the slice below `place`.
  Result<void> MakeSlice(std::size_t index, const AbsPath& place) {
    const versions::GpuSlice& slice = slices_[index];
    Task task(env_.reporter, {.stage = "slice", .subject = targets_[index].name.str()});
    std::vector<SliceOfFile> made(files_.size());
    PTPKG_CHECK(
        ParallelFor(std::min(env_.jobs, kFilesAtOnce), files_.size(), [&](std::size_t i) -> Result<void> {
          PTPKG_TRY(made[i], MakeFile(i, slice, place / "files"));
          return Ok();
        }));
    SliceOfArtifact& told = outcome_.slices[index];
    told.to = targets_[index].path;
    for (const std::uint32_t gpu : slice.gpus) told.gpus.push_back(versions::CapabilityOf(gpu));
    VirtualFilesFs with_slices(env_.fs);
    std::vector<SlicedEntry> sliced;
    for (SliceOfFile& one : made) {
      if (one.file && one.make)
        with_slices.Show(one.file->file, {.size_bytes = one.file->size_bytes, .mode = one.file->mode},
                         std::move(one.make));
      if (one.file) sliced.push_back(*std::move(one.file));
      told.files.push_back(std::move(one.told));
    }
    if (!run_.dry_run) {
      PTPKG_CHECK(env_.fs.MakeDirs(place));
      Env env = WithFs(env_, with_slices);
      PTPKG_TRY(staged_[index], source_->Stage(env, slice, sliced, place));
      PTPKG_TRY(const FileStat stat, env_.fs.Stat(staged_[index].file));
      told.size_bytes = stat.size_bytes;
    }
    const auto changed = std::count_if(told.files.begin(), told.files.end(),
                                       [](const FileInSlice& file) { return !file.form.empty(); });
    task.Done(Plural(static_cast<std::size_t>(changed), "file") +
              (run_.dry_run ? " would be sliced" : " sliced"));
    return Ok();
  }

  struct Target {
    RelPath name;  // below folder_
    AbsPath path;
  };

  Env& env_;
  const SliceRun& run_;
  AbsPath folder_;
  AtomicPlacement placement_;
  std::unique_ptr<SliceSource> source_;
  std::vector<versions::GpuSlice> slices_;
  std::vector<Target> targets_;      // of slices_
  std::vector<StagedSlice> staged_;  // of slices_, then the fallback
  std::vector<DeviceFile> files_;
  SliceOutcome outcome_;  // its files are in the order of files_
};

}  // namespace

Result<SliceOutcome> Slice(Env& env, const SliceRun& run) { return Slicing(env, run).Run(); }

}  // namespace ptpkg::pipeline
