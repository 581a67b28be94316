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

/// Writes the wheel into a scratch directory of `folder`, under its final name, which the check reads tags
/// from, and checks it there. Errors: kCheckFailed with the findings, any from archive::WriteEditedZip.
Result<StagedWheel> StageEditedWheel(Env& env, const EditedWheel& wheel, const AbsPath& folder,
                                     const std::optional<RegressionCheck>& judgement);

/// Writes wheel.to from a scratch directory next to it, where it is checked first with `judgement`. Sidecar
/// files of a replaced wheel go before it does. Post: wheel.to exists whole, or is unchanged. Errors: any
/// from archive::WriteEditedZip, kCheckFailed with the findings, kAlreadyExists (kRefuse only).
Result<void> WriteEditedWheel(Env& env, const EditedWheel& wheel, ExistingFilePolicy on_existing,
                              const std::optional<RegressionCheck>& judgement);

/// If `to` is another file that replaced `from`, removes `from` and its sidecar files. Errors: kNotFound,
/// kIo.
Result<void> RemoveReplaced(Env& env, const AbsPath& from, const AbsPath& to);

}  // namespace ptpkg::pipeline
