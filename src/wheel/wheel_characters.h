#pragma once
// Classes of characters, whatever the locale. Layer: wheel, internal to it.

namespace ptpkg::wheel {

inline bool IsAlphaNumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

}  // namespace ptpkg::wheel
