#pragma once
// Parses and formats JSON. Layer: support. nlohmann-json throws; everything here returns Result.

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "support/limits.h"
#include "support/result.h"
#include "support/text/json_fwd.h"

namespace ptpkg {

struct JsonLimits {
  std::size_t depth = limits::kJsonDepth;
  std::size_t values = limits::kJsonValues;
};

/// Stricter than nlohmann's own reader: a byte order mark and a NUL byte are errors, and "-0" is a float.
/// Errors: kInvalidInput at `name`:line:col, or naming `name` for duplicate keys and for text beyond
/// `limits`. So recursion over a parsed value is safe. Memory: at most 80 bytes a value besides its text.
Result<Json> ParseJson(std::string_view text, std::string_view name, const JsonLimits& limits = {});

/// Two-space indent, keys sorted, UTF-8 kept, ends with a line break: how conda-build writes info/*.json.
std::string DumpJson(const Json& value);

/// One line as Python's json.dumps(sort_keys=True): separators ", " and ": ", non-ASCII as \uXXXX.
/// Build hashes are taken over this text (research: conda-build metadata.py get_hash_contents).
std::string DumpJsonPython(const Json& value);

// Typed access with errors that name `where`: kInvalidInput for a missing key or another type.
Result<std::string> JsonString(const Json& object, const std::string& key, std::string_view where);
Result<std::int64_t> JsonInteger(const Json& object, const std::string& key, std::string_view where);
/// A missing key or null gives `fallback`.
Result<std::string> JsonStringOr(const Json& object, const std::string& key, std::string_view fallback,
                                 std::string_view where);
Result<std::vector<std::string>> JsonStringsOr(const Json& object, const std::string& key,
                                               std::vector<std::string> fallback, std::string_view where);

}  // namespace ptpkg
