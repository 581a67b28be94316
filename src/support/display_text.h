#pragma once
// Text of others on a terminal. Layer: support.

#include <string>
#include <string_view>

#include "support/limits.h"

namespace ptpkg {

/// One line of a program, archive or server as it may be shown: without what a terminal would act on. Escape
/// sequences (ECMA-48: CSI, OSC, DCS and their like), control characters but tabs, and the characters that
/// turn the direction of writing are left out; bytes that are not UTF-8 become "\xNN"; of a line that a
/// carriage return overwrites, as progress bars do, the last state stays. What is above `max_bytes` loses its
/// middle: "… (398000 bytes) …".
std::string DisplayLine(std::string_view line, std::size_t max_bytes = limits::kShownLine);

/// Several lines: each as above.
std::string DisplayText(std::string_view text);

}  // namespace ptpkg
