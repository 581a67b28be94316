#pragma once
// Checks that libraries opened at run time exist. Layer: verify.

#include <string>
#include <vector>

#include "model/finding.h"
#include "verify/check_artifact.h"
#include "verify/elf/elf_tree_map.h"

namespace ptpkg::verify {

/// Checks every mention of a name in data/dlopened.yaml, unless the tree has it, a dependency brings it, or
/// the options allow it:
/// - elf-dlopen-renamed: the tree has that library under another name. An inserted hash is an error, a
///   missing version a warning. A hash is only a warning if the library's SONAME is still the old name and
///   something needs it, because a name is found while it is loaded.
/// - elf-dlopen-missing (error): the file cannot work without the library, and the tree bundles one part of a
///   family but not the other.
void CheckDlopened(const ElfTree& tree, const DlopenTable& opened, const CheckOptions& options,
                   const std::vector<std::string>& dependencies, std::vector<Finding>& findings);

/// "libx-1a2b3c4d.so.9" → "libx.so.9": the name without the hash that auditwheel (8 hex digits) and PyTorch's
/// scripts insert; other names unchanged.
std::string NameWithoutHash(std::string_view file_name);

}  // namespace ptpkg::verify
