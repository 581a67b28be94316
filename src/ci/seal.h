#pragma once
// Detects manual edits of generated files. Layer: ci.

#include <cstdint>
#include <string>
#include <string_view>

namespace ptpkg::ci {

/// `body` behind a comment line with its SHA-256.
[[nodiscard]] std::string Sealed(std::string_view body);

enum class Origin : std::uint8_t {
  kOurs,     ///< As Sealed() made it.
  kEdited,   ///< Begins like one, and what follows is something else.
  kForeign,  ///< Was never one.
};

[[nodiscard]] Origin OriginOf(std::string_view text);

}  // namespace ptpkg::ci
