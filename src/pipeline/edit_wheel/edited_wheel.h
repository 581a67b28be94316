#pragma once
// Writes an edited wheel and checks it before renaming. Layer: pipeline.

#include <optional>

#include "archive/zip/zip_edit.h"
#include "pipeline/edit_wheel/regression_check.h"
#include "support/env.h"
#include "support/files/scratch.h"

namespace ptpkg::pipeline {

/// Content to write; borrowed.
struct EditedWheel {
  const AbsPath& from;
  const AbsPath& to;  ///< May be `from`.
  const archive::ZipEdits& edits;
};

/// A wheel that waits in a scratch directory for its name.
struct StagedWheel {
  TempDir scratch;
  AbsPath file;
};

/// Writes the wheel under its name, which the check reads tags from, into a scratch directory of `folder`,
/// and judges it there. Errors: kCheckFailed with the findings; those of archive::WriteEditedZip.
Result<StagedWheel> StageEditedWheel(Env& env, const EditedWheel& wheel, const AbsPath& folder,
                                     const std::optional<RegressionCheck>& judgement);

/// Writes wheel.to, and removes what vouched for another file of that name. With `judgement` the new wheel is
/// read again first, in a scratch directory beside its place. Post: wheel.to exists whole, or is as it was.
/// Errors: kCheckFailed with the findings; kAlreadyExists (kRefuse only), and those of
/// archive::WriteEditedZip.
Result<void> WriteEditedWheel(Env& env, const EditedWheel& wheel, ExistingFilePolicy on_existing,
                              const std::optional<RegressionCheck>& judgement);

/// Removes `from`, and what vouches for it, when `to`, another file, took its place. Errors: kNotFound, kIo.
Result<void> RemoveReplaced(Env& env, const AbsPath& from, const AbsPath& to);

}  // namespace ptpkg::pipeline
