#pragma once
// One file with GPU code and its slices. Layer: pipeline, internal to `ptpkg slice`.

#include <optional>
#include <string>
#include <vector>

#include "elf/device_slice.h"
#include "pipeline/slice.h"
#include "pipeline/slice_source.h"

namespace ptpkg::pipeline {

/// Its names are those of CodeSizes. Embedded and relocatable code together.
CodeSizes SizesOf(const elf::DeviceCode& code);

/// Whether a GPU of that number can use any of the code that counts (DeviceCode::Judged).
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
  FileInSlice told;                     ///< `path` of the artifact.
  std::optional<SlicedFile> file = {};  ///< nullopt: it is as it was, or `target` was not given.
};

struct SliceTarget {
  AbsPath path;      ///< A file that does not exist.
  bool hash = true;  ///< Fill in SlicedFile::sha256.
};

/// Plans the slice and, with `target`, writes it there and holds it against the original. Errors: those of
/// elf::PlanSlice, elf::WriteSlice, elf::VerifySlice; kIo.
Result<SliceOfFile> SliceDeviceFile(Env& env, const DeviceFile& file, const elf::SliceRequest& request,
                                    const std::optional<SliceTarget>& target);

}  // namespace ptpkg::pipeline
