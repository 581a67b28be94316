#pragma once
// Publishes to a directory with channel and index. Layer: publish.

#include <vector>

#include "publish/send.h"
#include "publish/upload.h"

namespace ptpkg::publish {

/// Copies the artifacts to their places in the output directory `root` (output_folder.h), all or none, and
/// writes the indexes of what changed. A directory that is not there yet appears whole, by one rename. What
/// is there with the same bytes is left alone. Returns one outcome for each upload, in order. Errors: those
/// of OutputFolder::Publish (kAlreadyExists: another file is there, and not `force`), kIo, kCancelled.
Result<std::vector<SendOutcome>> SendToFolder(Env& env, const AbsPath& root,
                                              const std::vector<Upload>& uploads, bool force);

}  // namespace ptpkg::publish
