#include "builder/env/environment_file.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>

#include "support/process/process.h"
#include "support/text/text.h"

namespace ptpkg::builder {

namespace {

constexpr std::string_view kRecipeLine = "# recipe: ";
constexpr std::string_view kSubjectLine = "# subject: ";
constexpr std::string_view kRootLine = "# root: ";

}  // namespace

bool IsShellName(std::string_view name) {
  const auto fits = [](char byte) {
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') ||
           byte == '_';
  };
  return !name.empty() && !(name.front() >= '0' && name.front() <= '9') &&
         std::all_of(name.begin(), name.end(), fits);
}

Result<void> WriteEnvironmentFile(Fs& fs, const BuildInput& input, const ScriptContext& place) {
  std::string text = "# Written by ptpkg, for bash: the environment of a build script.\n";
  text += fmt::format("{}{}\n{}{}\n{}{}\n", kRecipeLine, input.recipe.recipe_dir.str(), kSubjectLine,
                      input.subject, kRootLine, input.layout.root.str());
  for (const auto& [name, value] : place.variables) {
    if (IsShellName(name)) text += fmt::format("export {}={}\n", name, ShellQuote({value}));
  }
  text += fmt::format("export {}=1\n", kReadByHand);
  return WriteFile(fs, input.layout.EnvironmentFile(), text + place.preamble);
}

EnvironmentOrigin ReadEnvironmentOrigin(std::string_view text) {
  EnvironmentOrigin origin;
  for (const std::string& line : SplitLines(std::string(text.substr(0, text.find("\nexport "))))) {
    if (line.starts_with(kRecipeLine)) origin.recipe = line.substr(kRecipeLine.size());
    if (line.starts_with(kSubjectLine)) origin.subject = line.substr(kSubjectLine.size());
    if (line.starts_with(kRootLine)) origin.root = line.substr(kRootLine.size());
  }
  return origin;
}

}  // namespace ptpkg::builder
