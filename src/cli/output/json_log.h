#pragma once
// Formats JSON output: events of the JSON log (docs/formats/log.md), the document of --json. Layer: cli.
// Bytes that are not UTF-8, for example in paths, become U+FFFD.

#include <string>

#include "support/error.h"
#include "support/text/json_fwd.h"

namespace ptpkg::cli {

/// The object on one line, with its line break.
[[nodiscard]] std::string JsonLine(const Json& event);

/// Two-space indent; without the last line break, which printing adds.
[[nodiscard]] std::string JsonDocument(const Json& document);

/// The error as an object: code, message, context, hint, and file, line, column if it has a location.
[[nodiscard]] Json ErrorToJson(const Error& error);

}  // namespace ptpkg::cli
