#pragma once
// Variant properties of sliced wheels. Layer: pipeline, internal to `ptpkg slice`. Source: the examples of
// PEP 825, and the features of the nvidia and x86_64 providers.

#include <optional>
#include <string>
#include <vector>

#include "elf/load/isa_level.h"
#include "verify/elf/file_needs.h"
#include "versions/gpu_slice.h"
#include "wheel/file_name.h"
#include "wheel/variant.h"

namespace ptpkg::pipeline {

/// Common data of all variants of a wheel.
struct VariantFacts {
  std::string cuda = {};                           ///< "13.0"; "": not known, and omitted.
  bool labels_cuda = false;                        ///< Differs from the local version.
  elf::IsaLevel level = elf::IsaLevel::kUnstated;  ///< Highest of the files.
};

/// "13.0" of the local version "cu130", "9.2" of "cu92", also with words behind it; "" of others.
std::string CudaOfLocal(const std::vector<std::string>& local);

/// Takes "13.0". Errors: kUsage.
Result<std::string> ParseCuda(std::string_view text);

/// The highest level that one of the files states.
elf::IsaLevel HighestLevel(const std::vector<verify::FileNeeds>& files);

/// "sm90", "sm90.cuda13_0.x86_64_v3": everything that can differ between wheels of a version is in it, since
/// a label stands for the same properties in all of them.
std::string VariantLabel(const versions::GpuSlice& slice, const VariantFacts& facts);

/// variant.json of a slice.
wheel::VariantDocument VariantOf(const versions::GpuSlice& slice, const VariantFacts& facts);

/// variant.json of the unchanged artifact: it has no properties, and serves where no other variant fits.
wheel::VariantDocument NullVariantOf(const VariantFacts& facts);

}  // namespace ptpkg::pipeline
