// Reads an INI file like Python's configparser.RawConfigParser, with which twine and AWS's clients read it.
// They refuse a file for any faulty line. Here only the faults of the wanted section count, and those that
// can hide it. Errors name file and line but never the text, which can be a password.

#include "publish/auth/ini.h"

#include <algorithm>
#include <fmt/core.h>
#include <vector>

#include "support/text/text.h"
#include "support/text/utf8.h"

namespace ptpkg::publish {
namespace {

constexpr std::uint64_t kIniBytes = 64U << 10U;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

/// True for the characters that str.strip() of Python removes. The clipboard often brings a no-break space.
bool IsPythonBlank(std::string_view character) {
  static const std::vector<std::string_view> kBlanks = Utf8Characters(
      " \t\n\v\f\r\x1C\x1D\x1E\x1F\xC2\x85\xC2\xA0\xE1\x9A\x80"
      "\xE2\x80\x80\xE2\x80\x81\xE2\x80\x82\xE2\x80\x83\xE2\x80\x84\xE2\x80\x85\xE2\x80\x86\xE2\x80\x87"
      "\xE2\x80\x88\xE2\x80\x89\xE2\x80\x8A\xE2\x80\xA8\xE2\x80\xA9\xE2\x80\xAF\xE2\x81\x9F\xE3\x80\x80");
  return std::ranges::find(kBlanks, character) != kBlanks.end();
}

std::string_view Stripped(std::string_view text) {
  const std::vector<std::string_view> characters = Utf8Characters(text);
  const auto first = std::ranges::find_if_not(characters, IsPythonBlank);
  if (first == characters.end()) return text.substr(text.size());
  const auto last = std::find_if_not(characters.rbegin(), characters.rend(), IsPythonBlank);
  return {first->data(), static_cast<std::size_t>(last->data() + last->size() - first->data())};
}

/// A line that cannot be read.
struct IniFault {
  int number;           ///< Of the line, from 1.
  std::string section;  ///< The section that the line is in; "" = it comes before all sections.
  std::string line;
  std::string wrong;
};

/// Sections by name, line by line.
class IniReader {
 public:
  void Take(std::string_view line) {
    ++number_;
    std::string wrong = WhatIsWrong(line);
    if (!wrong.empty()) faults_.push_back({number_, name_, std::string(line), std::move(wrong)});
  }

  /// The first fault of the section. If the section is missing, the first faulty line that can be its header.
  [[nodiscard]] const IniFault* FaultOf(const std::string& name) const {
    const bool is_there = sections_.contains(name);
    const auto found = std::ranges::find_if(faults_, [&](const IniFault& fault) {
      if (is_there) return fault.section == name;
      std::string text = fault.line;
      for (const std::string_view part : {kByteOrderMark, std::string_view("["), std::string_view("]")})
        text = ReplaceAll(text, part, "");
      return text.size() < fault.line.size() && Stripped(text) == name;
    });
    return found == faults_.end() ? nullptr : &*found;
  }

  [[nodiscard]] const IniSection* Find(const std::string& name) const {
    const auto found = sections_.find(name);
    return found == sections_.end() ? nullptr : &found->second;
  }

 private:
  /// "" if nothing is.
  std::string WhatIsWrong(std::string_view line) {
    const std::string_view text = Stripped(line);
    if (text.starts_with('#') || text.starts_with(';')) return "";
    // In characters, as Python counts.
    const std::string_view before = line.substr(0, static_cast<std::size_t>(text.data() - line.data()));
    const std::size_t indent = Utf8Characters(before).size();
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
    if (number_ == 1 && text.starts_with(kByteOrderMark))
      return "a byte order mark precedes the text, which twine and AWS's clients refuse: save the file "
             "without it";
    return section_ == nullptr ? "no section begins before this line" : TakeKey(text);
  }

  std::string BeginSection(const std::string& name) {
    const auto [at, is_new] = sections_.try_emplace(name);
    section_ = &at->second;
    name_ = name;
    return is_new || name == kDefaultSection ? "" : fmt::format("section '{}' is there twice", name);
  }

  /// Takes "key = value" or "key: value".
  std::string TakeKey(std::string_view text) {
    const std::size_t sign = text.find_first_of("=:");
    if (sign == std::string_view::npos || sign == 0) return "neither a section nor 'key = value'";
    const std::string key = ToLower(Stripped(text.substr(0, sign)));
    const auto [at, is_new] = section_->emplace(key, Stripped(text.substr(sign + 1)));
    value_ = &at->second;
    return is_new ? "" : fmt::format("'{}' is there twice", key);
  }

  std::map<std::string, IniSection> sections_;
  std::vector<IniFault> faults_;
  int number_ = 0;  // of the line
  std::string name_;
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
  for (const std::string& line : SplitLines(ReplaceAll(ReplaceAll(text, "\r\n", "\n"), "\r", "\n")))
    reader.Take(line);
  if (const IniFault* fault = reader.FaultOf(name); fault != nullptr)
    return Error(ErrorCode::kInvalidInput, fmt::format("{}:{}: {}", file.str(), fault->number, fault->wrong));
  const IniSection* const found = reader.Find(name);
  if (found == nullptr) return std::optional<IniSection>();
  IniSection section = *found;
  for (auto& [key, value] : section) value.resize(value.find_last_not_of('\n') + 1);  // npos + 1 = 0
  return std::optional(std::move(section));
}

}  // namespace ptpkg::publish
