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

/// The section whose values count for all others in Python's readers. AWS's clients know no such section.
inline constexpr const char* kDefaultSection = "DEFAULT";

/// Reads the section "[name]". nullopt: the section or the file does not exist. Lines with a deeper indent
/// than a key continue its value, which then holds line breaks. Errors: kIo; kInvalidInput at a malformed
/// line of the section, or at a malformed line that can be its header. The reader ignores malformed lines
/// elsewhere.
Result<std::optional<IniSection>> ReadIniSection(Env& env, const AbsPath& file, const std::string& name);

/// The path in a variable, relative to the current directory; nullopt where it holds none.
std::optional<AbsPath> PathOfVariable(const Env& env, const std::string& variable);

}  // namespace ptpkg::publish
