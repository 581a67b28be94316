// Wheels, conda packages and single files are sliced the same way, through SliceSource. The name decides
// which it is. A zip has no package metadata, and is refused.
//
// A single file keeps its name, because the loader looks for it, and the slices differ by directory. A
// package's note of its device code becomes "any" in a slice, which lacks code on purpose.

#include "pipeline/slice/slice_source.h"

#include <fmt/core.h>

#include "model/package_note.h"

namespace ptpkg::pipeline {
namespace {

/// One library, program, object or static archive.
class FileSourceOfSlices final : public SliceSource {
 public:
  FileSourceOfSlices(Env& env, const AbsPath& file) : env_(env), file_(file) {}

  [[nodiscard]] bool WantsFiles() const override { return true; }
  Result<std::vector<UnpackedFile>> Unpack(const AbsPath& /*folder*/) override {
    PTPKG_TRY(const RelPath name, RelPath::Parse(file_.Name()));
    PTPKG_TRY(stat_, env_.fs.Stat(file_));
    return std::vector<UnpackedFile>{
        {.path = name, .file = file_, .mode = stat_.mode & 0777U, .size_bytes = stat_.size_bytes}};
  }

  Result<std::string> VendorLicence() override { return std::string(); }

  /// The loader looks for the name, so the directory tells the slices apart.
  Result<RelPath> NameOf(const versions::GpuSlice& slice) override {
    return RelPath::Parse(slice.Label() + "/" + std::string(file_.Name()));
  }

  /// Without other GPUs' code, the slice is the same file.
  Result<StagedSlice> Stage(Env& env, const versions::GpuSlice& /*slice*/,
                            const std::vector<SlicedEntry>& files, const AbsPath& folder) override {
    if (!files.empty()) return StagedSlice{.file = files.front().file};
    AbsPath copy = folder / file_.Name();
    PTPKG_CHECK(env.fs.CopyFile(file_, copy));
    return StagedSlice{.file = std::move(copy)};
  }

 private:
  Env& env_;
  AbsPath file_;
  FileStat stat_;
};

}  // namespace

Result<std::optional<std::string>> NoteOfSlice(std::string_view text, std::string_view where) {
  PTPKG_TRY(PackageNote note, ParsePackageNote(text, where));
  if (note.device_code.empty()) return std::optional<std::string>();
  note.device_code = {"any"};
  return std::optional(FormatPackageNote(note));
}

RegressionCheck RegressionCheckForSlice(BaselineFindings of_artifact) {
  return {
      .refused = {},
      .refuses_all = true,
      .hint =
          "make the slice again; if it fails again, please report it: the artifact does not have this error",
      .options = {},
      .had = std::move(of_artifact),
      .can_be_skipped = false};
}

Result<StagedSlice> SliceSource::StageFallback(const AbsPath& /*folder*/) {
  return Error(ErrorCode::kInternal, "the artifact has no fallback");
}

Result<std::unique_ptr<SliceSource>> OpenSliceSource(Env& env, const AbsPath& artifact,
                                                     const SliceSourceOptions& options) {
  PTPKG_TRY(const FileStat stat, env.fs.Stat(artifact));
  if (stat.kind != FileKind::kRegular) {
    return Error(ErrorCode::kUsage, fmt::format("'{}' is not a file", artifact.str()))
        .WithHint("give a wheel, a conda package or a library");
  }
  const std::string_view name = artifact.Name();
  if (name.ends_with(".whl")) return MakeWheelSource(env, artifact, options);
  if (name.ends_with(".zip")) {
    return Error(ErrorCode::kUsage, fmt::format("'{}' is a zip without package metadata", artifact.str()))
        .WithHint("slice its libraries, or the wheel or conda package built with it");
  }
  if (options.variant) {
    return Error(ErrorCode::kUsage,
                 fmt::format("--variant works on wheels, and '{}' is not a wheel", artifact.str()))
        .WithHint("remove --variant");
  }
  if (name.ends_with(".conda") || name.ends_with(".tar.bz2")) return MakeCondaSource(env, artifact, options);
  return std::unique_ptr<SliceSource>(std::make_unique<FileSourceOfSlices>(env, artifact));
}

}  // namespace ptpkg::pipeline
