#pragma once
// Creates the SBOM of a recipe's wheel. Layer: pipeline.

#include <string>

#include "support/result.h"
#include "support/text/json_fwd.h"
#include "wheel/metadata/core_metadata.h"

namespace ptpkg::pipeline {

/// CycloneDX of what the wheel's files were compiled from: sources with digests and patches; its toolchain
/// stands under "formulation". `materials`: of MaterialsOfBuild. Errors: kInvalidInput (another shape; those
/// of wheel::FormatSbom).
Result<std::string> RecipeSbom(const Json& materials, const wheel::CoreMetadata& metadata);

}  // namespace ptpkg::pipeline
