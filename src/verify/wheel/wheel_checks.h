#pragma once
// Checks wheels like pip, uv, installer and indexes. Layer: verify. Sources: PyPA binary distribution format
// and core metadata, PEP 639, PEP 815; the rules of each consumer: docs/formats/wheel.md.

#include <set>
#include <string>
#include <vector>

#include "model/finding.h"
#include "model/staged_tree.h"
#include "support/env.h"

namespace ptpkg::verify {

struct WheelContent {
  std::string dist_info_dir = {};      ///< Source of the documents; "": none, or none to choose.
  std::set<std::string> scripts = {};  ///< Scripts that installers make from entry_points.txt.
};

/// Appends what is wrong with `wheel`, whose content lies unpacked in `tree` (.dist-info included).
/// Errors: kIo only; everything else is a finding.
Result<WheelContent> CheckWheelContent(Env& env, const AbsPath& wheel, const StagedTree& tree,
                                       std::vector<Finding>& findings);

}  // namespace ptpkg::verify
