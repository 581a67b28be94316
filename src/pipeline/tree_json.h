#pragma once
// A staged tree's manifest as JSON, so that a stage result survives the process. Layer: pipeline.

#include "support/json.h"
#include "support/staged_tree.h"

namespace ptpkg::pipeline {

Json TreeToJson(const StagedTree& tree);

/// The tree rooted at `root`. Errors: kCorrupt naming `where`, for anything TreeToJson does not write.
Result<StagedTree> TreeFromJson(const Json& json, const AbsPath& root, std::string_view where);

}  // namespace ptpkg::pipeline
