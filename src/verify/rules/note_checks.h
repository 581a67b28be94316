#pragma once
// Reads and checks ptpkg.json of a package. Layer: verify.

#include <string>
#include <vector>

#include "model/finding.h"
#include "model/package_note.h"
#include "verify/elf/elf_tree_map.h"

namespace ptpkg::verify {

/// What the note `text` says. One that cannot be read is a finding, artifact-note-invalid, on `file`, and
/// says nothing.
PackageNote ReadNoteText(const std::string& text, const std::string& file, std::vector<Finding>& findings);

/// Where a tree may have notes. A file of the same name at any other place is the project's own.
struct NotePlaces {
  bool in_dist_info = true;  ///< *.dist-info/ptpkg.json, which wheels have wherever they are unpacked.
  std::string file = {};     ///< Path below the root, "info/ptpkg.json"; "": none.
};

/// The same, of all notes of a tree together. In a tree of several distributions none of them asks for GPU
/// code: it is not told which files are whose. Errors: kIo.
Result<PackageNote> ReadNotes(Env& env, const ElfTree& tree, const NotePlaces& places,
                              std::vector<Finding>& findings);

}  // namespace ptpkg::verify
