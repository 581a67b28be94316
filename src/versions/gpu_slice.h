#pragma once
// Parses the GPUs of a slice. Layer: versions. Source: CUDA programming guide, "Compute capabilities".
// Numbers are written as in nvcc's names: 90 for compute capability 9.0.

#include <compare>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/result.h"

namespace ptpkg::versions {

/// The virtual package of the machine's GPUs, which a slice that is a conda package requires (CEP 46).
inline constexpr std::string_view kCudaArchPackage = "__cuda_arch";

/// All known compute capabilities, ascending: 30 to 121.
std::span<const std::uint32_t> KnownGpus();

/// "9.0" of 90, "12.1" of 121.
std::string CapabilityOf(std::uint32_t gpu);

/// One or more GPUs that one slice serves.
struct GpuSlice {
  std::vector<std::uint32_t> gpus;  ///< Ascending, without repetition; not empty.

  /// "sm80.sm86": in file names, local versions and labels of wheels.
  [[nodiscard]] std::string Label() const;
  /// "8.0+8.6": as ParseGpuSlice takes it.
  [[nodiscard]] std::string str() const;
  auto operator<=>(const GpuSlice&) const = default;
};

/// "9.0", or several with '+' between them: "8.0+8.6". Also taken: "90" and "sm_90". A GPU has no suffix:
/// code of sm_90a runs on 9.0. Errors: kInvalidInput for any other text, for a GPU that is not known, and for
/// one that is named twice.
Result<GpuSlice> ParseGpuSlice(std::string_view text);

/// Parses all texts of a list. Errors: as ParseGpuSlice; kInvalidInput for two equal slices.
Result<std::vector<GpuSlice>> ParseGpuSlices(const std::vector<std::string>& texts);

/// A version of CUDA as variants state it: "13.0". Errors: kInvalidInput for any other text.
Result<std::string> ParseCudaVersion(std::string_view text);

/// A local version or build string without the label of an earlier slice at its end: "cu130" of
/// "cu130.sm80.sm86". `separator`: what stands between words, '.' or '_'.
std::string WithoutLabel(std::string_view text, char separator);

}  // namespace ptpkg::versions
