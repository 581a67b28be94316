#pragma once
// Reads and checks ptpkg.json of a package. Layer: verify.

#include <string>
#include <vector>

#include "model/finding.h"
#include "model/package_note.h"
#include "verify/elf/elf_tree_map.h"

namespace ptpkg::verify {

/// Reads the note `text`. An unreadable one is a finding, artifact-note-invalid, on `file`, and
/// gives an empty note.
PackageNote ReadNoteText(const std::string& text, const std::string& file, std::vector<Finding>& findings);

/// Places of notes in a tree. A file of the same name at any other place is the project's own.
struct NotePlaces {
  bool in_dist_info = true;  ///< *.dist-info/ptpkg.json, which wheels have wherever they are unpacked.
  std::string file = {};     ///< Path below the root, "info/ptpkg.json"; "": none.
};

/// Merges all notes of a tree. In a tree of several distributions none of them asks for GPU
/// code: it is not known which files are whose. Errors: kIo.
Result<PackageNote> ReadNotes(Env& env, const ElfTree& tree, const NotePlaces& places,
                              std::vector<Finding>& findings);

}  // namespace ptpkg::verify
