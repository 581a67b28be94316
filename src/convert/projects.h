#pragma once
// Project-specific naming and layout rules: data/projects.yaml. Layer: convert.

#include <optional>
#include <string>

#include "wheel/metadata/core_metadata.h"

namespace ptpkg::convert {

/// Package conventions of a project; empty where it has none.
struct ProjectCustom {
  std::string conda_layout;        ///< Name of a built-in layout.
  std::string conda_build_string;  ///< "py3.11_cuda13.2.2_cudnn9.26.0.51_0"
  std::string wheel_layout;        ///< Name of a built-in layout.
};

struct PackageNumbers {
  std::string python;  ///< "3.11"
  std::uint64_t build_number = 0;
};

/// The custom of the distribution that `metadata` describes, by its name and requirements; all empty for a
/// project that the table does not name.
ProjectCustom CustomOf(const wheel::CoreMetadata& metadata, const PackageNumbers& numbers);

}  // namespace ptpkg::convert
