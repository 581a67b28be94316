#pragma once
// Publishes to a directory with channel and index. Layer: publish.

#include <vector>

#include "publish/send.h"
#include "publish/upload.h"

namespace ptpkg::publish {

/// Errors: kRefused if a file is in the place of `root`, of one of its parents, or of a directory for
/// `uploads`.
Result<void> CheckFolder(Env& env, const AbsPath& root, const std::vector<Upload>& uploads);

/// Copies the artifacts to their paths in the output directory `root` (output_folder.h), all or none, and
/// updates the affected indexes. A new directory appears whole, by one rename. Files that are already there
/// with the same bytes are left alone. Returns one outcome for each upload, in order. Errors: any from
/// OutputFolder::Publish (kAlreadyExists: another file is there, and not `force`), kIo, kCancelled.
Result<std::vector<SendOutcome>> SendToFolder(Env& env, const AbsPath& root,
                                              const std::vector<Upload>& uploads, bool force);

}  // namespace ptpkg::publish
