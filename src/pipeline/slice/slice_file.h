#pragma once
// Slices one file with GPU code. Layer: pipeline, internal to `ptpkg slice`.

#include <optional>
#include <string>
#include <vector>

#include "elf/slice/device_slice.h"
#include "pipeline/slice/slice.h"
#include "pipeline/slice/slice_source.h"
#include "support/files/overlay_fs.h"

namespace ptpkg::pipeline {

/// Its names are those of CodeSizes. Embedded and relocatable code together.
CodeSizes SizesOf(const elf::DeviceCode& code);

/// True if a GPU of that number can use any of the effective code (DeviceCode::EffectiveCode).
bool HasCodeFor(const elf::DeviceCode& code, std::uint32_t gpu);

/// The GPUs that it has machine code of which counts, ascending.
std::vector<std::uint32_t> GpusOf(const elf::DeviceCode& code);

/// A file that slices may change.
struct DeviceFile {
  UnpackedFile place;
  elf::DeviceCode code;
};

/// nullopt: no GPU code. Errors: those of elf::ReadDeviceCode, and of opening.
Result<std::optional<DeviceFile>> ReadDeviceFile(Env& env, const UnpackedFile& place);

struct SliceOfFile {
  FileInSlice told;                      ///< `path` of the artifact.
  std::optional<SlicedEntry> file = {};  ///< nullopt: it is as it was, or no target was given.
  /// Gives the content of `file` where that is not written: any thread. Borrows the file system.
  VirtualFilesFs::Make make = {};
};

struct SliceTarget {
  AbsPath path;  ///< New path; nothing exists there.
  bool is_written =
      false;  ///< Else SliceOfFile::make gives the content, and SlicedEntry::sha256 is filled in.
};

/// Plans the slice and holds it against the original (elf::VerifySlice). With `target` it is written there,
/// or ready to be read. Errors: those of elf::PlanSlice, elf::WriteSlice, elf::VerifySlice; kIo.
Result<SliceOfFile> SliceDeviceFile(Env& env, const DeviceFile& file, const elf::SliceRequest& request,
                                    const std::optional<SliceTarget>& target);

}  // namespace ptpkg::pipeline
