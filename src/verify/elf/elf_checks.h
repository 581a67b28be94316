#pragma once
// Checks needed libraries and search paths of a tree. Layer: verify. Serves trees in a prefix layout (conda)
// and in site-packages layout (wheel): all paths are relative to the tree's root. The finding's pages are
// docs/findings/elf-*.md.

#include <string>
#include <vector>

#include "model/finding.h"
#include "support/env.h"
#include "verify/check_artifact.h"
#include "verify/elf/elf_tree_map.h"
#include "verify/elf/file_links.h"
#include "verify/elf/resolved_libraries.h"

namespace ptpkg::verify {

/// Normalised names of distributions that the tree declares as dependencies (conda index.json, wheel
/// METADATA), without the dependencies of extras. Empty when it declares none or is neither. Errors: kIo.
Result<std::vector<std::string>> DeclaredDependencies(Env& env, const ElfTree& tree);

/// Each NEEDED must be found the way ld.so finds it, in every process that loads the file. Otherwise the
/// options or the package itself must allow it, every system must have it, or a declared dependency must
/// bring it. Findings: elf-unresolved-needed, elf-unreachable-needed, elf-shadowed-needed,
/// elf-conditional-needed, elf-allowed-needed, elf-needed-path.
void CheckNeeded(const ElfTree& tree, const CheckOptions& options,
                 const std::vector<std::string>& dependencies, const ResolvedLibraries& loads,
                 std::vector<Finding>& findings);

/// One NEEDED of one member; borrowed.
struct Need {
  const ElfMember& member;
  const std::string& name;
  const NeedOutcome& outcome;
};

struct DependencyResolution {
  NeedState state = NeedState::kMissing;
  std::string problem = {};  ///< kMissing: CheckNeeded's message about it.
};

/// Origin of the needed library, by the rules of CheckNeeded.
DependencyResolution ResolveDependency(const ElfTree& tree, const CheckOptions& options,
                                       const std::vector<std::string>& dependencies, const Need& need);

/// All possible values of $LIB and $PLATFORM in the member's search path, for ExplainSearchPath.
std::vector<elf::TokenValues> TokensOf(const ElfTree& tree, const ElfMember& member);

/// No forbidden text, pad, absolute, empty, relative, escaping, stubs or dead entry. Findings:
/// elf-search-path-*.
void CheckSearchPaths(const ElfTree& tree, const CheckOptions& options, std::vector<Finding>& findings);

}  // namespace ptpkg::verify
