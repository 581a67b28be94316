#pragma once
// A plain zip: a folder of files for people without a package manager. Layer: verify. Pages:
// docs/findings/zip-*.md.

#include <string>
#include <vector>

#include "model/finding.h"
#include "model/staged_tree.h"
#include "support/env.h"

namespace ptpkg::verify {

struct PlainZip {
  /// What people use: the folder that holds everything, if there is one, for it can be moved and renamed. One
  /// that is called lib or include is no such folder, but a part of a prefix.
  StagedTree tree;
  /// Where in `tree` ptpkg's note is looked for: in the folder that holds everything. "" without one.
  std::string note;
};

/// Unpacks `zip` into the existing, empty `folder`; the tree is empty, and there is a finding, when that
/// cannot be done. Findings: zip-strict, zip-symlink. Errors: kIo, kCancelled.
Result<PlainZip> CheckPlainZip(Env& env, const AbsPath& zip, const AbsPath& folder,
                               std::vector<Finding>& findings);

}  // namespace ptpkg::verify
