#pragma once
// The info/ directory of a package. Layer: conda. Source: CEP 34; used_build_tool.json: CEP 40.

#include <vector>

#include "archive/entry_set.h"
#include "conda/info/paths_json.h"
#include "conda/package.h"

namespace ptpkg::conda {

/// Names begin with "info/". Errors: kInvalidInput for metadata that CheckMetadata refuses and for names of
/// recipe and licence files that could leave their directory.
Result<archive::EntrySet> MakeInfoFiles(const PackageMetadata& metadata, const std::vector<PathsEntry>& paths,
                                        std::int64_t source_date_epoch);

}  // namespace ptpkg::conda
