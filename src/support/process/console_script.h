#pragma once
// Wrapper script of a Python entry point. Layer: support. Source: conda's core/portability and
// gateways/disk/create.py (python_entry_point_template).

#include <string>
#include <string_view>

namespace ptpkg {

struct ConsoleScript {
  std::string_view prefix;  ///< The interpreter is <prefix>/bin/python.
  std::string_view module;  ///< "package.module"
  std::string_view object;  ///< "function", or "Class.method": Class is imported, the whole is called.
};

/// The text of the script, as conda writes it at install; mode 0755.
std::string ConsoleScriptText(const ConsoleScript& script);

}  // namespace ptpkg
