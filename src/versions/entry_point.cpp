#include "versions/entry_point.h"

#include <algorithm>
#include <fmt/core.h>

#include "support/path.h"
#include "support/text/name_problem.h"
#include "support/text/python_name.h"
#include "support/text/text.h"

namespace ptpkg::versions {
namespace {

/// A file name that installers take, and a line of entry_points.txt can begin with: '#' and ';' begin
/// comments there, '[' a group. rattler refuses names that begin with a dot and backslashes.
bool IsProgramName(std::string_view name) {
  const bool file_name =
      name.find_first_of("/\\") == std::string_view::npos && RelPath::Parse(name).has_value();
  return file_name && !NameProblem(name) &&
         std::string_view(".#;[").find(name.front()) == std::string_view::npos;
}

/// Same rule as rattler's: Python takes letters of all alphabets.
bool IsAsciiDottedName(std::string_view name) {
  return IsDottedName(name) && std::all_of(name.begin(), name.end(), [](char c) { return c > 0; });
}

}  // namespace

std::string EntryPoint::str() const { return fmt::format("{} = {}:{}", name, module, object); }

Result<EntryPoint> ParseEntryPoint(std::string_view text) {
  const auto broken = [&](std::string_view why) {
    return Error(ErrorCode::kInvalidInput, fmt::format("'{}' is not an entry point: {}", text, why))
        .WithHint("write 'command = package.module:function'");
  };
  const std::size_t equals = text.find('=');
  const std::size_t colon = text.find(':', equals == std::string_view::npos ? text.size() : equals);
  if (colon == std::string_view::npos) return broken("it is not of the form 'name = module:function'");
  EntryPoint point{.name = std::string(Trim(text.substr(0, equals))),
                   .module = std::string(Trim(text.substr(equals + 1, colon - equals - 1))),
                   .object = std::string(Trim(text.substr(colon + 1)))};
  if (!IsProgramName(point.name))
    return broken(fmt::format("'{}' cannot be the name of a program", point.name));
  if (!IsAsciiDottedName(point.module)) return broken(fmt::format("'{}' cannot be a module", point.module));
  if (!IsAsciiDottedName(point.object)) return broken(fmt::format("'{}' cannot be a function", point.object));
  return point;
}

}  // namespace ptpkg::versions
