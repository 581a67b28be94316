#pragma once
// Reads artifacts and writes slices, per artifact kind. Layer: pipeline, internal to it.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "archive/entry_set.h"
#include "pipeline/edit_wheel/regression_check.h"
#include "support/digest/hash.h"
#include "support/env.h"
#include "versions/gpu_slice.h"

namespace ptpkg::pipeline {

/// A file of the artifact on disk.
struct UnpackedFile {
  RelPath path;  ///< In the artifact.
  AbsPath file;
  std::uint32_t mode = 0644;
  std::uint64_t size_bytes = 0;
  std::optional<Sha256> sha256 =
      {};  ///< Digest in the artifact; nullopt: `file` is the artifact, or none is given.
};

/// File that differs in a slice.
struct SlicedEntry {
  RelPath path;  ///< In the artifact.
  AbsPath file;  ///< On disk, or one that the environment of Stage shows (VirtualFilesFs).
  std::uint32_t mode = 0644;
  Sha256 sha256;  ///< All zero with SliceSource::WantsFiles.
  std::uint64_t size_bytes = 0;
  std::vector<archive::SharedRange> shared = {};  ///< Ranges that are the same in the whole file.
};

/// Finished artifact without its final name.
struct StagedSlice {
  AbsPath file;
  std::uint64_t errors = 0;  ///< Number of errors that `ptpkg check` finds in it; the artifact has them too.
};

class SliceSource {
 public:
  virtual ~SliceSource() = default;

  /// True if Stage moves the files into place, and lists no digests: they must then be on disk.
  [[nodiscard]] virtual bool WantsFiles() const { return false; }

  /// The files that can hold GPU code, sorted by path. They are unpacked below `folder`, which exists and is
  /// empty, and which the object can use later. Call it once, first. Errors: kCorrupt for an artifact that
  /// cannot be read, or with a file that differs from its own listing, kIo, kCancelled.
  virtual Result<std::vector<UnpackedFile>> Unpack(const AbsPath& folder) = 0;
  /// The licence of the artifact if it is one of NVIDIA's (VendorLicenceOf): its path; else "".
  virtual Result<std::string> VendorLicence() = 0;
  /// The path of a slice below the output directory. Errors: kRefused for a name that is too long.
  virtual Result<RelPath> NameOf(const versions::GpuSlice& slice) = 0;
  /// Called once before Stage, with the number of slices; `scratch` stays until the last one. Errors: kIo.
  virtual Result<void> Expect(std::size_t /*slices*/, const AbsPath& /*scratch*/) { return Ok(); }
  /// Writes the slice under its file name into `folder`, which exists and has nothing with that name. Several
  /// calls can run at once. With SliceSourceOptions::check, reads it again. `env` has `files`. Errors: any
  /// from writing the format, kCheckFailed with the errors that the artifact does not have.
  virtual Result<StagedSlice> Stage(Env& env, const versions::GpuSlice& slice,
                                    const std::vector<SlicedEntry>& files, const AbsPath& folder) = 0;
  /// Name of the unchanged artifact, for systems that no slice fits; nullopt: it needs no other name.
  virtual Result<std::optional<RelPath>> FallbackName() { return std::optional<RelPath>(); }
  /// Stages the artifact unchanged. REQUIRES: FallbackName() gives a name.
  virtual Result<StagedSlice> StageFallback(const AbsPath& folder);
};

/// The package's own note (model/package_note.h) for a slice, without the requested architectures, because
/// those were for the whole package. nullopt: the note is unchanged. Errors: any from ParsePackageNote.
Result<std::optional<std::string>> NoteOfSlice(std::string_view text, std::string_view where);

/// Errors that a slice must not have, because the artifact does not have them.
RegressionCheck RegressionCheckForSlice(BaselineFindings of_artifact);

struct SliceSourceOptions {
  bool variant = false;   ///< SliceRun::variant
  std::string cuda = {};  ///< SliceRun::cuda
  bool check = true;      ///< Read artifacts again before they get their names. False: the caller does it.
};

/// Chooses by the file name. Errors: kNotFound, and kUsage for a directory and for options of another kind.
Result<std::unique_ptr<SliceSource>> OpenSliceSource(Env& env, const AbsPath& artifact,
                                                     const SliceSourceOptions& options);

/// Errors: kInvalidInput if the file name is not a wheel's. kUsage for a variant wheel without
/// `options.variant`, and for an invalid `options.cuda`.
Result<std::unique_ptr<SliceSource>> MakeWheelSource(Env& env, const AbsPath& wheel,
                                                     const SliceSourceOptions& options);
std::unique_ptr<SliceSource> MakeCondaSource(Env& env, const AbsPath& package,
                                             const SliceSourceOptions& options);

}  // namespace ptpkg::pipeline
