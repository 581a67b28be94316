#pragma once
// Classes of characters, whatever the locale. Layer: versions, internal to it.

namespace ptpkg::versions {

inline bool IsDigit(char c) { return c >= '0' && c <= '9'; }

}  // namespace ptpkg::versions
