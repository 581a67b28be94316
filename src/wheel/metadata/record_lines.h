#pragma once
// Detects RECORD lines that readers split differently. Layer: wheel. Source: pip 26.3
// operations/install/wheel.py, installer 1.1.0 records.py, uv 0.13.8, each asked by
// tests/peers/wheel/wheel_differential.py.

#include <string>
#include <string_view>
#include <vector>

#include "wheel/metadata/record.h"

namespace ptpkg::wheel {

/// Finds faults of RecordFault::kLine: empty lines, and line breaks other than LF and CRLF. pip and installer
/// stop at an empty line. They end lines at every Unicode line break, uv only at CR and LF. Returns at most
/// 100.
std::vector<RecordFault> FindLineFaults(std::string_view text, const std::string& name);

}  // namespace ptpkg::wheel
