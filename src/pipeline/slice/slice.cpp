#include "pipeline/slice/slice.h"

#include <algorithm>
#include <fmt/core.h>

#include "pipeline/plan/result_names.h"
#include "pipeline/slice/slice_file.h"
#include "pipeline/slice/slice_input.h"
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

/// An artifact that was read.
struct SliceJob {
  Env& env;
  const SliceRun& run;
  SliceSource& source;
  const SliceInput& input;
};

/// A slice to make.
struct PlannedSlice {
  versions::GpuSlice slice;
  RelPath name;    ///< Below the output directory.
  AbsPath target;  ///< Its path.
};

struct MadeSlice {
  SliceOfArtifact told = {};
  StagedSlice staged;  ///< With dry_run only a placeholder.
};

/// The path `name` below `folder`, if it can be taken. `what`: the artifact under that name, for an error.
Result<AbsPath> TargetOf(Env& env, const SliceRun& run, const AbsPath& folder, const RelPath& name,
                         const std::string& what) {
  AbsPath target = folder / name;
  const Result<FileStat> there = env.fs.Lstat(target);
  if (!there && there.error().code() == ErrorCode::kNotFound) return target;
  if (!there) return there.error();
  if (there->kind == FileKind::kDirectory) {
    return Error(ErrorCode::kAlreadyExists, fmt::format("'{}' is a directory", target.str()))
        .WithHint("choose another directory with --output DIR");
  }
  const Result<bool> same = IsOneFile(env, run.artifact, target);
  if (same && *same) {
    return Error(ErrorCode::kUsage, fmt::format("'{}' is {}", target.str(), what))
        .WithHint("choose another directory with --output DIR, or slice the artifact that it was made from");
  }
  if (run.force) return target;
  return NameTakenError(target, true);
}

Result<std::vector<PlannedSlice>> PlanTargets(const SliceJob& job,
                                              const std::vector<versions::GpuSlice>& slices,
                                              const AbsPath& folder) {
  std::vector<PlannedSlice> planned;
  for (const versions::GpuSlice& slice : slices) {
    PTPKG_TRY(RelPath name, job.source.NameOf(slice));
    PTPKG_TRY(AbsPath target, TargetOf(job.env, job.run, folder, name, "the slice for " + slice.str()));
    planned.push_back({.slice = slice, .name = std::move(name), .target = std::move(target)});
  }
  return planned;
}

/// The copy of the artifact as null variant, if it needs one.
Result<std::optional<SliceOfArtifact>> PlanFallback(const SliceJob& job, const AbsPath& folder) {
  PTPKG_TRY(const std::optional<RelPath> name, job.source.FallbackName());
  // A null variant is there already.
  if (!name || folder / *name == job.run.artifact) return std::optional<SliceOfArtifact>();
  SliceOfArtifact fallback;
  PTPKG_TRY(fallback.to, TargetOf(job.env, job.run, folder, *name, "the null variant"));
  for (const SliceableFile& file : job.input.told) {
    fallback.files.push_back({.path = file.path,
                              .size_bytes = file.size_bytes,
                              .code = file.code,
                              .kept_because = "the null variant keeps all of it"});
  }
  return std::optional(std::move(fallback));
}

/// Why the slice has the file `index` as it is: it is kept, or lacks code for GPUs of the slice. "": it
/// changes.
std::string UnchangedReason(const SliceInput& input, std::size_t index, const versions::GpuSlice& slice) {
  if (input.IsKept(index)) return input.told[index].kept_because;
  std::vector<std::string> missing;
  for (const std::uint32_t gpu : slice.gpus) {
    if (!HasCodeFor(input.files[index].code, gpu)) missing.push_back(versions::CapabilityOf(gpu));
  }
  return missing.empty() ? "" : "it has no code for " + Join(missing, " and ");
}

/// Makes one file of the slice. `place`: directory for changed files.
Result<SliceOfFile> MakeFile(const SliceJob& job, std::size_t index, const versions::GpuSlice& slice,
                             const AbsPath& place) {
  const SliceableFile& before = job.input.told[index];
  const DeviceFile& file = job.input.files[index];
  if (std::string why = UnchangedReason(job.input, index, slice); !why.empty()) {
    return SliceOfFile{.told = {.path = before.path,
                                .size_bytes = before.size_bytes,
                                .code = before.code,
                                .kept_because = std::move(why)}};
  }
  const elf::SliceRequest request{
      .gpus = slice.gpus,
      .form = job.run.compact ? elf::SliceForm::kCompact : elf::SliceForm::kInPlace,
      .keep_ptx = job.run.keep_ptx};
  std::optional<SliceTarget> to;
  if (!job.run.dry_run) to = {.path = place / file.place.path, .is_written = job.source.WantsFiles()};
  PTPKG_TRY(SliceOfFile made, SliceDeviceFile(job.env, file, request, to),
            fmt::format("while slicing '{}'", before.path));
  return made;
}

