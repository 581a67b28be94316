#pragma once
// Compares system requirements with the declared platform. Layer: verify. Sources: PEP 600, PEP 656, conda's
// virtual packages __glibc and __archspec.

#include <optional>
#include <string>
#include <vector>

#include "model/finding.h"
#include "support/env.h"
#include "verify/elf/elf_tree_map.h"
#include "verify/elf/file_needs.h"
#include "verify/wheel/declared_platform.h"
#include "verify/wheel/platform_policies.h"
#include "verify/wheel/policy_libraries.h"

namespace ptpkg::verify {

/// One entry per member, in its order; symbols are not read yet. Versions of a library that the tree brings
/// itself do not count, because they travel with the file. Other libraries raise the policy to the oldest
/// that lists them. Libraries outside all policies do not count here.
std::vector<FileNeeds> MeasureNeeds(const ElfTree& tree, const PlatformPolicies& policies,
                                    const PolicyLibraries& libraries);

/// Index of the file that sets the minimum of the tree: the highest policy, then the highest C library, then
/// the first. nullopt if no file requires a version of the system.
std::optional<std::size_t> HighestNeeds(const std::vector<FileNeeds>& needs);

/// Inputs of the checks of minimum versions; borrowed.
struct MinimumVersionContext {
  Env& env;
  const ElfTree& tree;
  const PlatformPolicies& policies;
  const DeclaredPlatform& promise;
};

/// Appends elf-glibc-floor, elf-glibc-undeclared, elf-libc-mismatch, elf-machine-mismatch and elf-isa-level.
/// Fills in the symbols of every file that needs more than declared, and of the file that sets the minimum.
/// Errors: kCancelled.
Result<void> CheckMinimumVersions(const MinimumVersionContext& context, std::vector<FileNeeds>& needs,
                                  std::vector<Finding>& findings);

}  // namespace ptpkg::verify
