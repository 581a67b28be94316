#pragma once
// What a package says to ptpkg about itself (model/package_note.h). Layer: verify.

#include <string>
#include <vector>

#include "model/finding.h"
#include "verify/elf_tree.h"

namespace ptpkg::verify {

/// Globs of the libraries that the note `text` leaves to the machine. A note that cannot be read is a
/// finding, artifact-note-invalid, on `file`, and allows nothing.
std::vector<std::string> AllowedByNote(const std::string& text, const std::string& file,
                                       std::vector<Finding>& findings);

/// The same, of all notes of a tree: info/ptpkg.json and *.dist-info/ptpkg.json. Errors: kIo.
Result<std::vector<std::string>> AllowedByNotes(Env& env, const ElfTree& tree,
                                                std::vector<Finding>& findings);

}  // namespace ptpkg::verify
