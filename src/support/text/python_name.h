#pragma once
// Validates dotted Python names. Layer: support. Source: The Python Language Reference, "Identifiers"; PyPA
// entry points specification, "object reference".

#include <string_view>

namespace ptpkg {

/// True for identifiers joined by dots: "torch.distributed.run". Bytes above 127 count as letters: whether
/// they are is left to Python.
[[nodiscard]] bool IsDottedName(std::string_view text);

}  // namespace ptpkg
