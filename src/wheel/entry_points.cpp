#include "wheel/entry_points.h"

#include <algorithm>
#include <fmt/core.h>
#include <set>
#include <tuple>

#include "support/python_name.h"
#include "support/text.h"

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

}  // namespace

Result<std::vector<EntryPoint>> ParseEntryPoints(std::string_view text, const std::string& name) {
  std::vector<EntryPoint> points;
  std::set<std::pair<std::string, std::string>> seen;  // group and name
  std::set<std::string> groups;
  std::string group;
  int number = 0;
  for (const std::string& raw : SplitLines(text)) {
    const Line line{name, ++number, raw};
    const std::string_view content = Trim(raw);
    if (content.empty() || content.front() == '#' || content.front() == ';') continue;
    if (content.front() == '[') {
      if (content.back() != ']') return line.Fail("a group's name is not closed by ']'");
      group = std::string(Trim(content.substr(1, content.size() - 2)));
      if (group.empty()) return line.Fail("a group has no name");
      if (!groups.insert(group).second) return line.Fail(fmt::format("the group [{}] occurs twice", group));
      continue;
    }
    const std::size_t equals = content.find('=');
    if (group.empty()) return line.Fail("an entry point stands before the first [group]");
    if (equals == std::string_view::npos) return line.Fail("expected 'name = module:object'");
    PTPKG_TRY(EntryPoint point, ParseReference(Trim(content.substr(equals + 1)), line));
    point.group = group;
    point.name = std::string(Trim(content.substr(0, equals)));
    if (point.name.empty()) return line.Fail("an entry point has no name");
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
