#pragma once
// Names of script variables (docs/formats/build-environment.md). Layer: recipe. builder/env/environment.h
// gives them their values; its test holds both to this list.

#include <span>
#include <string_view>

namespace ptpkg::recipe {

/// Every variable that a build script may find, but the variant's keys and `script.env`. Sorted.
std::span<const std::string_view> ScriptVariables();

[[nodiscard]] bool IsScriptVariable(std::string_view name);

/// A variable of the table, or a name in capitals, which a package of the build environment can export.
[[nodiscard]] bool MayBeScriptVariable(std::string_view name);

}  // namespace ptpkg::recipe
