#pragma once
// Checks that Python modules have their entry points. Layer: verify. Source: CPython Python/importdl.c (PEP
// 489, PEP 793, PEP 3149); glibc elf/dl-lookup.c, dl-deps.c.

#include <string>
#include <string_view>
#include <vector>

#include "model/finding.h"
#include "verify/elf/elf_tree_map.h"
#include "verify/elf/resolved_libraries.h"

namespace ptpkg::verify {

/// Minor version of the first Python 3 that looks for PyModExport_ functions (PEP 793).
inline constexpr int kFirstModuleExport = 15;

/// The functions for which Python looks when it imports a file. It calls the first that it finds.
struct ModuleName {
  /// "PyInit_x" for "x.cpython-311-x86_64-linux-gnu.so", before it "PyModExport_x" if the suffix is not for a
  /// Python older than 3.15. For a name that is not ASCII "PyInitU_…". None for a name that Python does not
  /// import.
  std::vector<std::string> functions = {};
  bool is_tagged = false;  ///< The suffix marks a Python module.
};

/// `path`: in a wheel or a prefix. "p/__init__.abi3.so" is the module "p".
ModuleName ModuleNameOf(std::string_view path);

/// True for names that ModuleNameOf gives to some file.
bool IsModuleFunction(std::string_view name);

/// True if the file itself has a function of its module.
bool ExportsModule(const ElfMember& member);

/// A module without its function: elf-module-init. Libraries that it needs may have it. So may a library
/// outside of the tree, unless it belongs to every system or to Python. Cost: the needs of modules without
/// their function.
void CheckModules(const ElfTree& tree, const ResolvedLibraries& loads, std::vector<Finding>& findings);

}  // namespace ptpkg::verify
