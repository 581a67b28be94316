#pragma once
// What is printed as JSON: an event of the JSON log (docs/formats/log.md), the document of --json. Layer:
// cli. Bytes that are no UTF-8, as paths may hold, become U+FFFD.

#include <string>

#include "support/error.h"
#include "support/text/json_fwd.h"

namespace ptpkg::cli {

/// The object on one line, with its line break.
[[nodiscard]] std::string JsonLine(const Json& event);

/// Two-space indent; without the last line break, which printing adds.
[[nodiscard]] std::string JsonDocument(const Json& document);

/// The error as an object: code, message, context, hint, and file, line, column where it has a place.
[[nodiscard]] Json ErrorToJson(const Error& error);

}  // namespace ptpkg::cli
