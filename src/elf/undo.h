#pragma once
// The record that makes an edit in place reversible after a kill. Layer: elf, private to it.

#include <vector>

#include "elf/edit.h"

namespace ptpkg::elf {

struct UndoRange {
  std::uint64_t offset = 0;
  std::string before;
  std::string after;  ///< Empty: as many NULs.
};

struct UndoRecord {
  std::uint64_t old_size = 0;
  std::uint64_t new_size = 0;
  std::vector<UndoRange> ranges;  ///< Below old_size, in the order of writing; may overlap.
};

/// Text with a digest at its end, so that a torn record is recognised.
std::string EncodeUndo(const UndoRecord& record);
/// Errors: kCorrupt when torn or not a record.
Result<UndoRecord> DecodeUndo(std::string_view text);

/// The record of `plan`, with the old bytes read from `file`.
Result<UndoRecord> MakeUndo(File& file, const EditPlan& plan);

/// Writes `record` to the new file `path`. Errors: kUnsupported if it would be too large to be read again,
/// kAlreadyExists, kIo.
Result<void> WriteUndo(Fs& fs, const AbsPath& path, const UndoRecord& record);

/// Puts the old bytes back, last range first, and cuts the file to its old size.
Result<void> RollBack(File& file, const UndoRecord& record);

}  // namespace ptpkg::elf
