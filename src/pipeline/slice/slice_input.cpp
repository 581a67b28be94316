#include "pipeline/slice/slice_input.h"

#include <algorithm>
#include <fmt/core.h>
#include <optional>
#include <set>

#include "pipeline/edit_wheel/vendor_code.h"
#include "support/process/parallel.h"
#include "support/text/plural.h"
#include "support/text/text.h"

namespace ptpkg::pipeline {
namespace {

bool IsAllowed(const std::vector<std::string>& globs, const RelPath& path) {
  return std::any_of(globs.begin(), globs.end(), [&](const std::string& glob) {
    return GlobMatch(glob, path.str()) || GlobMatch("**/" + glob, path.str());
  });
}

std::string AllowName(const SliceRun& run) { return run.of_recipe ? "extra.ptpkg.slices.allow" : "--allow"; }

/// The GPU code of each place; nullopt: none, or damaged, which a warning says.
Result<std::vector<std::optional<DeviceFile>>> ReadDeviceFiles(Env& env, const SliceRun& run,
                                                               const std::vector<UnpackedFile>& places) {
  std::vector<std::optional<DeviceFile>> read(places.size());
  PTPKG_CHECK(ParallelFor(env.jobs, places.size(), [&](std::size_t i) -> Result<void> {
    auto file = ReadDeviceFile(env, places[i]);
    if (file) {
      read[i] = *std::move(file);
      return Ok();
    }
    const ErrorCode code = file.error().code();
    const bool damaged =
        code == ErrorCode::kInvalidInput || code == ErrorCode::kCorrupt || code == ErrorCode::kUnsupported;
    if (!damaged || places[i].file == run.artifact) return file.error();
    // In a package, this can be the data of a test, which slicing need not judge.
    env.reporter.Warn(fmt::format("'{}' is unchanged: {}", places[i].path.str(), file.error().message()));
    return Ok();
  }));
  return read;
}

/// Why no slice changes the file; "": slices do. `licence`: SliceSource::VendorLicence.
std::string KeptReason(const SliceRun& run, const DeviceFile& file, const std::string& licence) {
  if (file.code.HasAmd()) return "ptpkg does not slice code for AMD GPUs";
  const RelPath& path = file.place.path;
  // The user's word comes first: only the user knows which rights were granted.
  if (IsAllowed(run.allow, path)) return {};
  if (IsVendorLibrary(path.Name())) return "NVIDIA's licence does not allow changes";
  if (!licence.empty())
    return fmt::format("the licence '{}' is NVIDIA's and does not allow changes", licence);
  return {};
}

/// A typing error in --allow must not pass for a library that may not be changed.
void WarnOfUnusedGlobs(Env& env, const SliceRun& run, const std::vector<DeviceFile>& files) {
  for (const std::string& glob : run.allow) {
    const bool matches = std::any_of(files.begin(), files.end(), [&](const DeviceFile& file) {
      return IsAllowed({glob}, file.place.path);
    });
    if (matches) continue;
    env.reporter.Warn(fmt::format("{} '{}' matches no file with GPU code of '{}'", AllowName(run), glob,
                                  run.artifact.Name()));
  }
}

/// Refuses an artifact without a file that slices may change.
Result<void> CheckFiles(const SliceRun& run, const SliceInput& input) {
  if (input.files.empty() && run.of_recipe) {
    return Error(ErrorCode::kRefused, fmt::format("'{}' has no GPU code", run.artifact.Name()))
        .WithHint("make extra.ptpkg.slices empty for outputs and variants without GPU code");
  }
  if (input.files.empty()) {
    return Error(ErrorCode::kUnsupported, fmt::format("'{}' has no GPU code", run.artifact.str()))
        .WithHint(
            "ptpkg looks for GPU code in sections .nv_fatbin and __nv_relfatbin of ELF files and static "
            "archives, but not in nested archives");
  }
  const auto kept = [](const SliceableFile& file) { return !file.kept_because.empty(); };
  if (!std::all_of(input.told.begin(), input.told.end(), kept)) return Ok();
  std::vector<std::string> lines;
  for (const SliceableFile& file : input.told)
    lines.push_back(fmt::format("\n    {}: {}", file.path, file.kept_because));
  if (std::all_of(input.files.begin(), input.files.end(),
                  [](const DeviceFile& file) { return file.code.HasAmd(); })) {
    return Error(ErrorCode::kRefused,
                 fmt::format("ptpkg does not slice code for AMD GPUs, and '{}' has no other GPU code",
                             run.artifact.Name()))
        .WithHint("build one package per architecture, with a variant key that lists them");
  }
  return Error(ErrorCode::kRefused,
               fmt::format("all GPU code of '{}' is in files that must not be changed:{}",
                           run.artifact.Name(), Join(lines, "")))
      .WithHint(AllowName(run) + (run.of_recipe ? " names" : " GLOB slices") +
                " the files that you have the right to change");
}

/// Refuses a GPU that no file has code for.
Result<void> CheckGpu(const SliceRun& run, const SliceInput& input, std::uint32_t gpu) {
  versions::ArchitectureNames names;
  for (std::size_t i = 0; i < input.files.size(); ++i) {
    if (input.IsKept(i)) continue;
    if (HasCodeFor(input.files[i].code, gpu)) return Ok();
    for (const auto& [name, size_bytes] : input.told[i].code) names.insert(name);
  }
  return Error(ErrorCode::kRefused,
               fmt::format("'{}' has no code that runs on a GPU of compute capability {}",
                           run.artifact.Name(), versions::CapabilityOf(gpu)))
      .WithHint("it has " + Join(std::vector<std::string>(names.begin(), names.end()), ", "));
}

}  // namespace

Result<std::vector<versions::GpuSlice>> ParseSliceRequest(const SliceRun& run) {
  if (!run.cuda.empty() && !run.variant) {
    return Error(ErrorCode::kUsage, "--cuda needs --variant").WithHint("give --variant with it");
  }
  // Exactly one of the two.
  if (run.each != run.gpus.empty()) {
    return Error(ErrorCode::kUsage, run.each ? "--all-archs cannot be combined with --gpu" : "no GPU given")
        .WithHint(
            "add --gpu 9.0 once per slice, or --all-archs for one slice per GPU that the artifact "
            "supports");
  }
  auto slices = versions::ParseGpuSlices(run.gpus);
  if (!slices) {
    return Error(ErrorCode::kUsage, "--gpu: " + slices.error().message()).WithHint(slices.error().hint());
  }
  return *std::move(slices);
}

Result<SliceInput> ReadSliceInput(Env& env, const SliceRun& run, SliceSource& source, const AbsPath& folder) {
  PTPKG_TRY(const std::vector<UnpackedFile> places, source.Unpack(folder));
  Task task(env.reporter, {.stage = "scan", .subject = std::string(run.artifact.Name())});
  PTPKG_TRY(const std::string licence, source.VendorLicence());
  PTPKG_TRY(std::vector<std::optional<DeviceFile>> read, ReadDeviceFiles(env, run, places));
  SliceInput input;
  for (std::optional<DeviceFile>& file : read) {
    if (!file) continue;
    input.told.push_back({.path = file->place.path.str(),
                          .size_bytes = file->place.size_bytes,
                          .code = SizesOf(file->code),
                          .kept_because = KeptReason(run, *file, licence)});
    input.files.push_back(*std::move(file));
  }
  task.Done(Plural(input.files.size(), "file") + " with GPU code");
  WarnOfUnusedGlobs(env, run, input.files);
  PTPKG_CHECK(CheckFiles(run, input));
  return input;
}

Result<std::vector<versions::GpuSlice>> ChooseSlices(const SliceRun& run, const SliceInput& input,
                                                     std::vector<versions::GpuSlice> named) {
  std::vector<versions::GpuSlice> slices = std::move(named);
  if (run.each) {
    std::set<std::uint32_t> gpus;
    for (std::size_t i = 0; i < input.files.size(); ++i) {
      if (input.IsKept(i)) continue;
      for (const std::uint32_t gpu : GpusOf(input.files[i].code)) gpus.insert(gpu);
    }
    for (const std::uint32_t gpu : gpus) slices.push_back({.gpus = {gpu}});
    if (slices.empty()) {
      return Error(ErrorCode::kRefused,
                   fmt::format("'{}' has no machine code, only PTX", run.artifact.Name()))
          .WithHint("choose GPUs with --gpu");
    }
  }
  for (const versions::GpuSlice& slice : slices) {
    for (const std::uint32_t gpu : slice.gpus) PTPKG_CHECK(CheckGpu(run, input, gpu));
  }
  return slices;
}

}  // namespace ptpkg::pipeline
