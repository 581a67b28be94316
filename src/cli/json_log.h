#pragma once
// One event of the JSON log: docs/formats/log.md. Layer: cli.

#include <string>

#include "support/error.h"
#include "support/json_fwd.h"

namespace ptpkg::cli {

/// The object on one line, with its line break. Bytes that are no UTF-8 become U+FFFD.
[[nodiscard]] std::string JsonLine(const Json& event);

/// The error as an object: code, message, context, hint, and file, line, column where it has a place.
[[nodiscard]] Json ErrorToJson(const Error& error);

}  // namespace ptpkg::cli
