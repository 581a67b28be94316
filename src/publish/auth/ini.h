#pragma once
// Parses ini files such as ~/.pypirc. Layer: publish. Source: Python's configparser, which the ecosystem's
// clients read them with.

#include <map>
#include <optional>
#include <string>

#include "support/env.h"

namespace ptpkg::publish {

/// Values by key in lower case.
using IniSection = std::map<std::string, std::string>;

/// The section below "[name]"; nullopt when the file has none, or is not there. Of a value that goes on in
/// lines indented deeper the first line counts. Errors: kInvalidInput at the line that is none; kIo.
Result<std::optional<IniSection>> ReadIniSection(Env& env, const AbsPath& file, const std::string& name);

/// The path that a variable holds, from the current directory on; nullopt where it holds none.
std::optional<AbsPath> PathOfVariable(const Env& env, const std::string& variable);

}  // namespace ptpkg::publish