/// Packs the slice with the files of `made`, below `place`.
Result<StagedSlice> StageSlice(const SliceJob& job, const versions::GpuSlice& slice,
                               std::vector<SliceOfFile> made, const AbsPath& place) {
  VirtualFilesFs with_slices(job.env.fs);
  std::vector<SlicedEntry> sliced;
  for (SliceOfFile& one : made) {
    if (one.file && one.make)
      with_slices.Show(one.file->file, {.size_bytes = one.file->size_bytes, .mode = one.file->mode},
                       std::move(one.make));
    if (one.file) sliced.push_back(*std::move(one.file));
  }
  PTPKG_CHECK(job.env.fs.MakeDirs(place));
  Env env = WithFs(job.env, with_slices);
  return job.source.Stage(env, slice, sliced, place);
}

/// Makes the slice below `place`.
Result<MadeSlice> MakeSlice(const SliceJob& job, const PlannedSlice& planned, const AbsPath& place) {
  Env& env = job.env;
  Task task(env.reporter, {.stage = "slice", .subject = planned.name.str()});
  std::vector<SliceOfFile> files(job.input.files.size());
  PTPKG_CHECK(ParallelFor(std::min(env.jobs, kFilesAtOnce), files.size(), [&](std::size_t i) -> Result<void> {
    PTPKG_TRY(files[i], MakeFile(job, i, planned.slice, place / "files"));
    return Ok();
  }));
  MadeSlice made{.told = {.to = planned.target}, .staged = {.file = place}};
  for (const std::uint32_t gpu : planned.slice.gpus) made.told.gpus.push_back(versions::CapabilityOf(gpu));
  for (SliceOfFile& file : files) made.told.files.push_back(std::move(file.told));
  if (!job.run.dry_run) {
    PTPKG_TRY(made.staged, StageSlice(job, planned.slice, std::move(files), place));
    PTPKG_TRY(const FileStat stat, env.fs.Stat(made.staged.file));
    made.told.size_bytes = stat.size_bytes;
  }
  const auto changed = std::count_if(made.told.files.begin(), made.told.files.end(),
                                     [](const FileInSlice& file) { return !file.form.empty(); });
  task.Done(Plural(static_cast<std::size_t>(changed), "file") +
            (job.run.dry_run ? " would be sliced" : " sliced"));
  return made;
}

/// Makes all slices in the directory `scratch`. In the order of `planned`.
Result<std::vector<MadeSlice>> MakeSlices(const SliceJob& job, const std::vector<PlannedSlice>& planned,
                                          const AbsPath& scratch) {
  if (!job.run.dry_run) PTPKG_CHECK(job.source.Expect(planned.size(), scratch));
  std::vector<MadeSlice> made(planned.size(), {.staged = {.file = scratch}});
  PTPKG_CHECK(
      ParallelFor(std::min(job.env.jobs, kSlicesAtOnce), planned.size(), [&](std::size_t i) -> Result<void> {
        const versions::GpuSlice& slice = planned[i].slice;
        PTPKG_CHECK(job.env.cancel.Check());
        PTPKG_TRY(made[i], MakeSlice(job, planned[i], scratch / "slices" / slice.Label()),
                  fmt::format("while slicing '{}' for {}", job.run.artifact.Name(), slice.str()));
        return Ok();
      }));
  return made;
}

/// Makes the copy of the artifact; sets its size.
Result<StagedSlice> MakeFallback(const SliceJob& job, const AbsPath& scratch, SliceOfArtifact& fallback) {
  Task task(job.env.reporter, {.stage = "slice", .subject = std::string(fallback.to.Name())});
  PTPKG_TRY(StagedSlice staged, job.source.StageFallback(scratch));
  PTPKG_TRY(const FileStat stat, job.env.fs.Stat(staged.file));
  fallback.size_bytes = stat.size_bytes;
  task.Done("the whole wheel");
  return staged;
}

