#pragma once
// What `ptpkg slice` reads from and writes to, one class for each kind of artifact. Layer: pipeline, internal
// to it.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "spec/gpu_slice.h"
#include "support/atomic_file.h"
#include "support/env.h"
#include "support/hash.h"

namespace ptpkg::pipeline {

/// A file of the artifact on disk.
struct UnpackedFile {
  RelPath path;  ///< In the artifact.
  AbsPath file;
  std::uint32_t mode = 0644;
  std::uint64_t size_bytes = 0;
};

/// One that differs in a slice.
struct SlicedFile {
  RelPath path;  ///< In the artifact.
  AbsPath file;
  std::uint32_t mode = 0644;
  Sha256 sha256;  ///< All zero unless SliceSource::WantsDigests.
  std::uint64_t size_bytes = 0;
  std::vector<std::uint64_t> cuts = {};  ///< Where parts begin that other slices have elsewhere.
};

class SliceSource {
 public:
  virtual ~SliceSource() = default;

  /// Whether Write lists digests of the files.
  [[nodiscard]] virtual bool WantsDigests() const { return true; }

  /// The files that may hold GPU code, sorted by path, unpacked below `folder`, which exists and is empty;
  /// the object may use what lies there later. Call it once, first.
  virtual Result<std::vector<UnpackedFile>> Unpack(const AbsPath& folder) = 0;
  /// The licence of the artifact if it is one of NVIDIA's (VendorLicenceOf): its path; else "".
  virtual Result<std::string> VendorLicence() = 0;
  /// The path of a slice below the output folder.
  virtual Result<RelPath> NameOf(const spec::GpuSlice& slice) = 0;
  /// Called once before Write, with the number of slices; `scratch` stays until the last one. Errors: kIo.
  virtual Result<void> Expect(std::size_t /*slices*/, const AbsPath& /*scratch*/) { return Ok(); }
  /// Writes the slice as `target`, whose folder exists. Several at once. Post: it is there whole, or as it
  /// was.
  virtual Result<void> Write(const spec::GpuSlice& slice, const std::vector<SlicedFile>& files,
                             const AbsPath& target, OnExisting on_existing) = 0;
  /// Name of the artifact as it is, for those that no slice fits; nullopt: it needs no other one.
  virtual Result<std::optional<RelPath>> FallbackName() { return std::optional<RelPath>(); }
  /// Writes it. REQUIRES: FallbackName() gives one.
  virtual Result<void> WriteFallback(const AbsPath& /*target*/, OnExisting /*on_existing*/) { return Ok(); }
};

/// The package's own note (model/package_note.h) as a slice has it: it asks for no architectures any more,
/// which were those of the whole package. nullopt: it stays. Errors: those of ParsePackageNote.
Result<std::optional<std::string>> NoteOfSlice(std::string_view text, std::string_view where);

struct SliceSourceOptions {
  bool variant = false;   ///< SliceRun::variant
  std::string cuda = {};  ///< SliceRun::cuda
};

/// By the name of the file. Errors: kNotFound; kUsage for a folder, and for options that are not of that
/// kind.
Result<std::unique_ptr<SliceSource>> OpenSliceSource(Env& env, const AbsPath& artifact,
                                                     const SliceSourceOptions& options);

/// Errors: kInvalidInput for a name that is none of a wheel; kUsage for a variant wheel without
/// `options.variant`, and for an `options.cuda` that is none.
Result<std::unique_ptr<SliceSource>> MakeWheelSource(Env& env, const AbsPath& wheel,
                                                     const SliceSourceOptions& options);
std::unique_ptr<SliceSource> MakeCondaSource(Env& env, const AbsPath& package);

}  // namespace ptpkg::pipeline
