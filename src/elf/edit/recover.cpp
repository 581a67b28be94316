// RecoverEdit and OpenRecovered (declared in elf/edit/edit.h). Handles files whose edit was interrupted:
// they end with an undo record.
//
// A running edit has a record too, so the record is read again under the lock before anybody acts on it.
// Writers take the exclusive lock and restore the old content. Readers take a shared lock and see a view of
// the old content, without writing. A record that does not match the file's bytes is refused: something
// else wrote the file since, and a rollback would mix two contents.

#include <chrono>
#include <fmt/core.h>
#include <thread>

#include "elf/edit/edit.h"
#include "elf/edit/undo.h"

namespace ptpkg::elf {
namespace {

Error WrittenSince(const AbsPath& path) {
  return Error(ErrorCode::kRefused,
               fmt::format("an edit of '{}' was interrupted, and something else wrote the file since",
                           path.str()))
      .WithHint("its old content is lost: fetch or build the file again");
}

/// The record at the end of `file`, if there is one that can be carried out. REQUIRES: the lock, for an edit
/// that is under way has a record too.
Result<std::optional<UndoRecord>> ReadOwnUndo(File& file, const AbsPath& path) {
  PTPKG_TRY(auto record, ReadUndo(file),
            fmt::format("while looking for an interrupted edit of '{}'", path.str()));
  if (!record) return record;
  PTPKG_TRY(const bool ours, IsUndoable(file, *record));
  if (!ours) return WrittenSince(path);
  return record;
}

/// True if `file` ends with something for which the lock must be taken: a record, or one that is just being
/// written.
Result<bool> MayHaveUndo(File& file) {
  const auto record = ReadUndo(file);
  if (record) return record->has_value();
  if (record.error().code() == ErrorCode::kCorrupt) return true;
  return record.error();
}

/// Readers do not wait for each other. An edit takes seconds at most (6 s for 448 MB, deeply verified). A
/// stopped process, or another program's lock, must not block us without end.
Result<void> HoldForReading(File& file, const AbsPath& path) {
  constexpr std::chrono::milliseconds kPause{10};
  constexpr int kTurns = 6000;  // a minute
  for (int turn = 0; turn < kTurns; ++turn) {
    PTPKG_TRY(const LockOutcome outcome, file.TryLock(LockKind::kShared));
    if (outcome != LockOutcome::kBusy) return Ok();
    std::this_thread::sleep_for(kPause);
  }
  return Error(ErrorCode::kRefused, fmt::format("another process holds '{}' locked", path.str()))
      .WithHint("find it with 'fuser' or 'lslocks', and run again when it has ended");
}

}  // namespace

Result<bool> RecoverEdit(Fs& fs, const AbsPath& path) {
  {
    PTPKG_TRY(const auto file, fs.Open(path, OpenMode::kRead));
    PTPKG_TRY(const bool pending, MayHaveUndo(*file));
    if (!pending) return false;
  }
  PTPKG_TRY(const auto file, fs.Open(path, OpenMode::kReadWrite));
  PTPKG_CHECK(file->Lock());
  // Read again under the lock: the edit may have ended since the look above.
  PTPKG_TRY(const auto record, ReadOwnUndo(*file, path));
  if (!record) return false;
  PTPKG_CHECK(RollBack(*file, *record));
  PTPKG_CHECK(file->Close());
  return true;
}

Result<void> CheckFinished(File& file) {
  PTPKG_TRY(const bool pending, MayHaveUndo(file));
  if (!pending) return Ok();
  return Error(ErrorCode::kCorrupt,
               "an edit of it was interrupted, and it ends with a record of its old content")
      .WithHint("the next 'ptpkg relink' of the file puts the old content back");
}

Result<RecoveredFile> OpenRecovered(Fs& fs, const AbsPath& path) {
  PTPKG_TRY(auto file, fs.Open(path, OpenMode::kRead));
  PTPKG_CHECK(HoldForReading(*file, path));
  PTPKG_TRY(auto record, ReadOwnUndo(*file, path));
  if (!record) return RecoveredFile{.file = std::move(file)};
  return RecoveredFile{.file = ViewAsBefore(std::move(file), *std::move(record)), .interrupted = true};
}

}  // namespace ptpkg::elf
