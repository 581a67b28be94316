#pragma once
// Checks the content of conda packages. Layer: verify. Sources: CEP 26, CEP 34, CEP 35;
// docs/formats/conda.md.

#include <string>
#include <vector>

#include "model/finding.h"
#include "model/package_note.h"
#include "model/staged_tree.h"
#include "support/env.h"
#include "verify/conda/conda_module_checks.h"

namespace ptpkg::verify {

/// Content for the checks that every artifact gets (ELF, build paths).
struct CondaContent {
  StagedTree tree;                        ///< The payload, without info/.
  std::vector<std::string> dependencies;  ///< Names of the packages that index.json depends on.
  std::vector<std::string> specs = {};    ///< Its 'depends' and 'constrains', as written.
  std::string subdir = {};
  CondaPythons pythons = {};
  PackageNote note = {};  ///< info/ptpkg.json
};

/// Unpacks `package` into `folder` (existing, empty) and appends what is wrong with it. A package that cannot
/// be unpacked is one "artifact-unreadable" finding and gives an empty tree. Errors: kIo, kNotFound,
/// kCancelled; everything else is a finding.
Result<CondaContent> CheckCondaContent(Env& env, const AbsPath& package, const AbsPath& folder,
                                       std::vector<Finding>& findings);

}  // namespace ptpkg::verify
