// Reads one section of an INI file like Python's configparser and AWS's own clients: case-insensitive keys,
// `=` or `:`, and lines with a deeper indent continue a value and are not keys. Errors name file and line
// but never the text, which can be a password.

#include "publish/auth/ini.h"

#include <fmt/core.h>

#include "support/text/text.h"

namespace ptpkg::publish {
namespace {

constexpr std::uint64_t kIniBytes = 64U << 10U;

/// Takes "key = value" or "key: value". Returns what is wrong with the line; "" if nothing is.
std::string TakeLine(std::string_view line, IniSection& section) {
  const std::size_t sign = line.find_first_of("=:");
  if (sign == std::string_view::npos) return "neither a section nor 'key = value'";
  const std::string key = ToLower(Trim(line.substr(0, sign)));
  const bool is_new = section.emplace(key, Trim(line.substr(sign + 1))).second;
  return is_new ? "" : fmt::format("'{}' is there twice", key);
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
      if (inside && section)
        return Error(ErrorCode::kInvalidInput,
                     fmt::format("{}:{}: section '{}' is there twice", file.str(), number, name));
      if (inside) section.emplace();
      indent_of_keys = std::string::npos;
    } else if (inside && (indent_of_keys == std::string::npos || indent <= indent_of_keys)) {
      indent_of_keys = indent;
      const std::string wrong = TakeLine(trimmed, *section);
      if (!wrong.empty())
        return Error(ErrorCode::kInvalidInput, fmt::format("{}:{}: {}", file.str(), number, wrong));
    }
  }
  return section;
}

}  // namespace ptpkg::publish
