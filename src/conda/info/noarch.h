#pragma once
// Layout of noarch python packages, in both directions. Layer: conda. Source: conda-build noarch_python.py
// (packing), conda core/path_actions.py (installing).

#include <optional>
#include <string>

#include "support/path.h"

namespace ptpkg::conda {

/// Path in the package of a file in an interpreter's tree: "lib/python3.11/site-packages/a.py" →
/// "site-packages/a.py", "bin/tool" → "python-scripts/tool", others unchanged. nullopt for compiled files
/// (.pyc, .pyo), which the installer makes.
std::optional<RelPath> ToNoarch(const RelPath& path);

/// The reverse of ToNoarch, for an interpreter "3.11" with its site-packages below lib/.
RelPath FromNoarch(const RelPath& path, const std::string& python_version);

/// The script that an installer writes for "name = module:function". If the interpreter's path is too long
/// for a first line, or has a blank, /bin/sh starts it, as in conda's generate_shebang_for_entry_point.
struct EntryPointScript {
  std::string name;
  std::string text;
};
/// Errors: kCorrupt unless `entry_point` has that form.
Result<EntryPointScript> MakeEntryPoint(const std::string& entry_point, const std::string& prefix);

}  // namespace ptpkg::conda
