// Writes the YAML of packages, which other tools read with parsers of YAML 1.1 or 1.2. So a scalar is plain
// only if both read it as the same text: it begins with a letter, has only harmless characters, and is not
// one of 1.1's words such as "no" or "y". Everything else is quoted as JSON, which is valid YAML.

#include "recipe/document/yaml_text.h"

#include <algorithm>
#include <array>

#include "support/text/json.h"
#include "support/text/text.h"

namespace ptpkg::recipe {
namespace {

bool IsPlain(const std::string& text) {
  constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  constexpr std::string_view kOthers = "0123456789_./+-=<>,*!|~ $";
  // Words that YAML 1.1 does not read as text.
  constexpr std::array<std::string_view, 9> kWords = {"true", "false", "yes", "no", "on",
                                                      "off",  "null",  "y",   "n"};
  if (text.empty() || kLetters.find(text.front()) == std::string_view::npos || text.back() == ' ')
    return false;
  const std::string lower = ToLower(text);
  if (std::find(kWords.begin(), kWords.end(), lower) != kWords.end()) return false;
  return std::all_of(text.begin(), text.end(), [&](char c) {
    return kLetters.find(c) != std::string_view::npos || kOthers.find(c) != std::string_view::npos;
  });
}

/// A JSON string is a double-quoted scalar of YAML.
std::string Scalar(const Json& value) {
  if (value.is_string() && IsPlain(value.get_ref<const std::string&>())) return value.get<std::string>();
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void Write(const Json& value, const std::string& indent, std::string& out);

/// Writes the value after "key:" or "-" : a scalar on the same line, or a block on the next ones.
void WriteValue(const Json& value, const std::string& indent, bool in_list, std::string& out) {
  if (!value.is_structured() || value.empty()) {
    out += " " + Scalar(value) + "\n";
    return;
  }
  if (in_list && value.is_object()) {
    // "- key: …": the first key stands behind the dash, which is as wide as one level.
    std::string block;
    Write(value, indent + "  ", block);
    out += " " + block.substr(indent.size() + 2);
    return;
  }
  out += "\n";
  Write(value, indent + "  ", out);
}

void Write(const Json& value, const std::string& indent, std::string& out) {
  if (value.is_object()) {
    for (const auto& [key, item] : value.items()) {
      out += indent + Scalar(key) + ":";
      WriteValue(item, indent, false, out);
    }
    return;
  }
  for (const Json& item : value) {
    out += indent + "-";
    WriteValue(item, indent, true, out);
  }
}

}  // namespace

std::string YamlText(const Json& value) {
  if (!value.is_structured() || value.empty()) return Scalar(value) + "\n";
  std::string out;
  Write(value, "", out);
  return out;
}

}  // namespace ptpkg::recipe
