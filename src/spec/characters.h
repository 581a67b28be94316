#pragma once
// Classes of characters, whatever the locale. Layer: spec, internal to it.

namespace ptpkg::spec {

inline bool IsDigit(char c) { return c >= '0' && c <= '9'; }

}  // namespace ptpkg::spec
