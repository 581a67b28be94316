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

/// Embedded and relocatable code together, under the names of CodeSizes.
CodeSizes SizesOf(const elf::DeviceCode& code);

/// True if a GPU of that number can use any of the effective code (DeviceCode::EffectiveCode).
bool HasCodeFor(const elf::DeviceCode& code, std::uint32_t gpu);

/// The GPUs for which it has effective machine code, ascending.
std::vector<std::uint32_t> GpusOf(const elf::DeviceCode& code);

/// A file that slices may change.
struct DeviceFile {
  UnpackedFile place;
  elf::DeviceCode code;
};

/// nullopt: no GPU code. Errors: any from elf::ReadDeviceCode, and from opening the file.
Result<std::optional<DeviceFile>> ReadDeviceFile(Env& env, const UnpackedFile& place);

struct SliceOfFile {
  FileInSlice told;                      ///< `path` of the artifact.
  std::optional<SlicedEntry> file = {};  ///< nullopt: the file is unchanged, or no target was given.
  /// Makes the content of `file` if it is not written: from any thread. Borrows the file system.
  VirtualFilesFs::Make make = {};
};

struct SliceTarget {
  AbsPath path;  ///< New path; nothing exists there.
  bool is_written =
      false;  ///< Else SliceOfFile::make gives the content, and SlicedEntry::sha256 is filled in.
};

/// Plans the slice and compares it with the original (elf::VerifySlice). With `target`, writes it there or
/// makes it ready to be read. Errors: any from elf::PlanSlice, elf::WriteSlice and elf::VerifySlice, kIo.
Result<SliceOfFile> SliceDeviceFile(Env& env, const DeviceFile& file, const elf::SliceRequest& request,
                                    const std::optional<SliceTarget>& target);

}  // namespace ptpkg::pipeline
