#pragma once
// Reads metadata files of a tree. Layer: verify.

#include <optional>
#include <string>

#include "support/env.h"

namespace ptpkg::verify {

/// METADATA, WHEEL or index.json at `path`; nullopt for a link and for one above limits::kMetadata, which the
/// checks of its format report. Errors: kIo, kNotFound.
Result<std::optional<std::string>> ReadDeclaration(Env& env, const AbsPath& path);

}  // namespace ptpkg::verify
