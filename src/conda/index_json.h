#pragma once
// info/index.json, made and judged. Layer: conda. Source: CEP 34; conda-build's field set.

#include "conda/package.h"

namespace ptpkg::conda {

/// REQUIRES: `metadata` passed CheckMetadata. `timestamp_ms`: build time of CEP 34, from source_date_epoch.
/// `arch` and `platform` are deprecated but written, as conda-build and rattler-build still do; null for
/// noarch.
Result<Json> MakeIndexJson(const PackageMetadata& metadata, std::int64_t timestamp_ms);

/// Names, versions, subdir, dependencies, noarch rules. Errors: kInvalidInput.
Result<void> CheckMetadata(const PackageMetadata& metadata);

/// The types that every reader relies on: name, version, build text; build_number a non-negative integer;
/// depends and constrains lists of text; subdir text. Names are not judged (packages of others break
/// CEP 26). Errors: kInvalidInput beginning with `where`.
Result<void> CheckIndexSchema(const Json& index, std::string_view where);

}  // namespace ptpkg::conda
