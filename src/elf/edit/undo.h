#pragma once
// Undo record for an edit in place that a kill interrupts. Layer: elf, private to it.
//
// The record is part of the file itself, behind everything that the edit writes. So write permission for the
// file is enough, the next program that opens the file finds it, and it moves along with the file. Loaders,
// linkers and readers of ELF ignore bytes that no header names.
//
//   [old or new content][hole up to a 4 KiB page][closing block, 512 bytes]
//                        ^ the ranges, written once the block stands
//
// The closing block is written twice, each time inside one page and so whole or not at all. First as "begun"
// (only the old size counts), then, after the ranges, as "complete" with their digest. Truncating the file to
// its new size ends the edit.

#include <memory>
#include <optional>
#include <vector>

#include "elf/edit/edit.h"

namespace ptpkg::elf {

struct UndoRange {
  std::uint64_t offset = 0;
  std::string before;
  std::string after;  ///< Empty: as many NULs.
};

struct UndoRecord {
  std::uint64_t old_size = 0;
  std::uint64_t new_size = 0;
  std::vector<UndoRange> ranges;  ///< Below old_size, in the order of writing; can overlap.
};

/// The record of `plan`, with the old bytes read from `file`.
Result<UndoRecord> MakeUndo(File& file, const EditPlan& plan);

/// Appends `record` after the new end of the file. Errors: kUnsupported if it would be too large to read
/// back, kIo. The caller then rolls back.
Result<void> AppendUndo(File& file, const UndoRecord& record);

/// The record at the end of the file, without ranges if its edit had not begun. nullopt: there is none.
/// Errors: kCorrupt for a damaged record, kIo. Cost: reads 512 bytes if there is none.
Result<std::optional<UndoRecord>> ReadUndo(File& file);

/// True if the file can be restored: each byte of the record's ranges is the old one or one that the edit
/// writes.
Result<bool> IsUndoable(File& file, const UndoRecord& record);

/// Puts the old bytes back, last range first, and truncates the file to its old size.
Result<void> RollBack(File& file, const UndoRecord& record);

/// A view of `file` as RollBack would leave it. Refuses writes (kInternal).
std::unique_ptr<File> ViewAsBefore(std::unique_ptr<File> file, UndoRecord record);

}  // namespace ptpkg::elf
