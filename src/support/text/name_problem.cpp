#include "support/text/name_problem.h"

#include <algorithm>
#include <fmt/core.h>

#include "support/limits.h"
#include "support/text/utf8.h"

namespace ptpkg {
namespace {

std::size_t LongestPart(std::string_view path) {
  std::size_t longest = 0;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/'), path.size());
    longest = std::max(longest, end);
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return longest;
}

}  // namespace

std::optional<std::string> DepthProblem(std::string_view path) {
  const auto depth = static_cast<std::size_t>(std::count(path.begin(), path.end(), '/'));
  if (depth <= limits::kFolderDepth) return std::nullopt;
  return fmt::format("is {} directories deep, more than {}", depth, limits::kFolderDepth);
}

std::optional<std::string> NameProblem(std::string_view path) {
  if (HasControlCharacter(path)) return "has a control character in its name";
  if (!IsUtf8(path)) return "has a name that is not UTF-8";
  if (const std::size_t part = LongestPart(path); part > limits::kNamePart) {
    return fmt::format("has a component of {} bytes in its name; file systems allow {}", part,
                       limits::kNamePart);
  }
  if (path.size() > limits::kName) return fmt::format("has a name of more than {} bytes", limits::kName);
  return DepthProblem(path);
}

std::string ShownName(std::string_view path) {
  constexpr std::size_t kShown = 200;
  if (path.size() <= kShown) return Printable(path);
  return Printable(path.substr(0, kShown / 2)) + "…" + Printable(path.substr(path.size() - kShown / 2));
}

}  // namespace ptpkg
