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

/// The section "[name]"; nullopt when there is no such section or file. A value goes on in lines that are
/// indented deeper than its key, and then has line breaks. Errors: kIo, kInvalidInput at a malformed line of
/// the section, or at one that can be its header. Malformed lines elsewhere are passed over.
Result<std::optional<IniSection>> ReadIniSection(Env& env, const AbsPath& file, const std::string& name);

/// The path in a variable, relative to the current directory; nullopt where it holds none.
std::optional<AbsPath> PathOfVariable(const Env& env, const std::string& variable);

}  // namespace ptpkg::publish
