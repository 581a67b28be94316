#pragma once
// Validates field types of documents below info/. Layer: conda. Sources: CEP 34; rattler_conda_types
// (IndexJson, PackageRecord, AboutJson, LinkJson, RunExportsJson) and conda gateways/disk/read.py.
// tests/peers/conda/conda_differential.py compares the schemas with py-rattler.

#include <string>
#include <string_view>
#include <vector>

#include "support/result.h"
#include "support/text/json_fwd.h"

namespace ptpkg::conda {

/// Checks info/index.json, with each field that repodata.json takes from it. Unknown fields can hold
/// anything. Does not check names. Errors: kInvalidInput beginning with `where`.
Result<void> CheckIndexSchema(const Json& index, std::string_view where);
/// Checks info/run_exports.json. Errors: as CheckIndexSchema.
Result<void> CheckRunExportsSchema(const Json& run_exports, std::string_view where);
/// Checks info/about.json. Errors: as CheckIndexSchema.
Result<void> CheckAboutSchema(const Json& about, std::string_view where);

/// info/link.json, or info/package_metadata.json of older packages.
struct LinkDocument {
  std::string type;                       ///< "python" or "generic".
  std::vector<std::string> entry_points;  ///< "name = module:object", each of that form.
};
/// Errors: as CheckIndexSchema.
Result<LinkDocument> ParseLinkJson(const Json& link, std::string_view where);

}  // namespace ptpkg::conda