/// The artifact, and what was unpacked of it, are what they were when they were read: all slices were made
/// of the same bytes, and those are what the artifact lists.
Result<void> CheckUnchanged(const SliceJob& job, const FileStat& before, const AbsPath& folder) {
  const AbsPath& artifact = job.run.artifact;
  PTPKG_TRY(const FileStat now, job.env.fs.Stat(artifact));
  if (!now.IsUnchangedSince(before)) {
    return Error(ErrorCode::kRefused, fmt::format("'{}' changed while it was sliced", artifact.str()))
        .WithHint("slice it again when no other program writes to it");
  }
  if (job.run.dry_run) return Ok();
  return ParallelFor(job.env.jobs, job.input.files.size(), [&](std::size_t i) -> Result<void> {
    const UnpackedFile& place = job.input.files[i].place;
    if (!place.sha256) return Ok();
    PTPKG_TRY(const Digests digests, HashFile(job.env.fs, place.file));
    if (digests.sha256 == *place.sha256) return Ok();
    return Error(ErrorCode::kIo, fmt::format("'{}' changed after it was unpacked from '{}'", place.path.str(),
                                             artifact.Name()))
        .WithHint(
            fmt::format("check the disk of '{}', or find the program that changed the file", folder.str()));
  });
}

void ReportInheritedErrors(const SliceJob& job, std::uint64_t errors) {
  if (errors == 0) return;
  job.env.reporter.Warn(fmt::format("'{}' has {} that its slices have too; list them with 'ptpkg check'",
                                    job.run.artifact.Name(), Plural(errors, "error")));
}

}  // namespace

Result<SliceOutcome> Slice(Env& env, const SliceRun& run) {
  PTPKG_TRY(std::vector<versions::GpuSlice> named, ParseSliceRequest(run));
  // The gate of the build checks the slices of a recipe.
  const SliceSourceOptions options{.variant = run.variant, .cuda = run.cuda, .check = !run.of_recipe};
  PTPKG_TRY(const std::unique_ptr<SliceSource> source, OpenSliceSource(env, run.artifact, options));
  PTPKG_TRY(const FileStat before, env.fs.Stat(run.artifact));
  const AbsPath folder = run.output.value_or(run.artifact.Parent());
  AtomicPlacement placement(env, run.force ? ExistingFilePolicy::kReplace : ExistingFilePolicy::kRefuse);
  if (!run.dry_run) PTPKG_CHECK(placement.MakeDirs(folder));
  // Beside the result, where there is room for it: what is unpacked may have gigabytes.
  PTPKG_TRY(const TempDir scratch, TempDir::Create(env.fs, run.dry_run ? env.cache_dir : folder, "slice"));
  const AbsPath unpacked = scratch.path() / "unpacked";
  PTPKG_CHECK(env.fs.MakeDirs(unpacked));
  PTPKG_TRY(SliceInput input, ReadSliceInput(env, run, *source, unpacked));
  PTPKG_TRY(const std::vector<versions::GpuSlice> slices, ChooseSlices(run, input, std::move(named)));

  const SliceJob job{env, run, *source, input};
  PTPKG_TRY(const std::vector<PlannedSlice> planned, PlanTargets(job, slices, folder));
  PTPKG_TRY(std::optional<SliceOfArtifact> fallback, PlanFallback(job, folder));
  PTPKG_TRY(std::vector<MadeSlice> made, MakeSlices(job, planned, scratch.path()));
  std::uint64_t errors = 0;
  SliceOutcome outcome{.from = run.artifact, .size_bytes = before.size_bytes};
  for (MadeSlice& one : made) {
    if (!run.dry_run) placement.Add(one.staged.file, one.told.to);
    errors = std::max(errors, one.staged.errors);
    outcome.slices.push_back(std::move(one.told));
  }
  if (fallback && !run.dry_run) {
    PTPKG_TRY(const StagedSlice staged, MakeFallback(job, scratch.path(), *fallback));
    placement.Add(staged.file, fallback->to);
    errors = std::max(errors, staged.errors);
  }
  PTPKG_CHECK(CheckUnchanged(job, before, folder));
  PTPKG_CHECK(placement.Place(scratch.path() / "replaced"));
  ReportInheritedErrors(job, errors);
  outcome.fallback = std::move(fallback);
  outcome.files = std::move(input.told);
  return outcome;
}

}  // namespace ptpkg::pipeline
