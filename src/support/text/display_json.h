#pragma once
// Escapes untrusted JSON for terminals. Layer: support.

#include <string>
#include <string_view>

namespace ptpkg {

/// JSON text whose strings hold nothing that DisplayLine (support/text/display_text.h) would leave out: such
/// characters are written as "\uXXXX", which every reader of JSON takes for the same.
std::string DisplayJson(std::string_view json);

}  // namespace ptpkg
