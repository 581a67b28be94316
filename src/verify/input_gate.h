#pragma once
// Validates artifacts used as input. Layer: verify.

#include <array>
#include <string_view>

#include "model/staged_tree.h"
#include "support/env.h"

namespace ptpkg::verify {

/// Refuses a wheel that uv, pip or installer would not install, or not as the others do; what installers
/// themselves write does not count. `unpacked`: its content, with digests. Libraries are not looked at.
/// Errors: kInvalidInput naming the findings of `ptpkg check`; kIo.
Result<void> RequireInstallable(Env& env, const AbsPath& wheel, const StagedTree& unpacked);

/// Refuses a conda package that `ptpkg check` finds an error in, its libraries left aside. Unpacks it into
/// `folder`, which exists and is empty. Errors: those of RequireInstallable and CheckCondaContent.
Result<void> RequireSoundPackage(Env& env, const AbsPath& package, const AbsPath& folder);

/// Errors of a wheel that stay in what is made of it by copying members.
inline constexpr std::array<std::string_view, 4> kFindingsOfLayout = {
    "wheel-data-layout", "wheel-dist-info", "wheel-install-collision", "wheel-symlink"};

}  // namespace ptpkg::verify
