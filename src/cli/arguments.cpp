// Arguments of several verbs: KEY=VALUE, lists of paths. Layer: cli.

#include <fmt/core.h>

#include "cli/verbs.h"

namespace ptpkg::cli {

Result<std::pair<std::string, std::string>> SplitAssignment(std::string_view flag, const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    return Error(ErrorCode::kUsage, fmt::format("{} '{}' is not of the form NAME=VALUE", flag, text));
  }
  return std::pair(text.substr(0, equals), text.substr(equals + 1));
}

Result<std::map<std::string, std::vector<std::string>>> ParseSelect(const std::vector<std::string>& texts) {
  std::map<std::string, std::vector<std::string>> select;
  for (const std::string& text : texts) {
    PTPKG_TRY(auto assignment, SplitAssignment("--select", text));
    select[assignment.first].push_back(std::move(assignment.second));
  }
  return select;
}

Result<std::vector<AbsPath>> ResolvePaths(const Context& context, const std::vector<std::string>& texts) {
  std::vector<AbsPath> paths;
  for (const std::string& text : texts) {
    PTPKG_TRY(AbsPath path, context.Path(text));
    paths.push_back(std::move(path));
  }
  return paths;
}

Result<std::optional<AbsPath>> ResolveFile(const Context& context, std::string_view flag,
                                           const std::optional<std::string>& text) {
  if (!text) return std::optional<AbsPath>();
  if (text->empty()) return Error(ErrorCode::kUsage, fmt::format("{} needs a file", flag));
  PTPKG_TRY(AbsPath path, context.Path(*text));
  return std::optional(std::move(path));
}

}  // namespace ptpkg::cli
