#pragma once
// Detects unprintable characters. Layer: support. Source: Unicode 16, general category.

#include <string_view>

namespace ptpkg {

/// True if `text` holds a character of category C (control, format, private use or unassigned) or bytes that
/// are not UTF-8. uv refuses such names in a wheel.
bool HasUnprintedCharacter(std::string_view text);

}  // namespace ptpkg
