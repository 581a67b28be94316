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
  const std::set<MachineCode>& code;  ///< For all files, if some tag is for a system other than Linux.
  /// For the ELF files that have some, by path.
  const std::map<std::string, elf::PythonSymbols>& symbols;
  /// Paths of the files that need a library which neither the wheel nor the system has.
  std::set<std::string> with_foreign_needs = {};
};

/// Appends these findings:
///
/// - wheel-extension-tag: extension modules that no Python of some tag can import, by their suffix
///   ("x.cpython-311-x86_64-linux-gnu.so") or because they have only the function of Python 3.15
/// - wheel-platform-code: a tag of a system other than Linux, when there are libraries, but none for that
///   system
/// - wheel-tag-nobody: tags that no interpreter accepts
/// - wheel-python-nobody: tags that Requires-Python excludes completely
/// - wheel-none-abi: extension modules with a tag without an ABI
/// - wheel-stable-abi: symbols outside the stable ABI with abi3. A warning for files in with_foreign_needs,
///   because a library of a dependency can define their symbols.
/// - wheel-abi3-possible: a tag for one Python although all modules have the stable ABI
///
/// `tree`: all of the wheel. Errors: kIo, kCancelled. Sources: PEP 3149,
/// importlib.machinery.EXTENSION_SUFFIXES of CPython and PyPy.
Result<void> CheckWheelTags(Env& env, const NamedTags& tags, const StagedTree& tree,
                            std::vector<Finding>& findings);

}  // namespace ptpkg::verify
