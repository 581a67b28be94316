#pragma once
// Detects manual edits of generated files. Layer: ci.

#include <cstdint>
#include <string>
#include <string_view>

namespace ptpkg::ci {

/// `body` behind a comment line with its SHA-256.
[[nodiscard]] std::string Sealed(std::string_view body);

enum class Origin : std::uint8_t {
  kOurs,     ///< Unchanged output of Sealed().
  kEdited,   ///< Begins like such a file, but the rest differs.
  kForeign,  ///< Never was such a file.
};

[[nodiscard]] Origin OriginOf(std::string_view text);

}  // namespace ptpkg::ci
