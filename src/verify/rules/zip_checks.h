#pragma once
// Checks plain zips. Layer: verify. Pages: docs/findings/zip-*.md.

#include <string>
#include <vector>

#include "model/finding.h"
#include "model/staged_tree.h"
#include "support/env.h"
#include "verify/rules/zip_container.h"

namespace ptpkg::verify {

struct PlainZip {
  /// Null when the zip cannot be read. Its tree is what people use: the directory that holds everything, if
  /// there is one, for it can be moved and renamed. One that is called lib or include is no such directory,
  /// but a part of a prefix.
  std::unique_ptr<ZipTree> zip;
  /// Path in the tree of ptpkg's note: in the directory that holds everything. "" without one.
  std::string note;
};

/// Reads `zip`; reading.top_folder is chosen here. Findings: zip-strict, zip-symlink, artifact-unreadable.
/// Errors: kIo, kCancelled.
Result<PlainZip> CheckPlainZip(Env& env, const AbsPath& zip, const ZipReading& reading,
                               std::vector<Finding>& findings);

}  // namespace ptpkg::verify
