#include "spec/entry_point.h"

#include <fmt/core.h>

#include "support/path.h"
#include "support/text.h"

namespace ptpkg::spec {
namespace {

bool IsFileName(std::string_view name) {
  return name.find('/') == std::string_view::npos && RelPath::Parse(name).has_value();
}

bool IsOneWord(std::string_view part) {
  return !part.empty() && part.find_first_of(" \t\r\n'\"();#\\") == std::string_view::npos;
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
  if (!IsFileName(point.name)) return broken(fmt::format("'{}' cannot be the name of a program", point.name));
  if (!IsOneWord(point.module)) return broken(fmt::format("'{}' cannot be a module", point.module));
  if (!IsOneWord(point.object)) return broken(fmt::format("'{}' cannot be a function", point.object));
  return point;
}

}  // namespace ptpkg::spec
