#pragma once
// Creates and validates info/index.json. Layer: conda. Source: CEP 34; conda-build's field set.

#include "conda/package.h"

namespace ptpkg::conda {

/// REQUIRES: `metadata` passed CheckMetadata. `timestamp_ms`: build time of CEP 34, from source_date_epoch.
/// `arch` and `platform` are deprecated but written, as conda-build and rattler-build still do; null for
/// noarch.
Result<Json> MakeIndexJson(const PackageMetadata& metadata, std::int64_t timestamp_ms);

/// Names, versions, subdir, dependencies, noarch rules. Errors: kInvalidInput.
Result<void> CheckMetadata(const PackageMetadata& metadata);

}  // namespace ptpkg::conda
