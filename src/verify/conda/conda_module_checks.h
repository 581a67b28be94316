#pragma once
// Checks that the Pythons of a conda package find its modules. Layer: verify. Page:
// docs/findings/conda-python-module.md.

#include <vector>

#include "model/finding.h"
#include "model/staged_tree.h"
#include "support/text/json_fwd.h"
#include "verify/rules/module_suffix.h"

namespace ptpkg::verify {

/// The Pythons that a conda package is for.
struct CondaPythons {
  bool is_noarch = false;  ///< noarch: python, whose site-packages/ moves.
  bool is_python = false;  ///< The package is Python itself.
  /// No Python without a dependency on Python, with one that cannot be read or that no Python satisfies, and
  /// for PyPy and GraalPy.
  ImportingPythons importers = {};

  [[nodiscard]] bool IsKnown() const { return !importers.pythons.empty(); }
};

/// `index`: index.json, valid. The dependencies on python, cpython, python_abi, python-gil and
/// python-freethreading decide.
CondaPythons PythonsOfIndex(const Json& index);

/// Appends conda-python-module: files in the site-packages of a Python that the dependencies exclude, and
/// modules that a Python of the dependencies cannot import. Their suffix is for another Python, or they have
/// only the function of Python 3.15. Nothing for a package that has a Python of its own. `tree`: the payload.
void CheckCondaModules(const CondaPythons& pythons, const StagedTree& tree, const SymbolsByPath& symbols,
                       std::vector<Finding>& findings);

}  // namespace ptpkg::verify
