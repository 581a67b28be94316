#pragma once
// Checks that libraries opened at run time exist. Layer: verify.

#include <string>
#include <vector>

#include "model/finding.h"
#include "verify/check_artifact.h"
#include "verify/elf/elf_tree_map.h"

namespace ptpkg::verify {

/// For every mention of a name that data/dlopened.yaml knows, unless the tree has it, a dependency brings it,
/// or the options allow it:
/// - elf-dlopen-renamed, when the tree has that library under another name: with a hash (error; warning if it
/// still
///   calls itself by the old name and something needs it, since a name is found while it is loaded), or
///   without its version (warning);
/// - elf-dlopen-missing (error), when the file is an opener that cannot do without it: the tree bundles one
/// part
///   of a family and not the other.
void CheckDlopened(const ElfTree& tree, const DlopenTable& opened, const CheckOptions& options,
                   const std::vector<std::string>& dependencies, std::vector<Finding>& findings);

/// "libx-1a2b3c4d.so.9" → "libx.so.9": the name without the hash that auditwheel (8 hex digits) and PyTorch's
/// scripts insert; other names unchanged.
std::string NameWithoutHash(std::string_view file_name);

}  // namespace ptpkg::verify
