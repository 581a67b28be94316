// Requirements. Layer: recipe.

#include "recipe/match_spec.h"

#include <algorithm>
#include <fmt/format.h>
#include <vector>

#include "recipe/version.h"
#include "support/text.h"

namespace ptpkg::recipe {
namespace {

/// `text` cut at white space; a constraint written with blanks after ',' or '|' is put together again.
std::vector<std::string> Fields(std::string_view text) {
  std::vector<std::string> fields;
  bool glue = false;
  for (const std::string& line : Split(text, '\n')) {
    for (const std::string& word : Split(ReplaceAll(line, "\t", " "), ' ')) {
      if (word.empty()) continue;
      const bool continues = word.front() == ',' || word.front() == '|';
      if (fields.size() > 1 && (glue || continues)) {
        fields.back() += word;
      } else {
        fields.push_back(word);
      }
      const bool only_operator =
          fields.size() == 2 && fields[1].find_first_not_of("<>=!~") == std::string::npos;
      glue = word.back() == ',' || word.back() == '|' || only_operator;
    }
  }
  return fields;
}

Error BadSpec(std::string_view text, std::string_view why) {
  return Error(ErrorCode::kInvalidInput, fmt::format("'{}' is not a requirement: {}", text, why))
      .WithHint("write 'name', 'name version' or 'name version build', for example 'numpy >=1.21,<2'");
}

}  // namespace

bool IsPackageName(std::string_view name) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
  };
  return !name.empty() && name.front() != '.' && name.front() != '-' &&
         std::all_of(name.begin(), name.end(), allowed);
}

std::string SingleVersion(std::string_view constraint) {
  for (const std::string_view op : {std::string_view("=="), std::string_view("=")}) {
    if (constraint.starts_with(op)) {
      constraint.remove_prefix(op.size());
      break;
    }
  }
  if (constraint.ends_with(".*")) constraint.remove_suffix(2);
  return Version::Parse(constraint) ? std::string(constraint) : "";
}

Result<MatchSpec> ParseMatchSpec(std::string_view text) {
  if (text.find("::") != std::string_view::npos || text.find('[') != std::string_view::npos) {
    return Error(ErrorCode::kUnsupported,
                 fmt::format("requirement '{}' names a channel or uses brackets", text))
        .WithHint("write 'name [version [build]]'; channels are chosen on the command line");
  }
  std::vector<std::string> fields = Fields(text);
  if (fields.empty()) return BadSpec(text, "it is empty");
  // "numpy>=1.21": the constraint may follow the name directly.
  if (const std::size_t op = fields[0].find_first_of("<>=!~"); op != std::string::npos) {
    const std::string constraint = fields[0].substr(op);
    fields[0].resize(op);
    if (fields.size() > 1 && constraint.find_first_not_of("<>=!~") == std::string::npos) {
      fields[1].insert(0, constraint);
    } else {
      fields.insert(fields.begin() + 1, constraint);
    }
  }
  if (fields.size() > 3) return BadSpec(text, "it has more than three fields");
  if (!IsPackageName(fields[0])) {
    return BadSpec(text, fmt::format("'{}' is not a package name", fields[0]));
  }
  MatchSpec spec{fields[0], fields.size() > 1 ? fields[1] : "", fields.size() > 2 ? fields[2] : ""};
  if (!spec.version.empty()) {
    static const Version kAny = *Version::Parse("0");
    const Result<bool> matches = MatchesConstraint(kAny, spec.version);
    if (!matches) return BadSpec(text, matches.error().message());
  }
  return spec;
}

}  // namespace ptpkg::recipe
