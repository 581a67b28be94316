#pragma once
// Checks the archive format of conda packages. Layer: verify. Source: CEP 35; the readers named in
// docs/formats/conda.md.

#include <string>
#include <vector>

#include "conda/info/container.h"
#include "model/finding.h"

namespace ptpkg::verify {

/// A tar member as it was written, in the order of reading.
struct CondaMember {
  conda::Part part = conda::Part::kWhole;
  std::string name;
  archive::TarKind kind = archive::TarKind::kRegular;
  std::uint32_t mode = 0644;
};

/// `stem`: the file name without its extension.
void CheckCondaContainer(const conda::ContainerFacts& facts, const std::string& stem,
                         std::vector<Finding>& findings);

void CheckCondaMembers(const std::vector<CondaMember>& members, std::vector<Finding>& findings);

/// For a .conda: objections of the zip's strictest readers. Errors: any from reading.
Result<void> CheckCondaZip(Env& env, const AbsPath& package, std::vector<Finding>& findings);

}  // namespace ptpkg::verify
