// Arguments of several verbs: KEY=VALUE, lists of paths. Layer: cli.

#include <fmt/core.h>

#include "cli/verbs/verbs.h"
#include "support/text/json.h"

namespace ptpkg::cli {

namespace {

/// The value may be empty here: a variant key can have that value, a source can't.
Result<std::pair<std::string, std::string>> SplitAtEquals(std::string_view flag, const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    return Error(ErrorCode::kUsage, fmt::format("{} '{}' is not of the form NAME=VALUE", flag, text));
  }
  return std::pair(text.substr(0, equals), text.substr(equals + 1));
}

}  // namespace

Result<std::pair<std::string, std::string>> SplitAssignment(std::string_view flag, const std::string& text) {
  PTPKG_TRY(auto parts, SplitAtEquals(flag, text));
  if (parts.second.empty()) {
    return Error(ErrorCode::kUsage, fmt::format("{} '{}' has nothing behind its '='", flag, text))
        .WithHint("set the shell variable that it came from, or leave the option out");
  }
  return parts;
}

Result<std::vector<std::pair<std::string, std::string>>> SplitAssignments(
    std::string_view flag, const std::vector<std::string>& texts) {
  std::vector<std::pair<std::string, std::string>> assignments;
  for (const std::string& text : texts) {
    PTPKG_TRY(auto assignment, SplitAssignment(flag, text));
    assignments.push_back(std::move(assignment));
  }
  return assignments;
}

Result<ExitCode> FinishOutcomes(Context& context, const Json& outcomes, const std::optional<Error>& failure) {
  if (failure) {
    context.SetErrorDetails({{"outcomes", outcomes}});
    return Error(*failure);
  }
  if (context.json()) context.PrintJson(outcomes);
  return kDone;
}

Result<std::map<std::string, std::vector<std::string>>> ParseSelect(const std::vector<std::string>& texts) {
  std::map<std::string, std::vector<std::string>> select;
  for (const std::string& text : texts) {
    PTPKG_TRY(auto assignment, SplitAtEquals("--select", text));
    // A repeated key widens the choice, and another key narrows it.
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

Result<AbsPath> ResolveInput(const Context& context, const std::string& text) {
  PTPKG_TRY(AbsPath path, context.Path(text));
  PTPKG_TRY(const bool there, Exists(context.env().fs, path));
  if (there) return path;
  // 'dist' is the default output of a build, so nothing was built yet, or elsewhere. Other paths that are
  // missing are mostly relative to another directory.
  return Error(ErrorCode::kNotFound, fmt::format("'{}' does not exist", path.str()))
      .WithHint(path.Name() == "dist"
                    ? "'ptpkg build RECIPE' makes it: name a recipe, or another output directory"
                    : fmt::format("relative paths begin at '{}'", context.env().cwd.str()));
}

Result<std::vector<AbsPath>> ResolveExisting(const Context& context, const std::vector<std::string>& texts) {
  std::vector<AbsPath> paths;
  for (const std::string& text : texts) {
    PTPKG_TRY(AbsPath path, ResolveInput(context, text));
    paths.push_back(std::move(path));
  }
  return paths;
}

Result<std::vector<AbsPath>> ResolveEach(const Context& context, const std::vector<std::string>& texts) {
  // With several inputs, a missing one fails alone: the verb reports it and goes on with the rest.
  return texts.size() == 1 ? ResolveExisting(context, texts) : ResolvePaths(context, texts);
}

Result<std::optional<AbsPath>> ResolveFile(const Context& context, const std::optional<std::string>& text) {
  if (!text) return std::optional<AbsPath>();
  PTPKG_TRY(AbsPath path, context.Path(*text));
  return std::optional(std::move(path));
}

}  // namespace ptpkg::cli
