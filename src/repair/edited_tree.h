#pragma once
// Edits the ELF files of an unpacked wheel. Layer: repair.

#include <map>
#include <optional>
#include <vector>

#include "elf/edit/edit.h"
#include "model/staged_tree.h"
#include "support/env.h"
#include "verify/elf/elf_tree_map.h"
#include "wheel/retag_wheel.h"

namespace ptpkg::repair {

/// Unpacks ELF files, files named like libraries, METADATA, WHEEL and the package's note into `folder`, which
/// exists and is empty. For all other files, makes only the directories. Errors: any from
/// archive::ExtractZip.
Result<void> UnpackElfFiles(Env& env, const AbsPath& wheel, const AbsPath& folder);

/// Planned changes of one file.
struct FileEdit {
  RelPath path;                        ///< Below the directory.
  std::optional<AbsPath> source = {};  ///< Copied from there first.
  bool strip = false;                  ///< Before the edits: strip would destroy what they add.
  elf::Edits edits = {};
};

/// Compares the files to edit, except copies, with their rows of `record`, in parallel: new rows would
/// otherwise confirm earlier damage. Errors: kCorrupt, kIo.
Result<void> CompareWithRecord(Env& env, const AbsPath& folder, const std::vector<FileEdit>& edits,
                               const std::vector<wheel::RecordRow>& record);

struct EditedFile {
  RelPath path;
  elf::LinkFacts before;
  elf::LinkFacts after;
  bool stripped = false;
  bool differs = false;  ///< From its original, or it is new.
  /// The changed bytes, by offset and length, if all others kept their offsets; the file might have grown.
  std::optional<std::map<std::uint64_t, std::uint64_t>> touched = {};
  std::uint64_t old_size = 0;  ///< With `touched`.
};

/// Carries the edits out in parallel (env.jobs), each verified; same order. Errors: any from elf::EditFile,
/// kNotFound (no program 'strip'), kCommandFailed, kUnsupported when strip changed content that the loader
/// reads.
Result<std::vector<EditedFile>> EditFiles(Env& env, const AbsPath& folder,
                                          const std::vector<FileEdit>& edits);

/// The files that differ, as new files of a wheel; hashed in parallel. Errors: kIo.
Result<std::vector<wheel::NewFile>> HashChanged(Env& env, const AbsPath& folder,
                                                const std::vector<EditedFile>& edited);

/// Like verify::ReadElfTree. Errors: kCorrupt for a damaged ELF file too.
Result<verify::ElfTree> ReadSoundTree(Env& env, const AbsPath& folder);

}  // namespace ptpkg::repair
