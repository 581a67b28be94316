// A spec is read in three steps. The name ends at the first blank or operator. Blanks separate the remaining
// fields, unless an operator next to the blank shows that the version goes on. A lone field "1.21=py311_0" is
// split into version and build. Each spec that Parse returns has passed Constraint::Of, so matching it later
// can't fail on its text.

#include "versions/match_spec.h"

#include <algorithm>
#include <fmt/core.h>
#include <utility>

#include "support/text/text.h"
#include "versions/constraint.h"
#include "versions/package_names.h"

namespace ptpkg::versions {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";
constexpr const char* kSpecForm =
    "write 'name', 'name version' or 'name version build', for example 'numpy >=1.21,<2'";

/// The version and build fields of `text`. A version written with blanks around ',', '|', parentheses or
/// after an operator is put together again.
std::vector<std::string> Fields(std::string_view text) {
  std::vector<std::string> fields;
  while (true) {
    text = text.substr(std::min(text.find_first_not_of(kBlanks), text.size()));
    if (text.empty()) return fields;
    const std::string_view word = text.substr(0, text.find_first_of(kBlanks));
    text.remove_prefix(word.size());
    constexpr std::string_view kOpen = ",|(<>=!~";
    const bool glued =
        fields.size() == 1 && (std::string_view(",|)").find(word.front()) != std::string_view::npos ||
                               kOpen.find(fields.back().back()) != std::string_view::npos);
    if (glued) {
      fields.back() += word;
    } else {
      fields.emplace_back(word);
    }
  }
}

/// "1.21=py311_0" → "1.21" and "py311_0": conda takes a last '=' for the separator of the build.
void SplitBuild(std::vector<std::string>& fields) {
  if (fields.size() == 2 && fields[1].size() > 1 && fields[1].front() == '=') fields[1].erase(0, 1);
  if (fields.size() != 1) return;
  const std::size_t equals = fields[0].rfind('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == fields[0].size()) return;
  const std::string build = fields[0].substr(equals + 1);
  const bool operator_part =
      std::string_view("=!|,<>~(").find(fields[0][equals - 1]) != std::string_view::npos;
  // conda excludes operators and '-' from such a build, too (models/match_spec.py,
  // _parse_version_plus_build).
  if (operator_part || build.find_first_of("-,|<>~()") != std::string::npos) return;
  fields[0].resize(equals);
  fields.push_back(build);
}

/// Why `name` names no package; "NumPy" is what PyPI calls numpy.
Error BadName(std::string_view text, std::string_view name, const Error& fault) {
  Error error(ErrorCode::kInvalidInput, fmt::format("'{}' is not a requirement: {}", text, fault.message()));
  const std::string lower = ToLower(name);
  if (lower == name || !CheckSpecName(lower)) return std::move(error).WithHint(kSpecForm);
  return std::move(error).WithHint(fmt::format("did you mean '{}'?", lower));
}

Error BadSpec(std::string_view text, std::string_view why) {
  return Error(ErrorCode::kInvalidInput, fmt::format("'{}' is not a requirement: {}", text, why))
      .WithHint(kSpecForm);
}

/// "version" and ">=1" of "version='>=1'"; quotes are optional.
Result<std::pair<std::string, std::string>> ParseBracket(std::string_view item, std::string_view text) {
  const std::size_t equals = item.find('=');
  if (equals == std::string_view::npos) return BadSpec(text, fmt::format("'{}' has no '='", Trim(item)));
  std::string_view value = Trim(item.substr(equals + 1));
  const bool quoted =
      value.size() > 1 && (value.front() == '"' || value.front() == '\'') && value.back() == value.front();
  if (quoted) value = value.substr(1, value.size() - 2);
  return std::pair(std::string(Trim(item.substr(0, equals))), std::string(value));
}

/// The items between brackets: a ',' inside quotes separates nothing.
std::vector<std::string> BracketItems(std::string_view inside) {
  std::vector<std::string> items(1);
  char quote = '\0';
  for (const char c : inside) {
    if (quote == '\0' && (c == '"' || c == '\'')) {
      quote = c;
    } else if (c == quote) {
      quote = '\0';
    }
    if (c == ',' && quote == '\0') {
      items.emplace_back();
    } else {
      items.back() += c;
    }
  }
  return items;
}

Result<MatchSpec> ParseWithBrackets(std::string_view text) {
  const std::size_t open = text.find('[');
  const std::string_view rest = Trim(text.substr(open));
  if (!rest.ends_with(']')) return BadSpec(text, "a bracket is not closed at its end");
  PTPKG_TRY(MatchSpec spec, MatchSpec::Parse(text.substr(0, open)));
  for (const std::string& item : BracketItems(rest.substr(1, rest.size() - 2))) {
    PTPKG_TRY(const auto bracket, ParseBracket(item, text));
    // The last line parses the values again: brackets in them would nest without an end.
    if (bracket.second.find_first_of("[]") != std::string::npos)
      return BadSpec(text, "a bracket is inside another one");
    if (bracket.first == "version") {
      spec.version = bracket.second;
    } else if (bracket.first == "build") {
      spec.build = bracket.second;
    } else {
      return Error(ErrorCode::kUnsupported,
                   fmt::format("requirement '{}' asks for '{}', which ptpkg does not resolve", text,
                               bracket.first))
          .WithHint("the brackets that are read are 'version' and 'build'");
    }
  }
  // The first Parse saw only the text before the bracket. This one checks the fields that the bracket
  // replaced.
  return MatchSpec::Parse(spec.str());
}

}  // namespace

std::string_view MatchSpecName(std::string_view text) {
  text = Trim(text);
  return text.substr(0, text.find_first_of(" \t\r\n<>=!~[("));
}

Result<MatchSpec> MatchSpec::Parse(std::string_view text) {
  if (text.find("::") != std::string_view::npos) {
    return Error(ErrorCode::kUnsupported, fmt::format("requirement '{}' has a channel", text))
        .WithHint("write 'name [version [build]]'; channels are chosen on the command line");
  }
  if (text.find('[') != std::string_view::npos) return ParseWithBrackets(text);
  const std::string_view name = MatchSpecName(text);
  if (Trim(text).empty()) return BadSpec(text, "it is empty");
  if (const Result<void> checked = CheckSpecName(name); !checked) return BadName(text, name, checked.error());
  std::vector<std::string> fields = Fields(Trim(text).substr(name.size()));
  SplitBuild(fields);
  if (fields.size() > 2) return BadSpec(text, "it has more than three fields");
  MatchSpec spec{.name = std::string(name)};
  if (!fields.empty()) spec.version = fields[0];
  if (fields.size() > 1) spec.build = fields[1];
  if (const Result<Constraint> checked = Constraint::Of(spec); !checked) {
    Error error = BadSpec(text, checked.error().message());
    return checked.error().code() == ErrorCode::kInvalidInput ? error : checked.error();
  }
  return spec;
}

std::string MatchSpec::str() const {
  std::string text = name;
  if (!version.empty()) {
    text += " " + version;
  } else if (!build.empty()) {
    text += " *";
  }
  if (!build.empty()) text += " " + build;
  return text;
}

Result<std::string> NormalizeMatchSpec(std::string_view text) {
  PTPKG_TRY(const MatchSpec spec, MatchSpec::Parse(text));
  return spec.str();
}

Result<std::vector<std::string>> NormalizeMatchSpecs(const std::vector<std::string>& specs) {
  std::vector<std::string> result;
  result.reserve(specs.size());
  for (const std::string& spec : specs) {
    PTPKG_TRY(std::string normal, NormalizeMatchSpec(spec));
    result.push_back(std::move(normal));
  }
  std::sort(result.begin(), result.end());
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

}  // namespace ptpkg::versions
