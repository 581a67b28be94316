#pragma once
// Checks wheel tags against file names and content. Layer: verify. Pages:
// docs/findings/wheel-extension-tag.md, wheel-platform-code.md, wheel-tag-nobody.md, wheel-python-nobody.md,
// wheel-none-abi.md, wheel-stable-abi.md, wheel-abi3-possible.md.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "elf/symbols/python_symbols.h"
#include "model/finding.h"
#include "model/staged_tree.h"
#include "support/env.h"
#include "verify/file_kind.h"
#include "wheel/file_name.h"

namespace ptpkg::verify {

struct NamedTags {
  const wheel::FileName& name;
  const std::set<MachineCode>& code;  ///< For all files, if some tag is of another system than Linux.
  /// For the ELF files that have some, by path.
  const std::map<std::string, elf::PythonSymbols>& symbols;
  /// Paths of those that need a library which neither the wheel nor the system has.
  std::set<std::string> with_foreign_needs = {};
};

/// Appends wheel-extension-tag for extension modules that no Python of some tag can import, by the end of
/// their names ("x.cpython-311-x86_64-linux-gnu.so"), and wheel-platform-code for a tag of another system
/// than Linux when libraries are there, but none for that one. Tags that no interpreter takes are
/// wheel-tag-nobody, those that Requires-Python leaves none of are wheel-python-nobody. Extension modules
/// below a tag without an ABI are wheel-none-abi, symbols outside the stable ABI below abi3 wheel-stable-abi,
/// and a tag for one Python where all modules have the stable ABI is wheel-abi3-possible. A library of a
/// dependency may define the symbols of with_foreign_needs: wheel-stable-abi is a warning there. `tree`: all
/// of the wheel. Errors: kIo, kCancelled. Sources: PEP 3149; importlib.machinery.EXTENSION_SUFFIXES of
/// CPython and PyPy.
Result<void> CheckWheelTags(Env& env, const NamedTags& tags, const StagedTree& tree,
                            std::vector<Finding>& findings);

}  // namespace ptpkg::verify
