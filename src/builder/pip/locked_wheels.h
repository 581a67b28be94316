#pragma once
// Wheels of the Python index, each pinned to its bytes. Layer: builder.

#include <string>
#include <string_view>
#include <vector>

#include "support/digest/hash.h"
#include "support/text/json_fwd.h"

namespace ptpkg::builder {

/// Role of a wheel in a build.
enum class WheelRole : std::uint8_t {
  kToolkit,  ///< Unpacked into BUILD_PREFIX/cuda.
  kBuild,    ///< Installed by pip, below BUILD_PREFIX.
  kHost,     ///< Installed by pip into PREFIX.
};

struct WheelPin {
  WheelRole use = WheelRole::kToolkit;
  std::string name;     ///< "nvidia-cuda-nvcc": lower case, with '-'.
  std::string version;  ///< "13.0.88"
  std::string file;     ///< The wheel's file name.
  Sha256 sha256;

  bool operator==(const WheelPin&) const = default;
};

/// Wheels that a plan fixes for the build node: the requirements that the index meets, and their pins.
struct LockedWheels {
  std::vector<std::string> names;  ///< Names of requirements, as the recipe writes them.
  std::vector<WheelPin> pins;
};

/// Name and version of a wheel's file. Errors: kInvalidInput for an invalid name (Binary distribution format,
/// "File name convention").
Result<WheelPin> PinFromFileName(std::string_view file);

Json LockedWheelsToJson(const LockedWheels& given);
/// Errors: kInvalidInput naming `where`.
Result<LockedWheels> LockedWheelsFromJson(const Json& json, std::string_view where);

}  // namespace ptpkg::builder
