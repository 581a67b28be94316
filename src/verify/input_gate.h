#pragma once
// Validates artifacts used as input. Layer: verify.

#include <array>
#include <string_view>

#include "model/staged_tree.h"
#include "support/env.h"

namespace ptpkg::verify {

/// Refuses a wheel that uv, pip or installer would not install, or not in the same way. Files that installers
/// themselves write do not count. `unpacked`: its content, with digests. Libraries are not checked. Errors:
/// kIo, kInvalidInput naming the findings of `ptpkg check`.
Result<void> RequireInstallable(Env& env, const AbsPath& wheel, const StagedTree& unpacked);

/// Refuses a conda package with an error of `ptpkg check`, except errors about its libraries. Unpacks it into
/// `folder`, which exists and is empty. Errors: any from RequireInstallable and CheckCondaContent.
Result<void> RequireSoundPackage(Env& env, const AbsPath& package, const AbsPath& folder);

/// Refuses a conda package with any error of `ptpkg check`. Errors: kIo, kNotFound, kInvalidInput naming the
/// findings.
Result<void> RequireNoErrors(Env& env, const AbsPath& package);

/// Errors of a wheel that survive when its members are copied into another artifact.
inline constexpr std::array<std::string_view, 4> kFindingsOfLayout = {
    "wheel-data-layout", "wheel-dist-info", "wheel-install-collision", "wheel-symlink"};

}  // namespace ptpkg::verify
