#pragma once
// JSON documents with a digest of their own content, which shows edits and damage. Layer: support.

#include <optional>

#include "support/text/json_fwd.h"

namespace ptpkg {

/// {"digest": sha256 of the body's text, "body": `body`}
Json SealJson(Json body);
/// The body; nullopt unless `sealed` is as SealJson made it.
std::optional<Json> OpenSealedJson(Json sealed);

}  // namespace ptpkg
