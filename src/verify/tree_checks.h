#pragma once
// All checks of the ELF files of a tree, in their order. Layer: verify.

#include "verify/check.h"
#include "verify/platform_promise.h"

namespace ptpkg::verify {

/// Appends to examination.report.findings and fills files and highest. `promise`: what the artifact's name or
/// metadata says; nullopt: what the tree itself says. Errors: kIo, kNotFound, kCancelled.
Result<void> CheckElfFiles(Env& env, const AbsPath& root, const CheckOptions& options,
                           const std::optional<PlatformPromise>& promise, Examination& examination);

}  // namespace ptpkg::verify
