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

/// Unpacks into `folder`, which exists and is empty: ELF files, what is named like a library, METADATA, WHEEL
/// and the package's note; of the rest the directories. Errors: those of archive::ExtractZip.
Result<void> UnpackElfFiles(Env& env, const AbsPath& wheel, const AbsPath& folder);

/// Planned changes of one file.
struct FileEdit {
  RelPath path;                        ///< Below the directory.
  std::optional<AbsPath> source = {};  ///< Copied from there first.
  bool strip = false;                  ///< Before the edits: strip would destroy what they add.
  elf::Edits edits = {};
};

/// Holds the files that are to be edited, copies left out, against their rows of `record`, in parallel: new
/// rows would vouch for damage that came before. Errors: kCorrupt, kIo.
Result<void> CompareWithRecord(Env& env, const AbsPath& folder, const std::vector<FileEdit>& edits,
                               const std::vector<wheel::RecordRow>& record);

struct EditedFile {
  RelPath path;
  elf::LinkFacts before;
  elf::LinkFacts after;
  bool stripped = false;
  bool differs = false;  ///< From what it was, or new.
  /// The bytes that are others, by offset and length, if all others are where they were; the file may have
  /// grown.
  std::optional<std::map<std::uint64_t, std::uint64_t>> touched = {};
  std::uint64_t old_size = 0;  ///< With `touched`.
};

/// Carries them out in parallel (env.jobs), each verified; same order. Errors: those of elf::EditFile;
/// kNotFound (no program 'strip'), kCommandFailed; kUnsupported when strip changed what the loader reads.
Result<std::vector<EditedFile>> EditFiles(Env& env, const AbsPath& folder,
                                          const std::vector<FileEdit>& edits);

/// The files that differ, as new files of a wheel; hashed in parallel. Errors: kIo.
Result<std::vector<wheel::NewFile>> HashChanged(Env& env, const AbsPath& folder,
                                                const std::vector<EditedFile>& edited);

/// Like verify::ReadElfTree. Errors: kCorrupt for a damaged ELF file too.
Result<verify::ElfTree> ReadSoundTree(Env& env, const AbsPath& folder);

}  // namespace ptpkg::repair
