#pragma once
// Serialises staged trees as JSON. Layer: model.

#include "model/staged_tree.h"
#include "support/text/json_fwd.h"

namespace ptpkg {

Json TreeToJson(const StagedTree& tree);

/// The tree rooted at `root`. Errors: kCorrupt naming `where`, for anything TreeToJson does not write.
Result<StagedTree> TreeFromJson(const Json& json, const AbsPath& root, std::string_view where);

}  // namespace ptpkg
