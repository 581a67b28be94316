#pragma once
// Checks the install paths of conda packages. Layer: verify.

#include <set>
#include <string>
#include <vector>

#include "model/finding.h"

namespace ptpkg::verify {

struct CondaPlaces {
  const std::set<std::string>& files;  ///< Paths of the payload, as packed.
  bool noarch_python = false;          ///< site-packages/ and python-scripts/ move.
  std::vector<std::string> programs;   ///< Programs that the installer makes, in bin/ or Scripts/.
};

/// Two files with one place, a file in the place of a directory, and files below conda-meta/, where the
/// environment keeps its records.
void CheckCondaPlaces(const CondaPlaces& places, std::vector<Finding>& findings);

}  // namespace ptpkg::verify
