#include "pipeline/slice_source.h"

#include <algorithm>
#include <fmt/core.h>

#include "model/package_note.h"
#include "support/plural.h"

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

  /// The loader looks for the name, so the folder tells the slices apart.
  Result<RelPath> NameOf(const spec::GpuSlice& slice) override {
    return RelPath::Parse(slice.Label() + "/" + std::string(file_.Name()));
  }

  Result<void> Write(Env& /*env*/, const spec::GpuSlice& /*slice*/, const std::vector<SlicedFile>& files,
                     const AbsPath& target, OnExisting on_existing) override {
    // What has no other code is the same file; it was copied beside its place, as a changed one was written.
    const AbsPath from = files.empty() ? file_ : files.front().file;
    PTPKG_TRY(const TempDir scratch, TempDir::Create(env_.fs, target.Parent(), "slice"));
    const AbsPath copy = scratch.path() / target.Name();
    PTPKG_CHECK(files.empty() ? env_.fs.CopyFile(from, copy) : env_.fs.Rename(from, copy));
    return on_existing == OnExisting::kReplace ? env_.fs.Rename(copy, target)
                                               : env_.fs.RenameNoReplace(copy, target);
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

Judgement JudgeSlicesOf(Env& env, const Report& report, verify::Profile profile) {
  Judgement judgement{
      .refuses_all = true,
      .hint = "the artifact itself does not have them: please report this",
      .options = {.profile = profile},
      .can_be_skipped = false,
  };
  judgement.AddOld(report.findings);
  const auto errors =
      std::count_if(report.findings.begin(), report.findings.end(),
                    [](const Finding& finding) { return finding.severity == Severity::kError; });
  if (errors != 0) {
    env.reporter.Warn(fmt::format("'{}' has {} itself, which its slices inherit: 'ptpkg check' tells",
                                  report.subject, Plural(static_cast<std::size_t>(errors), "error")));
  }
  return judgement;
}

Result<std::unique_ptr<SliceSource>> OpenSliceSource(Env& env, const AbsPath& artifact,
                                                     const SliceSourceOptions& options) {
  PTPKG_TRY(const FileStat stat, env.fs.Stat(artifact));
  if (stat.kind != FileKind::kRegular) {
    return Error(ErrorCode::kUsage, fmt::format("'{}' is no file", artifact.str()))
        .WithHint("name a wheel, a conda package or a library");
  }
  const std::string_view name = artifact.Name();
  if (name.ends_with(".whl")) return MakeWheelSource(env, artifact, options);
  if (options.variant) {
    return Error(ErrorCode::kUsage,
                 fmt::format("'{}' is no wheel, and --variant makes variants of wheels", artifact.str()))
        .WithHint("leave --variant out");
  }
  if (name.ends_with(".conda") || name.ends_with(".tar.bz2")) return MakeCondaSource(env, artifact, options);
  return std::unique_ptr<SliceSource>(std::make_unique<FileSourceOfSlices>(env, artifact));
}

}  // namespace ptpkg::pipeline
