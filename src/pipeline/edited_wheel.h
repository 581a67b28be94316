#pragma once
// A wheel written from another one, and judged before it gets its name. Layer: pipeline.

#include <optional>
#include <set>
#include <string>

#include "archive/zip_edit.h"
#include "pipeline/judgement.h"
#include "support/env.h"
#include "support/scratch.h"

namespace ptpkg::pipeline {

/// What to write; borrowed.
struct EditedWheel {
  const AbsPath& from;
  const AbsPath& to;  ///< May be `from`.
  const archive::ZipEdits& edits;
};

/// A wheel that waits in a scratch folder for its name.
struct StagedWheel {
  TempDir scratch;
  AbsPath file;
};

/// Writes the wheel under its name, which the check reads tags from, into a scratch folder of `folder`, and
/// judges it there. Errors: kCheckFailed with the findings; those of archive::WriteEditedZip.
Result<StagedWheel> StageEditedWheel(Env& env, const EditedWheel& wheel, const AbsPath& folder,
                                     const std::optional<Judgement>& judgement);
/// Gives it its name; `to`: on the file system of the scratch folder. Post: `to` exists whole, or is as it
/// was. Errors: kAlreadyExists (kRefuse only), kIo.
Result<void> PlaceStaged(Env& env, const StagedWheel& staged, const AbsPath& to, OnExisting on_existing);

/// Writes wheel.to, and removes what vouched for another file of that name. With `judgement` the new wheel is
/// read again first, in a scratch folder beside its place. Post: wheel.to exists whole, or is as it was.
/// Errors: kCheckFailed with the findings; kAlreadyExists (kRefuse only), and those of
/// archive::WriteEditedZip.
Result<void> WriteEditedWheel(Env& env, const EditedWheel& wheel, OnExisting on_existing,
                              const std::optional<Judgement>& judgement);

/// The names that one run gives to its results.
class NewNames {
 public:
  /// `verb`: "retag". Errors: kUsage for a name that was given before.
  Result<void> Take(const AbsPath& to, std::string_view verb);

 private:
  std::set<std::string> taken_;
};

/// kAlreadyExists; the hint names what the verb offers.
Error IsInTheWay(const AbsPath& path, bool has_force);

/// Whether both paths lead to one file, through links too. Errors: kNotFound, kIo.
Result<bool> IsOneFile(Env& env, const AbsPath& left, const AbsPath& right);

/// Removes what vouches for `wheel` beside it: for bytes that go, or are gone. Errors: kIo.
Result<void> RemoveBeside(Env& env, const AbsPath& wheel);

/// Removes `from`, and what vouches for it, when `to`, another file, took its place. Errors: kNotFound, kIo.
Result<void> RemoveReplaced(Env& env, const AbsPath& from, const AbsPath& to);

}  // namespace ptpkg::pipeline
