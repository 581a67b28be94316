// pip reads this file with importlib.metadata, installer with configparser, and uv with a parser of its own.
// The three read the dialect of INI differently. A line on which they disagree is an error: the scripts of an
// environment would depend on its installer. They disagree about:
// - comments with ';' and indented lines
// - line breaks of Unicode
// - the group [DEFAULT], and blanks inside the brackets of a group
// - blanks and brackets in scripts
//
// Entry points of other groups are read by the program that owns the group, so rules for scripts don't apply.

#include "wheel/metadata/entry_points.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>
#include <set>
#include <tuple>

#include "support/text/python_name.h"
#include "support/text/text.h"
#include "wheel/wheel_characters.h"

namespace ptpkg::wheel {
namespace {

struct Line {
  const std::string& file;
  int number;
  std::string_view text;

  [[nodiscard]] Error Fail(std::string message) const {
    SourceSpan span;
    span.file = file;
    span.line = number;
    span.length = std::max(1, static_cast<int>(text.size()));
    span.excerpt = std::string(text);
    return Error(ErrorCode::kInvalidInput, std::move(message)).At(std::move(span));
  }
};

/// Readers of Python take other line breaks for ends of lines, too.
/// importlib.metadata cuts the text with str.splitlines, which ends a line at each of these.
bool HasOtherBreak(std::string_view text) {
  constexpr std::array<std::string_view, 9> kBreaks = {"\r",   "\v",       "\f",     "\x1c",  "\x1d",
                                                       "\x1e", "\xc2\x85", "\u2028", "\u2029"};
  return std::any_of(kBreaks.begin(), kBreaks.end(),
                     [&](std::string_view one) { return text.find(one) != std::string_view::npos; });
}

/// pip's pattern: '-' in the first extra alone.
/// It is ENTRY_RE of distlib, with which pip reads the scripts that it makes.
bool AreExtras(const std::vector<std::string>& extras) {
  for (std::size_t i = 0; i < extras.size(); ++i) {
    const bool legal = std::all_of(extras[i].begin(), extras[i].end(), [&](char c) {
      return IsAlphaNumeric(c) || c == '_' || (c == '-' && i == 0);
    });
    if (extras[i].empty() || !legal) return false;
  }
  return true;
}

/// "module[:object] [\[extra, …\]]"
Result<EntryPoint> ParseReference(std::string_view value, const Line& line) {
  EntryPoint point;
  if (const std::size_t open = value.find('['); open != std::string_view::npos) {
    if (value.back() != ']') return line.Fail("the extras of an entry point are not closed by ']'");
    for (const std::string& extra : Split(value.substr(open + 1, value.size() - open - 2), ',')) {
      point.extras.emplace_back(Trim(extra));
    }
    value = Trim(value.substr(0, open));
  }
  const std::size_t colon = value.find(':');
  point.module = std::string(Trim(value.substr(0, colon)));
  if (colon != std::string_view::npos) point.object = std::string(Trim(value.substr(colon + 1)));
  const bool object_valid = colon == std::string_view::npos || IsDottedName(point.object);
  if (!IsDottedName(point.module) || !object_valid) {
    return line.Fail(fmt::format("'{}' is not a reference of the form module:object", value));
  }
  return point;
}

/// "[group]". installer copies [DEFAULT] into every group; blanks make another name.
Result<std::string> ParseGroup(std::string_view content, const Line& line) {
  if (content.back() != ']') return line.Fail("a group's name is not closed by ']'");
  const std::string_view group = content.substr(1, content.size() - 2);
  if (Trim(group).empty()) return line.Fail("a group has no name");
  if (group != Trim(group) || group.find_first_of("[]") != std::string_view::npos || group == "DEFAULT")
    return line.Fail(fmt::format("readers do not agree on the group '{}'", group));
  return std::string(group);
}

/// A line "name = module:object [extras]" of `group`.
Result<EntryPoint> ParsePoint(std::string_view content, const std::string& group, const Line& line) {
  const std::size_t equals = content.find('=');
  if (group.empty()) return line.Fail("an entry point precedes the first [group]");
  if (equals == std::string_view::npos) return line.Fail("expected 'name = module:object'");
  const std::string_view value = Trim(content.substr(equals + 1));
  PTPKG_TRY(EntryPoint point, ParseReference(value, line));
  point.group = group;
  point.name = std::string(Trim(content.substr(0, equals)));
  if (point.name.empty()) return line.Fail("an entry point has no name");
  if (point.IsScript() && !AreExtras(point.extras))
    return line.Fail("the extras of a script are not names joined by commas");
  // ENTRY_RE has no blanks in the callable, and reads a '[' in the name as the beginning of extras.
  const std::string_view reference = Trim(value.substr(0, value.find('[')));
  if (point.IsScript() && reference.find_first_of(" \t") != std::string_view::npos)
    return line.Fail(fmt::format("pip reads no blanks in the script reference '{}'", reference));
  if (point.IsScript() && point.extras.empty() && point.name.find_first_of("[]") != std::string::npos)
    return line.Fail(fmt::format("pip takes the brackets of the script name '{}' for extras", point.name));
  return point;
}

}  // namespace

Result<std::vector<EntryPoint>> ParseEntryPoints(std::string_view text, const std::string& name) {
  std::vector<EntryPoint> points;
  std::set<std::pair<std::string, std::string>> seen;  // group and name
  std::set<std::string> groups;
  std::string group;
  std::size_t indentation = 0;
  bool continues = false;  // whether a deeper line would belong to the one before
  int number = 0;
  for (const std::string& raw : SplitLines(text)) {
    const Line line{name, ++number, raw};
    const std::string_view content = Trim(raw);
    if (HasOtherBreak(raw)) return line.Fail("a line has a line break that only some readers recognise");
    if (content.empty() || content.front() == '#') continue;
    if (content.front() == ';') return line.Fail("pip does not treat ';' as a comment");
    const std::size_t indented = raw.find(content.front());
    // configparser appends a deeper line to the value before it. importlib.metadata reads it as a new line.
    if (continues && indented > indentation)
      return line.Fail("readers disagree whether an indented line continues the previous line");
    indentation = indented;
    continues = content.front() != '[';
    if (content.front() == '[') {
      PTPKG_TRY(group, ParseGroup(content, line));
      // configparser is strict by default and raises DuplicateSectionError.
      if (!groups.insert(group).second) return line.Fail(fmt::format("the group [{}] occurs twice", group));
      continue;
    }
    PTPKG_TRY(EntryPoint point, ParsePoint(content, group, line));
    if (!seen.emplace(point.group, point.name).second)
      return line.Fail(fmt::format("'{}' occurs twice in [{}]", point.name, group));
    points.push_back(std::move(point));
  }
  return points;
}

std::string FormatEntryPoints(std::vector<EntryPoint> entry_points) {
  std::sort(entry_points.begin(), entry_points.end(), [](const EntryPoint& left, const EntryPoint& right) {
    return std::tie(left.group, left.name) < std::tie(right.group, right.name);
  });
  std::string out;
  std::string group;
  for (const EntryPoint& point : entry_points) {
    if (point.group != group) {
      out += fmt::format("{}[{}]\n", out.empty() ? "" : "\n", point.group);
      group = point.group;
    }
    out += fmt::format("{} = {}{}{}{}\n", point.name, point.module,
                       point.object.empty() ? "" : ":" + point.object, point.extras.empty() ? "" : " ",
                       point.extras.empty() ? "" : "[" + Join(point.extras, ",") + "]");
  }
  return out;
}

}  // namespace ptpkg::wheel
