#pragma once
// What a package says to ptpkg about itself (model/package_note.h). Layer: verify.

#include <string>
#include <vector>

#include "model/finding.h"
#include "model/package_note.h"
#include "verify/elf_tree.h"

namespace ptpkg::verify {

/// What the note `text` says. One that cannot be read is a finding, artifact-note-invalid, on `file`, and
/// says nothing.
PackageNote CheckedNote(const std::string& text, const std::string& file, std::vector<Finding>& findings);

/// The same, of all notes of a tree together: info/ptpkg.json and *.dist-info/ptpkg.json. In a tree of
/// several distributions none of them asks for GPU code: it is not told which files are whose. Errors: kIo.
Result<PackageNote> ReadNotes(Env& env, const ElfTree& tree, std::vector<Finding>& findings);

}  // namespace ptpkg::verify
