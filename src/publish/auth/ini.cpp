// Reads one section of an INI file like Python's configparser and AWS's own clients: case-insensitive keys,
// `=` or `:`, and lines with a deeper indent continue a value and are not keys. Errors name file and line
// but never the text, which can be a password.

#include "publish/auth/ini.h"

#include <fmt/core.h>

#include "support/text/text.h"

namespace ptpkg::publish {
namespace {

constexpr std::uint64_t kIniBytes = 64U << 10U;

/// False for a line that is neither "key = value" nor "key: value".
bool TakeLine(std::string_view line, IniSection& section) {
  const std::size_t sign = line.find_first_of("=:");
  if (sign == std::string_view::npos) return false;
  section[ToLower(Trim(line.substr(0, sign)))] = std::string(Trim(line.substr(sign + 1)));
  return true;
}

}  // namespace

std::optional<AbsPath> PathOfVariable(const Env& env, const std::string& variable) {
  const std::string text = env.Variable(variable);
  if (text.empty()) return std::nullopt;
  const auto path = AbsPath::Resolve(env.cwd, text);
  return path ? std::optional(*path) : std::nullopt;
}

Result<std::optional<IniSection>> ReadIniSection(Env& env, const AbsPath& file, const std::string& name) {
  PTPKG_TRY(const bool there, Exists(env.fs, file));
  if (!there) return std::optional<IniSection>();
  PTPKG_TRY(const std::string text, ReadFile(env.fs, file, kIniBytes));
  std::optional<IniSection> section;
  bool inside = false;
  std::size_t indent_of_keys = std::string::npos;
  int number = 0;
  for (const std::string& line : SplitLines(text)) {
    ++number;
    const std::string_view trimmed = Trim(line);
    if (trimmed.empty() || trimmed.front() == '#' || trimmed.front() == ';') continue;
    const std::size_t indent = line.find_first_not_of(" \t");
    if (trimmed.front() == '[') {
      inside = Trim(trimmed.substr(1, trimmed.rfind(']') - 1)) == name;
      if (inside) section.emplace();
      indent_of_keys = std::string::npos;
    } else if (inside && (indent_of_keys == std::string::npos || indent <= indent_of_keys)) {
      indent_of_keys = indent;
      if (TakeLine(trimmed, *section)) continue;
      return Error(ErrorCode::kInvalidInput,
                   fmt::format("{}:{}: neither a section nor 'key = value'", file.str(), number));
    }
  }
  return section;
}

}  // namespace ptpkg::publish
