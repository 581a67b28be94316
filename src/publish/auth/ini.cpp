// Reads an INI file like Python's configparser.RawConfigParser, with which twine and AWS's clients read it. A
// faulty line of any section ends the reading, as there. Errors name file and line but never the text, which
// can be a password.

#include "publish/auth/ini.h"

#include <fmt/core.h>

#include "support/text/text.h"

namespace ptpkg::publish {
namespace {

constexpr std::uint64_t kIniBytes = 64U << 10U;

/// Sections by name, line by line.
class IniReader {
 public:
  /// Returns what is wrong with the line; "" if nothing is.
  std::string Take(std::string_view line) {
    const std::string_view text = Trim(line);
    if (text.starts_with('#') || text.starts_with(';')) return "";
    const std::size_t indent = line.find_first_not_of(" \t\f\v");
    if (value_ != nullptr && (text.empty() || indent > indent_)) {
      value_->append("\n").append(text);
      return "";
    }
    if (text.empty()) return "";
    indent_ = indent;
    value_ = nullptr;
    const std::size_t end = text.rfind(']');
    if (text.front() == '[' && end != std::string_view::npos && end > 1)
      return BeginSection(std::string(text.substr(1, end - 1)));
    return section_ == nullptr ? "no section begins before this line" : TakeKey(text);
  }

  [[nodiscard]] const IniSection* Find(const std::string& name) const {
    const auto found = sections_.find(name);
    return found == sections_.end() ? nullptr : &found->second;
  }

 private:
  std::string BeginSection(const std::string& name) {
    const auto [at, is_new] = sections_.try_emplace(name);
    section_ = &at->second;
    return is_new || name == kDefaultSection ? "" : fmt::format("section '{}' is there twice", name);
  }

  /// Takes "key = value" or "key: value".
  std::string TakeKey(std::string_view text) {
    const std::size_t sign = text.find_first_of("=:");
    if (sign == std::string_view::npos || sign == 0) return "neither a section nor 'key = value'";
    const std::string key = ToLower(Trim(text.substr(0, sign)));
    const auto [at, is_new] = section_->emplace(key, Trim(text.substr(sign + 1)));
    value_ = &at->second;
    return is_new ? "" : fmt::format("'{}' is there twice", key);
  }

  std::map<std::string, IniSection> sections_;
  IniSection* section_ = nullptr;
  std::string* value_ = nullptr;  // continues in deeper lines
  std::size_t indent_ = 0;        // of its key
};

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
  IniReader reader;
  int number = 0;
  for (const std::string& line : SplitLines(ReplaceAll(ReplaceAll(text, "\r\n", "\n"), "\r", "\n"))) {
    ++number;
    if (const std::string wrong = reader.Take(line); !wrong.empty())
      return Error(ErrorCode::kInvalidInput, fmt::format("{}:{}: {}", file.str(), number, wrong));
  }
  const IniSection* const found = reader.Find(name);
  if (found == nullptr) return std::optional<IniSection>();
  IniSection section = *found;
  for (auto& [key, value] : section) value.resize(value.find_last_not_of('\n') + 1);  // npos + 1 = 0
  return std::optional(std::move(section));
}

}  // namespace ptpkg::publish
