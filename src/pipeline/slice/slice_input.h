#pragma once
// Reads the GPU code of an artifact and chooses its slices. Layer: pipeline, internal to `ptpkg slice`.

#include <string>
#include <vector>

#include "pipeline/slice/slice.h"
#include "pipeline/slice/slice_file.h"
#include "pipeline/slice/slice_source.h"
#include "versions/gpu_slice.h"

namespace ptpkg::pipeline {

/// The files with GPU code of an artifact, sorted by path.
struct SliceInput {
  std::vector<DeviceFile> files = {};
  std::vector<SliceableFile> told = {};  ///< Summaries of `files`, in the same order.

  /// True if no slice changes the file `i`.
  [[nodiscard]] bool IsKept(std::size_t i) const { return !told[i].kept_because.empty(); }
};

/// The slices that the request names. Errors: kUsage for flags that exclude each other, and for a text that
/// is not a slice.
Result<std::vector<versions::GpuSlice>> ParseSliceRequest(const SliceRun& run);

/// Unpacks the files that may hold GPU code into the empty directory `folder` and reads them. Warns of
/// damaged files, which stay unchanged, and of globs that match no file. Errors: kUnsupported, kRefused when
/// no file can be sliced; as SliceSource and ReadDeviceFile.
Result<SliceInput> ReadSliceInput(Env& env, const SliceRun& run, SliceSource& source, const AbsPath& folder);

/// The slices to make: `named`, or with SliceRun::each one for each GPU. Errors: kRefused when no file has
/// code for a GPU.
Result<std::vector<versions::GpuSlice>> ChooseSlices(const SliceRun& run, const SliceInput& input,
                                                     std::vector<versions::GpuSlice> named);

}  // namespace ptpkg::pipeline
