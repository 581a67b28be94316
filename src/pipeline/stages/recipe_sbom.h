#pragma once
// Creates the SBOM of a recipe's wheel. Layer: pipeline.

#include <string>

#include "support/result.h"
#include "support/text/json_fwd.h"
#include "wheel/metadata/core_metadata.h"

namespace ptpkg::pipeline {

/// CycloneDX document of the wheel's inputs: sources with digests and patches, and the toolchain under
/// "formulation". `materials`: from MaterialsOfBuild. Errors: any from wheel::FormatSbom, kInvalidInput
/// (another shape).
Result<std::string> RecipeSbom(const Json& materials, const wheel::CoreMetadata& metadata);

}  // namespace ptpkg::pipeline
